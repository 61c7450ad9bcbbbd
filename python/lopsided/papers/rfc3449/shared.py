"""Computes the effect of a mechanism over several paths, and the verdict on the RFC's advice.

The rule for the verdict, and the three bounds in this rule, are our own. They were fixed before the first results were
known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import geometric_mean

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import MORE, number
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.rfc3449.setup import JUDGED_ON, LOADS, Mechanism, Path

HELPS = MORE
"""A mechanism helps if it raises a direction's goodput by at least 10 %, in the geometric mean over the paths."""
HARMS_DOWN = 0.8
"""A mechanism harms a path if the download's goodput falls below this fraction of its goodput without the mechanism."""
HARMS_UP = 0.5
"""A mechanism harms a path if the upload's goodput falls below this fraction of its goodput without the mechanism.
Section 5.4.2 warns of the "starvation" of data.
"""
LEAST = 0.01
"""Minimum goodput as a fraction of the rate. Lower goodputs are raised to this value, so that no ratio is infinite."""

WAYS = {"down": ("download", HARMS_DOWN), "up": ("upload", HARMS_UP)}


@dataclass(frozen=True)
class Ratio:
    """The goodput with a mechanism divided by the goodput without it, in one direction on one path under one load."""

    path: Path
    load: str
    way: str
    value: float

    @property
    def harms(self) -> bool:
        return self.value < WAYS[self.way][1]


def goodput_bps(m: Measurements, experiment: str, path: Path, each: Mechanism, arm: str, load: str, way: str) -> float:
    """Returns the median goodput in bit/s of one setting on one path. A lower goodput is raised to `LEAST` times the
    direction's rate."""
    value = m.value(experiment, f"{way}_bps", path=path.key, mechanism=each.key, arm=arm, load=load).median
    return max(value, LEAST * 1e3 * (path.down_kbps if way == "down" else path.up_kbps))


def ratios(m: Measurements, experiment: str, each: Mechanism) -> list[Ratio]:
    """Returns the goodput ratios of a mechanism on every path on which the RFC's advice is judged.

    The upload's ratio is included only if the load contains an upload.
    """
    there = {(row["path"], row["load"]) for row in m.rows(experiment, mechanism=each.key)}
    return [
        Ratio(path, load, way, with_ / without)
        for path in JUDGED_ON[experiment]
        for load in LOADS
        for way in (WAYS if load == "both" else ("down",))
        if (path.key, load) in there and path.k < each.below_k
        for with_, without in [[goodput_bps(m, experiment, path, each, arm, load, way) for arm in ("with", "without")]]
    ]


def mean(found: Iterable[Ratio], way: str, load: str = "both") -> float:
    """Returns the geometric mean of one direction's ratios under one load; NaN if there are no such ratios."""
    values = [each.value for each in found if each.way == way and each.load == load]
    return geometric_mean(values) if values else math.nan


def means(found: list[Ratio]) -> list[Measured]:
    """Returns each direction's geometric mean ratio under each simulated load."""
    names = {
        ("down", "both"): "download next to an upload",
        ("up", "both"): "upload",
        ("down", "alone"): "download alone",
    }
    run = {(each.way, each.load) for each in found}
    return [number(f"{names[key]}, with over without", mean(found, *key)) for key in names if key in run]


def worst(found: list[Ratio], way: str) -> Measured:
    """Returns the smallest ratio of a direction, with the name of its path."""
    least = min((each for each in found if each.way == way), key=lambda each: each.value)
    load = " alone" if least.load == "alone" else ""
    return number(f"{WAYS[way][0]}{load} at worst, {least.path.title}", least.value)


def helps(found: list[Ratio]) -> bool:
    return any(each.value >= HELPS for each in means(found))


def is_good(found: list[Ratio]) -> bool:
    """Returns true if the mechanism helps and harms no path."""
    return helps(found) and not any(each.harms for each in found)


def judged(m: Measurements, experiment: str, each: Mechanism) -> Verdict:
    """Judges the advice: each recommended mechanism must be good, and no other mechanism may be good."""
    found = ratios(m, experiment, each)
    numbers = [*means(found), *(worst(found, way) for way in WAYS)]
    recommended = each.advice == "recommended"
    good = f"a mean of at least {HELPS} and no path below {HARMS_DOWN} (download) or {HARMS_UP} (upload)"
    return Verdict(
        is_good(found) == recommended, good if recommended else f"not: {good}", tuple(numbers), text.listed(numbers)
    )


def word(m: Measurements, experiment: str, each: Mechanism) -> str:
    """Returns the verdict with its reason, such as "no: helps" or "yes: helps, but harms 2 of 6 paths"."""
    found = ratios(m, experiment, each)
    if not found:
        return ""
    paths = {one.path for one in found}
    harmed = {one.path for one in found if one.harms}
    why, harms = ("helps", ", but harms") if helps(found) else ("no gain", ", and harms")
    harms = f"{harms} {len(harmed)} of {len(paths)} paths" if harmed else ""
    return f"{'yes' if judged(m, experiment, each).holds else 'no'}: {why}{harms}"
