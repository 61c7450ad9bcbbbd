"""Defines the metrics of a search: goals, and limits to satisfy.

A name is a metric of `sweep` or a numeric column of `flows`. `goodput.download` is the goodput of the flow `download`,
`goodput.down` is the goodput of all downloads, and `goodput` is the goodput of all flows. For several flows, rates and
counts are summed, and other metrics are averaged. A column of `links` needs a link and a direction:
`sojourn_p95_ms.link.up`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lopsided.data import units
from lopsided.data.catalogue import Column, TableSpec, run_tables
from lopsided.data.suggestions import meant
from lopsided.errors import UsageError
from lopsided.metrics import jain_index
from lopsided.studies import sweep as sweeps

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

_OF_FLOWS = {
    "goodput": "goodput_overlap_bps",
    "rtt": "rtt_mean_ms",
    "rtt95": "rtt_p95_ms",
    "delay": "rtt_mean_ms",
    "delay95": "rtt_p95_ms",
    "loss": "loss_share",
    "retransmits": "retransmits",
    "completion": "completion_s",
}
_OF_RUNS = {"jain": "index", "performance": "share"}
_SUMMED = ("bps", "count", "bytes", "packets", "number")
_SIGNS = re.compile(r"\s*([^<>=\s][^<>=]*?)\s*(<=|>=|<|>)\s*([^<>=].*?)\s*")


@dataclass(frozen=True)
class Metric:
    """A number that is computed from a run: a table column for all flows, for some flows or for one link."""

    text: str
    table: Literal["flows", "links", "run"]
    column: str
    whose: str = ""
    """Name of the measured flow, group or direction, or of a link and its direction; empty for all flows."""
    unit: str = "number"

    @classmethod
    def of(cls, text: str, scenario: Scenario) -> Metric:
        """Parses a metric. Raises UsageError if there is no such flow or link."""
        name, _, whose = (part.strip() for part in text.strip().partition("."))
        flows, links = run_tables()["flows"], run_tables()["links"]
        if name in _OF_RUNS:
            if whose:
                raise UsageError(f"{text}: {name} is a metric of the whole run; leave out .{whose}")
            return cls(name, "run", name, unit=_OF_RUNS[name])
        if name == "goodput" or name in _OF_FLOWS or (_numeric(flows, name) and not _is_link(whose, scenario)):
            column = _OF_FLOWS.get(name, name)
            unit = {"goodput_overlap_bps": "bps", "loss_share": "share"}.get(column) or flows[column].unit
            _check_flow(text, whose, scenario)
            return cls(text.strip(), "flows", column, whose, unit)
        if _numeric(links, name):
            _check_link(text, whose, scenario)
            return cls(text.strip(), "links", name, whose, links[name].unit)
        known = [*_OF_FLOWS, *_OF_RUNS, *(each.name for table in (flows, links) for each in table.columns)]
        found, names = meant(name, known), ", ".join([*_OF_FLOWS, *_OF_RUNS])
        said = f"did you mean {found!r}?" if found else f"there are {names}, and the columns of flows and links"
        raise UsageError(f"no metric {name!r}; {said}")

    def of_run(self, run: Run) -> float | None:
        """Returns the value of the metric in a run. Returns `None` if the run has no value, for example because a
        transfer is incomplete."""
        if self.table == "run":
            together = sweeps.together_goodput(run)
            if self.column == "performance":
                return None if together is None else sweeps.performance_of(run, together)
            rates = list(together.values()) if together else run.flows["goodput_bps"].to_list()
            return jain_index(rates) if any(rates) else None
        if self.table == "links":
            rows = [row for row in run.links.rows() if f"{row['link']}.{row['direction']}" == self.whose]
            return _known(rows[0][self.column]) if rows else None
        rows = [row for row in run.flows.rows() if self.whose in ("", row["name"], row["group"], row["direction"])]
        if self.column == "loss_share":
            sent = sum(row["data_segments_out"] for row in rows)
            return sum(row["retransmits"] for row in rows) / sent if sent else None
        if self.column == "goodput_overlap_bps":
            together = sweeps.together_goodput(run) or {row["name"]: row["goodput_bps"] for row in rows}
            return sum(together[row["name"]] for row in rows)
        values = [_known(row[self.column]) for row in rows]
        known = [value for value in values if value is not None]
        if not known:
            return None
        return sum(known) if self.unit in _SUMMED else sum(known) / len(known)

    @property
    def stored(self) -> Column:
        """The metric's column in the table of trials."""
        ending = {"bps": "_bps", "ms": "_ms", "s": "_s", "bytes": "_bytes"}.get(self.unit, "")
        name = self.text if not ending or self.text.endswith(ending) else f"{self.text}{ending}"
        return Column(name, self.unit, self.text, "Mean over the seeds.")  # pyright: ignore[reportArgumentType]

    def shown(self, value: float | None) -> str:
        """Returns a value as text with its unit."""
        return self.stored.text(value)


