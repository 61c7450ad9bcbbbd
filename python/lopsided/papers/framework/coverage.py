"""Rules that say what stands next to a printed value: a measured one, a statement, or the reason why there is none.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from lopsided.papers.framework.measurements import Spread

if TYPE_CHECKING:
    from lopsided.papers.framework.measurements import Measurements
    from lopsided.papers.framework.published import PublishedValue

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


def number_of(row: PublishedValue) -> float:
    """The printed number, a time `h:mm:ss` in seconds; NaN for words."""
    try:
        return row.number
    except ValueError:
        return math.nan
