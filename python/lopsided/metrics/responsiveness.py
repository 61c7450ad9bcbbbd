"""Responsiveness of a loaded line: round trips per minute, and percentiles of weighted values.

Round trips per minute are those of draft-ietf-ippm-responsiveness-08 ("Responsiveness under Working Conditions") for
connections without TLS. Responsiveness is 1 minute divided by a delay. The result is the mean of two values: one for
probes on separate connections, and one for the load-generating connections. Each delay is a mean without the slowest 5
%. `saturation` finds the end of the draft's test. Left out: requests on the load-generating connections; their TCP RTT
may be used instead.
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
    """The mean of the values up to their 95th percentile; `None` if there are no values."""
    order, share = _ordered(values, weights)
    if not len(order):
        return None
    kept = np.clip(_KEPT - np.concatenate(([0.0], np.cumsum(share)[:-1])), 0.0, share)
    return float(np.sum(order * kept) / np.sum(kept))


def weighted_quantiles(values: ArrayLike, weights: ArrayLike, shares: Sequence[float]) -> list[float | None]:
    """Weighted quantiles: for each fraction, the smallest value for which the values up to it have at least this
    fraction of the total weight; `None` if there is no weight."""
    order, share = _ordered(values, weights)
    if not len(order):
        return [None] * len(shares)
    reached = np.cumsum(share)
    places = np.minimum(np.searchsorted(reached, np.asarray(shares) - 1e-12), len(order) - 1)
    return [float(value) for value in order[places]]


def round_trips_per_minute(connect_ms: float | None, answer_ms: float | None, load_ms: float | None) -> float | None:
    """The draft's responsiveness without TLS in round trips per minute: the mean of probes and of loaded connections.

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
        The value of one kind if the other was not measured; `None` if neither was measured.
    """
    foreign = [delay for delay in (connect_ms, answer_ms) if delay]
    delays = [sum(foreign) / len(foreign)] if foreign else []
    parts = [MINUTE_MS / delay for delay in (*delays, load_ms) if delay]
    return sum(parts) / len(parts) if parts else None


@dataclass(frozen=True)
class Saturation:
    """The end of the draft's test."""

    interval: int
    """Index of the last interval of the test, from 0."""
    goodput: bool
    """True if goodput was stable at the end."""
    responsiveness: bool
    """True if responsiveness was stable too, which the draft calls high confidence. If false, the test ran out of
    time."""


def saturation(
    bytes_in: Sequence[float],
    responsiveness_at: Callable[[int], float | None],
    *,
    mad: int = 4,
    tolerance: float = 0.05,
) -> Saturation:
    """Finds the end of the draft's test (its section "Final Algorithm").

    Goodput is stable if the standard deviation of its last `mad` moving averages is at most `tolerance` times the last
    average. From then on, responsiveness is judged in the same way.

    Parameters
    ----------
    bytes_in
        Number of bytes that the load delivered in each interval.
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
    """The values with a positive weight, in ascending order, and each value's fraction of the total weight."""
    found = np.asarray(values, dtype=np.float64)
    weight = np.ones_like(found) if weights is None else np.asarray(weights, dtype=np.float64)
    known = ~np.isnan(found) & (weight > 0)
    found, weight = found[known], weight[known]
    order = np.argsort(found, kind="stable")
    total = float(weight.sum())
    return found[order], weight[order] / total if total else weight[order]