@dataclass(frozen=True)
class Goal:
    """A metric to maximise or minimise."""

    metric: Metric
    maximise: bool

    def better(self, one: float, other: float) -> bool:
        return one > other if self.maximise else one < other

    def __str__(self) -> str:
        return f"{'most' if self.maximise else 'least'} {self.metric.text}"


@dataclass(frozen=True)
class Limit:
    """A bound for a metric's mean over the seeds."""

    metric: Metric
    sign: str
    bound: float
    text: str

    @classmethod
    def of(cls, text: str, scenario: Scenario) -> Limit:
        """Parses a constraint such as `loss.upload < 2 %`. Raises UsageError if the text is not a constraint."""
        found = _SIGNS.fullmatch(text)
        if not found:
            raise UsageError(
                f"{text!r} is not a constraint: write a metric, <, <=, > or >=, and a bound, "
                "such as 'loss.upload < 2 %'"
            )
        metric = Metric.of(found[1], scenario)
        return cls(metric, found[2], _bound(metric, found[3], text), " ".join(text.split()))

    def excess(self, value: float) -> float:
        """Returns the relative violation of the bound; at most 0 if the bound is satisfied."""
        beyond = value - self.bound if "<" in self.sign else self.bound - value
        beyond /= abs(self.bound) or 1.0
        # Only `<=` and `>=` include the bound itself.
        return math.ulp(1.0) if beyond == 0 and "=" not in self.sign else beyond

    def kept(self, value: float) -> bool:
        return self.excess(value) <= 0

    def __str__(self) -> str:
        return self.text


def goals_of(scenario: Scenario, maximise: Sequence[str], minimise: Sequence[str]) -> tuple[Goal, ...]:
    """Returns the metrics to maximise, and then the metrics to minimise. Raises UsageError if there is no metric, or if
    a metric is invalid."""
    found = [
        Goal(Metric.of(text, scenario), up) for texts, up in ((maximise, True), (minimise, False)) for text in texts
    ]
    if not found:
        raise UsageError("nothing to search for: name a metric with --maximise or --minimise, such as goodput.download")
    names = [goal.metric.stored.name for goal in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} is given twice")
    return tuple(found)


def _numeric(table: TableSpec, name: str) -> bool:
    return any(column.name == name and column.kind != "text" for column in table.columns)


def _is_link(whose: str, scenario: Scenario) -> bool:
    name, _, way = whose.rpartition(".")
    return way in ("down", "up") and name in _links(scenario)


def _check_flow(text: str, whose: str, scenario: Scenario) -> None:
    """Raises UsageError unless `whose` is empty or the name of a flow, a group or a direction."""
    flows = scenario.resolved["flows"]
    ways = [way for way in ("down", "up") if any(flow["direction"] == way for flow in flows)]
    known = [*dict.fromkeys([*(flow["name"] for flow in flows), *(flow["group"] for flow in flows), *ways])]
    if not whose or whose in known:
        return
    found = meant(whose, known)
    said = f"did you mean {found!r}?" if found else f"there are {', '.join(known[:12])}"
    raise UsageError(f"{text}: no flow called {whose!r}; {said}")


def _links(scenario: Scenario) -> list[str]:
    return [link["name"] for link in scenario.resolved["links"]]


def _check_link(text: str, whose: str, scenario: Scenario) -> None:
    if not _is_link(whose, scenario):
        raise UsageError(
            f"{text}: name the link and its direction, as {text.partition('.')[0].strip()}.{_links(scenario)[0]}.up"
        )


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _bound(metric: Metric, text: str, whole: str) -> float:
    try:
        if metric.unit == "bps":
            return float(units.parse_rate(text))
        if metric.unit == "ms":
            return units.parse_time(text) * 1e3
        if metric.unit in ("s", "tenths", "start", "instant"):
            return units.parse_time(text)
        if metric.unit == "share":
            share = units.parse_share(text)
            if not 0 <= share <= 1:
                raise UsageError(f"{text} is not a share: write 2 % or 0.02")
            return share
        if metric.unit == "bytes":
            return float(_octets(text))
        return float(text)
    except UsageError as error:
        raise UsageError(f"{whole!r}: {error}") from None
    except ValueError:
        raise UsageError(f"{whole!r}: the bound of {metric.text} must be a number, not {text!r}") from None


def _octets(text: str) -> int:
    limit = units.parse_limit(text if not text.isdigit() else f"{text} B")
    if limit.unit == "packets":
        raise UsageError(f"{text!r} counts packets: write 64kB")
    return limit.count
