"""Captures packets at the hosts, in a process of its own so that a busy sender cannot delay it nor be delayed.

One packet socket per tap; the kernel stamps each packet when it passes, a filter keeps its first octets, and a pcap file with nanosecond
stamps is written as they come. The socket's buffer is large and what it lost is counted: a capture with holes is an error later.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
from pathlib import Path
from typing import BinaryIO

from .job import Tap
from .namespace import end_with_parent
from .topology import Network

ETH_P_ALL = 0x0003
SO_ATTACH_FILTER = 26
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
SOL_PACKET = 263
PACKET_STATISTICS = 6
BPF_RETURN = 0x06

PCAP_NANOSECONDS = 0xA1B23C4D
LINK_TYPE_ETHERNET = 1
ETHERNET_HEADER = 14
BUFFER = 64 << 20
DRAIN_EVERY_S = 0.05


class Capture:
    """Runs from its making until `finish`."""

    def __init__(self, network: Network, taps: list[Tap], folder: Path, snap_length: int) -> None:
        self._sockets = [_open(network, tap, snap_length) for tap in taps]
        self._taps = taps
        self._folder = folder
        ours, theirs = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(ours)
            _capture_and_exit(self._sockets, taps, folder, snap_length, theirs)
        os.close(theirs)
        os.read(ours, 1)
        os.close(ours)

    def finish(self) -> dict[str, int]:
        """Stops the capture; returns how many packets were lost at each tap."""
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        lost: dict[str, int] = json.loads((self._folder / "capture.json").read_text())
        return lost


def _open(network: Network, tap: Tap, snap_length: int) -> socket.socket:
    with network.nodes[tap.node].entered():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    instructions = ctypes.create_string_buffer(struct.pack("=HBBI", BPF_RETURN, 0, 0, snap_length))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(instructions)))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind((tap.interface, ETH_P_ALL))
    sock.setblocking(False)
    return sock


def _capture_and_exit(sockets: list[socket.socket], taps: list[Tap], folder: Path, snap_length: int, ready: int) -> None:
    """The body of the capturing process."""
    status = 1
    try:
        end_with_parent()
        lost = _capture(sockets, taps, folder, snap_length, ready)
        (folder / "capture.json").write_text(json.dumps(lost))
        status = 0
    finally:
        os._exit(status)


def _capture(
    sockets: list[socket.socket], taps: list[Tap], folder: Path, snap_length: int, ready: int
) -> dict[str, int]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = [(folder / tap.file).open("wb", buffering=1 << 20) for tap in taps]
    for file in files:
        file.write(struct.pack("=IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, snap_length, LINK_TYPE_ETHERNET))
    os.write(ready, b"x")
    stopping = False
    while not stopping:
        # Looking now and then costs far less than being woken for every packet; the socket's buffer holds what comes meanwhile.
        stopping = signal.sigtimedwait({signal.SIGTERM}, DRAIN_EVERY_S) is not None
        for sock, file in zip(sockets, files, strict=True):
            _drain(sock, file, snap_length)
    for file in files:
        file.close()
    return {
        tap.file: struct.unpack("II", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        for sock, tap in zip(sockets, taps, strict=True)
    }


def _drain(sock: socket.socket, file: BinaryIO, snap_length: int) -> None:
    write = file.write
    while True:
        try:
            data, control, _, _ = sock.recvmsg(snap_length, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", control[0][2])
        write(struct.pack("=IIII", seconds, nanoseconds, len(data), _length_on_wire(data)) + data)


def _length_on_wire(data: bytes) -> int:
    """The packet's own length: the filter cut what it kept, the IPv4 header still tells."""
    if data[12:14] == b"\x08\x00":
        return ETHERNET_HEADER + int.from_bytes(data[16:18], "big")
    return len(data)
