"""Measures one run: goodputs, windows, and the fraction of time in which each buffer is filled or empty.

A buffer counts as filled while its backlog is at least half of its limit. The first minute is not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.traces import Array, traces_of
from lopsided.papers.heusse2011.model import PAYLOAD

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

WARM_UP_S = 60.0
FILLED, FULL = 0.5, 0.9
"""A buffer counts as filled, and as full, if its backlog is at least this fraction of its limit. Both thresholds are
our own."""


def backlogs(run: Run) -> dict[str, tuple[Array, Array]]:
    """Returns the samples of both buffers after the warm-up, by direction: times in seconds, and backlogs in bytes."""
    queues = run.queues
    down = queues.among("direction", ("down",))
    time, backlog = queues.numbers("time_s"), queues.numbers("backlog_bytes")
    late = time > WARM_UP_S
    return {way: (time[late & chosen], backlog[late & chosen]) for way, chosen in (("down", down), ("up", ~down))}


def _packets(run: Run, way: str) -> Array:
    queues = run.queues
    chosen = queues.among("direction", (way,)) & (queues.numbers("time_s") > WARM_UP_S)
    return queues.numbers("backlog_packets")[chosen]


def two_way(run: Run, case: Case) -> Mapping[str, float]:
    """Returns one row with the goodputs, the relative throughputs, the windows, and the fractions of time in which each
    buffer is full or empty."""
    end = max(float(row["stop_s"]) for row in run.flows.rows())
    flows = traces_of(run, ("download", "upload"))
    down, up = (flows[name].goodput_bps(WARM_UP_S, end) for name in ("download", "upload"))
    rates = [run.scenario.link_rate_bps(way) or float("nan") for way in ("down", "up")]
    shares = [goodput / PAYLOAD / rate for goodput, rate in zip((down, up), rates, strict=True)]
    wide, narrow = (flows[name].cwnd_mean_bytes(WARM_UP_S, end) for name in ("download", "upload"))
    return {
        "goodput_down_bps": down,
        "goodput_up_bps": up,
        "ratio": down / up if up > 0 else float("nan"),
        "cwnd_ratio": metrics.cwnd_efficiency_ratio(wide, narrow),
        "down_share": shares[0],
        "up_share": shares[1],
        "performance": min(shares),
        "timeouts_down": float(_flow(run, "download")["timeouts"]),
        "timeouts_up": float(_flow(run, "upload")["timeouts"]),
        **_buffers(run, case),
    }


def _flow(run: Run, name: str) -> dict[str, float]:
    return next(row for row in run.flows.rows() if row["name"] == name)


def _buffers(run: Run, case: Case) -> dict[str, float]:
    """Returns the fractions of time in which each buffer is filled, both buffers are filled, and each buffer is
    empty."""
    levels: list[Array] = []
    found: dict[str, float] = {}
    for way, (_, held_bytes) in backlogs(run).items():
        limit = case.overrides.get(f"link.{way}.queue.limit", "")
        size, unit = limit.split() if limit else ("nan", "B")
        held = held_bytes if unit == "B" else _packets(run, way)
        levels.append(held / float(size))
        filled, empty = levels[-1] >= FILLED, held == 0
        found |= {f"{way}link_filled": float(filled.mean()), f"{way}link_empty": float(empty.mean())}
    both = np.minimum(*levels)
    return {**found, "both_filled": float((both >= FILLED).mean()), "both_full": float((both >= FULL).mean())}


def acknowledgements(run: Run, case: Case) -> Mapping[str, float]:
    """Returns the metrics of `two_way`, and the ACK compression of both flows."""
    end = max(float(row["stop_s"]) for row in run.flows.rows())
    flows = traces_of(run, ("download", "upload"))
    found = dict(two_way(run, case))
    for name, way in (("download", "down"), ("upload", "up")):
        acks = flows[name].ack_compression(WARM_UP_S, end, run.scenario.link_rate_bps(way))
        found[f"compressed_{way}"] = acks.compressed_share
    return found
