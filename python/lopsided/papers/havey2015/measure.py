"""Measures one run: quantiles of RTT and throughput over packets, as in the dissertation's CDFs.

RTTs are those of the continuous transfers, averaged over 100 ms. Throughput is the rate of IP bytes to a modem's home,
in bins of 1 s. Quantiles weight each bin by its number of packets. The values of all modems are pooled and include slow
start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.papers.framework.traces import buffers_of, traces_of

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

Array = NDArray[np.float64]

PERCENTILES = (1, *range(5, 100, 5), 99)
"""Percentiles at which the CDFs are sampled."""

BIN_S = 1.0
SETTLED_S = 30.0
"""Start of the measurement of throughput "after slow start", in seconds."""

SENSING_OCTETS = 28


def knee(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures one transfer's throughput and queueing delay after slow start."""
    queue = run.queues.to_polars().filter(pl.col("direction") == "down").cast({"sent_bytes": pl.Float64})
    time, sent = queue["time_s"].to_numpy(), queue["sent_bytes"].to_numpy()
    end = float(time[-1])
    wait = queue.filter(pl.col("time_s") > SETTLED_S)
    return {
        "throughput_bps": metrics.counter_rate_bps(time, sent, SETTLED_S, end),
        "wait_ms": float(np.nanmean(wait["sojourn_mean_ms"].cast(pl.Float64).to_numpy())),
        "longest_wait_ms": float(np.nanmax(wait["sojourn_max_ms"].cast(pl.Float64).to_numpy())),
    }


def modems(run: Run, case: Case) -> Mapping[str, float]:
    """Measures quantiles and means of RTT and throughput, and the overhead of sensing."""
    base = float(case.labels["rtt_ms"])
    rtt, timed = _round_trips(run)
    rates = _throughputs(run)
    bins = np.concatenate([rate for _, rate in rates])
    settled = np.concatenate([rate[time > SETTLED_S] for time, rate in rates])
    found = {f"rtt_p{each}_ms": value for each, value in zip(PERCENTILES, _quantiles(rtt, timed), strict=True)}
    found |= {f"throughput_p{each}_bps": value for each, value in zip(PERCENTILES, _quantiles(bins, bins), strict=True)}
    return {
        **found,
        "rtt_mean_ms": float(np.average(rtt, weights=timed)),
        "share_rtt_within_25_ms": float(timed[rtt <= base + 25].sum() / timed.sum()),
        "share_rtt_within_50_ms": float(timed[rtt <= base + 50].sum() / timed.sum()),
        "throughput_bps": float(np.mean([rate[time > SETTLED_S].mean() for time, rate in rates])),
        "variation": float(settled.std() / settled.mean()),
        "share_below_12_mbps": float(bins[bins < 12e6].sum() / bins.sum()),
        "sensing_share": _sensing_share(run),
        "drops": float(sum(row["packets"] for row in run.drops.rows() if row["reason"] == "early")),
    }


def _round_trips(run: Run) -> tuple[Array, Array]:
    """Returns the mean RTT of the continuous transfers, and the number of packets with a measured RTT, per short
    interval."""
    names = [row["name"] for row in run.flows.rows() if row["group"].startswith("continuous")]
    means: list[Array] = []
    counts: list[Array] = []
    for trace in traces_of(run, names).values():
        timed = trace.rtt_count > 0
        means.append(trace.rtt_sum_ms[timed] / trace.rtt_count[timed])
        counts.append(trace.rtt_count[timed])
    return np.concatenate(means), np.concatenate(counts)


def _throughputs(run: Run) -> list[tuple[Array, Array]]:
    """Returns the throughput of IP bytes on each modem's last link: the ends of the bins in seconds, and the rates in
    bit/s."""
    names = {str(name) for name in run.queues["link"].unique()}
    # The last link of a download leads to the home. The last link of an upload leads to the provider.
    direction, prefix = ("down", "home") if "home1" in names else ("up", "isp")
    found: list[tuple[Array, Array]] = []
    for name in sorted(each for each in names if each.startswith(prefix) and each[len(prefix) :].isdigit()):
        buffer = buffers_of(run, name)[direction]
        time, sent = buffer["time_s"], buffer["sent_bytes"]
        ends = np.arange(BIN_S, time[-1] + BIN_S / 2, BIN_S)
        octets = np.interp(ends, time, sent)
        found.append((ends, np.diff(octets, prepend=0.0) * 8 / BIN_S))
    return found


def _quantiles(values: Array, weights: Array) -> Array:
    """Returns weighted quantiles at `PERCENTILES`."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.minimum(np.searchsorted(share, np.array(PERCENTILES) / 100), len(order) - 1)]


def _sensing_share(run: Run) -> float:
    """Returns the sensing packets' fraction of all bytes that the limiters sent; NaN if there are no sensing
    packets."""
    senses = run.parts["quantity"] == "sensing_sent_packets"
    if not senses.any():
        return math.nan
    # The counters are cumulative.
    sensing = pl.DataFrame([run.parts[name].filter(senses) for name in ("node", "part", "value")])
    octets = sensing.group_by("node", "part").agg(pl.col("value").max())["value"].sum() * SENSING_OCTETS
    queues = pl.DataFrame([run.queues[name] for name in ("link", "direction", "sent_bytes")])
    prefix = "limiter" if "limiter" in queues["link"] else "modem"
    limiters = queues.filter(pl.col("link").str.starts_with(prefix))
    sent = limiters.group_by("link", "direction").agg(pl.col("sent_bytes").max())
    largest = sent.group_by("link").agg(pl.col("sent_bytes").max())["sent_bytes"].sum()
    return float(octets) / float(largest)
