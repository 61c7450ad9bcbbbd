"""Draws a curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], top: float | None = None) -> str:
    """Returns one bar character per value: a full bar for `top` (default: the largest value), a blank for 0 or
    `None`."""
    highest = top if top is not None else max((value for value in values if value is not None), default=0.0)
    if highest <= 0:
        return " " * len(values)
    return "".join(_bar(value, highest) for value in values)


def _bar(value: float | None, highest: float) -> str:
    if value is None or value <= 0:
        return " "
    return _BARS[min(int(value / highest * len(_BARS)), len(_BARS) - 1)]
