"""Colours and proportions of all figures, for matplotlib and for the report's SVG.

The downlink is blue, the uplink is orange. This module imports no drawing library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EndLabel: TypeAlias = tuple[float, str, str]
"""A label at a curve's right end: y, text, colour."""

INK, MUTED, GRID, PAPER = "#1c2530", "#66727f", "#dfe4e9", "#ffffff"
RED = "#d64545"
DOWN = ("#2471c8", "#5b9be6", "#123f77", "#7fb3d9", "#3557a5")
UP = ("#e0761a", "#f0a35c", "#9a4a06", "#f2b880", "#c25a2a")
OTHER = ("#2e9e77", "#8a5fc7", "#c0578f", "#7a8b2d", "#4c9aa8")

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", DOWN[2]: "--down-deep", UP[2]: "--up-deep"}
"""CSS variables with which a page can change these colours, for example for a dark theme."""

WIDTH_IN, TOP_IN, BOTTOM_IN, GAP_IN = 8.4, 0.74, 0.86, 0.34
LEFT, WIDTH = 0.088, 0.772
"""Left edge and width of the panels, as fractions of the figure's width."""
NOTE_CHARACTERS = 130
"""Maximum number of characters per line of a footnote."""
LABEL_IN = 0.17
"""Height in inches of a label at a curve's end."""


def colour(direction: str, index: int) -> str:
    """Returns the colour of the `index`-th flow or queue of a direction."""
    family = {"down": DOWN, "up": UP}.get(direction, OTHER)
    return family[index % len(family)]


def rate_unit(top_bps: float) -> tuple[float, str]:
    units = ((1e9, "Gbit/s"), (1e6, "Mbit/s"))
    return next(((scale, unit) for scale, unit in units if top_bps >= scale), (1e3, "kbit/s"))


def thin_out(time: NDArray[np.float64], value: NDArray[np.float64], points: int = 1600) -> tuple[Any, Any]:
    """Reduces a curve to at most `points` points. Keeps the minimum and the maximum of each interval, so that no peak
    is lost."""
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
    """Moves the labels of curves apart within a panel, so that they do not overlap. Returns the labels from the lowest
    to the highest."""
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
    """Lowers labels that extend above the panel's top, and then each label that a lowered label would overlap."""
    lowered: list[EndLabel] = []
    free = float("inf")
    for at, text, ink in reversed(placed):
        half = step * (1 + text.count("\n")) / 2
        lowered.append((min(at, high, free - half), text, ink))
        free = lowered[-1][0] - half
    return lowered[::-1]


TITLE_CHARACTERS, SUBTITLE_CHARACTERS = 100, 150
"""Maximum number of characters of a title and a subtitle. matplotlib would take minutes to draw 100,000 characters."""


def cut(text: str, most: int) -> str:
    """Truncates the text to at most `most` characters, with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def joined_notes(notes: Iterable[str], characters: int = NOTE_CHARACTERS) -> list[str]:
    """Joins notes and splits them into lines of a footnote, with at most `characters` per line if notes are short."""
    lines: list[str] = []
    for note in filter(None, notes):
        if lines and len(lines[-1]) + len(note) < characters:
            lines[-1] += f"  ·  {note}"
        else:
            lines.append(note)
    return lines
