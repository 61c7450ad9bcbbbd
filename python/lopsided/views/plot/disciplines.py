"""Draws figures that compare queue disciplines: distributions of delay, and goodput against delay."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from lopsided.data import units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.data.table import Table
    from lopsided.studies.aqm import Aqm

_Points = npt.NDArray[np.float64]
"""One row per run: the delay in ms, and the goodput in the unit of the axis."""

# The neutral INK separates colours of similar hue, so that consecutive curves differ clearly.
_INKS = (
    *(*style.OTHER[:2], style.INK, *style.OTHER[2:]),
    *(*style.DOWN[:1], *style.UP[:1], style.RED, *style.DOWN[1:], *style.UP[1:]),
)
_LINES = ("-", (0, (4, 1.5)), (0, (1, 1)))
_QUANTITIES = {"rtt": "round-trip time", "sojourn": "time in the queue"}
_LEAST_MS = 0.1
_LABEL_IN = 0.2
_SIDE_IN = 0.62


def draw(found: Aqm, kind: str = "delays") -> Figure:
    """Draws the figure `kind`, one of `Aqm.figures`."""
    return _delays(found) if kind == "delays" else _ellipses(found)


def _arms(found: Aqm) -> list[tuple[str, str, str, Any, str]]:
    """Returns the world, queue, colour, line style and label of each curve."""
    several = len(found.worlds) > 1
    return [
        (world, each.label, _INKS[place % len(_INKS)], line, f"{each.label} ({world})" if several else each.label)
        for world, line in zip(found.worlds, _LINES, strict=False)
        for place, each in enumerate(found.disciplines)
    ]


def _delays(found: Aqm) -> Figure:
    panels = [(quantity, way) for quantity in _QUANTITIES for way in found.links]
    names = [f"{way}: {_QUANTITIES[quantity]}" for quantity, way in panels]
    figure, axes = style.small_panels(
        found.figures["delays"], _subtitle(found), names, len(found.links), 2.1, _LABEL_IN, _SIDE_IN
    )
    rows = found.delays.to_polars().partition_by(["world", "queue", "direction", "quantity"], as_dict=True)
    for (quantity, way), panel in zip(panels, axes, strict=True):
        for world, queue, ink, line, label in _arms(found):
            curve = rows.get((world, queue, way, quantity))
            if curve is not None:
                values = np.maximum(curve["value_ms"].to_numpy(), _LEAST_MS)
                panel.plot(values, curve["share"].to_numpy(), color=ink, linestyle=line, linewidth=1.3, label=label)
        _delay_axis(panel)
        panel.set_xlabel(f"{_QUANTITIES[quantity]} (ms, logarithmic)", fontsize=8.5)
        panel.set_ylim(0, 1.02)
        if way == next(iter(found.links)) or style.in_column():
            panel.set_ylabel("share of packets", fontsize=8.5)
    _legend(axes[0])
    style.small_print(figure, f"{_seeds(found)}; each packet is counted with the mean of its sampling interval")
    return figure


def _ellipses(found: Aqm) -> Figure:
    scales = {way: style.rate_unit(_top(found.runs, way)) for way in found.links}
    names = list(scales)
    figure, axes = style.small_panels(found.figures["ellipse"], _subtitle(found), names, 1, 2.5, _LABEL_IN, _SIDE_IN)
    for way, panel in zip(found.links, axes, strict=True):
        scale, unit = scales[way]
        panel.set_ylabel(f"goodput ({unit})", fontsize=8.5)
        groups: list[tuple[_Points, str, str, bool]] = []
        for world, queue, ink, _, label in _arms(found):
            points = [
                (max(row["sojourn_mean_ms"] or 0.0, _LEAST_MS), (row["goodput_bps"] or 0.0) / scale)
                for row in found.runs.rows()
                if (row["world"], row["queue"], row["direction"]) == (world, queue, way)
            ]
            if points:
                groups.append((np.asarray(points), ink, label, world != found.worlds[0]))
        below = _lower_than_neighbour([points for points, *_ in groups])
        for (points, ink, label, hollow), is_below in zip(groups, below, strict=True):
            _ellipse(panel, points, ink, label, hollow=hollow, below=is_below)
        panel.set_ylim(0, _top(found.runs, way) / scale * 1.12)
    delays = [max(row["sojourn_mean_ms"] or 0.0, _LEAST_MS) for row in found.runs.rows()]
    for panel in axes:
        # The panels of both directions show the same range of delays.
        panel.set_xlim(min(delays) / _ROOM, max(delays) * _ROOM)
        _delay_axis(panel, better_right=True)
        scale = "log, reversed" if style.in_column() else "logarithmic; shorter is to the right"
        panel.set_xlabel(f"mean time in the queue (ms, {scale})", fontsize=8.5)
    ellipses = ", the ellipse one standard deviation" if found.repeat >= _LEAST_POINTS else ""
    style.small_print(figure, f"{_seeds(found)}: one point for each{ellipses}; the best place is at the top right")
    return figure


_ROOM = 1.4
"""Factor by which the delay axis extends beyond the smallest and the largest delay, to leave space for the names of the
queues."""
_LEAST_POINTS = 3
"""Minimum number of points for which an ellipse is drawn. With two points, the ellipse would be a line."""


def _lower_than_neighbour(groups: Sequence[_Points]) -> list[bool]:
    """Returns one flag per group of points: true if the group with the nearest mean delay has a higher mean goodput.

    If the flag is true, the group's name is written below its points, so that it does not overlap the other name.
    """
    middles = [(float(np.log10(points[:, 0]).mean()), float(points[:, 1].mean())) for points in groups]
    found: list[bool] = []
    for number, (delay, goodput) in enumerate(middles):
        others = [middle for other, middle in enumerate(middles) if other != number]
        nearest = min(others, key=lambda middle: abs(middle[0] - delay), default=(delay, goodput))
        found.append(nearest[1] > goodput)
    return found


def _ellipse(panel: Axes, points: _Points, ink: str, label: str, *, hollow: bool, below: bool) -> None:
    """Draws a group's points and name, and an ellipse of one standard deviation, computed from the logarithms of the
    delays."""
    places = np.column_stack([np.log10(points[:, 0]), points[:, 1]])
    middle = places.mean(axis=0)
    panel.plot(points[:, 0], points[:, 1], "o", color=ink, markersize=3, fillstyle="none" if hollow else "full")
    panel.annotate(
        label,
        (10 ** middle[0], points[:, 1].min() if below else points[:, 1].max()),
        xytext=(0, -13 if below else 6),
        textcoords="offset points",
        color=ink,
        fontsize=8.5,
        ha="center",
    )
    if len(points) < _LEAST_POINTS:
        return
    values, vectors = np.linalg.eigh(np.cov(places.T))
    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(np.maximum(values, 0.0))
    outline = middle + circle @ vectors.T
    panel.fill(10 ** outline[:, 0], outline[:, 1], facecolor=ink, alpha=0.18, edgecolor=ink, linewidth=1)


def _top(runs: Table, way: str) -> float:
    return max((row["goodput_bps"] or 0.0 for row in runs.rows() if row["direction"] == way), default=0.0) or 1.0


_WIDE = 1e3
"""The delay axis has fewer tick labels if its end exceeds its start by more than this factor."""


def _delay_axis(panel: Axes, *, better_right: bool = False) -> None:
    panel.set_xscale("log")
    panel.set_xlabel("delay (ms)", fontsize=8.5)
    low, high = panel.get_xlim()
    labels = (1, 2, 3, 5, 7) if better_right else (1, 2, 5)
    panel.xaxis.set_major_locator(LogLocator(subs=labels if high <= low * _WIDE else (1, 3)))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    if better_right:
        panel.margins(x=0.12)
        panel.invert_xaxis()


def _legend(panel: Axes) -> None:
    panel.legend(loc="best", fontsize=7.5, frameon=False)


def _subtitle(found: Aqm) -> str:
    load = found.workload or "its own flows"
    return f"{found.scenario.name}: {load}, {', '.join(found.worlds)}{', ECN' if found.ecn else ''}"


def _seeds(found: Aqm) -> str:
    return f"{units.counted(found.repeat, 'seed')} from {found.seed}"
