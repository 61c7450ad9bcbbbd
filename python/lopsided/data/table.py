"""`Table`: rows and columns of a run, readable by any dataframe library.

It wraps a polars frame and hands it over through the Arrow PyCapsule interface, so DuckDB, pyarrow, pandas and others
take it as it is. A column's name ends in its unit (`_s`, `_ms`, `_bps`, `_bytes`); what is printed is scaled for
reading, what is stored is not.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.console import Group

_SHOWN_ROWS = 40


class Table:
    """A table of a run.

    `table["column"]` is a polars series, `len(table)` its rows, `table.to_polars()` the frame itself.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    @property
    def columns(self) -> list[str]:
        """The names of the columns, units at their ends."""
        return self._frame.columns

    def __len__(self) -> int:
        return self._frame.height

    def __getitem__(self, column: str) -> pl.Series:
        return self._frame[column]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        return self._frame.iter_rows(named=True)

    def to_polars(self) -> pl.DataFrame:
        """The polars frame, not copied."""
        return self._frame

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame (pandas must be installed; pyarrow need not be). Missing numbers become NaN."""
        import pandas as pd

        return pd.DataFrame({series.name: series.to_numpy() for series in self._frame})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def write(self, path: str | Path) -> Path:
        """Writes the table as `.parquet`, `.csv` or `.json` (by the ending of `path`) and returns the path."""
        path = Path(path)
        writers = {
            ".parquet": self._frame.write_parquet,
            ".csv": self._frame.write_csv,
            ".json": self._frame.write_json,
        }
        writer = writers.get(path.suffix)
        if writer is None:
            raise UsageError(f"{path.name}: a table is written as .parquet, .csv or .json")
        writer(path)
        return path

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

    def __rich__(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable

        shown = RichTable(box=box.SIMPLE_HEAD)
        for series in self._frame:
            shown.add_column(title(series.name), justify="right" if series.dtype.is_numeric() else "left", no_wrap=True)
        for row in self._frame.head(_SHOWN_ROWS).iter_rows(named=True):
            shown.add_row(*(text(column, value) for column, value in row.items()))
        left_out = self._left_out()
        return Group(shown, left_out) if left_out else Group(shown)

    def _repr_html_(self) -> str:
        numeric = {series.name for series in self._frame if series.dtype.is_numeric()}
        head = "".join(f"<th>{html.escape(title(column))}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(_html_cell(column, value, column in numeric) for column, value in row.items()) + "</tr>"
            for row in self._frame.head(_SHOWN_ROWS).iter_rows(named=True)
        )
        left_out = self._left_out()
        caption = f"<caption style='caption-side:bottom;text-align:left'>{left_out}</caption>" if left_out else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _left_out(self) -> str | None:
        hidden = len(self) - _SHOWN_ROWS
        return f"and {hidden:,} more rows" if hidden > 0 else None


def _html_cell(column: str, value: object, numeric: bool) -> str:
    align = ' style="text-align:right"' if numeric else ""
    return f"<td{align}>{html.escape(text(column, value))}</td>"


def from_columns(columns: Mapping[str, object]) -> Table:
    """A table from columns as sequences or arrays."""
    import polars as pl

    return Table(pl.DataFrame(dict(columns)))


_SUFFIXES = ("_bps", "_bytes", "_ms", "_s", "_ms2")


def number(value: Any, default: float = math.nan) -> float:
    """A value out of a numeric column, such as its `max()`, as a number: polars types it as anything a cell may hold.

    `default` takes the place of null, as in an empty column.
    """
    return float(default if value is None else value)


def title(column: str) -> str:
    """A column's name for people: no unit (the values carry it), no underscores."""
    for suffix in _SUFFIXES:
        if column.endswith(suffix) and "." not in column:
            column = column.removesuffix(suffix)
            break
    return column if "." in column else column.replace("_", " ")


def text(column: str, value: object) -> str:
    """A value for people, scaled by the unit in its column's name."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if column.endswith("_bps"):
        return units.rate(value)
    if column.endswith("_bytes"):
        return units.size(value)
    if column.endswith("_ms"):
        return units.millis(value)
    if column.endswith("_s"):
        return f"{value:.6g} s"
    if column.startswith(("utilisation", "harm_")) or column in ("share", "of_fair", "resent"):
        return units.percent(value)
    if column == "seed":
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
