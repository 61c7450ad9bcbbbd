"""What the drawings of papers share: captions, legends, marks for printed values, comparisons with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from lopsided.data.table import number
from lopsided.papers.framework.model import Comparison
from lopsided.papers.framework.published import PublishedValue
from lopsided.views.plot import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab
    from lopsided.papers.framework.traces import Array

_CAPTION_IN = 0.17


def column(frame: pl.DataFrame, name: str) -> Array:
    """A column as floats."""
    return frame[name].cast(float).to_numpy()


def compare(published: PublishedValue, values: Sequence[float], remark: str = "", scale: float = 1.0) -> Comparison:
    """A comparison from (median, low, high), scaled to the published unit."""
    median, low, high = (value * scale for value in values)
    return Comparison(published, median, low, high, remark)


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


def provenance(lab: Lab, experiment: str) -> str:
    """How many runs stand behind a drawing, and their digest."""
    runs = int(number(lab.table(experiment)["runs"].max(), 0.0))
    spread = f"median of {runs} runs per point, band: their range" if runs > 1 else "one run per point"
    return f"{spread}  ·  digest {lab.digest(experiment)}"
