"""Means over any period of a run, from the columns of `samples`.

*Counters* (`delivered_bytes`, `acked_bytes`, ...) never decrease. Their differences are exact at sample times.
*Interval sums* (`rtt_count`, `rtt_sum_ms`, `rtt_sumsq_ms2`) cover the interval that ends at the row's time. Means of
these sums are therefore exact without a record of every packet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, hold, positive, series, window


def counter_rate_bps(time_s: ArrayLike, counter_bytes: ArrayLike, t0_s: float, t1_s: float) -> float:
    """Returns a byte counter's mean rate in bit/s between two times, for example goodput from `delivered_bytes`.

    The columns are in order of time. Before the first and after the last sample, the counter is assumed constant.
    Raises ValueError if the whole period is before the first or after the last sample. Source: MER-M02, as interpreted
    in MER-A08.
    """
    time, counter = series(time_s, counter_bytes)
    window(t0_s, t1_s)
    if t1_s < time[0] or t0_s > time[-1]:
        raise ValueError(f"the window {t0_s} s to {t1_s} s lies outside the samples ({time[0]} s to {time[-1]} s)")
    start, end = np.interp([t0_s, t1_s], time, counter)
    return float(end - start) * 8.0 / (t1_s - t0_s)


def rate_series_bps(
    time_s: ArrayLike, counter_bytes: ArrayLike, t0_s: float, t1_s: float, step_s: float
) -> tuple[Array, Array]:
    """Returns a byte counter's rate over time: the centres of the bins in seconds, and the mean rates in bit/s.

    An incomplete last bin is dropped. Raises ValueError if the period is shorter than one bin.
    """
    time, counter = series(time_s, counter_bytes)
    window(t0_s, t1_s)
    positive("bin width", step_s)
    bins = int(np.floor((t1_s - t0_s) / step_s + 1e-9))
    if bins < 1:
        raise ValueError(f"a bin of {step_s} s does not fit between {t0_s} s and {t1_s} s")
    edges = t0_s + step_s * np.arange(bins + 1)
    rate = np.diff(np.interp(edges, time, counter)) * 8.0 / step_s
    return np.asarray(edges[:-1] + step_s / 2, dtype=np.float64), np.asarray(rate, dtype=np.float64)


@dataclass(frozen=True)
class Moments:
    """Number, mean and population standard deviation of a measured quantity."""

    count: float
    mean: float
    std: float


def rtt_moments_ms(
    time_s: ArrayLike,
    rtt_count: ArrayLike,
    rtt_sum_ms: ArrayLike,
    rtt_sumsq_ms2: ArrayLike,
    t0_s: float,
    t1_s: float,
) -> Moments:
    """Returns the number, mean and standard deviation in ms of the packets' RTTs after `t0_s` and up to `t1_s`.

    A row covers the interval that ends at the row's time, so the result is exact if `t0_s` is a sample time. The result
    contains the population standard deviation (appendix J, MER-M22). Raises ValueError if the period has no RTT.
    """
    time, count, total, squares = series(time_s, rtt_count, rtt_sum_ms, rtt_sumsq_ms2)
    window(t0_s, t1_s)
    inside = (time > t0_s) & (time <= t1_s)
    n = float(count[inside].sum())
    if n == 0:
        raise ValueError(f"no RTT was measured between {t0_s} s and {t1_s} s")
    mean = float(total[inside].sum()) / n
    variance = float(squares[inside].sum()) / n - mean * mean
    return Moments(n, mean, float(np.sqrt(max(variance, 0.0))))


def time_mean(time_s: ArrayLike, value: ArrayLike, t0_s: float, t1_s: float) -> float:
    """Returns the time-weighted mean of a state, such as a window, that is constant until the next sample."""
    time, state = series(time_s, value)
    window(t0_s, t1_s)
    edges = np.concatenate(([t0_s], time[(time > t0_s) & (time < t1_s)], [t1_s]))
    return float(np.dot(hold(time, state, edges[:-1]), np.diff(edges)) / (t1_s - t0_s))


def largest(time_s: ArrayLike, value: ArrayLike, t0_s: float, t1_s: float) -> float:
    """Returns the largest sample from `t0_s` to `t1_s`. Peaks between samples are missed (MER-M19).

    Raises ValueError if there are no samples.
    """
    time, state = series(time_s, value)
    window(t0_s, t1_s)
    inside = state[(time >= t0_s) & (time <= t1_s)]
    if inside.size == 0:
        raise ValueError(f"no sample between {t0_s} s and {t1_s} s")
    return float(inside.max())
