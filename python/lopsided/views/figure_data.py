"""Writes the numbers of a figure as JSON, for the script that makes a report's figures interactive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.views.inks import thin_out

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.views.chart import Chart

_MOST_POINTS = 4000
"""Maximum number of points in a curve. A longer curve is reduced to the extremes of its segments."""


def as_json(chart: Chart) -> str:
    """Returns the chart's panels and named curves as JSON, escaped for an HTML script element."""
    panels: list[dict[str, Any]] = []
    for panel in chart.panels:
        curves = [_curve(curve.name, curve.ink, curve.x, curve.y, curve.dash) for curve in panel.curves if curve.name]
        # The interactive figure draws no bars, but a curve through the heights at the bars' left edges.
        curves += [_curve(bars.name, bars.ink, bars.left, bars.height) for bars in panel.bars]
        limit = {} if panel.limit is None else {"limit": panel.limit}
        panels.append({"label": " ".join(panel.label.split()), "curves": curves, **limit})
    head = {"title": chart.title, "x_label": chart.x_label, "x_end": chart.x_end, "notes": chart.notes}
    figure = {**head, "panels": panels}
    return json.dumps(figure, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _curve(name: str, ink: str, x: Floats, y: Floats, dash: tuple[float, float] | None = None) -> dict[str, Any]:
    x, y = thin_out(x, y, _MOST_POINTS)
    dashed = {} if dash is None else {"dash": dash}
    return {"name": name, "ink": ink, "x": _numbers(x), "y": _numbers(y), **dashed}


def _numbers(values: Floats) -> list[float | None]:
    """Returns the values with five significant digits. A missing value becomes `None`, which is null in JSON."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
