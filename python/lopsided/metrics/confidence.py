"""Computes the 95 % confidence interval of a mean over independent runs, with Student's t distribution.

Differences between kinds of runs, such as orders of arrival, are not random. `stratified_interval` uses only the spread
within each kind (Cochran, Sampling Techniques, chapter 5, equal weights). Do not use the module for medians, or for
samples of a single time series, because such samples are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Two-sided 95 % quantiles of Student's t distribution, for 1 to 30 degrees of freedom."""
_NORMAL = 1.959964


class Interval(NamedTuple):
    """A mean and the half width of its 95 % interval, which is NaN for fewer than two values."""

    mean: float
    half_width: float
    of: int
    """Number of values in the mean."""

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half_width


def mean_interval(values: Iterable[float | None]) -> Interval:
    """Returns the mean of the values and its interval. `None` and NaN are ignored."""
    known = [float(value) for value in values if value is not None and not math.isnan(value)]
    if not known:
        return Interval(math.nan, math.nan, 0)
    mean = math.fsum(known) / len(known)
    if len(known) == 1:
        return Interval(mean, math.nan, 1)
    variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    return Interval(mean, t95(len(known) - 1) * math.sqrt(variance / len(known)), len(known))


def stratified_interval(strata: Sequence[Iterable[float | None]]) -> Interval:
    """Returns the mean of the strata's means. The interval results from the spread within the strata.

    The function assumes the same variance in all strata. `half_width` is NaN if no stratum has two values.
    """
    known = [[float(value) for value in each if value is not None and not math.isnan(value)] for each in strata]
    known = [each for each in known if each]
    if not known:
        return Interval(math.nan, math.nan, 0)
    means = [math.fsum(each) / len(each) for each in known]
    mean, values = math.fsum(means) / len(means), sum(map(len, known))
    freedom = values - len(known)
    if freedom == 0:
        return Interval(mean, math.nan, values)
    squares = (math.fsum((value - own) ** 2 for value in each) for each, own in zip(known, means, strict=True))
    of_mean = math.fsum(squares) / freedom * math.fsum(1 / len(each) for each in known) / len(known) ** 2
    return Interval(mean, t95(freedom) * math.sqrt(of_mean), values)


def t95(freedom: int) -> float:
    """Returns Student's two-sided 95 % quantile (Cornish and Fisher's expansion above 30 degrees of freedom)."""
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
