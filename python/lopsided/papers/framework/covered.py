"""Finds the counterpart of every printed value, and counts the values by kind of counterpart."""

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
"""Kinds of printed values that need a measured value."""

NEAR = 0.15
"""A measured value within this share of the printed one counts as near."""

State: TypeAlias = Literal["measured", "judged", "none", "missing", "setting", "cited"]


@dataclass(frozen=True)
class Entry:
    """One printed value and its counterpart."""

    published: PublishedValue
    state: State
    measured: Spread | None = None
    source: str = ""
    """The figure, statement or experiments that gave the measured value."""
    remark: str = ""
    reason: str = ""

    @property
    def is_result(self) -> bool:
        """True if the value is a result of the paper, not a setting or a citation."""
        return self.published.kind in RESULTS

    @property
    def is_beside(self) -> bool:
        """True if the printed value has a measured value or a judged statement next to it."""
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
        """True if print gives a number, not a bound or the end of a range."""
        return self.published.qualifier in ("eq", "approx") and math.isfinite(number_of(self.published))

    @property
    def is_near(self) -> bool:
        """True if the measured value is within `NEAR` of print or keeps the printed bound."""
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
    """Returns an entry for every printed value of the paper, in the order of `published.csv`."""
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
        # A later rule may still measure the row, so a reason counts only after all rules were tried.
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
    # `setdefault` keeps the first figure that compares a value as its source.
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
    """Counts of a paper's printed results by kind of counterpart, and of the results near print.

    Attributes
    ----------
    results
        Printed results.
    beside
        Results with a measured value or a judged statement.
    without
        Results with neither, for a recorded reason.
    missing
        Results with neither, and without a reason.
    values, near
        Measured numbers, and those within `NEAR` of print.
    bounds, kept
        Measured bounds, and those that are kept.
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
    """Counts the entries by kind of counterpart."""
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
    """Yields the entries by their place in the paper, in the order in which places first occur."""
    places: dict[str, list[Entry]] = {}
    for each in entries:
        places.setdefault(each.published.where, []).append(each)
    yield from places.items()
