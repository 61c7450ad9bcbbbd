"""Compares the values of Linux and the simulator, and estimates how much of the difference is due to chance.

Each quantity is measured once per seed, on Linux and in the simulator. The error of the simulator's mean is compared
with its standard error and with the error by chance. The error by chance is the difference between the means of two
random groups of simulated runs. One of these groups has as many runs as Linux.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from reference.fidelity.records import Key, Measurement, Values

BOUND, STANDARD_ERRORS = 0.10, 3.0
"""Limits of the relative error: a value is `off` if its error exceeds `BOUND` and also exceeds `STANDARD_ERRORS`
standard errors."""

RESAMPLES = 200
LEAST_SPREAD = 1e-3
"""Lower limit for the standard error, as a fraction of the mean, because timing differences of microseconds can cause
errors of this size."""


@dataclass(frozen=True)
class Value:
    """The measurements of a quantity on Linux and in the simulator, one per seed."""

    linux: tuple[float, ...]
    sim: tuple[float, ...]

    @property
    def known(self) -> bool:
        """True if the quantity was measured on Linux and in the simulator, and the mean of Linux is not zero."""
        return bool(self.linux and self.sim) and fmean(self.linux) != 0

    @property
    def error(self) -> float:
        """Relative error of the simulator's mean."""
        return fmean(self.sim) / fmean(self.linux) - 1

    @property
    def medians(self) -> tuple[float, float]:
        """Linux's median and the simulator's median; NaN if there are no measurements."""
        return _median(self.linux), _median(self.sim)

    @property
    def median_error(self) -> float:
        """Relative error of the simulator's median; NaN if the median of Linux is zero or unknown."""
        linux, sim = self.medians
        return sim / linux - 1 if linux else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `error`, as a fraction.

        Linux runs with few seeds, so its spread may be underestimated. If the simulator's spread is larger, it replaces
        Linux's.
        """
        scale = abs(fmean(self.linux))
        of_sim, of_linux = _spread(self.sim), max(_spread(self.linux), _spread(self.sim))
        return max(
            math.hypot(of_sim / math.sqrt(len(self.sim)), of_linux / math.sqrt(len(self.linux))) / scale, LEAST_SPREAD
        )

    @property
    def in_standard_errors(self) -> float:
        """Ratio of the error to its standard error."""
        return self.error / self.standard_error

    @property
    def off(self) -> bool:
        """True if the error exceeds both `BOUND` and `STANDARD_ERRORS` standard errors."""
        return abs(self.error) > BOUND and not self.by_chance

    @property
    def by_chance(self) -> bool:
        """True if the error is at most `STANDARD_ERRORS` standard errors, so that the spread between seeds explains
        it."""
        return abs(self.in_standard_errors) <= STANDARD_ERRORS

    def chance(self) -> float:
        """Returns the 95th percentile of the error between two random groups of simulated runs.

        One group has as many runs as Linux. The result is NaN if the other group would have fewer runs.
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
        """Returns the amount by which the error exceeds `chance()`; the whole error if `chance()` is NaN."""
        chance = self.chance()
        return abs(self.error) if math.isnan(chance) else max(0.0, abs(self.error) - chance)


def off_by_chance(values: Mapping[tuple[str, str, str], Value]) -> int:
    """Returns the number of values that would be off if both worlds behaved identically: the 95th percentile.

    Random runs of the simulator replace the runs of Linux, and the other simulated runs are compared with them. All
    values of a cell use the same runs. Values are left out if fewer runs than on Linux would be left.
    """
    counts: list[float] = []
    for resample in range(RESAMPLES):
        off = 0
        for (cell, _, _), value in values.items():
            few = len(value.linux)
            if len(value.sim) >= 2 * few:
                mixed = tuple(random.Random(f"{resample} {cell}").sample(value.sim, len(value.sim)))
                other = Value(mixed[:few], mixed[few:])
                off += other.known and other.off
        counts.append(off)
    return round(percentile(counts, 0.95)) if values else 0


class Both:
    """The runs of the simulator and of the reference. A cell's name and a seed identify a run. The reference is Linux
    or ns-2; the parameter is called `linux` in both cases."""

    def __init__(self, linux: Iterable[Measurement], sim: Mapping[tuple[str, int], Values]) -> None:
        self._sim = sim
        self._linux: dict[str, list[Measurement]] = {}
        self._seeds: dict[str, list[int]] = {}
        for one in linux:
            self._linux.setdefault(one.cell, []).append(one)
        for cell, seed in sim:
            self._seeds.setdefault(cell, []).append(seed)

    @property
    def cells(self) -> list[str]:
        """The names of the cells that were run both in the simulator and on Linux, in the order of Linux's runs."""
        return [cell for cell in self._linux if cell in self._seeds]

    def seeds(self, cell: str) -> int:
        """Returns the number of times that Linux ran a cell."""
        return len(self._linux.get(cell, ()))

    def value(self, cell: str, key: Key, *, all_seeds: bool = False) -> Value:
        """Returns the measurements of a quantity without NaN. Uses all seeds if `all_seeds` is true, and otherwise the
        seeds that both Linux and the simulator have run."""
        linux = self._linux.get(cell, [])
        if all_seeds:
            return Value(_known(linux, key), _present((self._sim[cell, seed] for seed in self._seeds[cell]), key))
        shared = [one for one in linux if (one.cell, one.seed) in self._sim]
        return Value(_known(shared, key), _present((self._sim[one.cell, one.seed] for one in shared), key))


def _known(runs: Iterable[Measurement], key: Key) -> tuple[float, ...]:
    return _present((one.values for one in runs), key)


def _present(runs: Iterable[Values], key: Key) -> tuple[float, ...]:
    return tuple(values[key] for values in runs if not math.isnan(values.get(key, math.nan)))


def _median(values: Sequence[float]) -> float:
    return median(values) if values else math.nan


def percentile(values: Sequence[float], share: float) -> float:
    """Returns a percentile by linear interpolation; NaN if there are no values."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _spread(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
