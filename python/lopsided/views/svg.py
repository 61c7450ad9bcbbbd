"""Draws a chart as an `<svg>` element, with the proportions of matplotlib figures but without matplotlib.

Every run writes a report, and loading matplotlib takes longer than a run. Colours are CSS variables and follow the
reader's theme. Scales are linear from 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from lopsided.views import inks

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.views.chart import Chart, Curve, Panel

_IN = 72.0
"""Units of the SVG's coordinates per inch."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_Y_TICKS, _X_TICKS = 5, 9
_SUBTITLE_IN = 0.2
"""Height of a subtitle in inches."""


def svg(chart: Chart, salt: str) -> str:
    """Returns the chart as an `<svg>` element. `salt` makes the element's ids unique within the page."""
    panels_in = sum(panel.height_in for panel in chart.panels) + inks.GAP_IN * (len(chart.panels) - 1)
    head_in = inks.TOP_IN if chart.subtitle else inks.TOP_IN - _SUBTITLE_IN
    width, height = inks.WIDTH_IN * _IN, (head_in + panels_in + inks.BOTTOM_IN) * _IN
    left, right = inks.LEFT * width, (inks.LEFT + inks.WIDTH) * width
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" font-size="8.5">',
        _text(7.3, 0.24 * _IN, inks.cut(chart.title, inks.TITLE_CHARACTERS), inks.INK, size=13, weight="bold"),
    ]
    if chart.subtitle:
        parts.append(_text(7.3, 0.49 * _IN, inks.cut(chart.subtitle, inks.SUBTITLE_CHARACTERS), inks.MUTED, size=9))
    top = head_in * _IN
    for number, panel in enumerate(chart.panels):
        last = number == len(chart.panels) - 1
        frame = _Frame(left, top, right, top + panel.height_in * _IN, chart.x_end, panel.top)
        parts += _panel(panel, frame, f"{salt}-{number}", ticks_named=last)
        top = frame.bottom + inks.GAP_IN * _IN
        if last:
            parts.append(_text((left + right) / 2, frame.bottom + 29, chart.x_label, inks.INK, size=9, anchor="middle"))
    notes = inks.joined_notes(chart.notes)
    for number, note in enumerate(notes):
        y = height - 0.1 * _IN - 9 * (len(notes) - 1 - number)
        parts.append(_text(7.3, y, note, inks.MUTED, size=7, low=True))
    return "\n".join([*parts, "</svg>"])


class _Frame:
    """The position of a panel in the SVG, and the conversion of the panel's values to coordinates."""

    def __init__(self, left: float, top: float, right: float, bottom: float, x_end: float, y_end: float) -> None:
        self.left, self.top, self.right, self.bottom = left, top, right, bottom
        self.x_end, self.y_end = x_end or 1.0, y_end or 1.0

    def x(self, value: Floats) -> Floats:
        return self.left + value / self.x_end * (self.right - self.left)

    def y(self, value: Floats) -> Floats:
        return self.bottom - value / self.y_end * (self.bottom - self.top)

    def at(self, x: float, y: float) -> tuple[float, float]:
        return float(self.x(np.float64(x))), float(self.y(np.float64(y)))  # pyright: ignore[reportArgumentType]


def _panel(panel: Panel, frame: _Frame, name: str, *, ticks_named: bool) -> Iterator[str]:
    box = f'x="{frame.left:.1f}" y="{frame.top:.1f}" width="{frame.right - frame.left:.1f}" '
    box += f'height="{frame.bottom - frame.top:.1f}"'
    yield f'<clipPath id="{escape(name)}"><rect {box}/></clipPath>'
    yield from _grid(frame, ticks_named=ticks_named)
    yield f'<g clip-path="url(#{escape(name)})" fill="none" stroke-linejoin="round" stroke-linecap="round">'
    for bars in panel.bars:
        for left, height in zip(bars.left, bars.height, strict=True):
            if height > 0:
                (x, y), (end, _) = frame.at(left, height), frame.at(left + bars.width, 0)
                size = f'width="{end - x:.2f}" height="{frame.bottom - y:.2f}"'
                yield f'<rect x="{x:.2f}" y="{y:.2f}" {size} style="fill:{_ink(bars.ink)}"/>'
    for curve in panel.curves:
        yield from _curve(curve, frame)
    yield "</g>"
    if panel.limit is not None:
        _, y = frame.at(0, panel.limit)
        yield _line(frame.left, y, frame.right, y, inks.MUTED, 0.9, "4 3")
    for moment in panel.moments if panel.moments is not None else ():
        x, _ = frame.at(moment, 0)
        yield _line(x, frame.top - 6, x, frame.top - 2, inks.RED, 1.0)
    yield _line(frame.left, frame.top, frame.left, frame.bottom, inks.MUTED, 0.8)
    yield _line(frame.left, frame.bottom, frame.right, frame.bottom, inks.MUTED, 0.8)
    yield _axis_label(panel.label, frame)
    for at, text, ink in inks.moved_apart(panel.names, 0, frame.y_end, (frame.bottom - frame.top) / _IN):
        _, y = frame.at(0, at)
        lines = text.split("\n")
        for number, line in enumerate(lines):
            yield _text(frame.right + 6, y + 10 * (number - (len(lines) - 1) / 2), line, ink)


