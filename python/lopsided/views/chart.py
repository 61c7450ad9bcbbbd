"""A figure over a common axis, said and not yet drawn: `views.plot.drawn` makes it a matplotlib figure, `views.svg` an
element of a page, and its `data` is what both show.
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
    """A line. `name` is its column in the data; what has none (an aid to the eye) is not part of them."""

    x: Floats
    y: Floats
    ink: str
    name: str = ""
    width: float = 1.4
    alpha: float = 1.0
    dash: tuple[float, float] | None = None
    filled: bool = False
    """Whether the room below it is tinted."""


@dataclass(frozen=True)
class Bars:
    """Bars of one width, each with its left edge at one of `left`."""

    left: Floats
    height: Floats
    width: float
    ink: str
    name: str


@dataclass(frozen=True)
class Panel:
    """One panel, from zero up to `top`."""

    label: str
    """The name of the y axis, with its unit."""
    top: float
    height_in: float
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    moments: Floats | None = None
    """Times that are marked above the panel."""
    limit: float | None = None
    """The height of a dashed line across the panel."""
    names: tuple[EndLabel, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A figure: panels below each other over one axis."""

    title: str
    subtitle: str
    x_label: str
    x_end: float
    """The axis runs from zero to here."""
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    """The small print: what was drawn and how."""
    x_name: str = "time_s"
    """The axis's name in the data."""

    def data(self) -> pl.DataFrame:
        """What is drawn, as rows of panel, curve, the axis, and value in the panel's unit."""
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
