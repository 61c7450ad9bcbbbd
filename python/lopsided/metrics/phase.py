"""Measures whether two congestion windows move together (in phase) or in opposite directions (out of phase).

merritt2010 compares traces by eye (MER-M24; terms of Zhang, Shenker and Clark, 1991). A sawtooth grows most of the
time, so two unrelated windows also move in the same direction most of the time. Two measures correct for this chance
agreement:

- `correlation`: the correlation of both windows after slow trends are subtracted. It detects swings of about one
  sawtooth period.
- `agreement`: Cohen's kappa of the directions of movement over `scale_s`. It is 0 for unrelated windows. It detects
  simultaneous growth of any amplitude.

The verdict for sawtooths with different periods is `neither`. One record cannot show whether a coincidence is
systematic; repeat the run with other seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, correlation, hold, moving_mean, positive, series, window

Verdict = Literal["in phase", "out of phase", "neither"]


@dataclass(frozen=True)
class Phase:
    """The phase between two windows."""

    correlation: float
    """Pearson correlation of the detrended windows: +1 if they move together, -1 if they move in opposite
    directions."""
    agreement: float
    """Cohen's kappa of the directions of movement over `scale_s`: 1 if the directions are always equal, 0 if they are
    unrelated, below 0 if they are opposite."""

    @property
    def score(self) -> float:
        """The mean of both measures: positive if the windows move in phase, negative if they move out of phase."""
        return (self.correlation + self.agreement) / 2.0

    @property
    def verdict(self) -> Verdict:
        """The verdict on the score: `neither` from -0.1 to 0.1. This threshold is our own."""
        return "in phase" if self.score > 0.1 else "out of phase" if self.score < -0.1 else "neither"


def window_phase(
    time_a_s: ArrayLike,
    cwnd_a: ArrayLike,
    time_b_s: ArrayLike,
    cwnd_b: ArrayLike,
    t0_s: float,
    t1_s: float,
    *,
    step_s: float = 0.1,
    scale_s: float = 1.0,
    trend_s: float = 30.0,
) -> Phase:
    """Compares two congestion windows between two times. The windows may have any unit.

    Both windows are sampled every `step_s`. Each value holds until the time of the next value. `scale_s` should be a
    few RTTs, and `trend_s` a few sawtooth periods. Raises ValueError if the span is shorter than 4 times `scale_s`.
    """
    window(t0_s, t1_s)
    for name, value in (("step", step_s), ("scale", scale_s), ("trend", trend_s)):
        positive(name, value)
    if t1_s - t0_s < 4 * scale_s:
        raise ValueError(f"{t1_s - t0_s} s is too short to see movement over {scale_s} s")
    grid = np.arange(t0_s, t1_s, step_s)
    a, b = _level(grid, time_a_s, cwnd_a), _level(grid, time_b_s, cwnd_b)
    width = round(trend_s / step_s)
    return Phase(
        correlation(a - moving_mean(a, width), b - moving_mean(b, width)),
        _agreement(a, b, round(scale_s / step_s)),
    )


def window_lag(
    time_a_s: ArrayLike,
    cwnd_a: ArrayLike,
    time_b_s: ArrayLike,
    cwnd_b: ArrayLike,
    t0_s: float,
    t1_s: float,
    *,
    step_s: float = 0.1,
    trend_s: float = 30.0,
) -> tuple[float, float]:
    """Returns the seconds by which the second window follows the first, and the windows' correlation at this delay.

    The function tries delays up to half of `trend_s` and up to a quarter of the record. If several delays correlate
    almost equally, the function returns the shortest.
    """
    window(t0_s, t1_s)
    grid = np.arange(t0_s, t1_s, step_s)
    width = round(trend_s / step_s)
    a, b = (_level(grid, time, cwnd) for time, cwnd in ((time_a_s, cwnd_a), (time_b_s, cwnd_b)))
    a, b = a - moving_mean(a, width), b - moving_mean(b, width)
    best_lag, best = 0, correlation(a, b)
    for lag in range(1, min(width // 2, grid.size // 4) + 1):
        for signed, value in ((lag, correlation(a[:-lag], b[lag:])), (-lag, correlation(a[lag:], b[:-lag]))):
            if value > best + 0.02:
                best_lag, best = signed, value
    return best_lag * step_s, best


@dataclass(frozen=True)
class Coincidence:
    """The fraction of one window's reductions that coincide with a second window's reductions, compared with chance."""

    falls: int
    """Number of reductions of the first window."""
    share: float
    """Fraction of the first window's reductions that are near a reduction of the second window; NaN if the first window
    is never reduced."""
    chance: float
    """Fraction of the compared period that is near a reduction of the second window: the expected `share` of unrelated
    windows."""

    @property
    def lift(self) -> float:
        """`share` divided by `chance`: 1 for unrelated windows; NaN if `chance` is 0."""
        return self.share / self.chance if self.chance > 0 else float("nan")


def fall_coincidence(
    time_a_s: ArrayLike,
    cwnd_a: ArrayLike,
    time_b_s: ArrayLike,
    cwnd_b: ArrayLike,
    t0_s: float,
    t1_s: float,
    *,
    within_s: float = 1.0,
    fall: float = 0.2,
) -> Coincidence:
    """Compares the reductions of two windows between two times. A reduction is a decrease by more than the fraction
    `fall` from one row to the next.

    If the second window is reduced every few seconds, `chance` is near 1 and the measure is meaningless.
    """
    window(t0_s, t1_s)
    positive("tolerance", within_s)
    first, second = _falls(time_a_s, cwnd_a, t0_s, t1_s, fall), _falls(time_b_s, cwnd_b, t0_s, t1_s, fall)
    if second.size == 0:
        return Coincidence(int(first.size), 0.0 if first.size else float("nan"), 0.0)
    # Union of the intervals around the second window's reductions, within the compared period.
    left, right = np.maximum(second - within_s, t0_s), np.minimum(second + within_s, t1_s)
    begins = np.maximum(left[1:], right[:-1])
    covered = float((right[0] - left[0]) + np.maximum(right[1:] - begins, 0.0).sum())
    near = np.searchsorted(second, first)
    before = first - second[np.maximum(near - 1, 0)]
    after = second[np.minimum(near, second.size - 1)] - first
    together = (np.abs(before) <= within_s) | (np.abs(after) <= within_s)
    return Coincidence(int(first.size), float(together.mean()) if first.size else float("nan"), covered / (t1_s - t0_s))


def _falls(time_s: ArrayLike, cwnd: ArrayLike, t0_s: float, t1_s: float, fall: float) -> Array:
    """Returns the times of the rows at which a window is reduced."""
    time, value = series(time_s, cwnd)
    fell = np.diff(value) < -fall * value[:-1]
    inside = (time[1:] >= t0_s) & (time[1:] <= t1_s)
    return np.asarray(time[1:][fell & inside])


def _level(grid: Array, time_s: ArrayLike, cwnd: ArrayLike) -> Array:
    time, value = series(time_s, cwnd)
    return hold(time, value, grid)


def _agreement(a: Array, b: Array, rows: int) -> float:
    """Returns Cohen's kappa of the windows' growth over `rows` rows; 0 if a window always grows or never grows."""
    rows = max(rows, 1)
    up_a, up_b = a[rows:] > a[:-rows], b[rows:] > b[:-rows]
    share_a, share_b = float(up_a.mean()), float(up_b.mean())
    expected = share_a * share_b + (1 - share_a) * (1 - share_b)
    observed = float((up_a == up_b).mean())
    return (observed - expected) / (1 - expected) if expected < 1 else 0.0
