"""How quickly a loaded line answers: round trips per minute, and percentiles of what was counted by intervals.

Round trips per minute are those of draft-ietf-ippm-responsiveness ("Responsiveness under Working Conditions"): a minute
over the mean of two delays under load, that of probes on connections of their own and that of the connections which
make the load, each a mean without the slowest twentieth. Left out: the draft's search for the load that saturates a
line, which the caller's scenario sets, and a probe's TLS handshake, which would count like its other round trips.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array

_KEPT = 0.95


def trimmed_mean(values: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """The mean of the values up to their 95th percentile; None without values."""
    order, share = _ordered(values, weights)
    if not len(order):
        return None
    kept = np.clip(_KEPT - np.concatenate(([0.0], np.cumsum(share)[:-1])), 0.0, share)
    return float(np.sum(order * kept) / np.sum(kept))


def weighted_quantiles(values: ArrayLike, weights: ArrayLike, shares: Sequence[float]) -> list[float | None]:
    """The smallest values that at least these shares of the weight do not exceed; None without weight."""
    order, share = _ordered(values, weights)
    if not len(order):
        return [None] * len(shares)
    reached = np.cumsum(share)
    places = np.minimum(np.searchsorted(reached, np.asarray(shares) - 1e-12), len(order) - 1)
    return [float(value) for value in order[places]]


def round_trips_per_minute(probe_ms: float | None, load_ms: float | None) -> float | None:
    """Responsiveness from the delay of probes on their own connections and of the loaded ones, equally weighted.

    Where one of them was not measured, the other stands alone; None without both.
    """
    known = [delay for delay in (probe_ms, load_ms) if delay is not None and delay > 0]
    return 60_000 / (sum(known) / len(known)) if known else None


def _ordered(values: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
    """The values that weigh something, in order, and each one's share of the weight."""
    found = np.asarray(values, dtype=np.float64)
    weight = np.ones_like(found) if weights is None else np.asarray(weights, dtype=np.float64)
    known = ~np.isnan(found) & (weight > 0)
    found, weight = found[known], weight[known]
    order = np.argsort(found, kind="stable")
    total = float(weight.sum())
    return found[order], weight[order] / total if total else weight[order]
