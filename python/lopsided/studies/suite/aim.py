"""Computes the scores of Cloudflare's Aggregated Internet Measurement (AIM).

The scenario sends datagrams in both directions as pings, in three phases of equal duration: idle, downloads, uploads.
The time span of a check is the idle phase. The scales come from Cloudflare's open-source speed test
(cloudflare/speedtest, `internalConfig`). Scores that combine several tests are not computed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series

if TYPE_CHECKING:
    from lopsided.scenario import Run

SCALES: Mapping[str, tuple[Sequence[float], Sequence[int]]] = {
    "loss": ((0.01, 0.05, 0.25, 0.5), (10, 5, 0, -10, -20)),
    "latency_ms": ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20)),
    "increase_ms": ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20)),
    "jitter_ms": ((10, 20, 100, 500), (10, 5, 0, -10, -20)),
    "download_bps": ((1e6, 10e6, 50e6, 100e6), (0, 5, 10, 20, 30)),
}
"""For each metric, the boundaries between its classes, and the points of each class."""
USES: Mapping[str, Sequence[str]] = {
    "streaming": ("latency_ms", "loss", "download_bps", "increase_ms"),
    "gaming": ("latency_ms", "loss", "increase_ms"),
    "rtc": ("latency_ms", "jitter_ms", "loss", "increase_ms"),
}
"""For each use of the line, such as gaming, the metrics whose points are added."""
PINGS = ("ping-down", "ping-up")


def points(use: str, metrics: Mapping[str, float]) -> int:
    """Returns the points for one use of the line, such as gaming; at least 0."""
    return max(0, sum(_scaled(name, metrics[name]) for name in USES[use]))


def _scaled(name: str, value: float) -> int:
    limits, scores = SCALES[name]
    return scores[bisect_right(limits, value)]


def metrics(run: Run, idle: tuple[float, float]) -> dict[str, float]:
    """Returns the latency of the idle line, its increase under load, the jitter, the fraction of lost pings, and the
    download rate."""
    length = idle[1] - idle[0]
    loads = [(idle[1], idle[1] + length), (idle[1] + length, idle[1] + 2 * length)]
    latency = _latency(run, idle)
    pings = [row for row in run.flows.rows() if row["name"] in PINGS]
    sent = sum(row["data_segments_out"] for row in pings)
    downloads = [name for name in run.flows.values("name") if name.startswith("download")]
    return {
        "latency_ms": latency,
        "increase_ms": max(_latency(run, load) for load in loads) - latency,
        "jitter_ms": _jitter(run, idle),
        "loss": sum(row["lost_packets"] or 0 for row in pings) / sent if sent else 0.0,
        "download_bps": sum(series.goodput_between(run, name, *loads[0]) for name in downloads),
    }


def _latency(run: Run, span: tuple[float, float]) -> float:
    """Returns the mean delay of the pings in ms, summed over both directions."""
    return sum(series.rtt_between(run, name, *span) for name in PINGS)


def _jitter(run: Run, span: tuple[float, float]) -> float:
    """Returns the mean absolute difference between the delays of consecutive pings in ms, summed over both
    directions."""
    found = 0.0
    for name in PINGS:
        curve = series.rtt(run, name)
        within = curve.value[(curve.time_s > span[0]) & (curve.time_s <= span[1])]
        within = within[~np.isnan(within)]
        found += float(np.mean(np.abs(np.diff(within)))) if len(within) > 1 else 0.0
    return found
