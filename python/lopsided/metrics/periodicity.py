"""Measures the regularity and the depth of a rate's fluctuations.

In merritt2010 section 5.1.3, flows disturb each other "at random" if the uplink buffer is small, and periodically if
the buffer is large. This module has three independent measures: the first peak of the autocorrelation, the strongest
spectral line, and the regularity of dips. The measures do not show the cause of a disturbance, or which flow disturbs
which other flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, moving_mean, positive


@dataclass(frozen=True)
class Periodicity:
    """The regularity with which a series repeats."""

    strength: float
    """Highest autocorrelation after it first falls below 0: near 1 if periodic, near 0 if irregular."""
    period_s: float | None
    """Lag in seconds of the highest autocorrelation; `None` if the first third of the lags has no peak."""
    noise_level: float
    """Three standard errors of the autocorrelation of white noise. A strength below this level is not significant."""
    line_share: float
    """Fraction of the variance in the strongest spectral line and its neighbours; 1 for a pure tone."""

    @property
    def periodic(self) -> bool:
        """True if the strength exceeds the noise level and 0.25, our own threshold."""
        return self.strength > max(self.noise_level, 0.25)


def autocorrelation(value: ArrayLike) -> Array:
    """Returns the autocorrelation of a uniformly sampled series at lags 0 to n-1, after subtracting the mean.

    Each sum is divided by its number of terms. Raises ValueError for fewer than two rows.
    """
    x: Array = np.asarray(value, dtype=np.float64)
    if x.ndim != 1 or x.size < 2:
        raise ValueError(f"autocorrelation needs one column of at least two rows, got shape {x.shape}")
    x = x - float(x.mean())
    spectrum = np.fft.rfft(x, 2 * x.size)
    raw: Array = np.fft.irfft(spectrum * np.conj(spectrum))[: x.size]
    variance = float(np.dot(x, x)) / x.size
    if variance <= 1e-18:
        return np.zeros(len(x))
    return np.asarray(raw / (variance * np.arange(len(x), 0, -1)))


def periodicity(value: ArrayLike, step_s: float, *, trend_s: float | None = None) -> Periodicity:
    """Measures how periodic a uniformly sampled series is.

    The record must contain at least three cycles. A constant series has strength 0. A sawtooth with a drifting period
    has a low strength, although it may look periodic.

    Parameters
    ----------
    step_s
        The time between rows, in seconds.
    trend_s
        Width in seconds of a moving mean that is subtracted first. Otherwise slow drift could hide a cycle.

    Raises
    ------
    ValueError
        If there are fewer than 12 rows.
    """
    positive("step", step_s)
    x = np.asarray(value, dtype=np.float64)
    if x.ndim != 1 or x.size < 12:
        raise ValueError(f"periodicity needs one column of at least 12 rows, got shape {x.shape}")
    x = x - (moving_mean(x, round(trend_s / step_s)) if trend_s else x.mean())
    acf = autocorrelation(x)
    longest = x.size // 3
    peak = _first_peak(acf[: longest + 1])
    power = np.abs(np.fft.rfft((x - x.mean()) * np.hanning(x.size))) ** 2
    power[0] = 0.0
    line = int(power.argmax())
    total = float(power.sum())
    return Periodicity(
        strength=max(float(acf[peak]), 0.0) if peak else 0.0,
        period_s=peak * step_s if peak else None,
        noise_level=3.0 / float(np.sqrt(x.size - longest)),
        line_share=float(power[max(line - 1, 0) : line + 2].sum()) / total if total > 0 else 0.0,
    )


def _first_peak(acf: Array) -> int | None:
    """Returns the index of the highest local maximum after the first value below 0; `None` if there is none."""
    below = np.flatnonzero(acf < 0)
    if below.size == 0:
        return None
    inner = np.arange(max(int(below[0]), 1), acf.size - 1)
    peaks = inner[(acf[inner] >= acf[inner - 1]) & (acf[inner] > acf[inner + 1])]
    if peaks.size == 0:
        return None
    return int(peaks[acf[peaks].argmax()])


@dataclass(frozen=True)
class Dips:
    """Periods in which a rate is below a fraction of its reference."""

    count: int
    time_share: float
    """Fraction of the time in dips, 0 to 1."""
    mean_interval_s: float | None
    """Mean seconds between the starts of dips; `None` if there are fewer than two dips."""
    interval_variation: float | None
    """Coefficient of variation of the times between dips: 0 if regular, about 1 if random; `None` if there are fewer
    than three dips."""


def dips(rate: ArrayLike, step_s: float, reference: float, *, depth: float = 0.5) -> Dips:
    """Finds the dips of a uniformly sampled rate below `depth` times `reference`.

    Raises ValueError if the series is empty.
    """
    positive("step", step_s)
    positive("reference rate", reference)
    low = np.asarray(rate, dtype=np.float64) < depth * reference
    if low.ndim != 1 or low.size == 0:
        raise ValueError("dips needs one column with at least one row")
    starts = np.flatnonzero(low & ~np.concatenate(([False], low[:-1]))) * step_s
    gaps = np.diff(starts)
    return Dips(
        count=int(starts.size),
        time_share=float(low.mean()),
        mean_interval_s=float(gaps.mean()) if gaps.size else None,
        interval_variation=float(gaps.std() / gaps.mean()) if gaps.size >= 2 else None,
    )
