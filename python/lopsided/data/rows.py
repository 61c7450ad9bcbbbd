"""A table as a list of rows. A polars frame is built only if needed, because polars loads slowly."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from lopsided.data.catalogue import TableSpec


class Encoded(str):
    """JSON text with an indentation of two spaces. `print_json` does not encode it again."""

    __slots__ = ()


class Lazy:
    """Table data that has not been converted to a frame."""

    columns: list[str]
    """The names of the columns, in order."""

    @property
    def height(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> pl.Series:
        raise NotImplementedError

    def is_numeric(self, name: str) -> bool:
        """Returns true if the values of a column are numbers."""
        return all(isinstance(value, int | float) for value in self.values(name) if value is not None)

    def values(self, name: str) -> list[Any]:
        """Returns a column's values as numbers and strings. A missing value is `None`."""
        raise NotImplementedError

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Returns the values of a numeric column; NaN for a missing value."""
        raise NotImplementedError

    def among(self, name: str, words: Collection[str]) -> NDArray[np.bool_]:
        """Returns a mask that is true for the rows whose text in the given column is one of the words."""
        raise NotImplementedError

    def rows(self) -> Iterator[dict[str, Any]]:
        raise NotImplementedError

    def members(self) -> Iterator[str]:
        """Returns the members of each row's JSON object, one per line, with an indentation of two spaces."""
        return (json.dumps(row, indent=2)[2:-2] for row in self.rows())

    def picked(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the rows with the given indices, as dictionaries."""
        raise NotImplementedError

    def frame(self) -> pl.DataFrame:
        raise NotImplementedError


class Rows(Lazy):
    """Rows in memory. The columns are those of `spec`; without `spec`, all columns that occur in a row.

    A missing value is `None`. As in a frame, integers in a column of floats become floats.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], spec: TableSpec | None = None) -> None:
        found = [dict(row) for row in rows]
        self._spec = spec
        self.columns = (
            [column.name for column in spec.columns]
            if spec
            else list(dict.fromkeys(key for row in found for key in row))
        )
        values = {name: _alike([row.get(name) for row in found], self._is_float(name)) for name in self.columns}
        self._rows = [dict(zip(self.columns, row, strict=True)) for row in zip(*values.values(), strict=True)]

    def _is_float(self, name: str) -> bool:
        return self._spec is not None and self._spec[name].kind == "float"

    @property
    def height(self) -> int:
        return len(self._rows)

    def __getitem__(self, name: str) -> pl.Series:
        return self.frame()[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        import numpy as np

        return np.array([np.nan if row[name] is None else row[name] for row in self._rows], dtype=np.float64)

    def among(self, name: str, words: Collection[str]) -> NDArray[np.bool_]:
        import numpy as np

        return np.array([row[name] in words for row in self._rows], dtype=bool)

    def values(self, name: str) -> list[Any]:
        return [row[name] for row in self._rows]

    def rows(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def picked(self, places: Sequence[int]) -> list[dict[str, Any]]:
        return [dict(self._rows[place]) for place in places]

    def frame(self) -> pl.DataFrame:
        import polars as pl

        if self._spec is not None:
            return self._spec.frame(self._rows)
        return pl.DataFrame(self._rows, infer_schema_length=None)


_PLAIN = (bool, int, float, str)


def _python(value: Any) -> Any:
    item = getattr(value, "item", None)
    return value if item is None else item()


def _alike(values: list[Any], is_float: bool) -> list[Any]:
    """Returns a column's values as plain numbers and strings. If one number is a float, all numbers become floats."""
    plain = [value if value is None or isinstance(value, _PLAIN) else _python(value) for value in values]
    if is_float or any(isinstance(value, float) for value in plain):
        return [float(value) if isinstance(value, int) and not isinstance(value, bool) else value for value in plain]
    return plain
