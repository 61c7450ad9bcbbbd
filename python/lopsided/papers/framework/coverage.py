"""Assigns to each published value a measured value, a statement, or the reason why the study contains neither.

A published value needs no rule if a figure or a statement covers it. `coverage.toml` in the folder of a
paper contains the rules for all other values:

    rules = [
      { metrics = "rtt", column = ["night", "rtt_ms"], at = { aqm = "pie" }, where = "Section 5" },
      { metrics = "total_packets", read = "packets", args = ["up"], needs = ["combos"], row = { test = "1" } },
      { metrics = "ratio", value = 0.25 },
      { metrics = "utilisation", by = "alone-fills-the-link" },
      { metrics = "offset", reason = "the clocks of simulated hosts agree" },
    ]

`column` names an experiment and a measured column, and `at` the labels of the setting. `read` names a function that is
passed to `load`, and `args` lists its additional arguments. `scale` multiplies the measured values. The first matching
rule that has a result applies. Published values of the kinds `setting` and `cited` need no counterpart.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lopsided.papers.framework.measurements import Spread

if TYPE_CHECKING:
    from lopsided.papers.framework.measurements import Label, Measurements
    from lopsided.papers.framework.published import PublishedValue

Reader: TypeAlias = "Callable[[Measurements, PublishedValue], Spread | float | None]"
"""A function that returns the measured value in the published unit, or `None` if the value was not measured."""


@dataclass(frozen=True)
class Rule:
    """A rule that assigns a counterpart to published values.

    The rule applies to a row of `published.csv` if the row's metric is one of `metrics`, its `where` begins with the
    rule's `where`, and its conditions include all `conditions`. Exactly one of `read`, `by` (a statement's key) and
    `reason` is set.
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
        """Returns true if the rule applies to this row of `published.csv`."""
        return (
            row.metric in self.metrics
            and row.where.startswith(self.where)
            and all(row.conditions.get(name) == value for name, value in self.conditions.items())
        )


def measured(
    metrics: str, read: Reader, *, needs: tuple[str, ...] = (), where: str = "", remark: str = "", **conditions: str
) -> Rule:
    """Returns a rule for measured values. `metrics` is a list separated by spaces. `needs` are the experiments that
    `read` uses."""
    return Rule(tuple(metrics.split()), where, conditions, needs, read, remark=remark)


def judged(metrics: str, *, by: str, where: str = "", **conditions: str) -> Rule:
    """Returns a rule for published values that are text instead of numbers. The statement with the key `by` checks
    these values."""
    return Rule(tuple(metrics.split()), where, conditions, by=by)


def nothing(metrics: str, reason: str, *, where: str = "", **conditions: str) -> Rule:
    """Returns a rule for published values that have no counterpart."""
    return Rule(tuple(metrics.split()), where, conditions, reason=reason)


def load(module: str, *readers: Callable[..., Spread | float | None], **numbers: float) -> tuple[Rule, ...]:
    """Reads `coverage.toml` next to a module (its `__file__`).

    Parameters
    ----------
    module
        The path of the module.
    readers
        The functions that `read` in a rule can name.
    numbers
        The numbers that `value` in a rule can name. These numbers follow from the settings, without a run.
    """
    known = {each.__name__: each for each in readers}
    rules = tomllib.loads((Path(module).parent / "coverage.toml").read_text(encoding="utf-8"))["rules"]
    return tuple(_rule(known, numbers, **rule) for rule in rules)


def _rule(
    readers: Mapping[str, Callable[..., Spread | float | None]],
    numbers: Mapping[str, float],
    *,
    metrics: str,
    column: tuple[str, str] | None = None,
    at: Mapping[str, Label] | None = None,
    read: str = "",
    args: Sequence[Any] = (),
    value: str | float | None = None,
    scale: float = 1.0,
    needs: Sequence[str] = (),
    row: Mapping[str, str] | None = None,
    **texts: str,
) -> Rule:
    reader: Reader | None = None
    if column is not None:
        needs = needs or column[:1]
        reader = _scaled(lambda m, _row: m.value(*column, **(at or {})), scale)
    elif value is not None:
        constant = numbers[value] if isinstance(value, str) else value
        reader = lambda _m, _row: constant  # noqa: E731
    elif read:
        function = readers[read]
        reader = _scaled(lambda m, row: function(m, row, *args), scale)
    return Rule(tuple(metrics.split()), conditions=row or {}, needs=tuple(needs), read=reader, **texts)


def _scaled(read: Reader, scale: float) -> Reader:
    def scaled(m: Measurements, row: PublishedValue) -> Spread | float | None:
        found = read(m, row)
        return found.map(lambda each: each * scale) if isinstance(found, Spread) else found and found * scale

    return scaled


def number_of(row: PublishedValue) -> float:
    """Returns the published number, or NaN if the value is text. A time `h:mm:ss` is converted to seconds."""
    try:
        return row.number
    except ValueError:
        return math.nan
