"""Measures the TCP flows of any pcap or pcapng file.

    lop.trace("host-server.pcapng").to_polars()

The table `traces` of a run has the same columns, measured at the sending hosts. The definitions follow tcptrace;
`crates/trace/src/flow.rs` lists the differences.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from lopsided import _native
from lopsided.data import columns
from lopsided.data.table import Table
from lopsided.errors import CaptureWarning


def trace(path: str | Path) -> Table:
    """Returns one row per direction of a TCP connection with data.

    Parameters
    ----------
    path
        A pcap or pcapng file. RTTs and outstanding data are meaningful only in a capture at the sender.

    Raises
    ------
    FolderError
        If the file cannot be read.
    """
    ends, measures, _, _, cut = _native.trace(os.fspath(path))
    if cut:
        warnings.warn(
            f"{path} is cut short or damaged: only the packets before were read", CaptureWarning, stacklevel=2
        )
    return Table(columns.frame(ends).hstack(columns.frame(measures).drop("host", "flow")))
