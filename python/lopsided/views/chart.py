"""Describes a figure whose panels share an x axis.

`views.plot.drawn` draws the figure with matplotlib, and `views.svg` draws it as SVG for an HTML page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from lopsided.data.series import Floats
    from lopsided.views.inks import EndLabel


@dataclass(frozen=True)
class Curve:
    """A curve in a panel. `Chart.data` omits curves that have no name."""

    x: Floats
    y: Floats
    ink: str
    name: str = ""
    width: float = 1.4
    alpha: float = 1.0
    dash: tuple[float, float] | None = None
    filled: bool = False
    """True if the area below the line is tinted."""


@dataclass(frozen=True)
class Bars:
    """Bars of equal width. `left` is the left edge of each bar."""

    left: Floats
    height: Floats
    width: float
    ink: str
    name: str


@dataclass(frozen=True)
class Panel:
    """One panel, whose y axis runs from 0 to `top`."""

    label: str
    """The label of the y axis, with the unit."""
    top: float
    height_in: float
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    moments: Floats | None = None
    """Times in seconds that are marked above the panel."""
    limit: float | None = None
    """The y value of a dashed line across the panel."""
    names: tuple[EndLabel, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A figure of stacked panels with a common x axis."""

    title: str
    subtitle: str
    x_label: str
    x_end: float
    """The end of the x axis, which starts at 0."""
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    """The parts of the footnote, which states what the figure shows and how it was made."""
    x_name: str = "time_s"

    def data(self) -> pl.DataFrame:
        """Returns the drawn values, one row per point: panel, curve, x, and value in the panel's unit."""
        import polars as pl

        frames: list[pl.DataFrame] = []
        for panel in self.panels:
            of_curves = [(curve.name, curve.x, curve.y) for curve in panel.curves if curve.name]
            of_bars = [(bars.name, bars.left, bars.height) for bars in panel.bars]
            for name, x, y in [*of_curves, *of_bars]:
                known = ~np.isnan(y)
                what = {"panel": " ".join(panel.label.split()), "curve": name}
                columns = {self.x_name: x[known], "value": y[known]}
                frames.append(
                    pl.DataFrame(columns).select(*(pl.lit(text).alias(key) for key, text in what.items()), "*")
                )
        schema = {"panel": pl.String, "curve": pl.String, self.x_name: pl.Float64, "value": pl.Float64}
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
