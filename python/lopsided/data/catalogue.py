"""Declares all tables and columns: name, unit, heading and meaning.

The declarations are in `crates/sim/src/results.rs` for the tables of a run, and in `study_tables.csv` for the tables of
studies. Files, printed tables, reports and `docs/results.md` use these declarations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from lopsided import _native
from lopsided.data import units

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["integer", "float", "text"]
Unit = Literal[
    "text", "label", "count", "packets", "number", "share", "ratio", "index", "s", "tenths", "start", "instant", "ms",
    "ms2", "bps", "bytes",
]  # fmt: skip
"""The unit of a column.

`tenths` is a duration in seconds with one decimal. `instant` and `start` are points in time of a run, in seconds;
`start` is rounded to 0.01 s. `index` is a number from 0 to 1.
"""


@dataclass(frozen=True)
class Column:
    """A column: name, type, unit, heading, and meaning."""

    name: str
    unit: Unit
    heading: str
    meaning: str = ""
    kind: Kind = "float"

    @property
    def numeric(self) -> bool:
        """True if the values are numbers. Tables align numbers to the right."""
        return self.unit != "text"

    def text(self, value: object) -> str:
        """Returns the value as text for readers, in a suitable multiple of the unit."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(value)
        return _WRITERS[self.unit](value)


@dataclass(frozen=True)
class TableSpec:
    """A table's declaration: name, contents, and columns in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """The data types of the columns, in order."""
        import polars as pl

        types: dict[Kind, type[pl.DataType]] = {"integer": pl.Int64, "float": pl.Float64, "text": pl.String}
        return {column.name: types[column.kind] for column in self.columns}

    def frame(self, rows: Iterable[Mapping[str, Any]] = ()) -> pl.DataFrame:
        """Builds a frame with the columns of this table. Missing values become null."""
        import polars as pl

        return pl.DataFrame([dict(row) for row in rows], schema=self.schema)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


_WRITERS: dict[Unit, Callable[[float], str]] = {
    "text": str,
    "label": lambda value: f"{value:g}" if isinstance(value, float) else str(value),
    "count": units.count,
    "packets": lambda value: f"{value:,} pkt" if isinstance(value, int) else f"{value:.1f} pkt",
    "number": _number,
    "share": units.percent,
    "ratio": lambda value: f"{value:.2f}",
    "index": lambda value: f"{value:.3f}",
    "s": lambda value: units.millis(value * 1e3),
    "tenths": lambda value: f"{value:.1f} s",
    "start": lambda value: f"{round(value, 2):g} s",
    "instant": lambda value: f"{value:.6g} s",
    "ms": units.millis,
    "ms2": _number,
    "bps": units.rate,
    "bytes": units.size,
}


@cache
def run_tables() -> dict[str, TableSpec]:
    """Returns the declarations of a run's tables. The most frequently used tables come first."""
    return _tables(_native.catalogue())


@cache
def analysis_tables() -> dict[str, TableSpec]:
    """Returns the declarations of the tables that `lopsided analyze` writes."""
    return _tables(_native.analysis_tables())


def _tables(declared: Iterable[tuple[str, str, Iterable[tuple[str, Kind, Unit, str, str]]]]) -> dict[str, TableSpec]:
    found = [
        TableSpec(name, meaning, tuple(_declared(*column) for column in columns)) for name, meaning, columns in declared
    ]
    return {table.name: table for table in found}


_INSTANTS: Mapping[str, Unit] = {
    **dict.fromkeys(("time_s", "outstanding_max_s"), "instant"),
    **dict.fromkeys(("start_s", "stop_s"), "start"),
}
"""Columns that contain points in time, which need more digits than durations.

Starts and stops of flows are rounded to 0.01 s.
"""


def _declared(name: str, kind: Kind, unit: Unit, heading: str, meaning: str) -> Column:
    return Column(name, _INSTANTS.get(name, unit), heading, meaning, kind)


def drop_reasons() -> dict[str, str]:
    """Returns the reasons in the table `drops`, with their meaning."""
    return dict(_native.reasons()[0])


def mark_reasons() -> dict[str, str]:
    """Returns the reasons in the table `marks`, with their meaning."""
    return dict(_native.reasons()[1])


_ENDINGS: dict[str, Unit] = {"_bps": "bps", "_bytes": "bytes", "_ms": "ms", "_ms2": "ms2", "_s": "s"}


def unknown(name: str, *, numeric: bool) -> Column:
    """Declares a column that is not in the catalogue. The unit follows from the end of the column's name."""
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    if "." in name:
        return Column(name, _ENDINGS.get(ending, "number") if numeric else "text", name)
    unit: Unit = _ENDINGS.get(ending, "number") if numeric else "text"
    return Column(name, unit, name.removesuffix(ending).replace("_", " "))
