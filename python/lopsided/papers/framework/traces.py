"""Reads samples of flows and buffers for the papers' metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics

if TYPE_CHECKING:
    from lopsided.scenario import Run

Array = NDArray[np.float64]

_COLUMNS = (
    "time_s",
    "cwnd_bytes",
    "srtt_ms",
    "acked_bytes",
    "delivered_bytes",
    "rtt_count",
    "rtt_sum_ms",
    "rtt_sumsq_ms2",
)


@dataclass(frozen=True)
class Trace:
    """The samples of one flow, one array per column."""

    time_s: Array
    cwnd_bytes: Array
    srtt_ms: Array
    acked_bytes: Array
    delivered_bytes: Array
    rtt_count: Array
    rtt_sum_ms: Array
    rtt_sumsq_ms2: Array
    recovering: NDArray[np.bool_]

    def goodput_bps(self, t0_s: float, t1_s: float) -> float:
        """Returns the mean goodput between two times, in bit/s."""
        return metrics.counter_rate_bps(self.time_s, self.delivered_bytes, t0_s, t1_s)

    def rtt_ms(self, t0_s: float, t1_s: float) -> metrics.Moments:
        """Returns the number, mean and standard deviation in ms of the RTT samples between two times.

        The number of samples is 0 if the flow was stalled for the whole period.
        """
        try:
            return metrics.rtt_moments_ms(self.time_s, self.rtt_count, self.rtt_sum_ms, self.rtt_sumsq_ms2, t0_s, t1_s)
        except ValueError:
            return metrics.Moments(0, float("nan"), float("nan"))

    def cwnd_mean_bytes(self, t0_s: float, t1_s: float) -> float:
        """Returns the time average of the congestion window, in bytes."""
        return metrics.time_mean(self.time_s, self.cwnd_bytes, t0_s, t1_s)

    def ack_compression(self, t0_s: float, t1_s: float, rate_bps: float | None) -> metrics.AckCompression:
        """Measures the flow's ACK compression between two times, excluding loss recovery.

        `rate_bps` is the rate of the line that determines the spacing of the ACKs; `None` if unknown.
        """
        inside = (self.time_s >= t0_s) & (self.time_s <= t1_s)
        return metrics.ack_compression(
            self.time_s[inside], self.acked_bytes[inside], rate_bps or math.inf, skip=self.recovering[inside]
        )


def traces_of(run: Run, names: Iterable[str]) -> dict[str, Trace]:
    numbers = {row["name"]: row["flow"] for row in run.flows.rows()}
    samples = run.samples
    # For small tables, numpy is faster than a polars query.
    flow = samples.numbers("flow")
    recovering = samples.among("state", ("recovery", "loss"))
    columns = {column: samples.numbers(column) for column in _COLUMNS}
    traces: dict[str, Trace] = {}
    for name in names:
        of_flow = np.flatnonzero(flow == numbers[name])
        mine = {column: values[of_flow] for column, values in columns.items()}
        traces[name] = Trace(**mine, recovering=recovering[of_flow])
    return traces


Buffers: TypeAlias = Mapping[str, Mapping[str, Array]]
"""Samples of each direction's buffer: the columns of the table `queues`, by name."""

_QUEUE_COLUMNS = ("time_s", "backlog_packets", "sojourn_mean_ms", "dropped_packets", "sent_bytes")


def buffers_of(run: Run, link: str = "link") -> Buffers:
    """Returns the samples of a link's two buffers, by direction."""
    queues = run.queues
    on_link, down = queues.among("link", (link,)), queues.among("direction", ("down",))
    columns = {name: queues.numbers(name) for name in _QUEUE_COLUMNS}
    chosen = {"down": np.flatnonzero(on_link & down), "up": np.flatnonzero(on_link & ~down)}
    return {way: {name: values[rows] for name, values in columns.items()} for way, rows in chosen.items()}
