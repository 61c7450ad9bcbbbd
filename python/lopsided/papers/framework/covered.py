"""Finds the measured value or statement that covers each published value, and counts the covered values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from lopsided.papers.framework.coverage import number_of
from lopsided.papers.framework.measurements import Spread

if TYPE_CHECKING:
    from lopsided.papers.framework.coverage import Rule
    from lopsided.papers.framework.measurements import Measurements
    from lopsided.papers.framework.model import Artifact, Claim, Figure, Verdict
    from lopsided.papers.framework.published import PublishedValue

RESULTS = ("result", "computed", "derived")
"""Kinds of published values that count as results of the paper."""

NEAR = 0.15
"""Largest relative difference at which a measured value counts as near the published value."""

State: TypeAlias = Literal["measured", "judged", "none", "missing", "setting", "cited"]


@dataclass(frozen=True)
class Entry:
    """One published value, and the measured value or statement that covers it."""

    published: PublishedValue
    state: State
    measured: Spread | None = None
    source: str = ""
    """The figure, statement or experiments that provide the measured value."""
    remark: str = ""
    reason: str = ""

    @property
    def is_result(self) -> bool:
        """True if the value is a result of the paper. False for a setting or a citation."""
        return self.published.kind in RESULTS

    @property
    def is_beside(self) -> bool:
        """True if a measured value or a judged statement covers the published value."""
        return self.state in ("measured", "judged")

    @property
    def ratio(self) -> float:
        """Measured value divided by published value; NaN if either is missing or the published value is 0."""
        printed = number_of(self.published)
        if self.measured is None or not math.isfinite(printed) or printed == 0:
            return math.nan
        return self.measured.median / printed

    @property
    def is_value(self) -> bool:
        """True if the published value is a single number. False for text, for a bound, and for one end of a range."""
        return self.published.qualifier in ("eq", "approx") and math.isfinite(number_of(self.published))

    @property
    def is_near(self) -> bool:
        """True if the measured value is within `NEAR` of the published value, or within the published bound."""
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


def of(
    rules: Sequence[Rule],
    m: Measurements,
    artifacts: Iterable[tuple[Figure, Artifact]],
    verdicts: Iterable[tuple[Claim, Verdict]],
) -> tuple[Entry, ...]:
    """Returns one entry per published value of the paper, in the order of `published.csv`."""
    judgements = {claim.key: verdict for claim, verdict in verdicts}
    compared, in_claims = _compared(artifacts), _in_claims(judgements)
    return tuple(
        _entry(row, rules, m, compared.get(_key(row)), in_claims.get(_key(row)), judgements) for row in m.published
    )


def _entry(
    row: PublishedValue,
    rules: Sequence[Rule],
    m: Measurements,
    compared: tuple[Spread, str, str] | None,
    in_claim: tuple[Spread, str, str] | None,
    judgements: Mapping[str, Verdict],
) -> Entry:
    if compared is not None:
        value, source, remark = compared
        return Entry(row, "measured", value, source, remark)
    reason = ""
    for rule in rules:
        if not rule.matches(row):
            continue
        if rule.read is not None and m.has(*rule.needs):
            value = rule.read(m, row)
            spread = Spread.of(value) if isinstance(value, float | int) else value
            if spread is not None and math.isfinite(spread.median):
                return Entry(row, "measured", spread, ", ".join(rule.needs) or "computed", rule.remark)
        elif rule.by in judgements:
            verdict = "holds" if judgements[rule.by].holds else "does not hold"
            return Entry(row, "judged", None, rule.by, f"the statement {verdict}")
        # Continue the search, because a later rule may contain a function that measures this value.
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


def _compared(artifacts: Iterable[tuple[Figure, Artifact]]) -> dict[tuple[object, ...], tuple[Spread, str, str]]:
    values: dict[tuple[object, ...], tuple[Spread, str, str]] = {}
    # If several figures compare the same published value, `setdefault` keeps the first figure as the value's source.
    for figure, artifact in artifacts:
        for each in artifact.comparisons:
            if math.isfinite(each.measured):
                spread = Spread(each.measured, each.low, each.high)
                values.setdefault(_key(each.published), (spread, figure.name, each.remark))
    return values


def _in_claims(judgements: Mapping[str, Verdict]) -> dict[tuple[object, ...], tuple[Spread, str, str]]:
    values: dict[tuple[object, ...], tuple[Spread, str, str]] = {}
    for key, verdict in judgements.items():
        for each in verdict.measured:
            published = each.published
            same_unit = published is not None and (each.unit == published.unit or not each.unit)
            if published is not None and same_unit and math.isfinite(each.value):
                values.setdefault(_key(published), (Spread.of(each.value), key, each.name))
    return values


@dataclass(frozen=True)
class Counts:
    """Counts a paper's published results, with and without a measured value or a judged statement.

    Attributes
    ----------
    results
        Number of published results.
    beside
        Number of results that are covered by a measured value or a judged statement.
    without
        Number of results that are not covered, for a recorded reason.
    missing
        Number of results that are not covered, without a recorded reason.
    values, near
        Number of measured values, and number of measured values within `NEAR` of the published value.
    bounds, kept
        Number of published bounds that were measured, and number of bounds that the measurement satisfies.
    """

    results: int
    beside: int
    without: int
    missing: int
    values: int
    near: int
    bounds: int
    kept: int


def counts(entries: Sequence[Entry]) -> Counts:
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
    """Yields each place in the paper (table, figure or section) with its entries, in the order of first occurrence."""
    places: dict[str, list[Entry]] = {}
    for each in entries:
        places.setdefault(each.published.where, []).append(each)
    yield from places.items()
