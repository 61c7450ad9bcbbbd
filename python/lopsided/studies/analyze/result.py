"""The result of the analysis of a capture."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from lopsided._native import __version__
from lopsided.accessors import filled_in
from lopsided.data import units
from lopsided.data.rows import Encoded
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import view
from lopsided.errors import UsageError
from lopsided.studies.analyze.limits import Stretch, joined
from lopsided.studies.analyze.verdict import name, sentences
from lopsided.studies.analyze.views import acks, between, clocks, limits, overview, path, timeline
from lopsided.studies.study import Block, Drawing, Headline, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DRAWN = 4
_MOST_ROWS = 400
_BLOCK = 1_000


class Sorted(Sequence[Row]):
    """The rows of a table, sorted by a column, largest value first. A row is converted to a dictionary only when it is
    read, because a capture may have 100,000 directions."""

    def __init__(self, table: Table, column: str) -> None:
        self._table = table
        # The sort is stable: rows with equal values keep the order of the table.
        self._places = sorted(range(len(table)), key=table.values(column).__getitem__, reverse=True)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return self._table.picked(self._places[place])
        return self._table.picked([self._places[place]])[0]

    def __iter__(self) -> Iterator[Row]:
        # Reading rows in blocks is faster than reading single rows.
        for first in range(0, len(self._places), _BLOCK):
            yield from self[first : first + _BLOCK]


@dataclass(frozen=True)
class Capture(Study):
    """The TCP connections of a capture, and the limits that determine their speed."""

    kind: ClassVar[str] = "analyze"
    footer: ClassVar[str] = (
        "Times count from the first packet of the capture. `directions.csv`, `timeline.csv` and `points.csv` next to "
        "this page contain all numbers of the page. Column names end with the unit."
    )

    source: str
    """Path of the capture; `-` for standard input."""
    directions: Table
    """One row per direction of a connection that carries data."""
    timeline: Table
    """Limits and metrics of each direction over time."""
    points: Table
    """Points of time-sequence diagrams; empty unless `points=True` was passed to `analyze`."""
    between: Table
    """One row for each direction that both captures contain, if there is a second capture."""
    passages: Table
    """The packets of both captures with aligned clocks, if there is a second capture."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Facts about the whole capture.

    - `frames`, `segments`, `connections`;
    - `passed_over`: frames that are not TCP;
    - `snapped`: frames cut to the snap length;
    - `cut`: true if the file is incomplete;
    - `backwards`: frames out of order;
    - `begin_s`: time of the first packet in Unix time;
    - `elapsed_s`: time between the first and the last packet;
    - with a second capture, `clock_offset_s` (second clock minus first, at the first packet) and `clock_skew_ppm`
      (positive if the second clock is faster).
    """

    chosen: Sequence[Row] | None = None
    """The directions to describe in full; default: the two directions with the most data."""

    @cached_property
    def largest(self) -> Sequence[Row]:
        """The directions, sorted by amount of data, largest first."""
        return Sorted(self.directions, "data_bytes")

    @property
    def warnings(self) -> list[str]:
        """Warnings about defects of the capture itself."""
        facts = self.facts
        said: list[str] = []
        if facts["cut"]:
            said.append(
                f"the capture is cut short or damaged after packet {facts['frames']:,}; the packets before were read"
            )
        if not facts["segments"]:
            said.append("the capture has no readable TCP packet")
        elif facts["passed_over"]:
            said.append(
                f"{facts['passed_over']:,} of {facts['frames']:,} packets were ignored: not TCP, fragments or cut"
            )
        if facts["backwards"]:
            said.append(f"{facts['backwards']:,} packets are out of order in time; they were read in the file's order")
        return said

    def stretches(self, direction: int) -> list[Stretch]:
        """Returns the periods of the direction with this number in `directions`."""
        # The rows of a direction are adjacent, and the directions are in order.
        first = bisect_left(self._bin_directions, direction)
        end = bisect_right(self._bin_directions, direction)
        return joined(self.timeline.picked(range(first, end)))

    @cached_property
    def _bin_directions(self) -> list[int]:
        return self.timeline.values("direction")

    @property
    def title(self) -> str:
        many = counted(self.facts["connections"], "connection")
        return f"{many} in {self.facts['segments']:,} TCP packets of {units.seconds(self.facts['elapsed_s'])}"

    @property
    def details(self) -> str:
        return self.source

    @property
    def _in_full(self) -> Sequence[Row]:
        return self.largest[:2] if self.chosen is None else self.chosen

    def conclusions(self) -> list[str]:
        if not self.largest:
            return ["No connection carried data."]
        return [part for row in self._in_full for part in (f"**{name(row)}**: {' '.join(sentences(row))}", "")]

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("capture", Path(self.source).name),
            ("length", units.seconds(self.facts["elapsed_s"])),
            ("packets", f"{self.facts['frames']:,}"),
            ("lopsided", __version__),
        ]

    def manifest(self) -> dict[str, Any]:
        return {"kind": "analysis", "lopsided": __version__, "capture": Path(self.source).name}

    def files(self) -> Mapping[str, Table | str]:
        tables = {"directions": self.directions, "timeline": self.timeline, "points": self.points}
        if len(self.between):
            tables |= {"between": self.between, "passages": self.passages}
        return {f"{key}.{ending}": table for key, table in tables.items() for ending in ("csv", "parquet")}

    def plot(self, kind: str = "") -> Figure:
        """Plots sequence numbers over time for the direction with this number; default: the direction with the most
        data.

        Raises UsageError if there are no points for this direction.
        """
        wanted = next((row for row in self.largest if kind in ("", str(row["direction"]))), None)
        if wanted is None or wanted["direction"] not in self.points.values("direction"):
            raise UsageError(f"there are no points to draw of direction {kind}")
        return filled_in("Capture.plot")(self, wanted)

    def shown(self) -> Iterable[Block]:
        if not self.largest:
            return
        yield overview(self.largest)
        yield from self._both()
        for row in self._in_full:
            yield Headline("", f"#{row['direction']}  {name(row)}")
            yield from (limits(row), path(row), acks(row))
            if stretches := self.stretches(row["direction"]):
                yield timeline(stretches)

    def page(self) -> Iterable[Block]:
        yield from (f"Note: {warning}." for warning in self.warnings)
        yield Headline("Connections")
        yield overview(self.largest, most=_MOST_ROWS)
        yield from self._both()
        for row in self.largest[:_MOST_DRAWN]:
            yield Headline(name(row))
            yield " ".join(sentences(row))
            yield Drawing(str(row["direction"]), f"Time and sequence numbers of {name(row)}")
            yield from (limits(row), path(row), acks(row))
            yield Headline("What limited it, over time", level=3)
            yield timeline(self.stretches(row["direction"]), most=_MOST_ROWS)
        yield Headline("All measurements")
        yield view(self.directions, keys=1, most=_MOST_ROWS, where=" in directions.csv")

    def _both(self) -> Iterable[Block]:
        if len(self.between):
            yield from (clocks(self.facts), between(self.between.rows()))

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole result for JSON, without the points."""
        stretches = map(joined, self._intervals())
        rows = zip(self.directions.rows(), stretches, strict=True)
        return self._whole([{**row, "stretches": [vars(stretch) for stretch in found]} for row, found in rows])

    def streamed(self) -> dict[str, Any]:
        """Returns `to_dict` with an iterator over the JSON texts of the directions, because a capture may have 100,000
        directions."""
        rows = zip(self.directions.members(), self._intervals(), strict=True)
        return self._whole(Encoded(f'{{\n{row},\n  "stretches": {_encoded(joined(bins))}\n}}') for row, bins in rows)

    def _intervals(self) -> Iterator[Iterable[Row]]:
        """Returns the intervals of each direction."""
        # Both tables are sorted by direction, and each direction has at least one interval.
        return (bins for _direction, bins in groupby(self.timeline.rows(), itemgetter("direction")))

    def _whole(self, directions: object) -> dict[str, Any]:
        both = {"between": list(self.between.rows())} if len(self.between) else {}
        return {"source": self.source, **self.facts, "warnings": self.warnings, "directions": directions, **both}


_BETWEEN = ",\n"
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",\n      ", ": "))


def _encoded(stretches: Iterable[Stretch]) -> str:
    """Returns the JSON text of a direction's periods."""
    texts = [f"    {{\n      {_ENCODER.encode(vars(stretch))[1:-1]}\n    }}" for stretch in stretches]
    return f"[\n{_BETWEEN.join(texts)}\n  ]" if texts else "[]"
