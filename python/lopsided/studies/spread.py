"""Means over seeds in printed tables, with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lopsided import metrics
from lopsided.data.catalogue import Column
from lopsided.data.view import Heading

INTERVAL = Heading("95 %", "how far the mean's 95 % interval reaches to each side (Student's t over the seeds)")
ARROW = Heading("", "down: towards the client; up: away from it", numeric=False)
ARROWS = {"down": "↓", "up": "↑"}
ALIKE = "nothing in them is random; `--start-jitter 1s` varies when flows start"
"""Why there is no interval if all runs have one digest."""


def all_alike(digests: Iterable[str]) -> bool:
    """Whether all runs were the same: an interval over them would say nothing."""
    return len(set(digests)) == 1


def spread(column: Column, values: Sequence[float | None], alike: bool) -> tuple[str, str]:
    """The mean, and how far its 95 % interval reaches to each side, if the runs differ at all."""
    found = metrics.mean_interval(values)
    if found.of == 0:
        return "–", "–"
    return column.text(found.mean), f"± {column.text(found.half_width)}" if found.of > 1 and not alike else "–"
