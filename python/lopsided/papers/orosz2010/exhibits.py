"""The collection that this paper's figures, tables and claims enter themselves into, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.drawing import column
from lopsided.papers.framework.model import Collection
from lopsided.papers.orosz2010.testbed import FLAVOURS, Flavour
from lopsided.views.plot import style

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from lopsided.papers.framework.lab import Lab

collection = Collection()

INKS = dict(
    zip(
        (each.key for each in FLAVOURS),
        (style.DOWN[0], style.RED, style.OTHER[0], style.OTHER[1], style.OTHER[3], style.UP[0]),
        strict=True,
    )
)
MARKS = dict(zip((each.key for each in FLAVOURS), "osD^vP", strict=True))

OTHERS = tuple(each for each in FLAVOURS if each.key != "vegas")
"""Those that lose packets to find their window."""

Spread = tuple[float, float, float]
"""Median, least and greatest of the repetitions."""


def of_flavour(lab: Lab, flavour: Flavour, experiment: str = "phases") -> pl.DataFrame:
    """The rows of one variant, in the experiment's order."""
    import polars as pl

    return lab.table(experiment).filter(pl.col("variant") == flavour.key)


def value(lab: Lab, flavour: Flavour, name: str, experiment: str = "phases", **labels: int) -> float:
    """The median of one column in one setting."""
    import polars as pl

    frame = of_flavour(lab, flavour, experiment).filter(*(pl.col(label) == wanted for label, wanted in labels.items()))
    return float(column(frame, name)[0])


def mean_over(lab: Lab, flavours: Iterable[Flavour], name: str, experiment: str = "phases", **labels: int) -> Spread:
    """The mean over variants: of their medians, of their least and of their greatest values."""
    chosen = tuple(flavours)
    median, low, high = (
        float(np.mean([value(lab, flavour, f"{name}{end}", experiment, **labels) for flavour in chosen]))
        for end in ("", "_low", "_high")
    )
    return median, low, high
