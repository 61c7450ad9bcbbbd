"""What one run says of its disciplines: numbers of each direction, what users felt, and the delays behind percentiles.

Percentiles of round trips count each packet at the mean of its sampling interval; those of times in the queue are of
single packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.data import series
from lopsided.metrics.responsiveness import round_trips_per_minute, trimmed_mean, weighted_quantiles
from lopsided.studies.aqm.workloads import PROBE

if TYPE_CHECKING:
    from lopsided.run import Run
    from lopsided.studies.aqm.disciplines import Direction

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Delays:
    """Delays in ms, and how many packets had each."""

    value_ms: Floats
    weight: Floats

    def quantiles(self, shares: Sequence[float]) -> list[float | None]:
        """See `weighted_quantiles`."""
        return weighted_quantiles(self.value_ms, self.weight, shares)

    @staticmethod
    def joined(parts: Sequence[Delays]) -> Delays:
        """All of them together."""
        none: Floats = np.empty(0)
        return Delays(
            np.concatenate([none, *(part.value_ms for part in parts)]),
            np.concatenate([none, *(part.weight for part in parts)]),
        )


@dataclass(frozen=True)
class Measured:
    """What one run says."""

    cells: dict[Direction, dict[str, Any]]
    users: dict[str, Any]
    rtts: dict[Direction, Delays]
    sojourns: dict[Direction, Delays]


def measure(run: Run, links: Mapping[Direction, str]) -> Measured:
    """The numbers of the run at the links where the disciplines stand."""
    flows = _flows(run)
    crossing = {
        way: [flow for flow in flows if (link, way) in run.scenario.paths[flow["name"]]] for way, link in links.items()
    }
    rtts: dict[Direction, Delays] = {way: _rtts(run, [flow for flow in crossing[way] if flow["tcp"]]) for way in links}
    sojourns: dict[Direction, Delays] = {way: _sojourns(run, link, way) for way, link in links.items()}
    cells: dict[Direction, dict[str, Any]] = {
        way: _cell(run, link, way, crossing[way], rtts[way]) for way, link in links.items()
    }
    return Measured(cells, _users(run, flows), rtts, sojourns)


def _flows(run: Run) -> list[dict[str, Any]]:
    """The flows but the probe, with what they do."""
    kinds = [flow["app"]["kind"] for flow in run.scenario.resolved["flows"]]
    rows = [{**row, "kind": kind, "tcp": kind != "udp"} for row, kind in zip(run.flows.rows(), kinds, strict=True)]
    return [row for row in rows if row["name"] != PROBE]


def _cell(run: Run, link: str, way: Direction, flows: list[dict[str, Any]], rtts: Delays) -> dict[str, Any]:
    line = next(row for row in run.links.rows() if row["link"] == link and row["direction"] == way)
    bulk = [flow["goodput_bps"] for flow in flows if flow["kind"] == "bulk"]
    datagrams = [flow for flow in flows if not flow["tcp"]]
    sent = sum(flow["data_segments_out"] for flow in datagrams)
    p50, p95 = rtts.quantiles((0.5, 0.95))
    delivered = sum(flow["delivered_bytes"] for flow in flows)
    time_s = max((flow["stop_s"] for flow in flows), default=0) - min((flow["start_s"] for flow in flows), default=0)
    return {
        "goodput_bps": delivered * 8 / time_s if time_s > 0 else None,
        "utilisation": line["utilisation"],
        "jain": metrics.jain_index(bulk) if len(bulk) > 1 and any(bulk) else None,
        "rtt_p50_ms": p50,
        "rtt_p95_ms": p95,
        "sojourn_mean_ms": line["sojourn_mean_ms"],
        "sojourn_p50_ms": line["sojourn_p50_ms"],
        "sojourn_p95_ms": line["sojourn_p95_ms"],
        "sojourn_max_ms": line["sojourn_max_ms"],
        "dropped_packets": line["dropped_packets"],
        "marked_packets": line["marked_packets"],
        "drop_ratio": line["dropped_packets"] / line["arrived_packets"] if line["arrived_packets"] else None,
        "datagram_p95_ms": max((flow["rtt_p95_ms"] or 0 for flow in datagrams), default=None),
        "datagram_loss": sum(flow["lost_packets"] or 0 for flow in datagrams) / sent if sent else None,
    }


def _users(run: Run, flows: list[dict[str, Any]]) -> dict[str, Any]:
    pages = _completions(run, "page", [flow["name"] for flow in flows])
    transfers = _completions(run, "transfer", [flow["name"] for flow in flows])
    bulk = [flow for flow in flows if flow["kind"] == "bulk"]
    loaded = min((flow["start_s"] for flow in bulk), default=0.0)
    probes = _completions(run, "page", [PROBE], since_s=loaded)
    load = _rtts(run, bulk)
    # A probe takes a round trip for the handshake and one for the answer.
    probe_s = trimmed_mean(probes)
    probe_ms = None if probe_s is None else probe_s * 1e3 / 2
    load_ms = trimmed_mean(load.value_ms, load.weight)
    return {
        "pages": len(pages),
        "page_p50_s": _quantile(pages, 50),
        "page_p95_s": _quantile(pages, 95),
        "short_transfers": len(transfers),
        "transfer_p50_s": _quantile(transfers, 50),
        "transfer_p95_s": _quantile(transfers, 95),
        "probe_ms": probe_ms,
        "load_ms": load_ms,
        "rpm": None if probe_ms is None else round_trips_per_minute(probe_ms, load_ms),
    }


def _completions(run: Run, what: str, names: Sequence[str], since_s: float = 0.0) -> Floats:
    """Completion times of what began at `since_s` or later, in the named flows."""
    import polars as pl

    numbers = [row["flow"] for row in run.flows.rows() if row["name"] in names]
    rows = run.transfers.to_polars().filter(
        (pl.col("what") == what) & pl.col("flow").is_in(numbers) & (pl.col("start_s") >= since_s)
    )
    return rows["completion_s"].to_numpy().astype(np.float64)


def _quantile(values: Floats, percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None


def _rtts(run: Run, flows: Sequence[Mapping[str, Any]]) -> Delays:
    parts: list[Delays] = []
    for flow in flows:
        curve = series.rtt(run, flow["name"])
        count = series.flow_column(run, flow["name"], "rtt_count")
        parts.append(Delays(curve.value, np.nan_to_num(count.value)))
    return Delays.joined(parts)


def _sojourns(run: Run, link: str, way: Direction) -> Delays:
    mean = series.queue_column(run, link, way, "sojourn_mean_ms").value
    sent = series.queue_column(run, link, way, "sent_packets").value
    return Delays(mean, np.nan_to_num(np.diff(sent, prepend=0.0)))
