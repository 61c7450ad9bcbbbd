"""Who takes what from whom: shares, max-min fairness, harm, convergence and what unequal round trips do.

Formulas on rates (bits per second, or any one unit) and on shares; Jain's index and the throughput ratio stand in
`performance`. Left out: the choice of the time in which rates are measured, which the caller makes, and utilities
other than rate, delay and loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._series import Array, positive


def shares(rates: ArrayLike) -> Array:
    """Each rate as a part of the sum of all: 0 to 1. Raises ValueError where nothing was carried."""
    values = _rates(rates)
    total = float(values.sum())
    if total == 0:
        raise ValueError("shares are undefined when every rate is zero")
    return np.asarray(values / total)


def max_min_rates(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, limits: Sequence[float | None] | None = None
) -> Array:
    """What max-min fairness gives each flow, in the unit of the capacities (infinite where nothing bounds a flow).

    `routes` names for each flow the links it crosses, as places in `capacities`; `limits` is the most that a flow
    can use at all (a window, an application), None for no limit. No flow can get more without one that has less
    losing: all rates grow together, and those of a full link, or at their limit, stop (progressive filling;
    Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). Raises ValueError for a capacity that is not above
    zero, and for limits that are not one a flow.
    """
    room = np.asarray(capacities, dtype=np.float64).copy()
    if room.ndim != 1 or np.any(np.isnan(room)) or np.any(room <= 0):
        raise ValueError("capacities are one column of numbers above zero")
    tops = [math.inf if top is None else float(top) for top in (limits or [None] * len(routes))]
    if len(tops) != len(routes) or any(not top >= 0 for top in tops):
        raise ValueError("a limit is wanted for each flow: none, or a number not below zero")
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
    """Each rate over its fair one, which Jain's index is taken of where flows are entitled to unequal rates.

    Jain, Chiu, Hawe 1984 (x_i is then the ratio of an allocation to the optimal one). Raises ValueError for a fair
    rate that is not above zero.
    """
    values, wanted = _rates(rates), np.asarray(fair, dtype=np.float64)
    if wanted.shape != values.shape or np.any(~(wanted > 0)):
        raise ValueError("a fair rate above zero is wanted for each rate")
    return np.asarray(values / wanted)


def harm_to_rate(alone: float, in_company: float) -> float:
    """What a flow's rate suffers from company: 0 (nothing) to 1 (all), of a rate alone above zero.

    (alone - in company) / alone; company that does good does no harm (0). For any quantity of which more is better.
    Source: Ware, Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index", HotNets 2019. Raises ValueError for a
    rate below zero.
    """
    positive("the rate alone", alone)
    if not in_company >= 0:
        raise ValueError(f"a rate is not below zero, got {in_company}")
    return max(0.0, (alone - in_company) / alone)


def harm_to_cost(alone: float, in_company: float) -> float:
    """What company adds to a delay, a share of lost packets or any quantity of which less is better: 0 to 1.

    (in company - alone) / in company, and 0 where company adds nothing. Source: as `harm_to_rate`. Raises
    ValueError for a cost below zero.
    """
    if not (alone >= 0 and in_company >= 0):
        raise ValueError(f"a cost is not below zero, got {alone} alone and {in_company} in company")
    return (in_company - alone) / in_company if in_company > alone else 0.0


def rtt_unfairness_exponent(rate_a: float, rate_b: float, rtt_a: float, rtt_b: float) -> float:
    """The a of rate ~ 1 / RTT^a that two flows of unequal RTT show: 0 where the RTT does not matter.

    Reno's lies between 1 and 2, at 2 where losses hit both flows at once: Lakshman and Madhow, "The performance of
    TCP/IP for networks with high bandwidth-delay products and random loss", IEEE/ACM Trans. Networking 5(3), 1997.
    Raises ValueError for equal RTTs.
    """
    for name, value in (("rate", rate_a), ("rate", rate_b), ("RTT", rtt_a), ("RTT", rtt_b)):
        positive(f"each {name}", value)
    if rtt_a == rtt_b:
        raise ValueError("equal round-trip times show no exponent")
    return math.log(rate_a / rate_b) / math.log(rtt_b / rtt_a)


def shares_over_time(
    time_s: ArrayLike, delivered_bytes: ArrayLike, t0_s: float, t1_s: float, window_s: float
) -> tuple[Array, Array]:
    """Each flow's share of what all received in the window that ends at each time, from `t0_s + window_s` to `t1_s`.

    `delivered_bytes` has one row for each time and one column for each flow, counters since each flow began.
    Returns times and shares; a row is NaN where nothing was delivered in its window. Raises ValueError for fewer
    than two times, and for times that run backwards.
    """
    time, counters = np.asarray(time_s, dtype=np.float64), np.asarray(delivered_bytes, dtype=np.float64)
    if counters.ndim != 2 or counters.shape[0] != time.size or time.size < 2:
        raise ValueError("a row of counters is wanted for each of at least two times")
    if np.any(np.diff(time) < 0):
        raise ValueError("time runs backwards")
    positive("the window", window_s)
    # A nanosecond of slack: a window that ends where it should must not be lost to rounding.
    ends = time[(time >= t0_s + window_s - 1e-9) & (time <= t1_s + 1e-9)]
    columns: list[Array] = [counters[:, flow] for flow in range(counters.shape[1])]
    moved = np.column_stack([np.interp(ends, time, one) - np.interp(ends - window_s, time, one) for one in columns])
    total = moved.sum(axis=1, keepdims=True)
    return ends, np.divide(moved, total, out=np.full_like(moved, np.nan), where=total > 0)


def convergence_time_s(
    time_s: ArrayLike, value: ArrayLike, target: ArrayLike, since_s: float, *, within: float = 0.2, hold_s: float = 5.0
) -> float | None:
    """The time after `since_s` from which every flow stays near its target for `hold_s`; None where it never does.

    `value` has one row for each time and one column for each flow, `target` one number for each flow; near means off
    by at most the part `within` of the target. Staying must be seen: what the data's end cuts short does not count.

    With shares and equal targets this is the delta-fair convergence time with delta = `within`: until shares of (1
    + delta)/2 and (1 - delta)/2 are reached (Bansal, Balakrishnan, Floyd, Shenker, "Dynamic behavior of
    slowly-responsive congestion control algorithms", SIGCOMM 2001; RFC 5166 section 2.3). They look at the first
    crossing of smooth curves; a hold is asked for here because a crossing of a sawtooth means nothing. With a
    flow's own long-term mean as the target it is the epsilon-convergence time with epsilon = 1 - `within` (Li,
    Leith, Shorten, "Experimental evaluation of TCP protocols for high-speed networks", IEEE/ACM Trans. Networking
    15(5), 2007). Raises ValueError for values of another shape than times by targets.
    """
    time, values = np.asarray(time_s, dtype=np.float64), np.asarray(value, dtype=np.float64)
    wanted = np.asarray(target, dtype=np.float64)
    if values.ndim != 2 or values.shape != (time.size, wanted.size):
        raise ValueError("a row of values for each time, and a column for each target, are wanted")
    if not within > 0 or not hold_s >= 0:
        raise ValueError(f"within must be above zero and hold not below, got {within} and {hold_s}")
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
        raise ValueError("rates are wanted: at least one, none below zero")
    return values
