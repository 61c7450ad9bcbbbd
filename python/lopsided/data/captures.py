"""The captures of a run, `pcap/host-NAME.pcapng` and `pcap/link-NAME.pcapng`, and which flow is which in them.

`pcap/flows.csv` has one row for each flow: its two hosts, and the address and port at which its receiver listens. All
connections of a flow go there, in every capture.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lopsided.errors import FolderError

INDEX = "flows.csv"
_COLUMNS = ("flow", "from", "to", "address", "port")


@dataclass(frozen=True)
class Listed:
    """A flow as the captures of a run show it."""

    flow: str
    sender: str
    receiver: str
    """Hosts by their names in the scenario."""
    address: str
    port: int
    """Where the receiver listens."""

    @property
    def place(self) -> tuple[str, int]:
        """What tells the flow's connections from all others."""
        return self.address, self.port


def write_index(folder: Path, flows: Iterable[Listed]) -> None:
    """Writes `flows.csv` beside the captures."""
    with (folder / INDEX).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((one.flow, one.sender, one.receiver, one.address, one.port) for one in flows)


def read_index(folder: Path) -> list[Listed]:
    """The flows in the captures of a folder; a `FolderError` where it holds none."""
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
    """The capture at a host."""
    return folder / f"host-{host}.pcapng"
