"""Measures each phase of a run.

A phase starts when its upload starts, and ends when the next phase starts. Throughput counts all IP bytes that arrive
at the client, including retransmissions and ACKs (below 1 %), like Wireshark in the letter. Goodput counts the
application's bytes. `share` is relative to phase 1, like the letter's "100 % downlink load" (section IV). Therefore,
`share` is the same for ATM bytes and for IP bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.traces import Array, Buffers, Trace, buffers_of, traces_of

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

BIN_S = 1.0
"""Bin width of the throughput series in seconds, which is Wireshark's default."""


@dataclass(frozen=True)
class Phased:
    """The traces of a run, and its phases' start and end times in seconds."""

    download: Trace
    uploads: tuple[Trace, ...]
    buffers: Buffers
    bounds_s: tuple[float, float, float, float]

    @classmethod
    def of(cls, run: Run) -> Phased:
        """Reads the flow `download` and the flows of the groups `upload` and `more` from a run."""
        flows = list(run.flows.rows())
        names = [row["name"] for row in flows if row["group"] in ("upload", "more")]
        traces = traces_of(run, ("download", *names))
        # A group may consist of several flows with jittered starts. The phase starts with the first of these flows.
        starts = [min(row["start_s"] for row in flows if row["group"] == group) for group in ("upload", "more")]
        bounds = (0.0, *starts, max(row["stop_s"] for row in flows))
        return cls(traces["download"], tuple(traces[name] for name in names), buffers_of(run), bounds)

    def phase(self, number: int) -> tuple[float, float]:
        """Returns start and end of phase 1, 2 or 3, in seconds."""
        return self.bounds_s[number - 1], self.bounds_s[number]

    def throughput_bps(self, direction: str, t0_s: float, t1_s: float) -> float:
        """Returns the mean rate of IP bytes over the line between two times, in bit/s."""
        buffer = self.buffers[direction]
        return metrics.counter_rate_bps(buffer["time_s"], buffer["sent_bytes"], t0_s, t1_s)

    def series_bps(self, direction: str, t0_s: float, t1_s: float) -> tuple[Array, Array]:
        """Returns the rate of IP bytes over the line: bin centres in seconds, and rates in bit/s."""
        buffer = self.buffers[direction]
        return metrics.rate_series_bps(buffer["time_s"], buffer["sent_bytes"], t0_s, t1_s, BIN_S)

    def delivered_bps(self, t0_s: float, t1_s: float) -> Array:
        """Returns the rate per bin, in bit/s, at which the application receives data."""
        return metrics.rate_series_bps(self.download.time_s, self.download.delivered_bytes, t0_s, t1_s, BIN_S)[1]


def three_phases(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns one row with every metric of each of the three phases."""
    phased = Phased.of(run)
    alone = phased.throughput_bps("down", *phased.phase(1))
    found: dict[str, float] = {}
    for number in (1, 2, 3):
        during = phased.phase(number)
        throughput, rtt = phased.throughput_bps("down", *during), phased.download.rtt_ms(*during)
        found |= {
            f"throughput_{number}_bps": throughput,
            f"share_{number}": throughput / alone,
            f"goodput_{number}_bps": phased.download.goodput_bps(*during),
            f"fluctuation_{number}": _fluctuation(phased.series_bps("down", *during)[1]),
            f"delivery_fluctuation_{number}": _fluctuation(phased.delivered_bps(*during)),
            f"rtt_{number}_ms": rtt.mean,
            f"rtt_std_{number}_ms": rtt.std,
            f"cwnd_{number}_bytes": phased.download.cwnd_mean_bytes(*during),
            f"uploads_{number}_bps": sum(upload.goodput_bps(*during) for upload in phased.uploads),
            **_buffers(phased, number),
        }
    found["retransmits"] = float(next(row for row in run.flows.rows() if row["name"] == "download")["retransmits"])
    return found


def _fluctuation(rate: Array) -> float:
    """Returns the coefficient of variation of a series in bins of 1 s."""
    return float(rate.std() / rate.mean()) if rate.mean() > 0 else float("nan")


def _buffers(phased: Phased, number: int) -> dict[str, float]:
    """Returns the mean backlog of each buffer, the fraction of time with a backlog, and the number of dropped
    packets."""
    t0, t1 = phased.phase(number)
    found: dict[str, float] = {}
    for direction, buffer in phased.buffers.items():
        time = buffer["time_s"]
        backlog = buffer["backlog_packets"][(time > t0) & (time <= t1)]
        found |= {
            f"{direction}link_backlog_{number}_packets": float(backlog.mean()),
            f"{direction}link_busy_{number}": float((backlog > 0).mean()),
            f"{direction}link_drops_{number}": float(np.diff(np.interp((t0, t1), time, buffer["dropped_packets"]))[0]),
        }
    return found


def bunching(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the download's ACK compression per phase, from samples every 10 ms."""
    phased = Phased.of(run)
    found: dict[str, float] = {}
    for number in (1, 2, 3):
        acks = phased.download.ack_compression(*phased.phase(number), run.scenario.link_rate_bps("down"))
        found |= {
            f"bunched_share_{number}": acks.compressed_share,
            f"bunch_{number}_bytes": acks.mean_burst_bytes,
            f"silent_share_{number}": acks.silent_share,
        }
    return found
