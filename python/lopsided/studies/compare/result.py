"""The result of a comparison of worlds or runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from lopsided.data import units
from lopsided.data.catalogue import Column, run_tables
from lopsided.data.table import Table
from lopsided.data.view import Heading, Styled, View, heading
from lopsided.studies.starts import varies
from lopsided.studies.study import Block, Drawing, Headline, Source, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.scenario import Run, Scenario

TOLERANCES = {"goodput_bps": 0.05, "rtt_mean_ms": 0.10}
"""Largest accepted relative difference of each metric: the project's goals for the simulator."""

QUANTITIES = (
    *("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "rtt_std_ms", "retransmits"),
    *("dropped_packets", "mean_backlog_packets"),
)

Window = tuple[float, float]
Key = tuple[str, str]
"""Identifies a measured value: the flow or link direction, and the name of the metric."""


@dataclass(frozen=True)
class Row:
    """One metric of one flow or link direction in every world."""

    what: str
    quantity: str
    values: Mapping[str, tuple[float, ...]]
    """The values in each world, one per repetition."""
    tolerance: float | None

    @property
    def column(self) -> Column:
        """The heading and unit of the metric."""
        tables = run_tables()
        found = (column for name in ("flows", "links") for column in tables[name].columns)
        return next(column for column in found if column.name == self.quantity)

    def median(self, world: str) -> float:
        """Returns the median over the repetitions; NaN if there is no value."""
        found = [value for value in self.values[world] if not math.isnan(value)]
        return median(found) if found else math.nan

    def error(self, world: str, reference: str) -> float:
        """Returns the relative error of the median; NaN if the reference is 0."""
        return _relative(self.median(world), self.median(reference))

    def spread(self, world: str, reference: str) -> tuple[float, float]:
        """Returns the smallest and the largest relative error over the repetitions."""
        errors = [_relative(*pair) for pair in zip(self.values[world], self.values[reference], strict=True)]
        known = [error for error in errors if not math.isnan(error)]
        return (min(known), max(known)) if known else (math.nan, math.nan)

    def exceeds(self, world: str, reference: str) -> bool:
        return self.tolerance is not None and abs(self.error(world, reference)) > self.tolerance


@dataclass(frozen=True)
class Comparison(Study):
    """Measurements of the same flows in several worlds. The last world is the reference."""

    kind: ClassVar[str] = "compare"
    figures: ClassVar[Mapping[str, str]] = {"over_time": "Goodput and round trips over time, all worlds in one panel"}
    footer: ClassVar[str] = "`comparison.csv` next to this page contains all numbers of the page."

    scenario: Scenario
    worlds: tuple[str, ...]
    rows: tuple[Row, ...]
    examples: Mapping[str, Run]
    """The first repetition in each world, which the figure shows."""
    start_jitter_s: float | None = None
    """Range of the random start offset in seconds that the comparison added, if any."""

    @property
    def reference(self) -> str:
        """The world that the other worlds are compared with."""
        return self.worlds[-1]

    def beyond(self) -> list[tuple[Row, str]]:
        """Returns each pair of a metric and a world for which the metric's error exceeds the tolerance."""
        return [(row, world) for row in self.rows for world in self.worlds[:-1] if row.exceeds(world, self.reference)]

    def table(self) -> Table:
        """Returns a table with one row per metric: each world's median, error, and spread of errors."""
        return Table.of(self._flat(row) for row in self.rows)

    def _flat(self, row: Row) -> dict[str, object]:
        flat: dict[str, object] = {"what": row.what, "quantity": row.quantity}
        for world in self.worlds:
            flat[world] = row.median(world)
        for world in self.worlds[:-1]:
            least, most = row.spread(world, self.reference)
            flat[f"{world}_error"] = row.error(world, self.reference)
            flat[f"{world}_error_least"], flat[f"{world}_error_most"] = least, most
            flat[f"{world}_beyond"] = row.exceeds(world, self.reference)
        return flat

    @property
    def title(self) -> str:
        return f"{' and '.join(self.worlds)}: {self.scenario.heading}"

    def conclusions(self) -> list[str]:
        return verdict(self)

    def identity(self) -> dict[str, Any]:
        digests = {world: run.digest for world, run in self.examples.items()}
        return {"name": self.scenario.name, "worlds": list(self.worlds), "digests": digests}

    def results(self) -> dict[str, Any]:
        return {"rows": list(self.table().rows())}

    def files(self) -> Mapping[str, Table | str]:
        return {"scenario.toml": self.scenario.to_toml(), "comparison.csv": self.table()}

    def shown(self) -> Iterable[Block]:
        repeat = max(len(values) for row in self.rows for values in row.values.values()) if self.rows else 1
        kernel = self.examples[self.reference].facts.get("kernel")
        times = "one run" if repeat == 1 else f"medians of {repeat} runs"
        yield table(self)
        yield Source("", f"{times}; against {self.reference}{f' (Linux {kernel})' if kernel else ''}")

    def page(self) -> Iterable[Block]:
        yield Drawing("over_time", self.figures["over_time"])
        yield Headline("All quantities")
        yield table(self)
        yield Source("scenario.toml with all defaults", self.scenario.to_toml())

    def figure(self) -> Figure:
        """Draws goodput and RTT of every flow over time, in all worlds."""
        return self.plot()


def _relative(value: float, reference: float) -> float:
    if math.isnan(value) or math.isnan(reference):
        return math.nan
    if reference == 0:
        return 0.0 if value == 0 else math.nan
    return value / reference - 1


_WORDS = {"goodput_bps": "goodput", "rtt_mean_ms": "mean round trip"}


def verdict(found: Comparison) -> list[str]:
    """Returns the conclusions of the comparison as sentences."""
    said: list[str] = []
    for world in found.worlds[:-1]:
        said.extend(_of(found, world))
    return [*(said or ["No quantity was measured in both worlds."]), *varies(found.start_jitter_s)]


def _of(found: Comparison, world: str) -> Iterator[str]:
    reference = found.reference
    held = [row for row in found.rows if row.tolerance is not None and not math.isnan(row.error(world, reference))]
    if not held:
        return
    beyond = [row for row in held if row.exceeds(world, reference)]
    worst = max(beyond or held, key=lambda row: abs(row.error(world, reference)) / (row.tolerance or 1.0))
    furthest = (
        f"the largest difference is in the {_WORDS.get(worst.quantity, worst.column.heading)} of {worst.what}, by "
        f"{units.change(worst.error(world, reference))} (tolerance {100 * (worst.tolerance or 0.0):g} %)"
    )
    if beyond:
        verb = "is beyond its" if len(beyond) == 1 else "are beyond their"
        many = f"{len(beyond)} of {len(held)} quantities {verb} tolerance"
        yield f"{world} differs from {reference}: {many}; {furthest}."
    else:
        yield f"{world} agrees with {reference} in all {len(held)} quantities that have a tolerance; {furthest}."
    for quantity in TOLERANCES:
        errors = [row.error(world, reference) for row in held if row.quantity == quantity]
        if len(errors) > 1:
            least, most = min(errors), max(errors)
            off = dict.fromkeys(units.change(each) for each in (least, most))
            yield f"{_WORDS[quantity].capitalize()} differs by {' to '.join(off)}."


_QUIET_PACKETS = 0.5
"""A direction without drops is omitted if its mean queue is shorter than this number of packets."""


def table(found: Comparison) -> View:
    """Returns a table with one row per metric. If there are several pairs of runs, the table also shows the spread of
    their errors."""
    reference, others = found.reference, found.worlds[:-1]
    repeated = any(len(values) > 1 for row in found.rows for values in row.values.values())
    quiet = _quiet(found)
    rows: list[list[str]] = []
    before = None
    for row in found.rows:
        if row.what in quiet:
            continue
        column = row.column
        cells: list[str] = [column.text(row.median(world)) for world in found.worlds]
        for world in others:
            style = "red" if row.exceeds(world, reference) else ""
            cells.append(Styled(_percent(row.error(world, reference)), style))
        if repeated:
            spreads = [row.spread(world, reference) for world in others]
            cells.append(", ".join(f"{_percent(least)} to {_percent(most)}" for least, most in spreads))
        rows.append(["" if row.what == before else row.what, heading(column).text, *cells])
        before = row.what
    names = _short(found.worlds)
    off = ["off by"] if len(others) == 1 else [f"{name} off by" for name in names[:-1]]
    numbers = [Heading(name, "median over the seeds" if repeated else "") for name in names]
    numbers += [Heading(text, f"relative error against {names[-1]}") for text in off]
    numbers += [Heading("spread", "least and largest error over the seeds")] if repeated else []
    left_out = f"off by: relative error against {names[-1]}"
    left_out += "; spread: least and largest error over the seeds" if repeated else ""
    left_out += f"; {len(quiet)} more directions with almost no waiting packets" if quiet else ""
    return View([Heading("", numeric=False), Heading("quantity", numeric=False), *numbers], rows, 2, left_out)


def _quiet(found: Comparison) -> list[str]:
    """Returns the directions without drops whose mean queue is shorter than `_QUIET_PACKETS` in every world."""
    by_place: dict[str, list[Row]] = {}
    for row in found.rows:
        by_place.setdefault(row.what, []).append(row)
    bounds = {"dropped_packets": 0.0, "mean_backlog_packets": _QUIET_PACKETS}
    return [
        place
        for place, rows in by_place.items()
        if all(row.median(world) <= bounds.get(row.quantity, -math.inf) for row in rows for world in found.worlds)
    ]


def _short(names: Sequence[str]) -> list[str]:
    """Shortens each path to its last component, unless two paths have the same last component."""
    last = [Path(name).name for name in names]
    return last if len(set(last)) == len(last) else list(names)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else units.change(share)
