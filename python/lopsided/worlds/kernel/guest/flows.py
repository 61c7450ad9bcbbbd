"""Senders and receivers of bulk flows, transfers, on-off flows and datagrams.

A sender fills its socket whenever the kernel accepts more data, then closes it. A receiver reads as fast as it can. The
payload is zeros, because nothing depends on its contents.

Each connection's sender writes from its own thread. Linux stores written data in pages of the writing thread
(`sk_page_frag`) and passes these pages to the receiver without a copy. If one thread wrote to several connections, the
connections would share pages. The memory at the receivers, and therefore the advertised windows, would then depend on
other connections.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import tcp_info
from .job import Flow
from .loop import Loop
from .topology import CannotBuild, Network

CHUNK = bytes(1 << 17)
READ = 1 << 20
_SPACE = bytearray(READ)
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
UDP_HEADERS = 28
CONNECT_NS = 7 * 256
"""Time in ns between the expiry of a flow's start timer and its SYN, in virtual time. In this period, the clock is read
7 times, and each read takes 256 ns."""
COUNTERS = ("bytes_sent", "bytes_acked", "total_retrans", "data_segs_out", "segs_out", "dsack_dups")
"""TCP_INFO fields that are summed over connections."""


class TcpFlow:
    """Both ends of a flow, or only the end that is on this kernel. Each transfer has a new connection."""

    def __init__(
        self, flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int, early_ns: int
    ) -> None:
        """The sender opens its connection `early_ns` before the flow's start time, so that the first SYN leaves on
        time."""
        self.flow = flow
        self.delivered = 0
        self.written = 0
        self.completed: list[tuple[int, int]] = []
        """Start and end of completed transfers, in ns since the start of the run."""
        self.begun_ns: int | None = None
        """Start of the current transfer, in ns since the start of the run; `None` between transfers."""
        self.sender: socket.socket | None = None
        self._writer: ThreadPoolExecutor | None = None
        """The thread that writes to the sender's socket."""
        self._past: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self._received_packets = 0
        self._last: dict[str, int] = {}
        self._network, self._addresses, self._loop, self._origin = network, addresses, loop, origin_ns
        self._left = 0
        self._attempts = 0
        self._paused = False
        self._stopped = False
        self._received_of_transfer = 0
        self._reader: socket.socket | None = None
        self._receives = flow.receiver in network.nodes
        if self._receives:
            self._listener = self._listen()
        if flow.sender not in network.nodes:
            return
        # Open a socket now, so that a missing kernel feature causes an error before the run starts.
        self._socket(flow.sender, 0).close()
        loop.at(origin_ns + flow.start_ns - early_ns, self._start_transfer)
        loop.at(origin_ns + flow.stop_ns, self._stop)
        if flow.on_ns:
            loop.at(origin_ns + flow.start_ns + flow.on_ns, self._pause)

    def info(self) -> dict[str, int] | None:
        """Returns the sender's TCP_INFO; `None` without a connection. `COUNTERS` are summed over all connections."""
        if self.sender is None:
            return None
        info = tcp_info.read(self.sender)
        for name, value in self._past.items():
            info[name] = info.get(name, 0) + value
        return info

    def receive_space(self) -> int:
        """Returns the value of the receiver's autotuning, in bytes per RTT (`tcpi_rcv_space`)."""
        return tcp_info.read(self._reader)["rcv_space"] if self._reader is not None else 0

    def summary(self) -> dict[str, Any]:
        """Returns the counts of bytes and packets at both ends over the run."""
        info = self.info() or {**self._last, **self._past}
        received = self._received_packets
        if self._reader is not None:
            received += tcp_info.read(self._reader).get("data_segs_in", 0)
        return {
            "delivered": self.delivered,
            "received_packets": received,
            "completed": self.completed,
            "begun_ns": self.begun_ns,
            "info": info,
        }

    def _listen(self) -> socket.socket:
        listener = self._socket(self.flow.receiver, self.flow.receiver_tos)
        if self.flow.receive_buffer:
            _set_buffer(listener, SO_RCVBUFFORCE, socket.SO_RCVBUF, self.flow.receive_buffer)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._addresses[self.flow.receiver], self.flow.port))
        listener.listen(16)
        self._loop.watch(listener, select.EPOLLIN, self._accept)
        return listener

    def _socket(self, host: str, tos: int) -> socket.socket:
        with self._network.nodes[host].entered():
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        # A sender on another machine may use a congestion control that this kernel lacks.
        if self.flow.sender in self._network.nodes:
            self._choose_control(made)
        if self.flow.max_segment:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.flow.max_segment)
        return made

    def _choose_control(self, of: socket.socket) -> None:
        try:
            of.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.flow.cc.encode())
        except OSError as error:
            there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            raise CannotBuild(
                f"flow {self.flow.name}: this kernel has no congestion control {self.flow.cc}, but "
                f"{', '.join(sorted(there))}"
            ) from error

    def _accept(self, _events: int) -> None:
        reader, _ = self._listener.accept()
        reader.setblocking(False)
        self._reader = reader
        self._received_of_transfer = 0
        if self.flow.sender not in self._network.nodes:
            self.begun_ns = self._loop.now() - self._origin
        self._loop.watch(reader, select.EPOLLIN, lambda _: self._read(reader))

    def _read(self, reader: socket.socket) -> None:
        # With MSG_TRUNC, the kernel discards the data and returns its length.
        count = reader.recv_into(_SPACE, READ, socket.MSG_TRUNC)
        if count == 0:
            self._received_packets += tcp_info.read(reader).get("data_segs_in", 0)
            self._loop.forget(reader)
            reader.close()
            self._reader = None
            return
        self.delivered += count
        self._received_of_transfer += count
        if self._received_of_transfer == self.flow.size and self.begun_ns is not None:
            self.completed.append((self.begun_ns, self._loop.now() - self._origin))
            self.begun_ns = None

    def _start_transfer(self) -> None:
        if self._stopped:
            return
        sender = self._socket(self.flow.sender, self.flow.sender_tos)
        if self.flow.send_buffer:
            _set_buffer(sender, SO_SNDBUFFORCE, socket.SO_SNDBUF, self.flow.send_buffer)
        if self.flow.sender_receive_buffer:
            _set_buffer(sender, SO_RCVBUFFORCE, socket.SO_RCVBUF, self.flow.sender_receive_buffer)
        fixed = self.flow.same_port and not self._attempts
        sender.bind((self._addresses[self.flow.sender], self.flow.port if fixed else 0))
        self._attempts += 1
        self.begun_ns = max(self.flow.start_ns, self._loop.now() - self._origin)
        self._left = self.flow.size
        self.sender = sender
        self._writer = ThreadPoolExecutor(1)
        code = sender.connect_ex((self._addresses[self.flow.receiver], self.flow.port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, f"{self.flow.name}: connect: {errno.errorcode[code]}")
        self._loop.watch(sender, select.EPOLLOUT, lambda _: self._write(sender))

    def _write(self, sender: socket.socket) -> None:
        error = sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, f"{self.flow.name}: {errno.errorcode[error]}")
        assert self._writer is not None
        # The loop waits for the thread, so the order of events does not depend on the scheduler.
        if not self._writer.submit(self._fill, sender).result():
            return
        self._loop.forget(sender)
        if self._stopped or (self.flow.size and self._left == 0):
            self._finish(sender)

    def _fill(self, sender: socket.socket) -> bool:
        """Writes until the socket is full. Returns true if there is nothing left to write at present."""
        try:
            while not self._paused and not self._stopped:
                chunk = CHUNK if not self.flow.size else CHUNK[: self._left]
                if not chunk:
                    break
                count = sender.send(chunk)
                self.written += count
                self._left -= count if self.flow.size else 0
        except BlockingIOError:
            return False
        return True

    def _finish(self, sender: socket.socket) -> None:
        """Closes the sending direction, and waits for the receiver."""
        sender.shutdown(socket.SHUT_WR)
        self._loop.watch(sender, select.EPOLLIN, lambda _: self._over(sender))

    def _over(self, sender: socket.socket) -> None:
        self._last = self.info() or {}
        self._past = {name: self._last.get(name, 0) for name in COUNTERS}
        self._loop.forget(sender)
        sender.close()
        self.sender = None
        if self._writer is not None:
            self._writer.shutdown(wait=False)
        if self.flow.size and not self._receives and self.begun_ns is not None:
            # At this point the receiver has read everything.
            self.completed.append((self.begun_ns, self._loop.now() - self._origin))
            self.begun_ns = None
        if self.flow.size and self._attempts < self.flow.repeat:
            self._loop.at(self._loop.now() + self.flow.pause_ns, self._start_transfer)

    def _pause(self) -> None:
        """Ends an "on" period of an on-off flow."""
        self._paused = True
        self._loop.at(self._loop.now() + self.flow.off_ns, self._resume)

    def _resume(self) -> None:
        self._paused = False
        if (sender := self.sender) is not None and not self._stopped:
            self._loop.watch(sender, select.EPOLLOUT, lambda _: self._write(sender))
            self._loop.at(self._loop.now() + self.flow.on_ns, self._pause)

    def _stop(self) -> None:
        """Ends the application. Written data is still delivered."""
        self._stopped = True
        if (sender := self.sender) is not None:
            self._loop.watch(sender, select.EPOLLOUT, lambda _: self._write(sender))


