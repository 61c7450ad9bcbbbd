"""Merges the packets of a capture into records of up to 64 KiB, as in captures by a kernel with offloads.

A kernel merges received packets (GRO), and the network card splits packets that the kernel sends (TSO). This module
needs Wireshark's `editcap`: `apt-get install wireshark-common`.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_HEADER, RECORD_HEADER = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
LONGEST = 65_535
"""Size of the largest IP packet in bytes."""
WINDOW_NS = 20_000_000
"""Longest time in ns between the first and the last packet that are merged into one packet of the capture. Real kernels
merge over a shorter time, because the lines of real hosts are faster."""
ETHERNET, RAW = 1, 101
PSH_ACK = (0x10, 0x18)


@dataclass
class _Record:
    at: int
    link: int
    """Size of the link header in bytes."""
    data: bytearray
    payload: int
    """Size of the payload of all merged packets in bytes."""
    first: int
    """Size of the first packet's payload in bytes."""
    since: int

    @property
    def headers(self) -> int:
        return 20 + (self.data[self.link + 32] >> 4) * 4

    @property
    def ends(self) -> bytes:
        return bytes(self.data[self.link + 12 : self.link + 24])

    @property
    def reversed_ends(self) -> bytes:
        ends = self.ends
        return ends[4:8] + ends[:4] + ends[10:12] + ends[8:10]

    @property
    def is_mergeable(self) -> bool:
        return self.payload > 0 and self.data[self.link + 33] in PSH_ACK

    def accepts(self, other: _Record) -> bool:
        """Returns true if the kernel would append the packet to this record (`tcp_gro_receive`)."""
        one, two, link = self.data, other.data, self.link
        seq, next_seq = (struct.unpack_from(">I", each, link + 24)[0] for each in (one, two))
        return (
            self.is_mergeable
            and other.is_mergeable
            and self.ends == other.ends
            and self.headers == other.headers
            and (seq + self.payload) % 2**32 == next_seq
            and self.payload % self.first == 0
            and other.payload <= self.first
            and one[link + 33] == PSH_ACK[0]
            and one[link + 28 : link + 32] == two[link + 28 : link + 32]
            and one[link + 40 : link + self.headers] == two[link + 40 : link + self.headers]
            and self.headers + self.payload + other.payload <= LONGEST
            and other.at - self.since <= WINDOW_NS
        )

    def append(self, other: _Record, *, sends: bool) -> None:
        self.payload += other.payload
        self.data[self.link + 33] |= other.data[self.link + 33]
        struct.pack_into(">H", self.data, self.link + 2, self.headers + self.payload)
        # A sender captures a record before the network card splits it. A receiver captures a record when its last
        # packet has arrived.
        self.at = self.at if sends else other.at


def merged(path: Path, target: Path) -> Path:
    """Writes the capture `path` to `target` with merged packets, and without their payloads. Returns `target`."""
    plain = target.with_suffix(".plain")
    subprocess.run(["editcap", "-F", "nsecpcap", str(path), str(plain)], check=True)
    content = plain.read_bytes()
    plain.unlink()
    link = {ETHERNET: 14, RAW: 0}[FILE_HEADER.unpack_from(content)[-1]]
    sends = _sender(content, link)
    waiting: dict[bytes, _Record] = {}
    done: list[_Record] = []
    for record in _records(content, link):
        held = waiting.get(record.ends)
        if held is not None and held.accepts(record):
            held.append(record, sends=record.ends[:4] == sends)
            continue
        # A packet that cannot be merged completes the records of both directions. Otherwise, an ACK could precede its
        # data.
        done += [waiting.pop(ends) for ends in (record.ends, record.reversed_ends) if ends in waiting]
        waiting[record.ends] = record
    done += waiting.values()
    done.sort(key=lambda record: record.at)
    with target.open("wb") as file:
        file.write(content[: FILE_HEADER.size])
        for record in done:
            kept = record.data[: link + record.headers]
            file.write(RECORD_HEADER.pack(*divmod(record.at, 10**9), len(kept), link + record.headers + record.payload))
            file.write(kept)
    return target


def _records(content: bytes, link: int) -> Iterator[_Record]:
    place = FILE_HEADER.size
    while place < len(content):
        seconds, nanos, length, _ = RECORD_HEADER.unpack_from(content, place)
        place += RECORD_HEADER.size
        data = bytearray(content[place : place + length])
        place += length
        at = seconds * 10**9 + nanos
        if data[link] >> 4 == 4 and data[link + 9] == 6:
            payload = struct.unpack_from(">H", data, link + 2)[0] - 20 - (data[link + 32] >> 4) * 4
            yield _Record(at, link, data, payload, payload, at)


def _sender(content: bytes, link: int) -> bytes:
    """Returns the address of the host that recorded the capture. This host's packets have a larger TTL than received
    packets."""
    ttl: dict[bytes, int] = {}
    for record in _records(content, link):
        ttl[record.ends[:4]] = max(ttl.get(record.ends[:4], 0), record.data[link + 8])
    return max(ttl, key=lambda address: ttl[address])
