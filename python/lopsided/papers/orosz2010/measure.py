"""What is taken from one run: each phase's throughput, its fluctuation, delay, window and losses.

A phase begins when its upload does and ends when the next begins. Throughput is what a capture at the client counts, as
the letter did with Wireshark: IP octets that come down the line, retransmissions and the uploads' ACKs (below 1 %)
among them; goodput is what the receiving application got. The letter's shares are of the line as one download fills
it, "100 % downlink load" (section IV): `share` is of the throughput in phase 1, so that it does not matter to it
whether the printed rate counts cells or IP packets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.traces import Array, Trace, traces_of

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

BIN_S = 1.0
"""Bin of the throughput series: Wireshark's default."""

_QUEUE_COLUMNS = ("time_s", "backlog_packets", "dropped_packets", "sent_bytes")


@dataclass(frozen=True)
class Phased:
    """A run and the times at which its phases begin and end."""

    download: Trace
    uploads: tuple[Trace, ...]
    queues: Mapping[str, Mapping[str, Array]]
    """Of the line's two buffers, by direction: the columns of the run's table."""
    bounds_s: tuple[float, float, float, float]

    @classmethod
    def of(cls, run: Run) -> Phased:
        """Reads the flow `download` and those of the groups `upload` and `more`."""
        import polars as pl

        flows = list(run.flows.rows())
        names = [row["name"] for row in flows if row["group"] in ("upload", "more")]
        traces = traces_of(run, ("download", *names))
        starts = [min(row["start_s"] for row in flows if row["group"] == group) for group in ("upload", "more")]
        end = max(row["stop_s"] for row in flows)
        parts = run.queues.to_polars().filter(pl.col("link") == "link").partition_by("direction", as_dict=True)
        queues = {
            direction: {name: parts[(direction,)][name].cast(pl.Float64).to_numpy() for name in _QUEUE_COLUMNS}
            for direction in ("down", "up")
        }
        return cls(traces["download"], tuple(traces[name] for name in names), queues, (0.0, *starts, end))

    def phase(self, number: int) -> tuple[float, float]:
        """Beginning and end of phase 1, 2 or 3."""
        return self.bounds_s[number - 1], self.bounds_s[number]

    def throughput_bps(self, direction: str, t0_s: float, t1_s: float) -> float:
        """Mean rate at which IP octets go over the line."""
        queue = self.queues[direction]
        return metrics.counter_rate_bps(queue["time_s"], queue["sent_bytes"], t0_s, t1_s)

    def series_bps(self, direction: str, t0_s: float, t1_s: float) -> tuple[Array, Array]:
        """The same in bins: their middles and bit/s."""
        queue = self.queues[direction]
        return metrics.rate_series_bps(queue["time_s"], queue["sent_bytes"], t0_s, t1_s, BIN_S)

    def delivered_bps(self, t0_s: float, t1_s: float) -> Array:
        """What the application gets in order, in bins."""
        return metrics.rate_series_bps(self.download.time_s, self.download.delivered_bytes, t0_s, t1_s, BIN_S)[1]


def three_phases(run: Run, _case: Case) -> Mapping[str, float]:
    """One row: every quantity for each of the three phases."""
    phased = Phased.of(run)
    download = phased.download
    found: dict[str, float] = {}
    alone = phased.throughput_bps("down", *phased.phase(1))
    for number in (1, 2, 3):
        t0, t1 = phased.phase(number)
        throughput = phased.throughput_bps("down", t0, t1)
        rtt = download.rtt_ms(t0, t1)
        found |= {
            f"throughput_{number}_bps": throughput,
            f"share_{number}": throughput / alone,
            f"goodput_{number}_bps": download.goodput_bps(t0, t1),
            f"fluctuation_{number}": _fluctuation(phased.series_bps("down", t0, t1)[1]),
            f"delivery_fluctuation_{number}": _fluctuation(phased.delivered_bps(t0, t1)),
            f"rtt_{number}_ms": rtt.mean,
            f"rtt_std_{number}_ms": rtt.std,
            f"cwnd_{number}_bytes": metrics.time_mean(download.time_s, download.cwnd_bytes, t0, t1),
            f"uploads_{number}_bps": sum(upload.goodput_bps(t0, t1) for upload in phased.uploads),
            **_queues(phased, number),
        }
    flows = {row["name"]: row for row in run.flows.rows()}
    found["retransmits"] = float(flows["download"]["retransmits"])
    return found


def _fluctuation(rate: Array) -> float:
    """Standard deviation over mean of a series in bins of a second."""
    return float(rate.std() / rate.mean()) if rate.mean() > 0 else float("nan")


def _queues(phased: Phased, number: int) -> dict[str, float]:
    """Mean backlog of both buffers, the share of time that something waits in them, and what they drop."""
    t0, t1 = phased.phase(number)
    found: dict[str, float] = {}
    for direction, queue in phased.queues.items():
        time = queue["time_s"]
        inside = (time > t0) & (time <= t1)
        found |= {
            f"{direction}link_backlog_{number}_packets": float(queue["backlog_packets"][inside].mean()),
            f"{direction}link_busy_{number}": float((queue["backlog_packets"][inside] > 0).mean()),
            f"{direction}link_drops_{number}": _growth(time, queue["dropped_packets"], t0, t1),
        }
    return found


def _growth(time_s: Array, counter: Array, t0_s: float, t1_s: float) -> float:
    return float(np.interp(t1_s, time_s, counter) - np.interp(t0_s, time_s, counter))


def bunching(run: Run, _case: Case) -> Mapping[str, float]:
    """How bunched the download's acknowledgements arrive in each phase, from samples every 10 ms."""
    phased = Phased.of(run)
    found: dict[str, float] = {}
    trace = phased.download
    for number in (1, 2, 3):
        t0, t1 = phased.phase(number)
        inside = (trace.time_s >= t0) & (trace.time_s <= t1)
        acks = metrics.ack_compression(
            trace.time_s[inside],
            trace.acked_bytes[inside],
            run.scenario.link_rate_bps("down") or math.inf,
            skip=trace.recovering[inside],
        )
        found |= {
            f"bunched_share_{number}": acks.compressed_share,
            f"bunch_{number}_bytes": acks.mean_burst_bytes,
            f"silent_share_{number}": acks.silent_share,
        }
    return found
