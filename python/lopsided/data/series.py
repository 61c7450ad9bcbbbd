"""Computes curves over time from a run's tables.

Plots, sparklines and summaries all use these functions, so their numbers agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lopsided.data.table import Table
from lopsided.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]


class HasSeries(Protocol):
    """An object with sampled tables, such as a run."""

    @property
    def flows(self) -> Table: ...

    @property
    def queues(self) -> Table: ...

    def sampled(self, flow: str, column: str) -> Floats | None: ...


@dataclass(frozen=True)
class Series:
    """One curve: times in seconds, and values in the unit of the quantity."""

    name: str
    direction: str
    time_s: Floats
    value: Floats

    def growth(self, start_s: float, stop_s: float) -> float:
        """Returns the increase of a counter between two times, both in seconds; 0 without samples. The counter is
        assumed to be 0 before the first sample."""
        if not len(self.time_s):
            return 0.0
        before, after = np.interp([start_s, stop_s], self.time_s, self.value, left=0.0)
        return float(after - before)

    def total(self, start_s: float, stop_s: float) -> float:
        """Returns the sum of the values with times after `start_s` and up to `stop_s`. Missing values are ignored."""
        return float(np.nansum(self.value[(self.time_s > start_s) & (self.time_s <= stop_s)]))


def flow_column(run: HasSeries, flow: str, column: str) -> Series:
    """Returns a sampled column of one flow as recorded. Missing values are NaN.

    Parameters
    ----------
    run
        The run.
    flow
        The name of the flow.
    column
        A column of the table `samples`; its name contains the unit of the values.

    Raises
    ------
    UsageError
        If the run has no flow with this name.
    """
    names = run.flows.values("name")
    if flow not in names:
        raise UsageError(f"no flow called {flow!r}")
    direction = run.flows.values("direction")[names.index(flow)] or ""
    time, value = run.sampled(flow, "time_s"), run.sampled(flow, column)
    if time is None or value is None:
        return Series(flow, direction, np.empty(0), np.empty(0))
    return Series(flow, direction, time, value)


def goodput(run: HasSeries, flow: str, window_s: float) -> Series:
    """Returns one flow's goodput in bit/s in bins of `window_s` seconds. The times are the centres of the bins."""
    delivered = flow_column(run, flow, "delivered_bytes")
    if len(delivered.time_s) == 0:
        return delivered
    # The first sample's interval begins at time 0, when nothing has been delivered.
    time, total = np.append(0.0, delivered.time_s), np.append(0.0, delivered.value)
    edges: Floats = window_s * np.arange(int(time[-1] / window_s + 1e-9) + 1, dtype=np.float64)
    rates = np.diff(np.interp(edges, time, total)) * 8 / window_s
    return Series(flow, delivered.direction, edges[:-1] + window_s / 2, rates)


def goodput_between(run: HasSeries, flow: str, start_s: float, stop_s: float) -> float:
    """Returns one flow's mean goodput in bit/s between two times in seconds.

    The result is exact if both times are sample times. Raises UsageError if `stop_s` is not after `start_s`.
    """
    if not stop_s > start_s:
        raise UsageError(f"no time between {start_s} s and {stop_s} s to measure goodput in")
    return flow_column(run, flow, "delivered_bytes").growth(start_s, stop_s) * 8 / (stop_s - start_s)


def rtt(run: HasSeries, flow: str) -> Series:
    """Returns the mean RTT per sampling interval in ms; NaN for an interval in which no RTT was measured."""
    count = flow_column(run, flow, "rtt_count")
    total = flow_column(run, flow, "rtt_sum_ms")
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count.value > 0, total.value / count.value, np.nan)
    return Series(flow, count.direction, count.time_s, mean)


def rtt_between(run: HasSeries, flow: str, start_s: float, stop_s: float) -> float:
    """Returns one flow's mean RTT in ms, between two times in seconds; NaN if no RTT was measured."""
    count = flow_column(run, flow, "rtt_count")
    total = flow_column(run, flow, "rtt_sum_ms")
    within = (count.time_s > start_s) & (count.time_s <= stop_s) & (count.value > 0)
    packets = float(np.sum(count.value[within]))
    return float(np.sum(total.value[within])) / packets if packets else float("nan")


def largest_between(run: HasSeries, flow: str, column: str, start_s: float, stop_s: float) -> float:
    """Returns one flow's largest sample of a column, between two times in seconds; NaN without samples."""
    curve = flow_column(run, flow, column)
    within = curve.value[(curve.time_s >= start_s) & (curve.time_s <= stop_s)]
    return float(np.nanmax(within)) if len(within) else float("nan")


def queue_column(run: HasSeries, link: str, direction: str, column: str) -> Series:
    """Returns a sampled column of the queue of one link direction."""
    queues = run.queues
    here = queues.among("link", [link]) & queues.among("direction", [direction])
    return Series(f"{link} {direction}", direction, queues.numbers("time_s")[here], queues.numbers(column)[here])


def both_active(run: HasSeries) -> tuple[float, float]:
    """Returns the start and end, in seconds, of the period in which all flows are active.

    The period begins when the last flow starts, and ends when the first flow stops.

    Raises UsageError if there is no such period.
    """
    flows = run.flows
    starts, stops = flows.numbers("start_s"), flows.numbers("stop_s")
    start, stop = (float(np.nanmax(starts)), float(np.nanmin(stops))) if len(starts) else (np.nan, np.nan)
    if not stop > start:
        raise UsageError("this run has no time in which all its flows are active")
    return start, stop
