"""Converts columns of the native module into frames."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lopsided import _native
from lopsided.data.rows import Lazy

# Functions import numpy only if they need it: the import takes longer than many a command.
if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_FORMATS: dict[str, Literal["I", "Q", "d"]] = {"u32": "I", "u64": "Q", "f64": "d"}
"""Formats of the numbers in columns that are bytes, as in the module `struct`."""
_BLOCK = 1_000
"""Number of rows that are converted to dictionaries at once."""


def frame(columns: dict[str, tuple[str, Any]]) -> pl.DataFrame:
    """Builds a frame from native columns. Each column has a type and data: bytes in the machine's byte order, or
    strings."""
    return Columns(columns).frame()


def _column(name: str, kind: str, data: Any) -> pl.Series:
    import numpy as np
    import polars as pl

    if kind == "text":
        return pl.Series(name, data, dtype=pl.String)
    if kind == "maybe":
        return pl.Series(name, data, dtype=pl.Int64)
    if kind == "word":
        codes, words = data
        return pl.Series(name, words, dtype=pl.String).gather(np.frombuffer(codes, dtype=np.uint32))
    # Missing values are NaN in the simulator and null in tables.
    values = np.frombuffer(data, dtype=_FORMATS[kind])
    if kind == "f64":
        return pl.Series(name, values, nan_to_null=bool(np.isnan(values).any()))
    return pl.Series(name, values.astype(np.int64))


class Columns(Lazy):
    """One table of the native module. A column is converted when it is read.

    This saves time, because a study reads few numbers from each of hundreds of runs.
    """

    def __init__(self, raw: dict[str, tuple[str, Any]]) -> None:
        self._raw = raw
        self.columns = list(raw)
        self._series: dict[str, pl.Series] = {}

    @property
    def height(self) -> int:
        if not self._raw:
            return 0
        kind, data = next(iter(self._raw.values()))
        return len(_numbers("u32", data[0]) if kind == "word" else _numbers(kind, data))

    def __getitem__(self, name: str) -> pl.Series:
        if name not in self._series:
            if name not in self._raw:
                import polars as pl

                raise pl.exceptions.ColumnNotFoundError(f'"{name}" not found')
            self._series[name] = _column(name, *self._raw[name])
        return self._series[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        import numpy as np

        kind, data = self._raw[name]
        if kind not in _FORMATS:
            return self[name].to_numpy().astype(np.float64)
        if kind == "f64":
            return np.frombuffer(data, dtype=np.float64)
        return np.frombuffer(data, dtype=_FORMATS[kind]).astype(np.int64).astype(np.float64)

    def among(self, name: str, words: Collection[str]) -> NDArray[np.bool_]:
        import numpy as np

        kind, data = self._raw[name]
        if kind != "word":
            return self[name].is_in(list(words)).to_numpy()
        codes, known = data
        wanted = np.array([word in words for word in known], dtype=bool)
        return wanted[np.frombuffer(codes, dtype=np.uint32)]

    def values(self, name: str) -> list[Any]:
        return _values(*self._raw[name])

    def rows(self) -> Iterator[dict[str, Any]]:
        # Python's numbers take four times the memory of the columns, so convert a few rows at a time.
        for first in range(0, self.height, _BLOCK):
            yield from self.picked(range(first, min(first + _BLOCK, self.height)))

    def members(self) -> Iterator[str]:
        for first in range(0, self.height, _BLOCK):
            yield from _native.json_members(self._raw, first, min(first + _BLOCK, self.height))

    def picked(self, places: Sequence[int]) -> list[dict[str, Any]]:
        values = [_values(kind, data, places) for kind, data in self._raw.values()]
        return [dict(zip(self._raw, row, strict=True)) for row in zip(*values, strict=True)]

    def frame(self) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame([self[name] for name in self._raw])


def _values(kind: str, data: Any, places: Sequence[int] | None = None) -> list[Any]:
    """Returns the values of a column: those of the given rows, or all values."""
    if kind == "word":
        codes, words = data
        return [words[code] for code in _values("u32", codes, places)]
    numbers = _numbers(kind, data)
    values = list(numbers) if places is None else [numbers[place] for place in places]
    if kind == "f64":
        return [None if value != value else value for value in values]  # Only NaN is not equal to itself.
    return values


def _numbers(kind: str, data: Any) -> Sequence[Any]:
    """Returns the values of a column that is not encoded as words, without a copy."""
    return memoryview(data).cast(_FORMATS[kind]) if kind in _FORMATS else data


class Frames(Mapping[str, "pl.DataFrame"]):
    """The native module's tables by name. A frame is built on the first read."""

    def __init__(self, tables: dict[str, dict[str, tuple[str, Any]]]) -> None:
        self._columns = {name: Columns(raw) for name, raw in tables.items()}
        self._made: dict[str, pl.DataFrame] = {}

    def columns(self, name: str) -> Columns:
        """Returns a table's columns without building a frame."""
        return self._columns[name]

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            self._made[name] = self._columns[name].frame()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
