"""Converts the captures of a run on Linux into waiting times and pcapng files. RTTs are measured by `crates/trace`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ETHERNET_IPV4 = b"\x08\x00"
ETHERNET_HEADER = 14

Record = tuple[int, int, bytes]
"""A captured packet: wall-clock time in ns, length in bytes on the wire, and the captured first bytes."""


def read(path: Path) -> Iterator[Record]:
    """Yields a pcap file's packets with times in ns."""
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("=IIII", data, at)
        yield seconds * 1_000_000_000 + nanoseconds, length, data[at + 16 : at + 16 + kept]
        at += 16 + kept


@dataclass(frozen=True)
class Wait:
    """A packet's departure time by the captures' clock, its waiting time, and its IP size in bytes."""

    at_ns: int
    wait_ns: int
    octets: int


def waits(before: Path, behind: Path, into: bytes, out_of: bytes) -> list[Wait]:
    """Returns the waiting time of each packet that passed a queue.

    Hardware addresses select the packets: the destination must be `into` before the queue, and the source must be
    `out_of` after the queue.
    """
    entered = {identity(packet): time for time, _, packet in read(before) if packet[:6] == into}
    return [
        Wait(time, time - since, length - ETHERNET_HEADER)
        for time, length, packet in read(behind)
        if packet[6:12] == out_of and (since := entered.pop(identity(packet), None)) is not None
    ]


def identity(packet: bytes) -> bytes:
    """Returns the bytes that identify a packet on its path: IP identification, protocol, addresses, and the start of
    the payload."""
    return packet[18:20] + packet[23:24] + packet[26:50]


def write_pcapng(source: Path, target: Path, origin_ns: int, name: str) -> None:
    """Writes the capture as pcapng, with times relative to the start of the run."""
    interface = struct.pack("<HHI", 1, 0, 0) + _option(2, name.encode()) + _option(9, b"\x09") + _option(0, b"")
    with target.open("wb") as file:
        file.write(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(_block(1, interface))
        for time, length, packet in read(source):
            since = max(0, time - origin_ns)
            header = struct.pack("<IIIII", 0, since >> 32, since & 0xFFFFFFFF, len(packet), length)
            file.write(_block(6, header + packet + bytes(-len(packet) % 4)))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length
