"""Why a connection in a capture was slow: what limited it, the ACK path, and the line that it was on.

    found = lop.analyze("capture.pcapng")
    found.directions          # one row for each direction that carried data
    found.timeline            # what limited it over time, with the numbers of the packets
    found.save("analysis")    # tables and report.html

The work is done in Rust (`crates/capture`): a capture is streamed, and memory grows with its connections.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data import catalogue
from lopsided.data.columns import Columns
from lopsided.data.table import Row, Table
from lopsided.errors import CaptureWarning, UsageError

LIMITS = {
    "application": "the application had nothing to send",
    "receive_window": "the receiver's window was full",
    "slow_start": "the congestion window was full, in slow start",
    "avoidance": "the congestion window was full, after slow start",
    "recovery": "losses were repaired",
    "pacing": "the sender spread its packets over time",
    "ack_path": "ACKs came late: they waited longer than the data",
    "rto_idle": "nothing moved until the retransmission timer expired",
    "receiver_stall": "the receiver had closed its window",
}
"""The limits of a sender, and their meaning."""

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Stretch:
    """A part of the time in which one limit held a direction back for most of it."""

    begin_s: float
    end_s: float
    limit: str
    confidence: float
    """Share of its time in which the limit held."""
    first_packet: int
    last_packet: int


@dataclass(frozen=True)
class Capture:
    """The connections of a capture."""

    source: str
    """The file, or `-`."""
    directions: Table
    """One row for each direction that carried data; the largest first if you sort by `data_bytes`."""
    timeline: Table
    """The limit of each direction over time."""
    points: Table
    """Points of time-sequence diagrams; empty if they were not wanted."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """`frames`, `segments`, `connections`, `passed_over`, `snapped`, `cut`, `backwards`, `begin_s`, `elapsed_s`."""

    @cached_property
    def largest(self) -> list[Row]:
        """The directions, that with most data first."""
        return list(self.directions.to_polars().sort("data_bytes", descending=True, maintain_order=True).to_dicts())

    @property
    def warnings(self) -> list[str]:
        """Defects of the capture itself."""
        facts = self.facts
        said: list[str] = []
        if facts["cut"]:
            said.append(
                f"the capture is cut short or damaged after packet {facts['frames']:,}: what lies before was read"
            )
        if not facts["segments"]:
            said.append("no packet of the capture is one of TCP that could be read")
        elif facts["passed_over"]:
            said.append(
                f"{facts['passed_over']:,} of {facts['frames']:,} packets are not TCP, fragments or cut headers"
            )
        if facts["backwards"]:
            said.append(f"{facts['backwards']:,} packets are older than the packet before: the order is the file's")
        return said

    def stretches(self, direction: int) -> list[Stretch]:
        """The limits of a direction (its number in `directions`), neighbouring parts with the same limit joined."""
        return _joined(self.timeline.to_polars().filter(pl.col("direction") == direction).iter_rows(named=True))

    def report(self) -> str:
        """The report as one self-contained HTML page."""
        return filled_in("Capture.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes tables and report into a folder and returns its path."""
        return filled_in("Capture.save")(self, folder, overwrite=overwrite, report=report)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the points, for JSON."""
        found: list[dict[str, Any]] = []
        for row in self.directions.rows():
            stretches = [vars(stretch) for stretch in self.stretches(row["direction"])]
            found.append({**row, "stretches": stretches})
        return {"source": self.source, **self.facts, "warnings": self.warnings, "directions": found}


def analyze(
    capture: str | Path,
    *,
    points: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Capture:
    """Reads a capture and says for each direction of each TCP connection what limited it, and what line it was on.

    Parameters
    ----------
    capture
        A pcap or pcapng file, plain or compressed with gzip or zstd; `-`: standard input.
    points
        Also keep points of time-sequence diagrams, of the first 64 connections.
    progress
        Called now and then with the numbers of packets and connections read so far.

    Returns
    -------
    Capture
        Its tables and sentences. Times are in seconds since the capture's first packet, rates in bit/s of IP packets.

    Raises
    ------
    UsageError
        If the file does not exist or is no capture.

    Warns
    -----
    CaptureWarning
        If the capture is cut short or damaged.

    The limits follow T-RAT (Zhang et al., SIGCOMM 2002) and Siekkinen et al. (Computer Networks 2008), with pacing and
    the ACK path added; see `docs/analyze.md`.
    """
    name = os.fspath(capture)
    if not name:
        raise UsageError("the capture has no name; write - for standard input")
    tables, facts = _native.analyze(name, points=points, progress=progress)
    specs = catalogue.analysis_tables()
    found = Capture(name, **{key: Table(Columns(raw), specs[key]) for key, raw in tables.items()}, facts=facts)
    if facts["cut"]:
        warnings.warn(f"{name}: {found.warnings[0]}", CaptureWarning, stacklevel=2)
    return found


def _joined(bins: Iterator[Row]) -> list[Stretch]:
    found: list[Stretch] = []
    for row in bins:
        if not row["limit"]:
            continue
        begin, end = row["time_s"], row["time_s"] + row["width_s"]
        last = found[-1] if found else None
        if last is not None and last.limit == row["limit"] and begin - last.end_s < row["width_s"] / 2:
            before = last.end_s - last.begin_s
            confidence = (last.confidence * before + row["confidence"] * row["width_s"]) / (before + row["width_s"])
            packets = (last.first_packet or row["first_packet"], max(last.last_packet, row["last_packet"]))
            found[-1] = Stretch(last.begin_s, end, last.limit, confidence, *packets)
        else:
            found.append(Stretch(begin, end, row["limit"], row["confidence"], row["first_packet"], row["last_packet"]))
    return found
