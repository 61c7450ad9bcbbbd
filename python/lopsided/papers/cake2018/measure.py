"""Measures one run. The first seconds, in which the flows start, are not measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.traces import Array, traces_of

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

WARM_UP_S = 10.0
SETTLED_S = 20.0
"""Time in seconds after which a run counts as steady. The bulk flows start at 5 s."""


def _goodputs(run: Run, t0_s: float = WARM_UP_S) -> dict[str, float]:
    """Returns the goodput of each flow in bit/s from `t0_s` to the end."""
    rows = list(run.flows.rows())
    end = max(float(row["stop_s"]) for row in rows)
    traces = traces_of(run, [row["name"] for row in rows])
    return {name: trace.goodput_bps(t0_s, end) for name, trace in traces.items()}


def shares(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the total goodput in bit/s, and each flow's fraction of the total goodput."""
    found = _goodputs(run, 4.0)
    total = sum(found.values())
    return {**{f"share_{name}": rate / total for name, rate in found.items()}, "sum_bps": total}


def tins(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns each TCP flow's goodput in bit/s, and the median RTT of each kind of probe in ms.

    The median RTT is the sum of the median one-way times in both directions.
    """
    goodputs = {f"{name}_bps": rate for name, rate in _goodputs(run).items() if not name.startswith("ping")}
    times = {row["name"]: float(row["rtt_p50_ms"]) for row in run.flows.rows()}
    pings = {f"ping_{tin}_ms": times[f"ping_down_{tin}"] + times[f"ping_up_{tin}"] for tin in ("be", "bk", "ef")}
    return {**goodputs, **pings}


def induced(run: Run) -> tuple[Array, Array]:
    """Returns the real-time flow's queueing delay: sample times in seconds, and the mean delay of each sample in ms.

    Samples without an arriving datagram are excluded.
    """
    trace = traces_of(run, ("real-time",))["real-time"]
    known = trace.rtt_count > 0
    delay = trace.rtt_sum_ms[known] / trace.rtt_count[known]
    return trace.time_s[known], delay - float(delay.min())


def real_time(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the real-time flow's steady-state queueing delay, goodput and losses."""
    time, delay = induced(run)
    steady = delay[time >= SETTLED_S]
    row = next(row for row in run.flows.rows() if row["name"] == "real-time")
    sent = float(row["data_segments_out"])
    return {
        "delay_ms": float(np.median(steady)),
        "delay_p5_ms": float(np.percentile(steady, 5)),
        "delay_p95_ms": float(np.percentile(steady, 95)),
        "goodput_bps": _goodputs(run, SETTLED_S)["real-time"],
        "lost_share": float(row["lost_packets"]) / sent,
    }


def filtered(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the downloads' total goodput and the uploads' total goodput in bit/s, and the number of filtered ACKs."""
    found = _goodputs(run)
    ways = {way: sum(rate for name, rate in found.items() if name.startswith(way)) for way in ("down", "up")}
    acks = next(row for row in run.links.rows() if row["direction"] == "up")
    return {**{f"{way}_bps": rate for way, rate in ways.items()}, "filtered": float(acks["filtered_packets"])}


def overhead(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the mean waiting times of packets in the modem and in the gateway, in ms, and the upload's goodput in
    bit/s."""
    queues = run.queues
    late = queues.numbers("time_s") > WARM_UP_S
    found: dict[str, float] = {}
    for link, name in (("line", "modem"), ("shaped", "gateway")):
        chosen = queues.among("link", (link,)) & queues.among("direction", ("down",)) & late
        waits = queues.numbers("sojourn_mean_ms")[chosen]
        found[f"{name}_ms"] = float(np.nanmean(waits))
    return {**found, "goodput_bps": _goodputs(run)["upload"]}
