"""Draws a chart as a matplotlib figure."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided.views import inks
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lopsided.views.chart import Chart, Panel


def figure(chart: Chart) -> style.LabFigure:
    heights = tuple(panel.height_in for panel in chart.panels)
    sheet = style.sheet(chart.title, chart.subtitle, heights, chart.x_label)
    for axes, panel in zip(sheet.panels, chart.panels, strict=True):
        _draw(axes, panel)
        axes.set_ylim(0, panel.top or 1)
        axes.set_xlim(0, chart.x_end)
        style.y_label(axes, panel.label)
        style.end_labels(axes, list(panel.names))
    style.small_print(sheet.figure, *chart.notes)
    return sheet.figure


def _draw(axes: Axes, panel: Panel) -> None:
    for bars in panel.bars:
        axes.bar(bars.left, bars.height, width=bars.width, align="edge", color=bars.ink, linewidth=0)
    for curve in panel.curves:
        dash: dict[str, Any] = {"linestyle": (0, curve.dash)} if curve.dash else {}
        axes.plot(curve.x, curve.y, color=curve.ink, linewidth=curve.width, alpha=curve.alpha, **dash)
        if curve.filled:
            axes.fill_between(curve.x, curve.y, color=curve.ink, alpha=0.12, linewidth=0)
    if panel.limit is not None:
        axes.axhline(panel.limit, color=inks.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    if panel.moments is not None and len(panel.moments):
        above: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(panel.moments, [1.03] * len(panel.moments), "|", color=inks.RED, markersize=5, **above)
