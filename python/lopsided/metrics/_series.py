"""Checks the arrays that are passed to the metrics.

Metrics accept numpy arrays from any source. Columns of different lengths, decreasing times, and periods without data
could produce plausible but wrong numbers. The functions of this module reject such arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def series(time_s: ArrayLike, *values: ArrayLike) -> tuple[Array, ...]:
    """Returns the time column and the value columns as float arrays.

    Raises ValueError for columns of different lengths, fewer than two rows, or decreasing times.
    """
    time = np.asarray(time_s, dtype=np.float64)
    columns = tuple(np.asarray(value, dtype=np.float64) for value in values)
    if time.ndim != 1:
        raise ValueError(f"time must be one column, not an array of shape {time.shape}")
    for column in columns:
        if column.shape != time.shape:
            raise ValueError(f"time has {time.size} rows but a value column has shape {column.shape}")
    if time.size < 2:
        raise ValueError(f"a series needs at least two rows, got {time.size}")
    if np.any(np.diff(time) < 0):
        raise ValueError("times must not decrease")
    return (time, *columns)


def window(t0_s: float, t1_s: float) -> None:
    """Raises ValueError if the period does not end after it starts."""
    if not t1_s > t0_s:
        raise ValueError(f"the window must end after it starts, got {t0_s} s to {t1_s} s")


def positive(name: str, value: float) -> None:
    """Raises ValueError if a rate, size or time is not positive."""
    if not value > 0:
        raise ValueError(f"{name} must be above zero, got {value}")


def hold(time_s: Array, value: Array, at_s: Array) -> Array:
    """Returns the value of the latest row at or before each time; before the first row, the first row's value."""
    rows = np.searchsorted(time_s, at_s, side="right") - 1
    return np.asarray(value[np.clip(rows, 0, value.size - 1)])


def moving_mean(value: Array, width: int) -> Array:
    """Returns the centred moving mean over `width` rows. Near the ends, the mean covers fewer rows."""
    width = max(1, min(int(width), value.size))
    total = np.concatenate(([0.0], np.cumsum(value)))
    rows = np.arange(value.size)
    first = np.maximum(rows - (width - 1) // 2, 0)
    last = np.minimum(rows + width // 2 + 1, value.size)
    return np.asarray((total[last] - total[first]) / (last - first))


def correlation(a: Array, b: Array) -> float:
    """Returns Pearson's correlation; 0 if a column is constant."""
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    # In a constant column, rounding leaves a deviation of about 1e-16.
    return float(np.dot(a, b)) / scale if scale > 1e-12 else 0.0
