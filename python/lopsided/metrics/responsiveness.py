"""Responsiveness of a loaded line in round trips per minute, and weighted percentiles.

The definition is draft-ietf-ippm-responsiveness-08 ("Responsiveness under Working Conditions") without TLS: 1 minute
divided by a delay. The result is the mean of two values: one for probes on separate connections, and one for the
load-generating connections. Each delay is a mean without the slowest 5 %. `saturation` finds the end of the draft's
test. The draft also sends requests on the load-generating connections; this module uses the TCP RTT of these
connections instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array

_KEPT = 0.95
MINUTE_MS = 60_000.0


def trimmed_mean(values: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Returns the weighted mean of the values up to the 95th percentile; `None` if there are no values."""
    order, share = _ordered(values, weights)
    if not len(order):
        return None
    kept = np.clip(_KEPT - np.concatenate(([0.0], np.cumsum(share)[:-1])), 0.0, share)
    return float(np.sum(order * kept) / np.sum(kept))


def weighted_quantiles(values: ArrayLike, weights: ArrayLike, shares: Sequence[float]) -> list[float | None]:
    """Returns weighted quantiles: for each share, the smallest value at which the cumulative weight reaches this share
    of the total weight. The quantiles are `None` if the total weight is 0."""
    order, share = _ordered(values, weights)
    if not len(order):
        return [None] * len(shares)
    reached = np.cumsum(share)
    places = np.minimum(np.searchsorted(reached, np.asarray(shares) - 1e-12), len(order) - 1)
    return [float(value) for value in order[places]]


def round_trips_per_minute(connect_ms: float | None, answer_ms: float | None, load_ms: float | None) -> float | None:
    """Returns the responsiveness by draft-ietf-ippm-responsiveness-08 in round trips per minute, without TLS.

    The result is the mean of two values: one for the probes, and one for the load-generating connections.

    Parameters
    ----------
    connect_ms
        Duration of a probe's TCP handshake.
    answer_ms
        Duration of a probe's request, which has the same weight as the handshake.
    load_ms
        RTT on the load-generating connections.

    Returns
    -------
    float or None
        The responsiveness. If only the probes or only the load-generating connections were measured, the value for
        these; `None` if neither was measured.
    """
    foreign = [delay for delay in (connect_ms, answer_ms) if delay]
    delays = [sum(foreign) / len(foreign)] if foreign else []
    parts = [MINUTE_MS / delay for delay in (*delays, load_ms) if delay]
    return sum(parts) / len(parts) if parts else None


@dataclass(frozen=True)
class Saturation:
    """The end of a test by draft-ietf-ippm-responsiveness-08: the last interval, and which values were then stable."""

    interval: int
    """Number of the last interval of the test, counted from 0."""
    goodput: bool
    """True if goodput was stable when the test ended."""
    responsiveness: bool
    """True if responsiveness was also stable (high confidence). If false, the test ran out of time."""


def saturation(
    bytes_in: Sequence[float],
    responsiveness_at: Callable[[int], float | None],
    *,
    mad: int = 4,
    tolerance: float = 0.05,
) -> Saturation:
    """Finds the end of a test by draft-ietf-ippm-responsiveness-08 (section "Final Algorithm").

    Goodput is stable if the standard deviation of its last `mad` moving averages is at most `tolerance` times the last
    average. Once goodput is stable, the same rule decides whether responsiveness is stable.

    Parameters
    ----------
    bytes_in
        Bytes that the load delivered in each interval.
    responsiveness_at
        Returns the responsiveness over an interval and the `mad - 1` intervals before it.
    """
    averages: list[float] = []
    found: list[float] = []
    stable = False
    for interval in range(len(bytes_in)):
        last = bytes_in[max(0, interval + 1 - mad) : interval + 1]
        averages.append(sum(last) / len(last))
        if not stable:
            stable = _is_stable(averages, mad, tolerance)
            continue
        value = responsiveness_at(interval)
        if value is not None:
            found.append(value)
        if value is not None and _is_stable(found, mad, tolerance):
            return Saturation(interval, goodput=True, responsiveness=True)
    return Saturation(len(bytes_in) - 1, goodput=stable, responsiveness=False)


def _is_stable(values: Sequence[float], count: int, tolerance: float) -> bool:
    last = values[-count:]
    return len(last) == count and bool(np.std(last) <= tolerance * last[-1])


def _ordered(values: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
    """Returns the values with positive weight in ascending order, and each value's fraction of the total weight."""
    found = np.asarray(values, dtype=np.float64)
    weight = np.ones_like(found) if weights is None else np.asarray(weights, dtype=np.float64)
    known = ~np.isnan(found) & (weight > 0)
    found, weight = found[known], weight[known]
    order = np.argsort(found, kind="stable")
    total = float(weight.sum())
    return found[order], weight[order] / total if total else weight[order]
