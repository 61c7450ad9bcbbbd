"""The collection that this paper's figures, tables and claims enter themselves into, and what their drawings share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, Line
from lopsided.papers.model import Collection, Comparison
from lopsided.papers.published import PublishedValue
from lopsided.plot import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from lopsided.papers.lab import Lab
    from lopsided.papers.merritt2010.measure import Array

collection = Collection()

INKS = {line.name: ink for line, ink in zip(LINES, (style.OTHER[0], style.DOWN[0], style.UP[0]), strict=True)}
MARKS = {line.name: mark for line, mark in zip(LINES, "os^", strict=True)}
BUFFER_AXIS = "uplink buffer (packets)"

_CAPTION_IN = 0.17


def of_line(lab: Lab, line: Line, experiment: str = "sweep") -> pl.DataFrame:
    """The rows of one link, buffers rising."""
    import polars as pl

    return lab.table(experiment).filter(pl.col("link") == line.name).sort("uplink_buffer_packets")


def column(frame: pl.DataFrame, name: str) -> Array:
    """A column as floats."""
    return frame[name].cast(float).to_numpy()


def at_buffer(lab: Lab, line: Line, packets: float, name: str) -> tuple[float, float, float]:
    """Median, low and high of a column at a buffer size, linear between the sizes that were run."""
    frame = of_line(lab, line)
    sizes = column(frame, "uplink_buffer_packets")
    median, low, high = (float(np.interp(packets, sizes, column(frame, name + end))) for end in ("", "_low", "_high"))
    return median, low, high


def compare(published: PublishedValue, values: Sequence[float], remark: str = "", scale: float = 1.0) -> Comparison:
    """A comparison from (median, low, high), scaled to the published unit."""
    median, low, high = (value * scale for value in values)
    return Comparison(published, median, low, high, remark)


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


def name_curves(panel: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Names curves at their right ends, `(y, text, colour)`; those without an end (NaN) go unnamed."""
    style.end_labels(panel, [end for end in ends if np.isfinite(end[0])])


def caption(panel: Axes, text: str) -> None:
    """A line above a panel that says what it shows; the panel gives up the room."""
    box = panel.get_position()
    room = _CAPTION_IN / panel.figure.get_figheight()  # type: ignore[union-attr]
    panel.set_position((box.x0, box.y0, box.width, box.height - room))
    panel.annotate(
        text, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points", fontsize=9, va="bottom"
    )


def legend(panel: Axes, place: Literal["best", "upper left"] = "best", columns: int = 1) -> None:
    """A legend without a frame."""
    panel.legend(loc=place, fontsize=8.5, ncols=columns, frameon=False)


def published_mark(panel: Axes, x: float, y: float, ink: str, label: str | None = None) -> None:
    """A published value: a hollow diamond."""
    look = {"marker": "D", "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.6, "linestyle": ""}
    panel.plot([x], [y], color=ink, label=label, **look)


def provenance(lab: Lab, experiment: str = "sweep") -> str:
    """How many runs stand behind a drawing, and their digest."""
    runs = int(lab.table(experiment)["runs"].max() or 0)  # type: ignore[arg-type]
    spread = f"median of {runs} runs per point, band: their range" if runs > 1 else "one run per point"
    return f"{spread}  ·  digest {lab.digest(experiment)}"