def _set_buffer(of: socket.socket, forced: int, asked: int, size: int) -> None:
    """Sets the size of a socket's buffer in bytes. The kernel doubles the size for overhead (socket(7))."""
    try:
        of.setsockopt(socket.SOL_SOCKET, forced, size)
    except PermissionError:
        # In a user namespace, a buffer cannot exceed the machine's limit.
        of.setsockopt(socket.SOL_SOCKET, asked, size)
        if of.getsockopt(socket.SOL_SOCKET, asked) < 2 * size:
            bound = "net.core.rmem_max" if asked == socket.SO_RCVBUF else "net.core.wmem_max"
            raise CannotBuild(f"a socket's buffer of {size} B: without root the maximum is {bound}") from None


class DatagramFlow:
    """A stream of UDP datagrams at a constant rate, each with its sending time. The object contains both ends of the
    flow, or only the end that is on this kernel."""

    def __init__(self, flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int) -> None:
        self.flow = flow
        self.delivered = 0
        self.written = 0
        self.delays: list[tuple[int, int]] = []
        """Arrival time and delay of each datagram."""
        self._loop, self._origin, self._sent = loop, origin_ns, 0
        if flow.receiver in network.nodes:
            self._receive_at(network, addresses)
        if flow.sender in network.nodes:
            self._send_from(network, addresses)
            loop.at(origin_ns + flow.start_ns, self._send)

    def _receive_at(self, network: Network, addresses: dict[str, str]) -> None:
        flow = self.flow
        with network.nodes[flow.receiver].entered():
            self._receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._receiver.bind((addresses[flow.receiver], flow.port))
        self._receiver.setblocking(False)
        self._loop.watch(self._receiver, select.EPOLLIN, self._read)

    def _send_from(self, network: Network, addresses: dict[str, str]) -> None:
        flow = self.flow
        with network.nodes[flow.sender].entered():
            self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow.sender_tos)
        self._sender.bind((addresses[flow.sender], flow.port if flow.same_port else 0))
        self._sender.connect((addresses[flow.receiver], flow.port))

    def info(self) -> dict[str, int] | None:
        """Returns `None`, because datagrams have no TCP_INFO."""
        return None

    def receive_space(self) -> int:
        """Returns 0, because datagrams have no receive window."""
        return 0

    def summary(self) -> dict[str, Any]:
        """Returns the counts of bytes, packets and transfers at both ends over the run."""
        return {
            "delivered": self.delivered,
            "received_packets": len(self.delays),
            "sent": self.written,
            "sent_packets": self._sent,
            "delays": self.delays,
        }

    def _send(self) -> None:
        if self._loop.now() >= self._origin + self.flow.stop_ns:
            return
        stamp = struct.pack("q", self._loop.now())
        self._sender.send(stamp.ljust(self.flow.datagram_size - UDP_HEADERS, b"\0"))
        self.written += self.flow.datagram_size
        self._sent += 1
        due = self._sent * self.flow.datagram_size * 8 * 1_000_000_000 // self.flow.datagram_rate
        self._loop.at(self._origin + self.flow.start_ns + due, self._send)

    def _read(self, _events: int) -> None:
        while True:
            try:
                data = self._receiver.recv(1 << 16)
            except BlockingIOError:
                return
            now = self._loop.now()
            self.delivered += len(data) + UDP_HEADERS
            self.delays.append((now - self._origin, now - struct.unpack_from("q", data)[0]))


def make(flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int, early_ns: int) -> Any:
    """Creates both ends of a flow. They wait until the flow starts."""
    if flow.datagram_rate:
        return DatagramFlow(flow, network, addresses, loop, origin_ns)
    return TcpFlow(flow, network, addresses, loop, origin_ns, early_ns)
