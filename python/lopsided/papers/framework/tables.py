"""Builds the tables of a reproduction from columns.

table(tests, {"test": lambda test: test.name, "rtt_ms": lambda test: m.value("alone", "rtt_ms", test=test.name)})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

import polars as pl

from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Comparison
from lopsided.papers.framework.published import PublishedValue

Row = TypeVar("Row")

Columns: TypeAlias = dict[str, Callable[[Row], object]]
"""Maps each heading to the function that computes its cell from a row: `Columns[Test]`."""


def table(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], object]]) -> pl.DataFrame:
    """Returns a frame with one row for each of `rows` and one column per heading.

    A spread is shown as its median. NaN is shown as an empty cell.
    """
    found = [{heading: _cell(read(row)) for heading, read in columns.items()} for row in rows]
    return pl.DataFrame(found, infer_schema_length=None).fill_nan(None)


def shown(experiment: str, *columns: str) -> Callable[[Measurements], Artifact]:
    """Returns a function that builds a table of an experiment's results, with one row per setting. If `columns` is
    empty, the table contains all columns."""

    def make(m: Measurements) -> Artifact:
        found = m.table(experiment)
        return Artifact(found.select(columns) if columns else found)

    return make


def _cell(value: object) -> object:
    return value.median if isinstance(value, Spread) else value


def compare(published: PublishedValue, value: Spread | float, remark: str = "", scale: float = 1.0) -> Comparison:
    """Compares a published value with a measured value. `scale` converts the measured value to the published unit."""
    spread = value if isinstance(value, Spread) else Spread.of(value)
    return Comparison(published, *spread.map(lambda each: each * scale), remark)
