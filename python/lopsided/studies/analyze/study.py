"""Explains why the connections of a capture were slow.

    found = lop.analyze("capture.pcapng")
    found.directions          # one row for each direction that carried data
    found.timeline            # limits over time, with packet numbers
    found.save("analysis")    # tables and report.html

The Rust crate `crates/capture` reads the capture as a stream, so memory grows only with the number of connections.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from lopsided import _native
from lopsided.data import catalogue
from lopsided.data.columns import Columns
from lopsided.data.table import Row, Table
from lopsided.errors import CaptureWarning, UsageError
from lopsided.studies.analyze.result import Capture

STANDARD_INPUT = "-"
_Latest = tuple[str, int, str, int, float, float, float, float, int, str]
LATEST = (
    "from", "from_port", "to", "to_port", "goodput_bps", "rtt_mean_ms", "data_wait_ms", "ack_wait_ms",
    "retransmitted_packets", "limit",
)  # fmt: skip
"""The columns of a row that is passed to `live`."""


def analyze(
    capture: str | Path,
    other: str | Path | None = None,
    *,
    points: bool = False,
    progress: Callable[[int, int], object] | None = None,
    live: Callable[[list[Row]], object] | None = None,
) -> Capture:
    """Reads a capture and finds the limits and bottlenecks of each direction of its TCP connections.

    Parameters
    ----------
    capture
        A pcap or pcapng file, plain or compressed with gzip or zstd. `-` is standard input, which ends at Ctrl-C.
    other
        A second capture of the same flows at another point. The clocks are aligned and the packets are matched. Memory
        then grows with the number of packets. Neither capture can be standard input.
    points
        True to also store points of time-sequence diagrams, for the first 64 connections.
    progress
        Called with the numbers of packets and connections so far.
    live
        Called after each second of the capture with one row per active direction, fastest first. A row has columns of
        `directions` and `timeline`.

    Returns
    -------
    Capture
        Tables and sentences. Times are in seconds since the capture's first packet, rates in bit/s of IP packets.

    Raises
    ------
    UsageError
        If a file does not exist or is not a capture.

    Warns
    -----
    CaptureWarning
        If the capture is cut short or damaged.

    The limits follow T-RAT (Zhang et al., SIGCOMM 2002) and Siekkinen et al. (Computer Networks 2008). Pacing and the
    ACK path are additions; see `docs/analyze.md`.
    """
    name = os.fspath(capture)
    if not name:
        raise UsageError("the capture has no name; write - for standard input")
    second = None if other is None else os.fspath(other)
    if second is not None and STANDARD_INPUT in (name, second):
        raise UsageError("two captures cannot be read from standard input: name two files")
    for each in (name, second):
        if each not in (None, STANDARD_INPUT):
            _check_file(each)
    watching = None if live is None else _watching(live)
    tables, facts = _native.analyze(name, points=points, other=second, progress=progress, live=watching)
    specs = catalogue.analysis_tables()
    made = {key: Table(Columns(raw), specs[key]) for key, raw in tables.items()}
    alone, both = (made["directions"], made["timeline"], made["points"]), (made["between"], made["passages"])
    found = Capture(name, *alone, *both, facts)
    if facts["cut"]:
        warnings.warn(f"{name}: {found.warnings[0]}", CaptureWarning, stacklevel=2)
    return found


def _watching(live: Callable[[list[Row]], object]) -> Callable[[list[_Latest]], object]:
    """Returns a function that converts the directions of each second to rows and passes them to `live`."""

    def show(latest: list[_Latest]) -> object:
        return live([dict(zip(LATEST, row, strict=True)) for row in latest])

    return show


def _check_file(name: str) -> None:
    if not Path(name).exists():
        raise UsageError(f"{name} does not exist")
    if Path(name).is_dir():
        raise UsageError(f"{name} is a folder; name a capture in it")
