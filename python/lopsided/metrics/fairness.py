"""Fairness between flows: shares, max-min fairness, harm, convergence, and unequal RTTs.

Rates may have any unit. Jain's index and the throughput ratio are in `performance`. The caller chooses the measurement
period. The module covers only rate, delay and loss as utilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, positive


def shares(rates: ArrayLike) -> Array:
    """Returns each rate divided by the sum of all rates, 0 to 1. Raises ValueError if the sum is 0."""
    values = _rates(rates)
    total = float(values.sum())
    if total == 0:
        raise ValueError("shares are undefined when every rate is zero")
    return np.asarray(values / total)


def max_min_rates(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, limits: Sequence[float | None] | None = None
) -> Array:
    """Returns the max-min fair rate of each flow, in the unit of the capacities; infinite if nothing limits the flow.

    All rates grow in parallel until a link is full or a flow reaches its limit. The rate of this flow, or of all flows
    on this link, is then fixed, and the other rates grow further (progressive filling). Source: Bertsekas and Gallager,
    Data Networks, 1992, section 6.5.2.

    Parameters
    ----------
    routes
        The links that each flow crosses, as indices into `capacities`.
    limits
        The highest rate that each flow can use, for example because of its window; `None` for a flow without a limit.

    Raises
    ------
    ValueError
        If a capacity is not positive, or if `limits` does not have one entry per flow.
    """
    room = np.asarray(capacities, dtype=np.float64).copy()
    if room.ndim != 1 or np.any(np.isnan(room)) or np.any(room <= 0):
        raise ValueError("capacities are one column of numbers above zero")
    tops = [math.inf if top is None else float(top) for top in (limits or [None] * len(routes))]
    if len(tops) != len(routes) or any(not top >= 0 for top in tops):
        raise ValueError("each flow needs a limit: None, or a number of at least zero")
    crosses = np.zeros((len(routes), room.size), dtype=bool)
    for flow, links in enumerate(routes):
        crosses[flow, list(links)] = True

    rates = np.full(len(routes), math.inf)
    growing = np.ones(len(routes), dtype=bool)
    level = 0.0
    while growing.any():
        crowd = crosses[growing].sum(axis=0)
        step = min(
            float(np.min(room[crowd > 0] / crowd[crowd > 0], initial=math.inf)),
            min(top for top, still in zip(tops, growing, strict=True) if still) - level,
        )
        if math.isinf(step):
            break
        level += step
        room -= step * crowd
        full = (room <= 1e-9 * np.asarray(capacities)) & (crowd > 0)
        stopped = growing & (crosses[:, full].any(axis=1) | (np.asarray(tops) <= level))
        rates[stopped] = level
        growing &= ~stopped
    return rates


def normalised_rates(rates: ArrayLike, fair: ArrayLike) -> Array:
    """Returns each flow's rate divided by its fair rate. Jain's index can also be computed from these ratios.

    Source: Jain, Chiu, Hawe 1984 (x_i). Raises ValueError if a fair rate is not positive.
    """
    values, wanted = _rates(rates), np.asarray(fair, dtype=np.float64)
    if wanted.shape != values.shape or np.any(~(wanted > 0)):
        raise ValueError("each rate needs a fair rate above zero")
    return np.asarray(values / wanted)


def harm_to_rate(alone: float, in_company: float) -> float:
    """Returns the harm that other flows cause to a flow's rate: 0 (no harm) to 1 (the flow has no throughput).

    `alone` is the rate without other flows, `in_company` the rate with other flows. Harm is (alone - in company) /
    alone, and 0 if the rate grows. The formula holds for any quantity for which larger is better. Source: Ware,
    Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index", HotNets 2019. Raises ValueError if a rate is negative.
    """
    positive("the rate alone", alone)
    if not in_company >= 0:
        raise ValueError(f"a rate must not be negative, got {in_company}")
    return max(0.0, (alone - in_company) / alone)


def harm_to_cost(alone: float, in_company: float) -> float:
    """Returns the harm that other flows cause, measured by a cost such as a delay or a loss rate: 0 (no harm) to 1.

    Harm is (in company - alone) / in company, and 0 if the cost does not grow. See `harm_to_rate` for the source.
    Raises ValueError if a value is negative.
    """
    if not (alone >= 0 and in_company >= 0):
        raise ValueError(f"a cost must not be negative, got {alone} alone and {in_company} in company")
    return (in_company - alone) / in_company if in_company > alone else 0.0


def rtt_unfairness_exponent(rate_a: float, rate_b: float, rtt_a: float, rtt_b: float) -> float:
    """Returns the exponent a in rate ~ 1 / RTT^a for two flows with unequal RTTs; 0 if both rates are equal.

    Reno's exponent is between 1 and 2, and 2 if a loss hits both flows at the same time (Lakshman and Madhow, "The
    performance of TCP/IP for networks with high bandwidth-delay products and random loss", IEEE/ACM Trans. Networking
    5(3), 1997).
    Raises ValueError if the RTTs are equal.
    """
    for name, value in (("rate", rate_a), ("rate", rate_b), ("RTT", rtt_a), ("RTT", rtt_b)):
        positive(f"each {name}", value)
    if rtt_a == rtt_b:
        raise ValueError("the exponent needs two unequal round-trip times")
    return math.log(rate_a / rate_b) / math.log(rtt_b / rtt_a)


def shares_over_time(
    time_s: ArrayLike, delivered_bytes: ArrayLike, t0_s: float, t1_s: float, window_s: float
) -> tuple[Array, Array]:
    """Returns each flow's share of the bytes delivered in the last `window_s` seconds, at each time from
    `t0_s + window_s` to `t1_s`.

    Parameters
    ----------
    delivered_bytes
        One row per time and one column per flow: bytes delivered since the start of the flow.

    Returns
    -------
    tuple
        Times in seconds, and one row of shares per time. Shares are NaN if nothing was delivered.

    Raises
    ------
    ValueError
        If there are fewer than two times, or if times decrease.
    """
    time, counters = np.asarray(time_s, dtype=np.float64), np.asarray(delivered_bytes, dtype=np.float64)
    if counters.ndim != 2 or counters.shape[0] != time.size or time.size < 2:
        raise ValueError("counters need one row for each time, and at least two times")
    if np.any(np.diff(time) < 0):
        raise ValueError("times must not decrease")
    positive("the window", window_s)
    # The tolerance includes a window that ends exactly at a limit, despite rounding.
    ends = time[(time >= t0_s + window_s - 1e-9) & (time <= t1_s + 1e-9)]
    columns: list[Array] = [counters[:, flow] for flow in range(counters.shape[1])]
    moved = np.column_stack([np.interp(ends, time, one) - np.interp(ends - window_s, time, one) for one in columns])
    total = moved.sum(axis=1, keepdims=True)
    return ends, np.divide(moved, total, out=np.full_like(moved, np.nan), where=total > 0)


def convergence_time_s(
    time_s: ArrayLike, value: ArrayLike, target: ArrayLike, since_s: float, *, within: float = 0.2, hold_s: float = 5.0
) -> float | None:
    """Returns the seconds from `since_s` until every flow stays near its target for `hold_s`; `None` if that never
    happens.

    The hold time must end within the data. The largest allowed distance from a target is `within` times the target.

    Parameters
    ----------
    value
        One row per time and one column per flow.
    target
        One number per flow.
    within
        Largest distance from a target, as a fraction of the target.

    Raises
    ------
    ValueError
        If `value` does not have one row per time and one column per target.

    Notes
    -----
    For shares with equal targets, this is the delta-fair convergence time with delta = `within`: the time until two
    flows have shares of (1 + delta)/2 and (1 - delta)/2 (Bansal, Balakrishnan, Floyd, Shenker, "Dynamic behavior of
    slowly-responsive congestion control algorithms", SIGCOMM 2001; RFC 5166 section 2.3). The paper uses the first
    crossing of smooth curves. A sawtooth can cross its target without converging, so this function also requires a
    hold time.

    If targets are long-term means, this is the epsilon-convergence time with epsilon = 1 - `within` (Li, Leith,
    Shorten, "Experimental evaluation of TCP protocols for high-speed networks", IEEE/ACM Trans. Networking 15(5),
    2007).
    """
    time, values = np.asarray(time_s, dtype=np.float64), np.asarray(value, dtype=np.float64)
    wanted = np.asarray(target, dtype=np.float64)
    if values.ndim != 2 or values.shape != (time.size, wanted.size):
        raise ValueError("values need one row for each time, and one column for each target")
    if not within > 0 or not hold_s >= 0:
        raise ValueError(f"within must be above zero and hold_s at least zero, got {within} and {hold_s}")
    near = (np.abs(values - wanted) <= within * wanted * (1 + 1e-12)).all(axis=1) & (time >= since_s)
    began: float | None = None
    for now, good in zip(time, near, strict=True):
        if not good:
            began = None
            continue
        began = float(now) if began is None else began
        if now - began >= hold_s - 1e-9:
            return began - since_s
    return None


def _rates(rates: ArrayLike) -> Array:
    values = np.asarray(rates, dtype=np.float64).ravel()
    if values.size == 0 or np.any(~(values >= 0)):
        raise ValueError("at least one rate is needed, and none may be negative")
    return values
