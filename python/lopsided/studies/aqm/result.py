"""The result of a comparison of queue disciplines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lopsided.data import units
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import View, view
from lopsided.studies.aqm.disciplines import Direction, Discipline
from lopsided.studies.starts import varies
from lopsided.studies.study import Block, Drawing, Headline, Note, Source, Study, Terms

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

_CELLS = (
    *("goodput_bps", "jain", "rtt_p50_ms", "rtt_p95_ms", "sojourn_p50_ms", "sojourn_p95_ms"),
    *("dropped_packets", "drop_ratio", "marked_packets", "datagram_p95_ms", "datagram_loss"),
)
_USERS = (
    "page_p50_s",
    "page_p95_s",
    "transfer_p50_s",
    "transfer_p95_s",
    "probe_ms",
    "load_ms",
    "rpm",
    "rpm_confidence",
)
CAPTION = (
    "medians over the seeds; sojourn: time in the queue; RTT: of packets, each with the mean of its sampling interval; "
    "RPM: round trips per minute under load; probe: a request on a new connection, per round trip"
)
_MEANING = (
    "Every discipline ran the same scenario with the same seeds. Numbers are medians over the seeds, and cover whole "
    "runs. **Wait** is the time that single packets spend in the queue. **RTT** is the RTT of the flows' packets; each "
    "packet counts with the mean of its sampling interval. **RPM**, round trips per minute, is the mean of two rates: "
    "a minute divided by the delay of requests on new connections (**probe**, per round trip), and a minute divided by "
    "the RTT of the bulk flows' packets (**loaded RTT**), both without their slowest 5 % "
    "(draft-ietf-ippm-responsiveness). Waiting times in a sender's socket are not included. In the figure of delay "
    "against throughput, each point is a seed, and delay grows to the left."
)
_ALIKE = 0.05
"""Values count as equal if their relative difference is below this fraction."""
_SAME = 0.01
"""Goodputs count as equal if their relative difference is below this fraction."""
_LOST = 0.01
"""Smallest fraction of lost datagrams that the sentences mention."""


@dataclass(frozen=True)
class Aqm(Study):
    """The result of a comparison of queue disciplines.

    `cells` has one row per discipline and direction, and `users` has one row per discipline. Both contain medians over
    the seeds. `runs` and `user_runs` contain the values of every seed. `delays` contains the distributions of RTT and
    sojourn time.
    """

    kind: ClassVar[str] = "aqm"
    figures: ClassVar[Mapping[str, str]] = {"delays": "Distributions of delay", "ellipse": "Delay against throughput"}
    footer: ClassVar[str] = (
        "The tables next to this page (`cells`, `users`, `runs`, `user_runs`, `delays`) contain all numbers of the "
        "page. Column names end with the unit."
    )

    scenario: Scenario
    """The scenario with the added workload and probe. Its queues are the queues of the scenario file."""
    disciplines: tuple[Discipline, ...]
    links: Mapping[Direction, str]
    workload: str | None
    ecn: bool
    worlds: tuple[str, ...]
    repeat: int
    seed: int
    cells: Table
    users: Table
    runs: Table
    user_runs: Table
    delays: Table
    digest: str
    start_jitter_s: float | None = None
    """Default range, in seconds, of the random offset of the flows' start times; `None` if the user set the range."""

    @property
    def title(self) -> str:
        return f"{len(self.disciplines)} queue disciplines: {self.scenario.heading}"

    @property
    def details(self) -> str:
        load = f" · workload {self.workload}" if self.workload else ""
        marks = " · ECN" if self.ecn else ""
        return f"{', '.join(self.worlds)} · {counted(self.repeat, 'seed')}{load}{marks} · digest of all {self.digest}"

    def conclusions(self) -> list[str]:
        return verdict(self)

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("world", ", ".join(self.worlds)),
            ("simulated", units.seconds(self.scenario.duration_s)),
            ("queues before", ", ".join(f"{link} {way}" for way, link in self.links.items())),
            ("workload", self.workload or "the scenario's own flows"),
            ("ECN", "on" if self.ecn else "as in the scenario file"),
            ("seeds", f"{self.repeat} from {self.seed}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {
            "name": self.scenario.name,
            "worlds": list(self.worlds),
            "queues": {each.label: each.queue for each in self.disciplines},
            "links": dict(self.links),
            "workload": self.workload,
            "ecn": self.ecn,
            "repeat": self.repeat,
            "seed": self.seed,
            "start_jitter_s": self.start_jitter_s,
            "digest": self.digest,
        }

    def results(self) -> dict[str, Any]:
        return {"cells": list(self.cells.rows()), "users": list(self.users.rows())}

    def files(self) -> Mapping[str, Table | str]:
        tables = {"cells": self.cells, "users": self.users, "runs": self.runs, "user_runs": self.user_runs}
        csv = {f"{name}.csv": table for name, table in {**tables, "delays": self.delays}.items()}
        return {"scenario.toml": self.scenario.to_toml(), **csv}

    def shown(self) -> Iterable[Block]:
        for way, link in self.links.items():
            yield Headline(way, f"queue before {link}")
            yield self.of_direction(way)
        if self.measured_of_users:
            yield Headline("users", "waiting times")
            yield self.felt()
        yield f"{CAPTION}\n"

    def page(self) -> Iterable[Block]:
        yield from (Drawing(kind, title) for kind, title in self.figures.items())
        for way in self.links:
            yield Headline("Downlink" if way == "down" else "Uplink")
            yield self.of_direction(way)
        if self.measured_of_users:
            yield Headline("Waiting times of users")
            yield self.felt()
        yield Headline("Meaning of the numbers")
        yield _MEANING
        yield Headline("All measurements")
        for table, keys in ((self.cells, 3), (self.users, 2)):
            columns = [name for name in table.columns if name != "world" or len(self.worlds) > 1]
            keys -= len(table.columns) - len(columns)
            yield view(table, columns, keys=keys, most=400, where=" in the table files")
        yield Headline("Queues and scenario")
        yield Terms([(each.label, each.queue or "as in the scenario file") for each in self.disciplines], code=True)
        yield Source("scenario.toml with all defaults", self.scenario.to_toml())

    def of_direction(self, way: str) -> View:
        """Returns the table of one direction, with one row per discipline."""
        rows = [row for row in self.cells.rows() if row["direction"] == way]
        columns = [name for name in _CELLS if any(row[name] for row in rows)]
        return view(self.cells, (*self._keys, *columns), rows=rows, keys=len(self._keys))

    @property
    def measured_of_users(self) -> list[str]:
        """The columns with users' waiting times, without columns that have no value."""
        return [name for name in _USERS if any(value is not None for value in self.users.values(name))]

    def felt(self) -> View:
        """Returns the table of users' waiting times, with one row per discipline."""
        return view(self.users, (*self._keys, *self.measured_of_users), keys=len(self._keys))

    @property
    def _keys(self) -> tuple[str, ...]:
        return ("queue", "world") if len(self.worlds) > 1 else ("queue",)


