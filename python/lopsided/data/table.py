"""`Table`: rows and columns that any dataframe library can read.

A table wraps a polars frame and exports it through the Arrow PyCapsule interface to DuckDB, pyarrow, pandas and others.
A column's name ends in its unit (`_s`, `_ms`, `_bps`, `_bytes`). Printed values are scaled to a suitable multiple of
the unit; stored values are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
"""A row of a table: maps each column's name to a number, a text, or `None`. The catalogue declares the columns."""


def check_ending(path: Path) -> None:
    """Raises UsageError if tables cannot be written with this extension."""
    if path.suffix not in (".parquet", ".csv", ".json", ".tex"):
        raise UsageError(f"{path.name}: a table is written as .parquet, .csv, .json or .tex")


class Table:
    """A table of a run.

    `table["column"]` is a polars series, `len(table)` is the number of rows, and `table.to_polars()` is the frame.
    `spec` declares the columns. If a column is not declared, its unit follows from its name.

    Examples
    --------
    >>> run.flows["goodput_bps"].max()
    >>> run.flows.write("flows.csv")
    """

    def __init__(self, source: pl.DataFrame | Lazy, spec: catalogue.TableSpec | None = None) -> None:
        self._source = source
        self._spec = spec

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], spec: catalogue.TableSpec | None = None) -> Table:
        """Builds a table from rows, with the columns of `spec`, or with all columns that occur in a row."""
        return Table(Rows(rows, spec), spec)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self._source.frame() if isinstance(self._source, Lazy) else self._source

    @property
    def columns(self) -> list[str]:
        """The names of the columns; each ends in its unit."""
        return self._source.columns

    def column(self, name: str) -> catalogue.Column:
        """Returns the declaration of a column: its unit, heading and meaning."""
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
        """Returns a column's values as numbers and strings, without building a data frame. A missing value is
        `None`."""
        return self._source.values(column) if isinstance(self._source, Lazy) else self._source[column].to_list()

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Returns a numeric column as an array, with NaN for a missing value.

        Builds no DataFrame if this process simulated the run.
        """
        if isinstance(self._source, Lazy):
            return self._source.numbers(column)
        return self._source[column].to_numpy().astype("float64")

    def among(self, column: str, words: Collection[str]) -> NDArray[np.bool_]:
        """Returns a mask that is true for the rows whose text in the given column is one of the words.

        Builds no DataFrame if this process simulated the run.
        """
        if isinstance(self._source, Lazy):
            return self._source.among(column, words)
        return self._source[column].is_in(list(words)).to_numpy()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Returns the rows as dictionaries."""
        return self._source.rows() if isinstance(self._source, Lazy) else self._source.iter_rows(named=True)

    def members(self) -> Iterator[str]:
        """Returns the members of each row's JSON object, one per line, with an indentation of two spaces."""
        return (self._source if isinstance(self._source, Lazy) else Rows(self.rows(), self._spec)).members()

    def picked(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the rows with the given indices, as dictionaries. Other rows are not converted."""
        if isinstance(self._source, Lazy):
            return self._source.picked(places)
        return self._source[list(places)].to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """Returns the polars frame without copying it."""
        return self._frame

    def to_pandas(self) -> pd.DataFrame:
        """Returns a pandas frame, with NaN for missing numbers. The method does not need pyarrow.

        Raises
        ------
        UsageError
            If pandas is not installed.
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
        """Writes the table and returns the path.

        Parameters
        ----------
        path
            The file to write: `.parquet`, `.csv`, `.json` or `.tex`. Values are scaled only in `.tex`.

        Raises
        ------
        UsageError
            If the file has another extension.
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
        """Returns the table as HTML, with values scaled for readers."""
        return filled_in("Table.view")(self).html()

    def to_latex(self, *columns: str) -> str:
        """Returns a LaTeX `tabular` (booktabs) with the given columns, or with all columns. The values are scaled for
        readers."""
        return filled_in("Table.view")(self, columns or None, most=len(self)).latex()

    def _repr_html_(self) -> str:
        return self.to_html()


def number(value: Any, default: float = math.nan) -> float:
    """Returns a value of a numeric column as a float; `default` replaces null.

    Type checkers need this conversion, because the declared type of a polars value includes all cell types.
    """
    return float(default if value is None else value)
