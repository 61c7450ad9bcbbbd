"""Do two congestion windows move together (in phase) or against each other (out of phase)?

merritt2010 compares two traces by eye: opposite movement is out of phase, common movement in phase (MER-M24; the terms
are Zhang, Shenker and Clark's, 1991). Windows are sawtooths, which makes the obvious measures misleading: both grow
most of the time, so that even unrelated windows mostly move in the same direction. Therefore two measures with chance
taken out:

- `correlation`: the windows' levels, their slow trend removed. It sees swings of a sawtooth's length.
- `agreement`: the directions of movement (up or not) over `scale_s`, as Cohen's kappa, which is 0 for unrelated
  movement however often each goes up. It sees whether both grow in the same moments, and is blind to amplitude.

Limits: two sawtooths of different period have no phase; both measures are then near 0 and the verdict is `neither`. A
window whose cycle is longer than the record gives a correlation that is one accident. Locked and accidental coincidence
cannot be told apart from one record; repeat the run with other seeds.
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
    """How two windows move relative to each other."""

    correlation: float
    """Pearson correlation of the detrended levels: +1 together, -1 against each other."""
    agreement: float
    """Cohen's kappa of the directions of movement over `scale_s`: 1 always the same, 0 unrelated, below 0 opposed."""

    @property
    def score(self) -> float:
        """The mean of both measures: above zero in phase, below out of phase."""
        return (self.correlation + self.agreement) / 2.0

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the score. Scores within 0.1 of zero count as no phase, by a convention of this
        project."""
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
    """Compares two congestion windows (any unit) between two times.

    Each window has its own time column. Both are read as states that hold until the next row, on a grid of `step_s`.
    `scale_s` should be a few round-trip times, and `trend_s` a few sawtooth periods of the faster window. Raises
    ValueError if the time is shorter than four scales.
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
    """The delay in seconds with which the second window follows the first, and the correlation at that shift.

    Shifts of up to half of `trend_s` and a quarter of the record are tried. Of nearly equal shifts (a periodic pair has
    many) the shortest is returned.
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
    """The frequency with which falls of one window coincide with falls of another."""

    falls: int
    """Falls of the first window."""
    share: float
    """Share of them with a fall of the second within the tolerance; NaN without falls."""
    chance: float
    """Share of all times with a fall of the second within the tolerance: the share that unrelated windows would have.
    """

    @property
    def lift(self) -> float:
        """Share over chance: 1 for unrelated windows; NaN where undefined."""
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
    """Compares the falls of two windows between two times. A fall is a loss of more than the share `fall` between two
    rows.

    Limit: if the second window falls every few seconds, every time is near a fall, and the measure means nothing
    (`chance` is then near 1).
    """
    window(t0_s, t1_s)
    positive("tolerance", within_s)
    first, second = _falls(time_a_s, cwnd_a, t0_s, t1_s, fall), _falls(time_b_s, cwnd_b, t0_s, t1_s, fall)
    if second.size == 0:
        return Coincidence(int(first.size), 0.0 if first.size else float("nan"), 0.0)
    # The union of the intervals around the falls of the second window, cut to the time that is compared.
    left, right = np.maximum(second - within_s, t0_s), np.minimum(second + within_s, t1_s)
    begins = np.maximum(left[1:], right[:-1])
    covered = float((right[0] - left[0]) + np.maximum(right[1:] - begins, 0.0).sum())
    near = np.searchsorted(second, first)
    before = first - second[np.maximum(near - 1, 0)]
    after = second[np.minimum(near, second.size - 1)] - first
    together = (np.abs(before) <= within_s) | (np.abs(after) <= within_s)
    return Coincidence(int(first.size), float(together.mean()) if first.size else float("nan"), covered / (t1_s - t0_s))


def _falls(time_s: ArrayLike, cwnd: ArrayLike, t0_s: float, t1_s: float, fall: float) -> Array:
    """Times of the rows at which a window has fallen."""
    time, value = series(time_s, cwnd)
    fell = np.diff(value) < -fall * value[:-1]
    inside = (time[1:] >= t0_s) & (time[1:] <= t1_s)
    return np.asarray(time[1:][fell & inside])


def _level(grid: Array, time_s: ArrayLike, cwnd: ArrayLike) -> Array:
    time, value = series(time_s, cwnd)
    return hold(time, value, grid)


def _agreement(a: Array, b: Array, rows: int) -> float:
    """Cohen's kappa of "grew over this number of rows"; 0 if one of the two windows always or never grows."""
    rows = max(rows, 1)
    up_a, up_b = a[rows:] > a[:-rows], b[rows:] > b[:-rows]
    share_a, share_b = float(up_a.mean()), float(up_b.mean())
    expected = share_a * share_b + (1 - share_a) * (1 - share_b)
    observed = float((up_a == up_b).mean())
    return (observed - expected) / (1 - expected) if expected < 1 else 0.0
