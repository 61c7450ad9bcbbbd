"""What a capture says of its TCP flows: of any pcap or pcapng file, and at the sending hosts of a run.

    lop.trace("host-server.pcapng").to_polars()
    lop.Scenario.load("adsl.toml").with_(**{"record.traces": True}).run().traces

Counts, elapsed time, round trips and outstanding data are tcptrace's; `crates/trace/src/flow.rs` says how they differ.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.data.table import Table

if TYPE_CHECKING:
    import polars as pl

_COUNTS = ("packets", "packets_back", "data_packets", "data_bytes", "retransmitted_packets", "retransmitted_bytes")
_MEASURES = (
    "elapsed_s",
    *_COUNTS,
    "acked_bytes",
    "goodput_bps",
    "rtt_count",
    "rtt_mean_ms",
    "rtt_std_ms",
    "rtt_min_ms",
    "rtt_max_ms",
    "outstanding_mean_bytes",
    "outstanding_max_bytes",
    "outstanding_max_s",
)
_WHOLE = {*_COUNTS, "acked_bytes", "rtt_count", "outstanding_max_bytes", "from_port", "to_port"}
_WORDS = {"host", "flow", "from", "to"}


def trace(path: str | Path) -> Table:
    """One row for each direction of a TCP connection in the capture that carried data, seen from where it was taken.

    Round trips and outstanding data mean something where the capture was taken at the sender. Raises FolderError for a
    file that cannot be read.
    """
    from lopsided import _native

    rows, _, _ = _native.trace(os.fspath(path))
    return Table(_frame(rows, ("from", "from_port", "to", "to_port")))


def of_run(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `traces` of a run, from the world's rows."""
    return _frame(rows, ("host", "flow"))


def _frame(rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    def kind(column: str) -> type[pl.DataType]:
        return pl.String if column in _WORDS else pl.Int64 if column in _WHOLE else pl.Float64

    schema = {column: kind(column) for column in (*names, *_MEASURES)}
    return pl.DataFrame([dict(row) for row in rows], schema=schema)
