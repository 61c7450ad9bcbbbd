"""Reads the agent's captures: per-packet round trips of each flow, waiting times in queues, and pcapng files for
people."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ETHERNET_IPV4 = b"\x08\x00"
TCP = 6
ETHERNET_HEADER = 14

Record = tuple[int, int, bytes]
"""Time in nanoseconds of the wall clock, length on the wire, the first octets."""


def read(path: Path) -> Iterator[Record]:
    """The packets of a pcap file with nanosecond stamps."""
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("=IIII", data, at)
        yield seconds * 1_000_000_000 + nanoseconds, length, data[at + 16 : at + 16 + kept]
        at += 16 + kept


@dataclass(frozen=True)
class RoundTrip:
    """When an ACK arrived, and how long after the newest segment that it covers was sent."""

    at_ns: int
    rtt_ns: int


def round_trips(path: Path, origin_ns: int, ports: dict[int, int]) -> dict[int, list[RoundTrip]]:
    """Every flow's round trips, from the capture at its sender; `ports` gives the flow of each receiver's port.

    One for each ACK that advances, none for an ACK that covers a segment sent more than once (Karn's rule).
    """
    found: dict[int, list[RoundTrip]] = {flow: [] for flow in ports.values()}
    connections: dict[tuple[bytes, int, int], _Outstanding] = {}
    for time, _, packet in read(path):
        if packet[12:14] != ETHERNET_IPV4 or packet[23] != TCP:
            continue
        header = ETHERNET_HEADER + (packet[14] & 0x0F) * 4
        source, target, sequence, acknowledgement, offset = struct.unpack_from("!HHIIB", packet, header)
        if target in ports:
            length = struct.unpack_from("!H", packet, 16)[0] - (header - ETHERNET_HEADER) - (offset >> 4) * 4
            if length:
                key = (packet[30:34], target, source)
                connections.setdefault(key, _Outstanding(sequence)).sent(sequence + length, time)
        if source in ports and (outstanding := connections.get((packet[26:30], source, target))) is not None:
            sent = outstanding.acknowledged(acknowledgement)
            if sent is not None:
                found[ports[source]].append(RoundTrip(time - origin_ns, time - sent))
    return found


class _Outstanding:
    """What one connection has sent and not seen acknowledged, in order of sequence."""

    def __init__(self, first: int) -> None:
        self._segments: deque[list[int]] = deque()
        """End of each segment, and when it was sent; 0 once it was sent again."""
        self._highest = first

    def sent(self, end: int, time: int) -> None:
        end &= 0xFFFFFFFF
        if _ahead(end, self._highest) > 0:
            self._highest = end
            self._segments.append([end, time])
            return
        for segment in self._segments:
            if segment[0] == end:
                segment[1] = 0
                return

    def acknowledged(self, acknowledgement: int) -> int | None:
        """When the newest segment covered was sent, if all that the ACK covers was sent once."""
        newest, ambiguous = None, False
        while self._segments and _ahead(acknowledgement, self._segments[0][0]) >= 0:
            _, newest = self._segments.popleft()
            ambiguous |= newest == 0
        return None if ambiguous else newest


def _ahead(one: int, other: int) -> int:
    """How far a sequence number is ahead of another, on the circle of 2^32."""
    return ((one - other + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@dataclass(frozen=True)
class Wait:
    """When a packet left a queue (by the captures' clock), how long it was there, and the size of its IP packet."""

    at_ns: int
    wait_ns: int
    octets: int


def waits(before: Path, behind: Path, into: bytes, out_of: bytes) -> list[Wait]:
    """The packets that passed a queue: the same one before it, addressed to the station `into`, and behind it, from
    the station `out_of`."""
    entered = {identity(packet): time for time, _, packet in read(before) if packet[:6] == into}
    return [
        Wait(time, time - since, length - ETHERNET_HEADER)
        for time, length, packet in read(behind)
        if packet[6:12] == out_of and (since := entered.pop(identity(packet), None)) is not None
    ]


def identity(packet: bytes) -> bytes:
    """What tells a packet from all others and no router or queue changes: its number, protocol, addresses, and the
    beginning of what it carries."""
    return packet[18:20] + packet[23:24] + packet[26:50]


def write_pcapng(source: Path, target: Path, origin_ns: int, name: str) -> None:
    """The capture as pcapng, its times counted from the run's beginning as in the simulator's captures."""
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
