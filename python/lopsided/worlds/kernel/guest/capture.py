"""Captures packets at the hosts in a separate process, so that senders are not delayed.

Each tap is a packet socket with a ring (packet_mmap, TPACKET_V2). The kernel writes times and the first bytes of
packets to the ring, and the process moves them to a pcap file. Packets for which the ring has no space are counted.
Incomplete captures are not used.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import struct
import time
from pathlib import Path
from typing import BinaryIO

from .job import Tap
from .loop import Timer
from .namespace import end_with_parent
from .topology import Network

ETH_P_ALL = 0x0003
SOL_PACKET = 263
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 5, 6, 10
TPACKET_V2 = 1
TP_STATUS_USER = 1

PCAP_NANOSECONDS = 0xA1B23C4D
LINK_TYPE_ETHERNET = 1

FRAME = 256
"""Size in bytes of a ring's slot, which holds the header and the first bytes of a packet."""
MOST_FRAMES, LEAST_FRAMES = 1 << 17, 1 << 12
ALL_FRAMES = 1 << 19
"""Number of slots of all rings together: 128 MiB of a guest's 512 MiB."""
BLOCK = 1 << 16
DRAIN_EVERY_NS = 50_000_000


class Capture:
    """A capture that runs until `finish` is called.

    With `yielding`, the capture runs only while all other processes sleep. Set it in virtual time, where the clock
    waits for the capture. In real time, the rings could overflow.
    """

    def __init__(self, network: Network, taps: list[Tap], folder: Path, snap_length: int, *, yielding: bool) -> None:
        share = max(LEAST_FRAMES, min(MOST_FRAMES, ALL_FRAMES // max(1, len(taps))))
        frames = 1 << (share.bit_length() - 1)
        rings = [_Ring(network, tap, snap_length, frames) for tap in taps]
        self._folder = folder
        is_ready, ready = os.pipe()
        stop, self._stop = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._stop)
            _capture_and_exit(rings, taps, folder, snap_length, ready, stop, yielding)
        os.close(ready)
        os.close(stop)
        os.read(is_ready, 1)
        os.close(is_ready)

    def finish(self) -> dict[str, int]:
        """Stops the capture, and returns the number of lost packets per tap."""
        os.close(self._stop)
        os.waitpid(self._pid, 0)
        lost: dict[str, int] = json.loads((self._folder / "capture.json").read_text())
        return lost


class _Ring:
    """A packet socket with its ring."""

    def __init__(self, network: Network, tap: Tap, snap_length: int, frames: int) -> None:
        with network.nodes[tap.node].entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        size = frames * FRAME
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=IIII", BLOCK, size // BLOCK, FRAME, frames))
        self._size = size
        self._snap_length = snap_length
        self._next, self._frames = 0, frames
        self._socket.bind((tap.interface, ETH_P_ALL))

    def map(self) -> None:
        """Maps the ring into the process that reads it. In user mode, Linux 6.12 loses pages of a ring that is mapped
        before a fork."""
        self._memory = mmap.mmap(self._socket.fileno(), self._size)

    def drain(self, file: BinaryIO) -> None:
        """Writes new packets to the file."""
        memory, write = self._memory, file.write
        while True:
            at = self._next * FRAME
            status, length, kept, start, _, seconds, nanoseconds = _FRAME_HEADER.unpack_from(memory, at)
            if not status & TP_STATUS_USER:
                return
            kept = min(kept, self._snap_length)
            write(_RECORD_HEADER.pack(seconds, nanoseconds, kept, length))
            write(memory[at + start : at + start + kept])
            _STATUS.pack_into(memory, at, 0)
            self._next = (self._next + 1) % self._frames

    def lost(self) -> int:
        return int(struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1])


_FRAME_HEADER = struct.Struct("=IIIHHII")
_RECORD_HEADER = struct.Struct("=IIII")
_STATUS = struct.Struct("=I")


def _capture_and_exit(
    rings: list[_Ring], taps: list[Tap], folder: Path, snap_length: int, ready: int, stop: int, yielding: bool
) -> None:
    """The main function of the capturing process."""
    status = 1
    try:
        end_with_parent()
        if yielding:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        _capture(rings, [folder / f"{tap.file}.pcap" for tap in taps], snap_length, ready, stop)
        lost = {tap.file: ring.lost() for ring, tap in zip(rings, taps, strict=True)}
        (folder / "capture.json").write_text(json.dumps(lost))
        status = 0
    finally:
        os._exit(status)


def _capture(rings: list[_Ring], paths: list[Path], snap_length: int, ready: int, stop: int) -> None:
    for ring in rings:
        ring.map()
    files = [path.open("wb", buffering=1 << 20) for path in paths]
    for file in files:
        file.write(struct.pack("=IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, snap_length, LINK_TYPE_ETHERNET))
    # The ring is emptied at fixed times between the samples, so that in virtual time every run empties it after the
    # same packets. A timer is used because reading the clock would advance the clock.
    timer = Timer()
    timer.arm((time.monotonic_ns() // DRAIN_EVERY_NS + 1) * DRAIN_EVERY_NS + DRAIN_EVERY_NS // 2, DRAIN_EVERY_NS)
    poll = select.poll()
    poll.register(timer.fd, select.POLLIN)
    poll.register(stop, select.POLLIN)
    os.write(ready, b"x")
    stopping = False
    while not stopping:
        stopping = any(fd == stop for fd, _ in poll.poll())
        if not stopping:
            timer.clear()
        for ring, file in zip(rings, files, strict=True):
            ring.drain(file)
    for file in files:
        file.close()
