"""From the columns that the native module hands over to frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    # What does not exist is NaN in the simulator and null in a table.
    values = np.frombuffer(data, dtype=_KINDS[kind])
    if kind == "f64":
        return pl.Series(name, values, nan_to_null=bool(np.isnan(values).any()))
    return pl.Series(name, values.astype(np.int64))


class Frames(Mapping[str, pl.DataFrame]):
    """The tables that the native module hands over, each made a frame when it is first read: a sweep reads two."""

    def __init__(self, tables: dict[str, dict[str, tuple[str, Any]]]) -> None:
        self._raw = tables
        self._made: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            self._made[name] = frame(self._raw[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)
