"""The measuring programs: senders and receivers of bulk, sized, on-off and datagram flows.

A sender connects, fills its socket whenever the kernel takes more, and closes; the receiver reads as fast as it can and counts. The payload
is zeros: nothing on the path looks at it.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
from typing import Any

from . import tcp_info
from .job import Flow
from .loop import Loop
from .topology import Network

CHUNK = bytes(1 << 17)
READ = 1 << 20
_SPACE = bytearray(READ)
SO_LINGER_RESET = struct.pack("ii", 1, 0)


class Transfer:
    """What one connection did, for the summary."""

    def __init__(self, started_ns: int) -> None:
        self.started_ns = started_ns
        self.finished_ns: int | None = None


class TcpFlow:
    """One flow's sender and receiver; a repeated transfer takes a new connection each time."""

    def __init__(self, flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int) -> None:
        self.flow = flow
        self.delivered = 0
        self.written = 0
        self.transfers: list[Transfer] = []
        self.past: dict[str, int] = {"bytes_sent": 0, "bytes_acked": 0, "total_retrans": 0}
        self.sender: socket.socket | None = None
        self.closed_infos: list[dict[str, int]] = []
        self._network, self._addresses, self._loop, self._origin = network, addresses, loop, origin_ns
        self._left = 0
        self._paused = False
        self._received_of_transfer = 0
        self._readers: list[socket.socket] = []
        self._listener = self._listen()
        loop.at(origin_ns + flow.start_ns, self._start_transfer)
        loop.at(origin_ns + flow.stop_ns, self._stop)
        if flow.on_ns:
            loop.at(origin_ns + flow.start_ns + flow.on_ns, self._pause)

    def info(self) -> dict[str, int] | None:
        """The sender's TCP_INFO now, with its counters continued over connections."""
        if self.sender is None:
            return None
        info = tcp_info.read(self.sender)
        for name, value in self.past.items():
            info[name] = info.get(name, 0) + value
        return info

    def _listen(self) -> socket.socket:
        with self._network.nodes[self.flow.receiver].entered():
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if self.flow.receive_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.flow.receive_buffer)
        if self.flow.max_segment:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.flow.max_segment)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.flow.cc.encode())
        listener.bind((self._addresses[self.flow.receiver], self.flow.port))
        listener.listen(16)
        listener.setblocking(False)
        self._loop.watch(listener, select.EPOLLIN, self._accept)
        return listener

    def _accept(self, _events: int) -> None:
        reader, _ = self._listener.accept()
        reader.setblocking(False)
        self._readers.append(reader)
        self._received_of_transfer = 0
        self._loop.watch(reader, select.EPOLLIN, lambda _: self._read(reader))

    def _read(self, reader: socket.socket) -> None:
        try:
            # MSG_TRUNC: the kernel throws the octets away and says how many there were.
            count = reader.recv_into(_SPACE, READ, socket.MSG_TRUNC)
        except ConnectionResetError:
            count = 0
        if count == 0:
            self._loop.forget(reader)
            reader.close()
            self._readers.remove(reader)
            return
        self.delivered += count
        self._received_of_transfer += count
        if self.flow.size and self._received_of_transfer == self.flow.size:
            now = self._loop.now()
            self.transfers[-1].finished_ns = now - self._origin
            self._loop.at(now + self.flow.pause_ns, self._next_transfer)

    def _start_transfer(self) -> None:
        with self._network.nodes[self.flow.sender].entered():
            sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.flow.cc.encode())
        if self.flow.send_buffer:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.flow.send_buffer)
        if self.flow.max_segment:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.flow.max_segment)
        sender.setblocking(False)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sender.bind((self._addresses[self.flow.sender], self.flow.port if not self.transfers else 0))
        self.transfers.append(Transfer(self._loop.now() - self._origin))
        self._left = self.flow.size
        self.sender = sender
        code = sender.connect_ex((self._addresses[self.flow.receiver], self.flow.port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, f"{self.flow.name}: connect: {errno.errorcode[code]}")
        self._loop.watch(sender, select.EPOLLOUT, lambda _: self._write(sender))

    def _write(self, sender: socket.socket) -> None:
        error = sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, f"{self.flow.name}: {errno.errorcode[error]}")
        try:
            while not self._paused:
                chunk = CHUNK if not self.flow.size else CHUNK[: self._left]
                if not chunk:
                    break
                count = sender.send(chunk)
                self.written += count
                self._left -= count if self.flow.size else 0
        except BlockingIOError:
            return
        self._loop.forget(sender)
        if self.flow.size and self._left == 0:
            sender.shutdown(socket.SHUT_WR)

    def _next_transfer(self) -> None:
        self._retire()
        if len(self.transfers) < self.flow.repeat and self._loop.now() < self._origin + self.flow.stop_ns:
            self._start_transfer()

    def _pause(self) -> None:
        """Ends an "on" period; nothing is written until the next begins."""
        self._paused = True
        self._loop.at(self._loop.now() + self.flow.off_ns, self._resume)

    def _resume(self) -> None:
        self._paused = False
        if (sender := self.sender) is not None:
            self._loop.watch(sender, select.EPOLLOUT, lambda _: self._write(sender))
            self._loop.at(self._loop.now() + self.flow.on_ns, self._pause)

    def _stop(self) -> None:
        """Ends the flow at once: what the send buffer still holds is not sent, as when a program is killed by the experimenter."""
        self._retire(reset=True)

    def _retire(self, reset: bool = False) -> None:
        if self.sender is None:
            return
        self.closed_infos.append(tcp_info.read(self.sender))
        for name in self.past:
            self.past[name] += self.closed_infos[-1].get(name, 0)
        if reset:
            self.sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, SO_LINGER_RESET)
        self._loop.forget(self.sender)
        self.sender.close()
        self.sender = None


class DatagramFlow:
    """A constant-rate stream of UDP datagrams."""

    def __init__(self, flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int) -> None:
        self.flow = flow
        self.delivered = 0
        self.written = 0
        self.transfers: list[Transfer] = []
        self.closed_infos: list[dict[str, int]] = []
        self._loop, self._origin, self._sent = loop, origin_ns, 0
        with network.nodes[flow.receiver].entered():
            self._receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._receiver.bind((addresses[flow.receiver], flow.port))
        self._receiver.setblocking(False)
        with network.nodes[flow.sender].entered():
            self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sender.bind((addresses[flow.sender], flow.port))
        self._sender.connect((addresses[flow.receiver], flow.port))
        loop.watch(self._receiver, select.EPOLLIN, self._read)
        loop.at(origin_ns + flow.start_ns, self._send)

    def info(self) -> dict[str, int] | None:
        return None

    def _send(self) -> None:
        if self._loop.now() >= self._origin + self.flow.stop_ns:
            return
        self._sender.send(CHUNK[: self.flow.datagram_size])
        self.written += self.flow.datagram_size
        self._sent += 1
        due = self._sent * self.flow.datagram_size * 8 * 1_000_000_000 // self.flow.datagram_rate
        self._loop.at(self._origin + self.flow.start_ns + due, self._send)

    def _read(self, _events: int) -> None:
        while True:
            try:
                self.delivered += len(self._receiver.recv(1 << 16))
            except BlockingIOError:
                return


def make(flow: Flow, network: Network, addresses: dict[str, str], loop: Loop, origin_ns: int) -> Any:
    """The flow's programs, waiting for their start."""
    kind = DatagramFlow if flow.datagram_rate else TcpFlow
    return kind(flow, network, addresses, loop, origin_ns)
