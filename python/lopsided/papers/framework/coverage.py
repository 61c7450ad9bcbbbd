"""Every printed value with its measured counterpart, or with the reason why there is none.

A figure's comparisons and the numbers of statements are counterparts already. A paper adds rules for the others:

    COVERAGE = (
        measured("total_packets", lambda m, row: packets(m, row), needs=("combos",)),
        judged("utilisation", by="alone-fills-the-link"),
        nothing("offset", "the clocks of simulated hosts agree"),
    )

The first rule that matches a row and returns a number is taken. `settings` and `cited` values need no counterpart: a
setting is what the scenarios are made of, and a cited value is of another work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from lopsided.papers.framework.measurements import Spread

if TYPE_CHECKING:
    from lopsided.papers.framework.measurements import Measurements
    from lopsided.papers.framework.published import PublishedValue
    from lopsided.papers.framework.reproduction import ClaimOutcome, Reproduction

RESULTS = ("result", "computed", "derived")
"""Kinds of printed values that a measured value should stand next to."""

NEAR = 0.15
"""A measured value within this share of the printed one counts as near."""

Reader: TypeAlias = "Callable[[Measurements, PublishedValue], Spread | float | None]"
"""Returns the measured value in the unit of the printed one; `None` if this rule does not measure that row."""


@dataclass(frozen=True)
class Rule:
    """What stands next to the printed values of some metrics.

    A row matches if its metric is one of `metrics`, its place begins with `where` and it has all `conditions`. Exactly
    one of `read`, `by` (a statement's key) and `reason` is set.
    """

    metrics: tuple[str, ...]
    where: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: tuple[str, ...] = ()
    read: Reader | None = None
    by: str = ""
    reason: str = ""
    remark: str = ""

    def matches(self, row: PublishedValue) -> bool:
        """True if the rule is about this row."""
        return (
            row.metric in self.metrics
            and row.where.startswith(self.where)
            and all(row.conditions.get(name) == value for name, value in self.conditions.items())
        )


def measured(
    metrics: str, read: Reader, *, needs: tuple[str, ...] = (), where: str = "", remark: str = "", **conditions: str
) -> Rule:
    """A rule that reads the measured value of these metrics (separated by spaces) from the experiments `needs`."""
    return Rule(tuple(metrics.split()), where, conditions, needs, read, remark=remark)


def judged(metrics: str, *, by: str, where: str = "", **conditions: str) -> Rule:
    """A rule for values in words, or that only a statement can be held to: the statement of the key `by` judges it."""
    return Rule(tuple(metrics.split()), where, conditions, by=by)


def nothing(metrics: str, reason: str, *, where: str = "", **conditions: str) -> Rule:
    """A rule for values that have no counterpart, with the reason."""
    return Rule(tuple(metrics.split()), where, conditions, reason=reason)


State: TypeAlias = Literal["measured", "judged", "none", "missing", "setting", "cited"]


@dataclass(frozen=True)
class Entry:
    """One printed value and what stands next to it."""

    published: PublishedValue
    state: State
    measured: Spread | None = None
    source: str = ""
    """The figure, statement or experiments that the measured value is from."""
    remark: str = ""
    reason: str = ""

    @property
    def is_result(self) -> bool:
        """True if the value is a result of the paper, not a setting or another work's."""
        return self.published.kind in RESULTS

    @property
    def is_beside(self) -> bool:
        """True if a measured value or a judged statement stands next to the printed value."""
        return self.state in ("measured", "judged")

    @property
    def ratio(self) -> float:
        """Measured over printed; NaN if either is missing or print is zero."""
        printed = number_of(self.published)
        if self.measured is None or not math.isfinite(printed) or printed == 0:
            return math.nan
        return self.measured.median / printed

    @property
    def is_value(self) -> bool:
        """True if print gives a number itself, not a bound or the end of a range."""
        return self.published.qualifier in ("eq", "approx") and math.isfinite(number_of(self.published))

    @property
    def is_near(self) -> bool:
        """True if the measured value is within `NEAR` of print, or keeps the printed bound."""
        if self.measured is None:
            return False
        printed, found = number_of(self.published), self.measured.median
        match self.published.qualifier:
            case "lt":
                return found < printed
            case "le":
                return found <= printed
            case "gt":
                return found > printed
            case "ge":
                return found >= printed
            case _:
                return abs(found - printed) <= NEAR * abs(printed)


def number_of(row: PublishedValue) -> float:
    """The printed number, a time `h:mm:ss` in seconds; NaN for words."""
    try:
        return row.number
    except ValueError:
        return math.nan


def of(found: Reproduction) -> tuple[Entry, ...]:
    """An entry for every printed value of the paper, in the order of `published.csv`."""
    compared = _compared(found)
    in_claims = _in_claims(found)
    outcomes = {each.claim.key: each for each in found.claims}
    return tuple(
        _entry(row, found, compared.get(_key(row)), in_claims.get(_key(row)), outcomes)
        for row in found.measurements.published
    )


def _entry(
    row: PublishedValue,
    found: Reproduction,
    compared: tuple[Spread, str, str] | None,
    in_claim: tuple[Spread, str, str] | None,
    outcomes: Mapping[str, ClaimOutcome],
) -> Entry:
    if compared is not None:
        value, source, remark = compared
        return Entry(row, "measured", value, source, remark)
    reason = ""
    for rule in found.paper.coverage:
        if not rule.matches(row):
            continue
        if rule.read is not None and found.measurements.has(*rule.needs):
            value = rule.read(found.measurements, row)
            spread = Spread.of(value) if isinstance(value, float | int) else value
            if spread is not None and math.isfinite(spread.median):
                return Entry(row, "measured", spread, ", ".join(rule.needs) or "computed", rule.remark)
        elif rule.by in outcomes:
            outcome = outcomes[rule.by]
            verdict = "holds" if outcome.verdict.holds else "does not hold"
            return Entry(row, "judged", None, rule.by, f"the statement {verdict}")
        reason = reason or rule.reason
    if in_claim is not None:
        value, source, remark = in_claim
        return Entry(row, "measured", value, source, remark)
    if reason:
        return Entry(row, "none", reason=reason)
    if row.kind in ("setting", "cited"):
        return Entry(row, row.kind)
    return Entry(row, "missing", reason="not compared")


def _key(row: PublishedValue) -> tuple[object, ...]:
    return (row.where, tuple(sorted(row.conditions.items())), row.metric)


def _compared(found: Reproduction) -> dict[tuple[object, ...], tuple[Spread, str, str]]:
    values: dict[tuple[object, ...], tuple[Spread, str, str]] = {}
    for figure, artifact in found.artifacts:
        for each in artifact.comparisons:
            if math.isfinite(each.measured):
                spread = Spread(each.measured, each.low, each.high)
                values.setdefault(_key(each.published), (spread, figure.name, each.remark))
    return values


def _in_claims(found: Reproduction) -> dict[tuple[object, ...], tuple[Spread, str, str]]:
    values: dict[tuple[object, ...], tuple[Spread, str, str]] = {}
    for outcome in found.claims:
        for each in outcome.verdict.measured:
            published = each.published
            same_unit = published is not None and (each.unit == published.unit or not each.unit)
            if published is not None and same_unit and math.isfinite(each.value):
                values.setdefault(_key(published), (Spread.of(each.value), outcome.claim.key, each.name))
    return values


@dataclass(frozen=True)
class Counts:
    """How many of a paper's printed results stand next to what, and how near they are."""

    results: int
    beside: int
    without: int
    missing: int
    values: int
    near: int
    bounds: int
    kept: int


def counts(entries: Sequence[Entry]) -> Counts:
    """Counts the entries."""
    results = [each for each in entries if each.is_result]
    numbers = [each for each in results if each.state == "measured"]
    values = [each for each in numbers if each.is_value]
    bounds = [each for each in numbers if each.published.qualifier in ("lt", "le", "gt", "ge")]
    return Counts(
        results=len(results),
        beside=sum(each.is_beside for each in results),
        without=sum(each.state == "none" for each in results),
        missing=sum(each.state == "missing" for each in results),
        values=len(values),
        near=sum(each.is_near for each in values),
        bounds=len(bounds),
        kept=sum(each.is_near for each in bounds),
    )


def by_place(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """The entries by the place in the paper, in the order in which places first occur."""
    places: dict[str, list[Entry]] = {}
    for each in entries:
        places.setdefault(each.published.where, []).append(each)
    yield from places.items()
