"""Rules that assign each published value a counterpart: a measured value, a statement, or a reason for having neither.

Values that a figure compares or a statement judges need no rule. A paper adds rules for the others:

    COVERAGE = (
        measured("total_packets", lambda m, row: packets(m, row), needs=("combos",)),
        judged("utilisation", by="alone-fills-the-link"),
        nothing("offset", "the clocks of simulated hosts agree"),
    )

The first matching rule with a result applies. The kinds `setting` and `cited` need no counterpart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from lopsided.papers.framework.measurements import Spread

if TYPE_CHECKING:
    from lopsided.papers.framework.measurements import Label, Measurements
    from lopsided.papers.framework.published import PublishedValue

Reader: TypeAlias = "Callable[[Measurements, PublishedValue], Spread | float | None]"
"""Returns the measured value in the published unit, or `None` if there is none."""


@dataclass(frozen=True)
class Rule:
    """A rule that assigns a counterpart to published values.

    A row matches if its metric is one of `metrics`, its place begins with `where`, and it has all `conditions`. Exactly
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
        """Returns true if the rule applies to this row."""
        return (
            row.metric in self.metrics
            and row.where.startswith(self.where)
            and all(row.conditions.get(name) == value for name, value in self.conditions.items())
        )


def measured(
    metrics: str, read: Reader, *, needs: tuple[str, ...] = (), where: str = "", remark: str = "", **conditions: str
) -> Rule:
    """Returns a rule for measured values. `metrics` are separated by spaces; `read` uses the experiments `needs`."""
    return Rule(tuple(metrics.split()), where, conditions, needs, read, remark=remark)


def constant(value: float) -> Reader:
    """Returns a reader of a number that the settings alone decide."""
    return lambda _m, _row: value


def column(experiment: str, name: str, scale: float = 1.0, **labels: Label) -> Reader:
    """Returns a reader of a measured column at the setting with these labels, times `scale`."""
    return lambda m, _row: m.value(experiment, name, **labels).map(lambda each: each * scale)


def judged(metrics: str, *, by: str, where: str = "", **conditions: str) -> Rule:
    """Returns a rule for published words, which the statement with the key `by` judges."""
    return Rule(tuple(metrics.split()), where, conditions, by=by)


def nothing(metrics: str, reason: str, *, where: str = "", **conditions: str) -> Rule:
    """Returns a rule for published values without a counterpart."""
    return Rule(tuple(metrics.split()), where, conditions, reason=reason)


def number_of(row: PublishedValue) -> float:
    """Returns the published number, a time `h:mm:ss` in seconds; NaN if the value is words."""
    try:
        return row.number
    except ValueError:
        return math.nan