def _grid(frame: _Frame, *, ticks_named: bool) -> Iterator[str]:
    for value, label in ticks(frame.y_end, _Y_TICKS):
        _, y = frame.at(0, value)
        yield _line(frame.left, y, frame.right, y, inks.GRID, 0.8)
        yield _text(frame.left - 5, y, label, inks.INK, anchor="end")
    for value, label in ticks(frame.x_end, _X_TICKS):
        x, _ = frame.at(value, 0)
        yield _line(x, frame.top, x, frame.bottom, inks.GRID, 0.8)
        if ticks_named:
            yield _text(x, frame.bottom + 11, label, inks.INK, anchor="middle")


def ticks(end: float, most: int) -> list[tuple[float, str]]:
    """Returns round values from 0 to `end` with their labels. There are at most `most` intervals between the values."""
    size = 10.0 ** math.floor(math.log10(end / most))
    step = next(size * each for each in _STEPS if end / (size * each) <= most * (1 + 1e-9))
    digits = max(
        0, -math.floor(math.log10(step) + 1e-9) + (1 if step / 10 ** math.floor(math.log10(step)) == 2.5 else 0)
    )
    return [(number * step, f"{number * step:.{digits}f}") for number in range(int(end / step + 1e-9) + 1)]


def _curve(curve: Curve, frame: _Frame) -> Iterator[str]:
    ink = _ink(curve.ink)
    dash = f";stroke-dasharray:{curve.dash[0]:g} {curve.dash[1]:g}" if curve.dash else ""
    faint = f";stroke-opacity:{curve.alpha:g}" if curve.alpha < 1 else ""
    for x, y in _pieces(frame.x(curve.x), frame.y(curve.y)):
        points = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x.tolist(), y.tolist(), strict=True))
        if curve.filled:
            closed = f"{x[0]:.1f},{frame.bottom:.1f} {points} {x[-1]:.1f},{frame.bottom:.1f}"
            yield f'<polygon points="{closed}" style="fill:{ink};fill-opacity:.12"/>'
        yield f'<polyline points="{points}" style="stroke:{ink};stroke-width:{curve.width:g}{dash}{faint}"/>'


def _pieces(x: Floats, y: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Splits a curve at missing values."""
    known = ~(np.isnan(x) | np.isnan(y))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield x[start:stop], y[start:stop]


def _axis_label(label: str, frame: _Frame) -> str:
    x, y = frame.left - 31, (frame.top + frame.bottom) / 2
    lines = label.split("\n")
    rows = [
        _text(x + 11 * (number - len(lines) + 1), y, line, inks.INK, size=9, anchor="middle", turned=True)
        for number, line in enumerate(lines)
    ]
    return "\n".join(rows)


def _line(x: float, y: float, x_end: float, y_end: float, ink: str, width: float, dash: str = "") -> str:
    dashed = f";stroke-dasharray:{dash}" if dash else ""
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{x_end:.1f}" y2="{y_end:.1f}"'
    return f'<line {ends} style="stroke:{_ink(ink)};stroke-width:{width:g}{dashed}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    ink: str,
    *,
    size: float = 8.5,
    anchor: str = "start",
    weight: str = "",
    turned: bool = False,
    low: bool = False,
) -> str:
    """Returns a line of text whose vertical centre is at `y`. If `low` is true, the baseline is at `y` instead."""
    foot = y if low else y + 0.35 * size
    place = f'x="{x:.1f}" y="{foot:.1f}"'
    if turned:
        place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"'
    bold = f' font-weight="{weight}"' if weight else ""
    style = f'style="fill:{_ink(ink)}"'
    return f'<text {place} font-size="{size:g}" text-anchor="{anchor}"{bold} {style}>{escape(text)}</text>'


def _ink(ink: str) -> str:
    variable = inks.VARIABLES.get(ink)
    return f"var({variable}, {ink})" if variable else ink
