"""Draws the goodput of both directions under each remedy for the ACK path."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.studies.ackpath import AckPath

_BAR_IN = 0.24
_ROOM = 1.25
"""Length of the axis as a multiple of the longest bar. The extra length leaves room for the number next to the bar."""


def draw(found: AckPath) -> Figure:
    """Draws one panel per direction with a bar per remedy, best first."""
    rows = list(found.cells.rows())
    inks = {"down": style.DOWN[0], "up": style.UP[0]}
    ways = [way for way in inks if any(row[f"{way}_goodput_bps"] for row in rows)]
    tops = {way: max(row[f"{way}_goodput_bps"] or 0.0 for row in rows) for way in ways}
    scales = {way: style.rate_unit(tops[way]) for way in ways}
    names = [f"{way}: goodput ({unit})" for way, (_, unit) in scales.items()]
    figure, axes = style.small_panels(
        found.figures["goodput"], found.scenario.heading, names, max(len(ways), 1), _BAR_IN * (len(rows) + 1)
    )
    for way, panel in zip(ways, axes, strict=True):
        scale, _ = scales[way]
        panel.set_yticks([])
        panel.set_xlim(0, tops[way] / scale * _ROOM)
        for place, row in enumerate(rows):
            rate = row[f"{way}_goodput_bps"] or 0.0
            panel.barh(-place, rate / scale, height=0.8, color=inks[way], alpha=0.35)
            name = panel.text(
                tops[way] / scale * 0.015, -place, row["remedies"], fontsize=8, va="center", color=style.INK
            )
            # A long name may extend beyond the end of a short bar.
            reach = float(panel.transData.inverted().transform((name.get_window_extent().x1, 0))[0])
            number = f" {units.rate(rate)}"
            panel.text(max(rate / scale, reach), -place, number, fontsize=7.5, va="center", color=style.INK)
    seeds = units.counted(found.repeat, "seed")
    style.small_print(
        figure, f"medians over {seeds} from {found.seed}; the best remedy for both directions together is at the top"
    )
    return figure
