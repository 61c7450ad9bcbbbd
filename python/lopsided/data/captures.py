"""Reads and merges the captures of a run, `pcap/host-NAME.pcapng` and `pcap/link-NAME.pcapng`.

The index `pcap/flows.csv` has one row per flow: the hosts, and the receiver's address and port. All connections of a
flow use this port.

`pcap/merged.pcapng` contains the packets of all host captures in order of time, with one interface per host. A packet
appears once for each host that sent or received it. Trace tools mistake the second copy for a retransmission, unless
you select one interface (`frame.interface_name == "client"`).
"""

from __future__ import annotations

import csv
import heapq
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lopsided.errors import FolderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INDEX = "flows.csv"
MERGED = "merged.pcapng"
_COLUMNS = ("flow", "from", "to", "address", "port")


@dataclass(frozen=True)
class Listed:
    """A flow's hosts, and the receiver's address and port."""

    flow: str
    sender: str
    receiver: str
    """The receiving host's name in the scenario."""
    address: str
    port: int
    """The port at which the receiver listens."""

    @property
    def place(self) -> tuple[str, int]:
        return self.address, self.port


def write_index(folder: Path, flows: Iterable[Listed]) -> None:
    with (folder / INDEX).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((one.flow, one.sender, one.receiver, one.address, one.port) for one in flows)


def read_index(folder: Path) -> list[Listed]:
    """Returns the flows in a folder's captures. Raises FolderError if the folder has no `flows.csv`."""
    path = folder / INDEX
    if not path.is_file():
        raise FolderError(f"{folder} holds no captures with their {INDEX}: run with --pcap hosts")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return [Listed(row["flow"], row["from"], row["to"], row["address"], int(row["port"])) for row in rows]
    except (KeyError, ValueError, TypeError) as error:
        raise FolderError(f"{path} is damaged: {error!r}") from error


def at_host(folder: Path, host: str) -> Path:
    return folder / f"host-{host}.pcapng"


# Block types of pcapng (draft-ietf-opsawg-pcapng). The simulator and Linux runs write one little-endian section, with
# the interfaces first.
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ETHERNET, _ETHERNET_HEADER, _INTERFACE_NAME, _TCP = 1, 14, 2, 6


def merge(folder: Path) -> Path:
    """Merges the captures of all hosts into one file, in time order, and returns its path.

    Packets with equal times are sorted by host name.
    """
    target = folder / MERGED
    sources = sorted(folder.glob("host-*.pcapng"))
    interfaces: list[bytes] = []
    packets: list[Iterator[tuple[int, bytes]]] = []
    files = [path.open("rb") for path in sources]
    try:
        for file in files:
            before = len(interfaces)
            for kind, block in _blocks(file):
                if kind == _PACKET:
                    break
                if kind == _INTERFACE:
                    interfaces.append(block)
            file.seek(0)
            packets.append(_stamped(file, before))
        with target.open("wb") as merged:
            body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
            merged.write(struct.pack("<II", _SECTION, 28) + body + struct.pack("<I", 28))
            merged.writelines(interfaces)
            merged.writelines(block for _, block in heapq.merge(*packets, key=itemgetter(0)))
    finally:
        for file in files:
            file.close()
    return target


def arrivals(folder: Path, flow: Listed) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the times in seconds and the payload bytes of a flow's data segments at its receiver, including
    duplicates."""
    # Imported late, because numpy loads slowly and reading a scenario does not need it.
    import numpy as np

    file = np.memmap(folder / MERGED, dtype=np.uint8, mode="r")
    interfaces, places = _places(file.data)
    here = np.array([_interface_name(block) == flow.receiver for block in interfaces])
    starts = np.array([28 + (_ETHERNET_HEADER if block[8] == _ETHERNET else 0) for block in interfaces])

    def number(at: NDArray[np.int64], places: Iterable[int]) -> NDArray[np.int64]:
        """Reads one number per position in `at`. `places` are the offsets of its bytes, most significant byte first."""
        found = np.zeros(len(at), dtype=np.int64)
        for place in places:
            found = (found << 8) | file[at + place]
        return found

    # Each step removes packets of other flows, so that the next step does not read beyond the end of a packet.
    block = np.array(places, dtype=np.int64)
    block = block[here[number(block, (11, 10, 9, 8))]]
    ip = block + starts[number(block, (11, 10, 9, 8))]
    address = int.from_bytes(bytes(int(octet) for octet in flow.address.split(".")))
    ours = (file[ip] >> 4 == 4) & (file[ip + 9] == _TCP) & (number(ip, range(16, 20)) == address)
    block, ip = block[ours], ip[ours]
    tcp = ip + 4 * (file[ip] & 0x0F).astype(np.int64)
    octets = number(ip, (2, 3)) - (tcp - ip) - 4 * (file[tcp + 12] >> 4).astype(np.int64)
    data = (octets != 0) & (number(tcp, (2, 3)) == flow.port)
    at_ns = number(block[data], (15, 14, 13, 12, 19, 18, 17, 16))
    return at_ns / 1e9, octets[data].astype(np.float64)


def _places(octets: memoryview) -> tuple[list[bytes], list[int]]:
    """Returns the interface descriptions of a file, and the offsets of its packet blocks."""
    interfaces: list[bytes] = []
    packets: list[int] = []
    head, at, end = struct.Struct("<II").unpack_from, 0, len(octets) - 8
    while at <= end:
        kind, length = head(octets, at)
        if kind == _PACKET:
            packets.append(at)
        elif kind == _INTERFACE:
            interfaces.append(bytes(octets[at : at + length]))
        at += length
    return interfaces, packets


def _interface_name(block: bytes) -> str:
    """Returns an interface's name without `host-`; empty if the interface's first option is not its name."""
    code, length = struct.unpack_from("<HH", block, 16)
    return block[20 : 20 + length].decode().removeprefix("host-") if code == _INTERFACE_NAME else ""


def _blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    while len(head := file.read(8)) == 8:
        kind, length = struct.unpack("<II", head)
        yield kind, head + file.read(length - 8)


def _stamped(file: BinaryIO, interfaces_before: int) -> Iterator[tuple[int, bytes]]:
    """Yields packets with their times. `interfaces_before` is the number of interfaces in earlier files."""
    for kind, block in _blocks(file):
        if kind == _PACKET:
            interface, high, low = struct.unpack_from("<III", block, 8)
            numbered = struct.pack("<I", interface + interfaces_before)
            yield (high << 32) | low, block[:8] + numbered + block[12:]
