"""Reads the measurements that this letter's figures, tables and claims use."""

from __future__ import annotations

from collections.abc import Iterable

from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.orosz2010.setup import Flavour


def value(m: Measurements, each: Flavour, column: str, experiment: str = "phases", **labels: int) -> Spread:
    """Returns a measured column of one variant in one setting."""
    return m.value(experiment, column, variant=each.key, **labels)


def mean_over(
    m: Measurements, flavours: Iterable[Flavour], column: str, experiment: str = "phases", **labels: int
) -> Spread:
    """Returns the mean of a measured column over variants."""
    return Spread.mean(value(m, each, column, experiment, **labels) for each in flavours)


def mean_curve(m: Measurements, flavours: Iterable[Flavour], column: str, experiment: str, over: str) -> Curve:
    """Returns the mean of a measured column over variants, for each value of the label `over`."""
    return Curve.mean(m.curve(experiment, column, over, variant=each.key) for each in flavours)


def share(m: Measurements, phase: int) -> PublishedValue:
    """Returns the published throughput in phase 2 or 3, as a fraction of the line's rate."""
    return m.published.find("Section V", "downstream_throughput_share_of_link", phase=phase)
