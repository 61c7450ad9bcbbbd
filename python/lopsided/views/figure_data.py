"""The numbers of a figure as JSON, for the script that makes a report's figures interactive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.views.chart import Chart

_MOST_POINTS = 4000
"""Most points of a curve. Longer curves keep the extremes of each segment."""


def as_json(chart: Chart) -> str:
    """Panels and named curves as JSON, escaped for a script element."""
    panels: list[dict[str, Any]] = []
    for panel in chart.panels:
        curves = [_curve(curve.name, curve.ink, curve.x, curve.y, curve.dash) for curve in panel.curves if curve.name]
        # A bar becomes a step at its left edge.
        curves += [_curve(bars.name, bars.ink, bars.left, bars.height) for bars in panel.bars]
        limit = {} if panel.limit is None else {"limit": panel.limit}
        panels.append({"label": " ".join(panel.label.split()), "curves": curves, **limit})
    head = {"title": chart.title, "x_label": chart.x_label, "x_end": chart.x_end, "notes": chart.notes}
    figure = {**head, "panels": panels}
    return json.dumps(figure, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _curve(name: str, ink: str, x: Floats, y: Floats, dash: tuple[float, float] | None = None) -> dict[str, Any]:
    x, y = _reduced(x, y)
    dashed = {} if dash is None else {"dash": dash}
    return {"name": name, "ink": ink, "x": _numbers(x), "y": _numbers(y), **dashed}


def _reduced(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Reduces a curve to the extremes of each segment."""
    if len(x) <= _MOST_POINTS:
        return x, y
    kept: set[int] = set()
    for part in np.array_split(np.arange(len(x)), _MOST_POINTS // 2):
        known = part[~np.isnan(y[part])]
        kept.update(
            (int(known[np.argmin(y[known])]), int(known[np.argmax(y[known])])) if len(known) else (int(part[0]),)
        )
    places = np.array(sorted(kept))
    return x[places], y[places]


def _numbers(values: Floats) -> list[float | None]:
    """Values with five significant digits; null for a missing value."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
