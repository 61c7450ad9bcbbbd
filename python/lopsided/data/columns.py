"""From the columns that the native module hands over to frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

_KINDS = {"u32": np.uint32, "u64": np.uint64, "f64": np.float64}


def frame(columns: dict[str, tuple[str, Any]]) -> pl.DataFrame:
    """A frame of columns, each a kind and its data: octets in the machine's order, or texts."""
    return pl.DataFrame([_column(name, kind, data) for name, (kind, data) in columns.items()])


def _column(name: str, kind: str, data: Any) -> pl.Series:
    if kind == "text":
        return pl.Series(name, data, dtype=pl.String)
    if kind == "maybe":
        return pl.Series(name, data, dtype=pl.Int64)
    if kind == "word":
        codes, words = data
        return pl.Series(name, words, dtype=pl.String).gather(np.frombuffer(codes, dtype=np.uint32))
    series = pl.Series(name, np.frombuffer(data, dtype=_KINDS[kind]))
    # What does not exist is NaN in the simulator and null in a table.
    return series.fill_nan(None) if kind == "f64" else series.cast(pl.Int64)
