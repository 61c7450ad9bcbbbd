"""Writes a capture with many connections, to measure the memory and the speed of `lopsided analyze`.

    python bench/many_connections.py many.pcap --connections 100000                  # 1.1 GB
    python bench/many_connections.py bulk.pcap --connections 4 --segments 170000     # 1.0 GB
    /usr/bin/time -v lopsided analyze many.pcap --json > /dev/null

Each connection consists of a handshake, full segments with delayed ACKs, and two FINs. 1,000 connections are open at
the same time.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MSS = 1448
OPEN = 1000
"""Number of connections that are open at the same time."""
SYN, FIN, ACK, PSH = 2, 1, 16, 8
SERVER = b"\x0a\x00\x00\x02"
SYN_OPTIONS = b"\x02\x04\x05\xb4\x04\x02\x08\x0a" + bytes(8) + b"\x01\x03\x03\x07"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--segments", type=int, default=7, help="full segments of each connection")
    arguments = parser.parse_args()
    with arguments.file.open("wb") as file:
        write(file, arguments.connections, arguments.segments)


def write(file: BinaryIO, connections: int, segments: int) -> None:
    """Writes connections to a pcap file of raw IP packets with nanosecond timestamps."""
    file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101))
    now_ns = 1_000_000_000
    for begin in range(0, connections, OPEN):
        running = [packets(number, segments) for number in range(begin, min(begin + OPEN, connections))]
        while running:
            left: list[Iterator[bytes]] = []
            for one in running:
                packet = next(one, None)
                if packet is not None:
                    file.write(struct.pack("<IIII", *divmod(now_ns, 1_000_000_000), len(packet), len(packet)))
                    file.write(packet)
                    now_ns += 10_000
                    left.append(one)
            running = left


def packets(number: int, segments: int) -> Iterator[bytes]:
    """Yields the packets of one connection, as captured at the server."""
    client = b"\x0b" + (number // 50_000).to_bytes(1, "big") + (number // 200 % 250).to_bytes(1, "big") + b"\x01"
    up = _Side(client, SERVER, 20_000 + number % 40_000, 80)
    down = _Side(SERVER, client, 80, 20_000 + number % 40_000)
    yield up.packet(1, 0, SYN, 0, SYN_OPTIONS)
    yield down.packet(1, 2, SYN | ACK, 0, SYN_OPTIONS)
    yield up.packet(2, 2, ACK)
    for place in range(segments):
        yield down.packet(2 + place * MSS, 2, ACK | PSH, MSS)
        if place % 2 == 1:
            yield up.packet(2, 2 + (place + 1) * MSS, ACK)
    end = 2 + segments * MSS
    yield down.packet(end, 2, ACK | FIN)
    yield up.packet(2, end + 1, ACK | FIN)
    yield down.packet(end + 1, 3, ACK)


class _Side:
    def __init__(self, source: bytes, target: bytes, from_port: int, to_port: int) -> None:
        self.addresses = source + target
        self.ports = struct.pack("!HH", from_port, to_port)

    def packet(self, seq: int, ack: int, flags: int, payload: int = 0, options: bytes = b"") -> bytes:
        """Returns an IPv4 packet. The checksums are 0."""
        header = 20 + len(options)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + header + payload, 0, 0x4000, 64, 6, 0) + self.addresses
        tcp = self.ports + struct.pack("!IIBBHHH", seq, ack, header // 4 << 4, flags, 502, 0, 0)
        return ip + tcp + options + bytes(payload)


if __name__ == "__main__":
    main()
