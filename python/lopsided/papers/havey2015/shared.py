"""Reads the measurements that this dissertation's figures and claims use."""

from __future__ import annotations

from lopsided.papers.framework.claims import number
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Measured
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.havey2015.setup import NAMES
from lopsided.views.plot import style

INKS = {"asqm": style.RED, "bdp": style.RED, "codel": style.DOWN[0], "pie": style.OTHER[0], "ared": style.UP[0]}


def value(m: Measurements, experiment: str, column: str, aqm: str, rtt: int) -> Spread:
    """Returns a measured column for one discipline at one base RTT in ms."""
    return m.value(experiment, column, aqm=aqm, rtt_ms=rtt)


def said(
    m: Measurements,
    experiment: str,
    column: str,
    aqm: str,
    rtt: int,
    unit: str,
    scale: float = 1.0,
    what: str = "",
    published: PublishedValue | None = None,
) -> Measured:
    """Returns a column's measured value for one discipline, named like "CoDel at 100 ms".

    Parameters
    ----------
    m
        The measurements.
    experiment, column
        Experiment and measured column.
    aqm, rtt
        Discipline, and base RTT in ms.
    unit, scale
        Unit of the returned number, and the factor that converts the measured unit to this unit.
    what
        Text that is added to the name.
    published
        The published value to compare with.
    """
    found = value(m, experiment, column, aqm, rtt)
    return number(f"{NAMES[aqm]} at {rtt} ms{what}", found, unit, scale=scale, published=published)
