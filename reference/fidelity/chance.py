"""How much of a difference between two worlds is chance.

A value is a mean over seeds in either world. Beside its error stand its standard error, and what chance alone gives:
how far the simulator is from itself, with as many seeds on either side as the comparison has.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

BOUND, STANDARD_ERRORS = 0.10, 3.0
"""A value is off where its error is beyond both."""

RESAMPLES = 200
LEAST_SPREAD = 1e-3
"""Of a mean: what lies within this share is a matter of microseconds, whatever so few seeds say of the spread."""


@dataclass(frozen=True)
class Value:
    """One quantity in both worlds, by seed."""

    linux: tuple[float, ...]
    sim: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether both worlds have it, and it is not nothing."""
        return bool(self.linux and self.sim) and fmean(self.linux) != 0

    @property
    def error(self) -> float:
        """Of the simulator's mean, as a share of Linux'."""
        return fmean(self.sim) / fmean(self.linux) - 1

    @property
    def standard_error(self) -> float:
        """Of `error`, as a share.

        Linux runs with few seeds, whose spread says little: it is taken to be no less than the simulator's.
        """
        scale = abs(fmean(self.linux))
        of_sim, of_linux = _spread(self.sim), max(_spread(self.linux), _spread(self.sim))
        return max(
            math.hypot(of_sim / math.sqrt(len(self.sim)), of_linux / math.sqrt(len(self.linux))) / scale, LEAST_SPREAD
        )

    @property
    def in_standard_errors(self) -> float:
        """The error in units of its standard error."""
        return self.error / self.standard_error

    @property
    def off(self) -> bool:
        """Beyond the bound and beyond chance."""
        return abs(self.error) > BOUND and not self.by_chance

    @property
    def by_chance(self) -> bool:
        """Whether the error is one that the seeds explain."""
        return abs(self.in_standard_errors) <= STANDARD_ERRORS

    def chance(self) -> float:
        """The 95th percentile of the simulator's errors against itself: as many seeds as Linux has against the others.

        NaN where there are not enough seeds to leave some on the other side.
        """
        few = len(self.linux)
        if len(self.sim) < 2 * few:
            return math.nan
        draws = random.Random(0)
        errors = []
        for _ in range(RESAMPLES):
            mixed = draws.sample(self.sim, len(self.sim))
            mean = fmean(mixed[:few])
            errors.append(abs(fmean(mixed[few:]) / mean - 1) if mean else 0.0)
        return percentile(errors, 0.95)

    def beyond_chance(self) -> float:
        """What of the error chance does not explain; zero where it explains all."""
        chance = self.chance()
        return abs(self.error) if math.isnan(chance) else max(0.0, abs(self.error) - chance)


def percentile(values: Sequence[float], share: float) -> float:
    """By interpolation; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _spread(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
