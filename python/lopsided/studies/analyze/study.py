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
    made = {key: Table(Columns(raw), specs[key]) for key, raw in tables.items()}
    found = Capture(name, made["directions"], made["timeline"], made["points"], facts)
    if facts["cut"]:
        warnings.warn(f"{name}: {found.warnings[0]}", CaptureWarning, stacklevel=2)
    return found
