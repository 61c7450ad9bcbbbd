"""What a capture says of its TCP flows: of any pcap or pcapng file.

    lop.trace("host-server.pcapng").to_polars()

A run says the same of its sending hosts in its table `traces`. Counts, elapsed time, round trips and outstanding data
are tcptrace's; `crates/trace/src/flow.rs` says how they differ.
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
    """One row for each direction of a TCP connection in the capture that carried data, seen from where it was taken.

    Round trips and outstanding data mean something where the capture was taken at the sender. Raises FolderError for a
    file that cannot be read.
    """
    ends, measures, _, _, cut = _native.trace(os.fspath(path))
    if cut:
        warnings.warn(f"{path} is cut short or damaged: what lies before was read", CaptureWarning, stacklevel=2)
    return Table(columns.frame(ends).hstack(columns.frame(measures).drop("host", "flow")))
