"""Means over seeds with 95 % intervals, in printed tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lopsided import metrics
from lopsided.data.catalogue import Column
from lopsided.data.view import Heading

INTERVAL = Heading("95 %", "half width of the mean's 95 % interval (Student's t over the seeds)")
ARROW = Heading("", "down: towards the client; up: away from it", numeric=False)
ARROWS = {"down": "↓", "up": "↑"}
ALIKE = "nothing in them is random; `--start-jitter 1s` varies the start times of flows"
"""The reason that is printed instead of an interval if all runs have the same digest."""


def all_alike(digests: Iterable[str]) -> bool:
    """True if all runs were identical, so that an interval over them would have no meaning."""
    return len(set(digests)) == 1


def spread(column: Column, values: Sequence[float | None], alike: bool) -> tuple[str, str]:
    """Returns the mean and its 95 % confidence half-width as text; a dash instead of the half-width if all runs are
    identical."""
    found = metrics.mean_interval(values)
    if found.of == 0:
        return "–", "–"
    return column.text(found.mean), f"± {column.text(found.half_width)}" if found.of > 1 and not alike else "–"
