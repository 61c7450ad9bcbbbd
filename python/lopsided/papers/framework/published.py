"""Reads the published values of a paper: `published.csv` has one row per number.

Every file has the columns `where` (table, figure or section), `metric`, `value`, `unit`, `qualifier`, `kind`, `note`.
Additional columns are conditions that the paper varies, such as a buffer size. An empty cell means that the condition
does not apply to the row. `where`, the conditions and `metric` identify a row.

- `qualifier`: `eq` as printed; `approx`; `lt`, `le`, `gt`, `ge` bounds; `lo`, `hi` the two ends of a printed range.
- `kind`: `result` of the paper's measurements or simulations; `setting`; `computed` by arithmetic in the paper; `cited`
  from another work; `derived` from printed values when this file was compiled.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FIXED = ("where", "metric", "value", "unit", "qualifier", "kind", "note")
QUALIFIERS = ("eq", "approx", "lt", "le", "gt", "ge", "lo", "hi")
KINDS = ("result", "setting", "computed", "cited", "derived")
UNWRITTEN_UNITS = ("", "fraction", "ratio", "index", "count", "text", "h:mm:ss")
"""Units that are not printed after a number."""
_SIGNS = {"eq": "", "approx": "about ", "lt": "< ", "le": "≤ ", "gt": "> ", "ge": "≥ ", "lo": "from ", "hi": "up to "}


@dataclass(frozen=True)
class PublishedValue:
    """One published number or word, and the conditions under which the paper states it."""

    where: str
    conditions: Mapping[str, str]
    metric: str
    value: str
    unit: str
    qualifier: str
    kind: str
    note: str

    @property
    def number(self) -> float:
        """The value as a number; a time `h:mm:ss` is converted to seconds. Raises ValueError if the value is text."""
        if ":" in self.value:
            hours, minutes, seconds = self.value.split(":")
            return 3600 * float(hours) + 60 * float(minutes) + float(seconds)
        return float(self.value.replace(",", ""))

    def __str__(self) -> str:
        """Returns the value as text for a table cell: as in the paper, with qualifier and unit."""
        unit = "" if self.unit in UNWRITTEN_UNITS else f" {'%' if self.unit == 'percent' else self.unit}"
        return f"{_SIGNS[self.qualifier]}{self.value}{unit}"


class Published:
    """All published values of one paper."""

    def __init__(self, rows: tuple[PublishedValue, ...]) -> None:
        self.rows = rows

    @classmethod
    def load(cls, path: Path) -> Published:
        """Reads `published.csv`.

        Raises
        ------
        ValueError
            If a column is missing, a qualifier or kind is unknown, or two rows have the same place, conditions and
            metric. The message gives the line.
        """
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = set(FIXED) - set(reader.fieldnames or ())
            if missing:
                raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
            rows: dict[tuple[object, ...], PublishedValue] = {}
            for record in reader:
                row = _row(record, f"{path}:{reader.line_num}")
                key = (row.where, tuple(sorted(row.conditions.items())), row.metric)
                if key in rows:
                    raise ValueError(f"{path}:{reader.line_num}: the same value is listed twice")
                rows[key] = row
        return cls(tuple(rows.values()))

    def __iter__(self) -> Iterator[PublishedValue]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, where: str, metric: str, **conditions: object) -> PublishedValue:
        """Returns the only row with the given place, the given metric and (at least) the given conditions.

        Raises
        ------
        KeyError
            If no row or more than one row matches.
        """
        wanted = {name: str(value) for name, value in conditions.items()}
        found = [
            row
            for row in self.rows
            if row.where == where
            and row.metric == metric
            and all(row.conditions.get(name) == value for name, value in wanted.items())
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} published values for {metric!r} in {where!r} with {wanted}")
        return found[0]


def _row(record: Mapping[str, str], place: str) -> PublishedValue:
    if record["qualifier"] not in QUALIFIERS:
        raise ValueError(f"{place}: unknown qualifier {record['qualifier']!r}; there are {', '.join(QUALIFIERS)}")
    if record["kind"] not in KINDS:
        raise ValueError(f"{place}: unknown kind {record['kind']!r}; there are {', '.join(KINDS)}")
    conditions = {name: value for name, value in record.items() if name not in FIXED and value}
    return PublishedValue(conditions=conditions, **{name: record[name] for name in FIXED})
