"""Describes a figure whose panels share an x axis.

`views.plot.drawn` draws the figure with matplotlib, and `views.svg` draws it for a page. Both use the same `data`.
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
    """A line of a figure. `name` identifies the curve in `Chart.data`. A curve without a name is not in the data."""

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
    """The name of the y axis, with its unit."""
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
    """The footnote: the contents of the figure, and how the figure was made."""
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
