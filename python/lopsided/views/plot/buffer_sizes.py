"""Draws the figure of `lopsided size`: goodput as a fraction of the link's rate for each buffer size, similar to figure
5.1 of merritt2010."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.studies.sizing import Sizing

_MODEL = style.OTHER[1]
_MEASURED = style.OTHER[0]


def draw(sizing: Sizing) -> Figure:
    """Draws the goodput of both directions, as a fraction of the link's rate, and marks the recommended buffer size."""
    line = sizing.line
    subtitle = (
        f"{units.rate(line.down_bps)} down, {units.rate(line.up_bps)} up, RTT {units.millis(line.rtt_s * 1e3)}, "
        f"{line.queue_down} down, {line.cc}, {line.stack}"
    )
    sheet = style.sheet("Uplink buffer", subtitle, (3.2,), "uplink buffer (packets of 1500 bytes)")
    _performance(sheet.panels[0], sizing)
    sheet.panels[0].set_xlim(0, float(sizing.curve["buffer_packets"][-1]) * 1.02)
    seeds, band = (f"medians of {sizing.repeat} seeds", "; band: all seeds") if sizing.repeat > 1 else ("one seed", "")
    style.small_print(
        sheet.figure,
        f"{seeds} over {units.seconds(sizing.both_s)} with both flows active{band}",
        "sim",
        f"digest of all runs {sizing.digest}",
    )
    return sheet.figure


def _performance(panel: Axes, sizing: Sizing) -> None:
    curve = sizing.curve
    packets = curve["buffer_packets"].to_numpy()
    down = curve["goodput_down_bps"].to_numpy() / sizing.line.down_bps
    up = curve["goodput_up_bps"].to_numpy() / sizing.line.up_bps
    performance = curve["performance"].to_numpy()
    least, greatest = curve["performance_least"].to_numpy(), curve["performance_greatest"].to_numpy()
    panel.plot(packets, down, color=style.DOWN[1], linewidth=1)
    panel.plot(packets, up, color=style.UP[1], linewidth=1)
    panel.fill_between(packets, least, greatest, color=style.INK, alpha=0.12, linewidth=0)
    panel.plot(packets, performance, color=style.INK, linewidth=1.8, marker="o", markersize=3)
    panel.set_ylim(0, 1)
    panel.set_ylabel("share of the link's rate")
    advised = sizing.packets
    wait = units.millis(sizing.drain_s(advised) * 1e3)
    marks = [Mark(advised, _MEASURED, f"recommended: {advised} packets, {wait} when full", 0.05)]
    if sizing.model.packets is not None:
        marks.append(Mark(sizing.model.packets, _MODEL, f"Merritt's model: {sizing.model.packets}", 0.13))
    draw_marks(panel, marks, float(packets[-1]) * 1.02)
    labels = [
        (float(down[-1]), "download", style.DOWN[0]),
        (float(up[-1]), "upload", style.UP[0]),
        (float(performance[-1]), "the smaller\nof the two", style.INK),
    ]
    style.end_labels(panel, labels)


@dataclass(frozen=True)
class Mark:
    """A buffer size that is drawn as a vertical line with a text."""

    packets: float
    ink: str
    text: str
    height: float
    """Vertical position of the text, as a fraction of the panel's height."""

    def span(self, width: float, *, left: bool) -> tuple[float, float]:
        """Returns the range in packets that the text covers on an x axis of `width` packets. If `left` is true, the
        text is to the left of the line."""
        reach = _CHARACTER * len(self.text) * width
        return (self.packets - reach, self.packets) if left else (self.packets, self.packets + reach)


_CHARACTER = 0.0112
"""Width of a character, as a fraction of the panel's width."""


def draw_marks(panel: Axes, marks: list[Mark], width: float) -> None:
    """Draws a vertical line with a text for each mark.

    A text is on the side of its line where it crosses fewer other lines. If a line crosses a text, the line begins
    above
    the text.
    """
    sides: list[bool] = []
    begin = [0.0] * len(marks)
    for mark in marks:
        costs: dict[bool, float] = {}
        for left in (False, True):
            low, high = mark.span(width, left=left)
            costs[left] = sum(low < other.packets < high for other in marks) + 2 * (low < 0 or high > width)
        sides.append(costs[True] < costs[False])
        low, high = mark.span(width, left=sides[-1])
        for number, other in enumerate(marks):
            if low < other.packets < high:
                begin[number] = mark.height + 0.04
    for mark, left, least in zip(marks, sides, begin, strict=True):
        panel.axvline(mark.packets, ymin=least, color=mark.ink, linewidth=1, alpha=0.8)
        panel.annotate(
            mark.text,
            (mark.packets, mark.height),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            fontsize=style.legend_size() + 0.5,
            color=mark.ink,
            va="center",
            ha="right" if left else "left",
        )
