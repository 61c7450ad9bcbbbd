"""`Table`: rows and columns of a run, readable by any dataframe library.

It wraps a polars frame and hands it over through the Arrow PyCapsule interface, so DuckDB, pyarrow, pandas and others
take it as it is. A column's name ends in its unit (`_s`, `_ms`, `_bps`, `_bytes`); what is printed is scaled for
reading, what is stored is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lopsided.accessors import filled_in
from lopsided.data import catalogue
from lopsided.data.rows import Lazy, Rows
from lopsided.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
    import polars as pl
    from numpy.typing import NDArray

Row: TypeAlias = dict[str, Any]
"""A line of a table, by column: a number or a text, None where there is none. Its columns stand in the catalogue."""


def check_ending(path: Path) -> None:
    """Raises UsageError if a table cannot be written in the format that the path's ending names."""
    if path.suffix not in (".parquet", ".csv", ".json", ".tex"):
        raise UsageError(f"{path.name}: a table is written as .parquet, .csv, .json or .tex")


class Table:
    """A table of a run.

    `table["column"]` is a polars series, `len(table)` its rows, `table.to_polars()` the frame itself. `spec` is what
    the catalogue says of its columns; a column that it does not know goes by its name.
    """

    def __init__(self, source: pl.DataFrame | Lazy, spec: catalogue.TableSpec | None = None) -> None:
        self._source = source
        self._spec = spec

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], spec: catalogue.TableSpec | None = None) -> Table:
        """A table of rows with the columns of `spec`, or those that occur in the rows."""
        return Table(Rows(rows, spec), spec)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self._source.frame() if isinstance(self._source, Lazy) else self._source

    @property
    def columns(self) -> list[str]:
        """The names of the columns, units at their ends."""
        return self._source.columns

    def column(self, name: str) -> catalogue.Column:
        """What a column is: its unit, its heading, its meaning."""
        for column in self._spec.columns if self._spec else ():
            if column.name == name:
                return column
        numeric = self._source.is_numeric(name) if isinstance(self._source, Rows) else None
        return catalogue.unknown(name, numeric=self._frame[name].dtype.is_numeric() if numeric is None else numeric)

    def __len__(self) -> int:
        return self._source.height

    def __getitem__(self, column: str) -> pl.Series:
        return self._frame[column] if isinstance(self._source, Rows) else self._source[column]

    def values(self, column: str) -> list[Any]:
        """The values of a column as numbers and texts, `None` for a missing one; no frame is made for it."""
        return self._source.values(column) if isinstance(self._source, Lazy) else self._source[column].to_list()

    def numbers(self, column: str) -> NDArray[np.float64]:
        """A numeric column as an array, NaN where there is no number; of a fresh run, no frame is made for it."""
        if isinstance(self._source, Lazy):
            return self._source.numbers(column)
        return self._source[column].to_numpy().astype("float64")

    def among(self, column: str, words: Collection[str]) -> NDArray[np.bool_]:
        """In which rows a column of texts has one of these; of a fresh run, no frame is made for it."""
        if isinstance(self._source, Lazy):
            return self._source.among(column, words)
        return self._source[column].is_in(list(words)).to_numpy()

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        return self._source.rows() if isinstance(self._source, Lazy) else self._source.iter_rows(named=True)

    def to_polars(self) -> pl.DataFrame:
        """The polars frame, not copied."""
        return self._frame

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame (pandas must be installed; pyarrow need not be). Missing numbers become NaN.

        Raises UsageError if pandas is not installed.
        """
        try:
            import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            said = "pandas is not installed: pip install 'lopsided[pandas]'; to_polars() needs nothing more"
            raise UsageError(said) from None
        return pd.DataFrame({series.name: series.to_numpy() for series in self._frame})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def write(self, path: str | Path) -> Path:
        """Writes the table as `.parquet`, `.csv`, `.json` or `.tex` (by the ending of `path`) and returns the path.

        LaTeX has values as people read them; the others have them as they are. Raises UsageError for another
        ending.
        """
        path = Path(path)
        writers: dict[str, Callable[[Path], object]] = {
            ".parquet": self._frame.write_parquet,
            ".csv": self._frame.write_csv,
            ".json": self._frame.write_json,
            ".tex": lambda place: place.write_text(self.to_latex(), encoding="utf-8"),
        }
        check_ending(path)
        writers[path.suffix](path)
        return path

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

    def __rich__(self) -> Any:
        return filled_in("Table.view")(self)

    def to_html(self) -> str:
        """A `<table>` of HTML, values written for people."""
        return filled_in("Table.view")(self).html()

    def to_latex(self, *columns: str) -> str:
        """A `tabular` for LaTeX (package booktabs) of these columns, or all; values written for people."""
        return filled_in("Table.view")(self, columns or None, most=len(self)).latex()

    def _repr_html_(self) -> str:
        return self.to_html()


def number(value: Any, default: float = math.nan) -> float:
    """A value out of a numeric column, such as its `max()`, as a number: polars types it as anything a cell may hold.

    `default` takes the place of null, as in an empty column.
    """
    return float(default if value is None else value)