@dataclass(frozen=True)
class Suite(Study):
    """The result of a suite: one comparison per section."""

    name: str
    sections: Mapping[str, Aqm]

    kind: ClassVar[str] = "aqm"

    @property
    def title(self) -> str:
        return f"Queue disciplines through {self.name}"

    def conclusions(self) -> list[str]:
        return suite_verdict(list(self.sections.values()))

    def identity(self) -> dict[str, Any]:
        first = next(iter(self.sections.values())).manifest()
        kept = {name: first[name] for name in ("queues", "ecn", "repeat", "seed")}
        return {**kept, "suite": self.name, "digests": {key: found.digest for key, found in self.sections.items()}}

    def rows(self) -> Iterator[Row]:
        for number, found in self.sections.items():
            for row in found.cells.rows():
                yield {"section": number, **row}

    def to_dict(self) -> dict[str, Any]:
        return {"suite": self.name, "cells": list(self.rows())}

    def files(self) -> Mapping[str, Table | str]:
        return {"cells.csv": Table.of(self.rows())}

    def parts(self) -> Mapping[str, Study]:
        return self.sections

    def shown(self) -> Iterable[Block]:
        for number, found in self.sections.items():
            yield Headline(f"{number} {found.scenario.title}", found.details)
            yield " ".join(found.conclusions())
            for way in found.links:
                if len(found.links) > 1:
                    yield way
                yield found.of_direction(way)
        yield f"{CAPTION}\n"

    def page(self) -> Iterable[Block]:
        yield (
            "Each section's own page is in the folder of its number, with distributions of delay, every seed and the "
            "scenario. Numbers are medians over the seeds."
        )
        for number, found in self.sections.items():
            yield Headline(f"{number} {found.scenario.title}")
            yield " ".join(found.conclusions())
            yield Drawing("ellipse", "Delay against throughput", found)
            for way in found.links:
                yield Note(way, link=f"{number}/report.html")
                yield found.of_direction(way)
            if found.measured_of_users:
                yield found.felt()


def verdict(found: Aqm) -> list[str]:
    """Returns sentences that compare each discipline with the first discipline, in the first world."""
    names = [each.label for each in found.disciplines]
    world = found.worlds[0]
    ways = _ways(found)
    users = {row["queue"]: row for row in found.users.rows() if row["world"] == world}
    if len(names) == 1:
        return [f"{names[0]} ran alone: name more disciplines in --queues to compare them."]
    said = [*_delay(ways), *_felt(users), *_datagrams(ways)]
    if said and len(found.worlds) > 1:
        said[0] = f"In {world}: {said[0]}"
    return said + varies(found.start_jitter_s)


