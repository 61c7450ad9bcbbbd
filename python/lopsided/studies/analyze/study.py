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
from collections.abc import Callable
from pathlib import Path

from lopsided import _native
from lopsided.data import catalogue
from lopsided.data.columns import Columns
from lopsided.data.table import Table
from lopsided.errors import CaptureWarning, UsageError
from lopsided.studies.analyze.result import Capture

STANDARD_INPUT = "-"


def analyze(
    capture: str | Path,
    other: str | Path | None = None,
    *,
    points: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Capture:
    """Reads a capture and says for each direction of each TCP connection what limited it, and what line it was on.

    Parameters
    ----------
    capture
        A pcap or pcapng file, plain or compressed with gzip or zstd; `-`: standard input.
    other
        A second capture of the same flows at another point. The clocks are aligned (offset and skew), and each packet
        of one capture is found in the other. All packets are then held in memory. Neither may be standard input.
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
    second = None if other is None else os.fspath(other)
    if second is not None and STANDARD_INPUT in (name, second):
        raise UsageError("two captures are read twice: name files, not standard input")
    for each in (name, second):
        if each not in (None, STANDARD_INPUT):
            _check_file(each)
    tables, facts = _native.analyze(name, points=points, other=second, progress=progress)
    specs = catalogue.analysis_tables()
    made = {key: Table(Columns(raw), specs[key]) for key, raw in tables.items()}
    alone, both = (made["directions"], made["timeline"], made["points"]), (made["between"], made["passages"])
    found = Capture(name, *alone, *both, facts)
    if facts["cut"]:
        warnings.warn(f"{name}: {found.warnings[0]}", CaptureWarning, stacklevel=2)
    return found


def _check_file(name: str) -> None:
    if not Path(name).exists():
        raise UsageError(f"{name} does not exist")
    if Path(name).is_dir():
        raise UsageError(f"{name} is a folder; name a capture in it")
