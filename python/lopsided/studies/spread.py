"""Formats means over seeds with their 95 % intervals for printed tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from lopsided import metrics
from lopsided.data.catalogue import Column
from lopsided.data.table import Row
from lopsided.data.view import Heading

INTERVAL = Heading("95 %", "half width of the mean's 95 % interval (Student's t over the seeds)")
ARROW = Heading("", "down: towards the client; up: away from it", numeric=False)
ARROWS = {"down": "↓", "up": "↑"}
ALIKE = "nothing in them is random; `--start-jitter 1s` varies the start times of flows"
"""The reason that a table states instead of intervals if all digests are equal."""

_WIDE = 0.5
"""Half-width of an interval, relative to the mean, above which the mean counts as uncertain."""


def grouped(rows: Iterable[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Groups the rows by their values of `keys`. The groups are in the order of their first rows."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def medians(rows: Sequence[Row], columns: Iterable[str]) -> Row:
    """Returns the median of each column over the rows that have a value; `None` if no row has a value."""
    known = {column: [row[column] for row in rows if row[column] is not None] for column in columns}
    return {column: median(values) if values else None for column, values in known.items()}


def mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of the known values, or `None` if there are none."""
    found = metrics.mean_interval(values)
    return found.mean if found.of else None


def all_alike(digests: Iterable[str]) -> bool:
    """Returns true if all runs were identical. An interval would then have no meaning."""
    return len(set(digests)) == 1


def uncertain(intervals: Iterable[metrics.Interval]) -> str:
    """Returns a remark with the number of intervals whose half-width exceeds 50 % of the mean; empty if there is
    none."""
    known = [each for each in intervals if each.of > 1]
    wide = sum(each.half_width > _WIDE * abs(each.mean) for each in known)
    if not wide:
        return ""
    seeds = min(each.of for each in known)
    some = "all" if wide == len(known) else f"{wide} of {len(known)}"
    return f"±: {some} intervals are wider than half the mean; --repeat above {seeds} narrows them"


def spread(column: Column, values: Sequence[float | None], alike: bool) -> tuple[str, str]:
    """Returns the mean and the half-width of its 95 % interval as text. The half-width is a dash if there is only one
    value, or if all runs are identical."""
    found = metrics.mean_interval(values)
    if found.of == 0:
        return "–", "–"
    return column.text(found.mean), f"± {column.text(found.half_width)}" if found.of > 1 and not alike else "–"
