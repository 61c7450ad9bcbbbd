"""Draws the goodput, RTT and outstanding data of each flow in the capture and in the fitted simulation."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.errors import UsageError
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.studies.fit import Fit
    from lopsided.views.plot.style import LabFigure

_MOST_FLOWS = 4
_SOURCES = {"measured": (style.INK, "-"), "fitted": (style.RED, (0, (4, 1.5)))}
_PANELS = (
    ("goodput_bps", "goodput\n(Mbit/s)", 1e6),
    ("rtt_mean_ms", "RTT\n(ms)", 1.0),
    ("outstanding_max_bytes", "outstanding\n(kB)", 1e3),
)


def draw(found: Fit) -> LabFigure:
    """Draws three panels per flow, each with a measured and a fitted curve.

    Raises UsageError if the flows are too short to be drawn over time.
    """
    names = list(dict.fromkeys(found.timeline.values("flow")))[:_MOST_FLOWS]
    if not names:
        raise UsageError("the flows are too short to be drawn over time")
    heights = (1.4,) * (len(names) * len(_PANELS))
    sheet = style.sheet(found.figures["measured"], found.title, heights, "time since the first packet (s)")
    panels = iter(sheet.panels)
    flows, sources = (np.array(found.timeline.values(name)) for name in ("flow", "source"))
    time = found.timeline.numbers("time_s")
    for name in names:
        for column, label, scale in _PANELS:
            panel = next(panels)
            values = found.timeline.numbers(column) / scale
            labels: list[style.EndLabel] = []
            for source, (ink, line) in _SOURCES.items():
                mine = (flows == name) & (sources == source) & np.isfinite(values)
                if mine.any():
                    panel.plot(time[mine], values[mine], color=ink, linestyle=line, linewidth=1.1)
                    labels.append((float(values[mine][-1]), source, ink))
            panel.set_ylim(bottom=0)
            panel.set_ylabel(label)
            panel.set_title(name, loc="left", fontsize=9, pad=2, color=style.INK)
            style.end_labels(panel, labels)
    style.small_print(
        sheet.figure, "means over intervals of 0.1 s or more; the capture's own numbers are in timeline.csv"
    )
    return sheet.figure
