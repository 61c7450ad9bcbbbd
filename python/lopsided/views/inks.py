"""The colours and proportions of every figure, whoever draws it: matplotlib, or the report's own SVG.

A direction has a colour: down blue, up orange. No library of drawing is loaded here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EndLabel: TypeAlias = tuple[float, str, str]
"""The name of a curve at its right end: y, text, colour."""

INK, MUTED, GRID, PAPER = "#1c2530", "#66727f", "#dfe4e9", "#ffffff"
RED = "#d64545"
DOWN = ("#2471c8", "#5b9be6", "#123f77", "#7fb3d9", "#3557a5")
UP = ("#e0761a", "#f0a35c", "#9a4a06", "#f2b880", "#c25a2a")
OTHER = ("#2e9e77", "#8a5fc7", "#c0578f", "#7a8b2d", "#4c9aa8")

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", DOWN[2]: "--down-deep", UP[2]: "--up-deep"}
"""A page may give these inks another value by a CSS variable, above all on dark paper."""

WIDTH_IN, TOP_IN, BOTTOM_IN, GAP_IN = 8.4, 0.74, 0.86, 0.34
LEFT, WIDTH = 0.088, 0.772
"""Of the figure's width: where panels begin, and theirs."""
NOTE_CHARACTERS = 130
"""A line of the small print."""
LABEL_IN = 0.17
"""The height of a name at a curve's end."""


def colour(direction: str, index: int) -> str:
    """The colour of the `index`-th flow or queue of a direction."""
    family = {"down": DOWN, "up": UP}.get(direction, OTHER)
    return family[index % len(family)]


def rate_unit(top_bps: float) -> tuple[float, str]:
    """Bit/s per unit, and the unit, that suit rates up to this."""
    units = ((1e9, "Gbit/s"), (1e6, "Mbit/s"))
    return next(((scale, unit) for scale, unit in units if top_bps >= scale), (1e3, "kbit/s"))


def thin_out(time: NDArray[np.float64], value: NDArray[np.float64], points: int = 1600) -> tuple[Any, Any]:
    """At most about `points` points that keep every bucket's lowest and highest value, so no peak is lost."""
    if len(time) <= points:
        return time, value
    buckets = np.array_split(np.arange(len(time)), points // 2)
    keep: list[int] = []
    for bucket in buckets:
        present = bucket[~np.isnan(value[bucket])]
        if len(present):
            keep.extend(sorted({int(present[np.argmin(value[present])]), int(present[np.argmax(value[present])])}))
        else:
            keep.append(int(bucket[0]))
    return time[keep], value[keep]


def moved_apart(labels: Iterable[EndLabel], low: float, high: float, height_in: float) -> list[EndLabel]:
    """Names of curves from the lowest up, where they do not overlap on a panel so high."""
    step = (high - low) * LABEL_IN / height_in
    taken = float("-inf")
    placed: list[EndLabel] = []
    for y, text, ink in sorted(labels, key=lambda label: label[0]):
        half = step * (1 + text.count("\n")) / 2
        at = max(min(max(y, low), high), taken + half)
        taken = at + half
        placed.append((at, text, ink))
    lowered = _below(high, placed, step)
    return lowered if lowered and lowered[0][0] >= low else placed


def _below(high: float, placed: list[EndLabel], step: float) -> list[EndLabel]:
    """What was pushed over the top goes down again, and what is under it with it."""
    lowered: list[EndLabel] = []
    free = float("inf")
    for at, text, ink in reversed(placed):
        half = step * (1 + text.count("\n")) / 2
        lowered.append((min(at, high, free - half), text, ink))
        free = lowered[-1][0] - half
    return lowered[::-1]


TITLE_CHARACTERS, SUBTITLE_CHARACTERS = 100, 150
"""Most letters of a figure's title and subtitle: more do not fit its width, and a library takes minutes for 100,000."""


def cut(text: str, most: int) -> str:
    """The text in at most `most` letters; a longer one ends in an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def joined_notes(notes: Iterable[str]) -> list[str]:
    """The small print in lines."""
    lines: list[str] = []
    for note in filter(None, notes):
        if lines and len(lines[-1]) + len(note) < NOTE_CHARACTERS:
            lines[-1] += f"  ·  {note}"
        else:
            lines.append(note)
    return lines
