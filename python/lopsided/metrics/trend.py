"""Measures whether one quantity increases with another. The relation need not be linear."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, correlation


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Returns Spearman's rank correlation: +1 if y always increases with x, -1 if y always decreases, 0 if x or y is
    constant.

    Equal values share their mean rank. Raises ValueError if the lengths differ or a value is missing.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ValueError(f"two columns of the same length are needed, got shapes {a.shape} and {b.shape}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("a rank correlation of missing values is undefined")
    return correlation(_ranks(a), _ranks(b))


def _ranks(value: Array) -> Array:
    """Returns the ranks, counted from 0. Equal values share their mean rank."""
    _, group, size = np.unique(value, return_inverse=True, return_counts=True)
    last = np.cumsum(size) - 1.0
    return np.asarray((last - (size - 1) / 2)[group])
