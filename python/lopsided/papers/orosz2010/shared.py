"""How this letter's figures, tables and claims look things up: columns of the variants, and their means."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.framework.claims import number
from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.framework.model import Measured
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.orosz2010.setup import FLAVOURS, Flavour, flavour
from lopsided.views.plot import style

INKS = dict(
    zip(
        (each.key for each in FLAVOURS),
        (style.DOWN[0], style.RED, style.OTHER[0], style.OTHER[1], style.OTHER[3], style.UP[0]),
        strict=True,
    )
)
MARKS = dict(zip((each.key for each in FLAVOURS), "osD^vP", strict=True))

VEGAS, RENO, CUBIC = flavour("vegas"), flavour("reno"), flavour("cubic")
OTHERS = tuple(each for each in FLAVOURS if each is not VEGAS)
"""Those that lose packets to find their window."""


def value(m: Measurements, each: Flavour, column: str, experiment: str = "phases", **labels: int) -> Spread:
    """A column of one variant in one setting."""
    return m.value(experiment, column, variant=each.key, **labels)


def mean_over(
    m: Measurements, flavours: Iterable[Flavour], column: str, experiment: str = "phases", **labels: int
) -> Spread:
    """The mean over variants."""
    return Spread.mean(value(m, each, column, experiment, **labels) for each in flavours)


def mean_curve(m: Measurements, flavours: Iterable[Flavour], column: str, experiment: str, over: str) -> Curve:
    """The mean over variants against what an experiment varies."""
    curves = [m.curve(experiment, column, over, variant=each.key) for each in flavours]
    median, low, high = (np.mean([getattr(each, end) for each in curves], axis=0) for end in Spread._fields)
    return Curve(curves[0].x, median, low, high)


def share(m: Measurements, phase: int) -> PublishedValue:
    """The share of the line that the letter prints for phase 2 or 3."""
    return m.published.find("Section V", "downstream_throughput_share_of_link", phase=phase)


def of_each(
    m: Measurements,
    column: str,
    name: str = "",
    unit: str = "",
    scale: float = 1.0,
    flavours: Iterable[Flavour] = FLAVOURS,
) -> list[Measured]:
    """The number of each variant, "CUBIC, phase 3"."""
    return [number(f"{each.title}{name}", value(m, each, column), unit, scale=scale) for each in flavours]
