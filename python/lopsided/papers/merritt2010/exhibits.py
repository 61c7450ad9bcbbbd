"""The collection that this paper's figures, tables and claims enter themselves into, and what their drawings share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.drawing import column, name_curves
from lopsided.papers.framework.model import Collection
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, Line
from lopsided.views.plot import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab

collection = Collection()

INKS = {line.name: ink for line, ink in zip(LINES, (style.OTHER[0], style.DOWN[0], style.UP[0]), strict=True)}
MARKS = {line.name: mark for line, mark in zip(LINES, "os^", strict=True)}
BUFFER_AXIS = "uplink buffer (packets)"


def of_line(lab: Lab, line: Line, experiment: str = "sweep") -> pl.DataFrame:
    """The rows of one link, buffers rising."""
    import polars as pl

    return lab.table(experiment).filter(pl.col("link") == line.name).sort("uplink_buffer_packets")


def at_buffer(lab: Lab, line: Line, packets: float, name: str) -> tuple[float, float, float]:
    """Median, low and high of a column at a buffer size, linear between the sizes that were run."""
    frame = of_line(lab, line)
    sizes = column(frame, "uplink_buffer_packets")
    median, low, high = (float(np.interp(packets, sizes, column(frame, name + end))) for end in ("", "_low", "_high"))
    return median, low, high


def draw_band(panel: Axes, frame: pl.DataFrame, name: str, ink: str, label: str, mark: str = "o") -> None:
    """A curve against the uplink buffer: medians, with the range over the repetitions as a band."""
    sizes = column(frame, "uplink_buffer_packets")
    low, high = column(frame, f"{name}_low"), column(frame, f"{name}_high")
    panel.fill_between(sizes, low, high, color=ink, alpha=0.15, linewidth=0)
    panel.plot(sizes, column(frame, name), color=ink, marker=mark, markersize=4.5, label=label)
    panel.set_xlim(BUFFERS[0] - 2, BUFFERS[-1] + 2)
    panel.set_xticks(BUFFERS)


def draw_lines(panel: Axes, lab: Lab, name: str, experiment: str = "sweep") -> None:
    """One such curve for each link, named at its right end."""
    ends = []
    for line in LINES:
        frame = of_line(lab, line, experiment)
        draw_band(panel, frame, name, INKS[line.name], line.title, MARKS[line.name])
        ends.append((float(column(frame, name)[-1]), f"{line.name} kbit/s", INKS[line.name]))
    name_curves(panel, ends)