def suite_verdict(sections: Sequence[Aqm]) -> list[str]:
    """Returns sentences that count the comparisons in which a discipline has the shortest RTT or the most goodput."""
    shortest, fullest = Counter[str](), Counter[str]()
    for found in sections:
        ways = _ways(found)
        if timed := _slowest(ways):
            shortest[min(timed, key=lambda name: timed[name])] += 1
        rates = _rates(ways)
        fullest[max(rates, key=lambda name: rates[name])] += 1
    if len(fullest) + len(shortest) == 0 or any(len(found.disciplines) < 2 for found in sections):
        return []
    many = f"{len(sections)} section{'' if len(sections) == 1 else 's'}"
    return [
        f"In {many}, round trips are shortest with {_in_how_many(shortest)}.",
        f"Goodput is highest with {_in_how_many(fullest)}.",
    ]


def _in_how_many(counts: Counter[str]) -> str:
    return ", ".join(f"{name} in {number}" for name, number in counts.most_common())


def _ways(found: Aqm) -> dict[str, dict[str, Row]]:
    """Returns the first world's row of `cells` for each discipline and direction."""
    return {
        each.label: {
            row["direction"]: row
            for row in found.cells.rows()
            if (row["queue"], row["world"]) == (each.label, found.worlds[0])
        }
        for each in found.disciplines
    }


def _slowest(ways: Mapping[str, Mapping[str, Row]]) -> dict[str, float]:
    """Returns the larger of the two directions' 95th RTT percentiles, in ms, for each discipline."""
    slow = {name: [row["rtt_p95_ms"] for row in rows.values() if row["rtt_p95_ms"]] for name, rows in ways.items()}
    return {name: max(values) for name, values in slow.items() if values}


def _rates(ways: Mapping[str, Mapping[str, Row]]) -> dict[str, float]:
    """Returns, for each discipline, the sum of the goodputs of both directions."""
    return {name: sum(row["goodput_bps"] or 0.0 for row in rows.values()) for name, rows in ways.items()}


def _delay(ways: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Yields sentences about the discipline with the shortest RTT (95th percentile), and about its total goodput."""
    timed = _slowest(ways)
    if len(timed) < 2:
        return
    first = next(iter(timed))
    best, worst = min(timed, key=lambda name: timed[name]), max(timed, key=lambda name: timed[name])
    if timed[worst] < (1 + _ALIKE) * timed[best]:
        yield (
            f"Round trips are similar with all disciplines: {units.millis(timed[best])} to "
            f"{units.millis(timed[worst])} at the 95th percentile of the slower direction."
        )
        return
    other = worst if first == best else first
    rates = _rates(ways)
    yield (
        f"Round trips are shortest with {best}: {units.millis(timed[best])} at the 95th percentile of the slower "
        f"direction ({other}: {units.millis(timed[other])})."
    )
    if rates[other]:
        change = _change(rates[best], rates[other], other)
        yield f"All flows together get {units.rate(rates[best])} with {best}, {change}."


def _change(rate: float, others: float, other: str) -> str:
    change = rate / others - 1
    if abs(change) < _SAME:
        return f"the same as with {other}"
    return f"{units.percent(abs(change))} {'less' if change < 0 else 'more'} than with {other}"


def _felt(users: Mapping[str, Row]) -> Iterator[str]:
    """Yields sentences about pages or transfers, and about responsiveness."""
    if len(users) < 2:
        return
    first = next(iter(users))
    parts: list[str] = []
    for column, what in (("page_p50_s", "pages load fastest"), ("transfer_p50_s", "transfers are fastest")):
        known = {name: row[column] for name, row in users.items() if row[column]}
        if first not in known or len(known) < 2:
            continue
        best = min(known, key=lambda name: known[name])
        held = first if best != first else max(known, key=lambda name: known[name])
        soonest, others = (units.millis(known[name] * 1e3) for name in (best, held))
        parts.append(f"{what} with {best} ({soonest} at the median, {held} {others})")
        break
    rpm = {name: row["rpm"] for name, row in users.items() if row["rpm"]}
    if first in rpm and len(rpm) > 1:
        best = max(rpm, key=lambda name: rpm[name])
        held = first if best != first else min(rpm, key=lambda name: rpm[name])
        parts.append(
            f"the line responds fastest with {best} ({rpm[best]:,.0f} round trips per minute, {held} {rpm[held]:,.0f})"
        )
    if parts:
        yield f"For users, {', and '.join(parts)}."


def _datagrams(ways: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    lost: dict[str, float] = {}
    for name, rows in ways.items():
        shares = [row["datagram_loss"] for row in rows.values() if row["datagram_loss"] is not None]
        if shares:
            lost[name] = max(shares)
    if len(lost) < 2 or max(lost.values()) < _LOST:
        return
    least, most = min(lost, key=lambda name: lost[name]), max(lost, key=lambda name: lost[name])
    yield (
        f"{least} loses the fewest datagrams ({units.percent(lost[least])}), and {most} the most "
        f"({units.percent(lost[most])})."
    )
