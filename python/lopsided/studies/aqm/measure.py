"""Measures one run: goodput, delay, and the waiting times of users.

Percentiles of RTTs are computed from the mean of each sampling interval, weighted by its number of packets. Percentiles
of sojourn times are computed from individual packets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.data import series
from lopsided.data.table import Row
from lopsided.metrics.responsiveness import round_trips_per_minute, saturation, trimmed_mean, weighted_quantiles
from lopsided.studies.aqm.workloads import INTERVAL_S, PROBE

if TYPE_CHECKING:
    from lopsided.scenario import Run
    from lopsided.studies.aqm.disciplines import Direction

Floats = NDArray[np.float64]

MAD = 4
"""Number of intervals in the moving averages of draft-ietf-ippm-responsiveness."""


@dataclass(frozen=True)
class Delays:
    """Distinct delays in ms, each with its number of packets."""

    value_ms: Floats
    weight: Floats

    def quantiles(self, shares: Sequence[float]) -> list[float | None]:
        """Returns weighted quantiles of the delays; see `weighted_quantiles`."""
        return weighted_quantiles(self.value_ms, self.weight, shares)

    @staticmethod
    def joined(parts: Sequence[Delays]) -> Delays:
        """Merges delays into one distribution."""
        none: Floats = np.empty(0)
        return Delays(
            np.concatenate([none, *(part.value_ms for part in parts)]),
            np.concatenate([none, *(part.weight for part in parts)]),
        )


@dataclass(frozen=True)
class Measured:
    """The metrics of one run."""

    cells: dict[Direction, Row]
    users: Row
    rtts: dict[Direction, Delays]
    sojourns: dict[Direction, Delays]


def measure(run: Run, links: Mapping[Direction, str], *, ramps: bool = False) -> Measured:
    """Returns a run's metrics at the links whose queues are compared.

    With `ramps`, the load follows draft-ietf-ippm-responsiveness, and the draft's rules determine the end of the test.
    """
    flows = _flows(run)
    crossing = {
        way: [flow for flow in flows if (link, way) in run.scenario.paths[flow["name"]]] for way, link in links.items()
    }
    rtts: dict[Direction, Delays] = {way: _rtts(run, [flow for flow in crossing[way] if flow["tcp"]]) for way in links}
    sojourns: dict[Direction, Delays] = {way: _sojourns(run, link, way) for way, link in links.items()}
    cells: dict[Direction, Row] = {way: _cell(run, link, way, crossing[way], rtts[way]) for way, link in links.items()}
    return Measured(cells, _users(run, flows, ramps), rtts, sojourns)


def _flows(run: Run) -> list[Row]:
    """Returns one row per flow, with the kind of its application. Probe flows are omitted."""
    kinds = [flow["app"]["kind"] for flow in run.scenario.resolved["flows"]]
    rows = [{**row, "kind": kind, "tcp": kind != "udp"} for row, kind in zip(run.flows.rows(), kinds, strict=True)]
    return [row for row in rows if row["group"] != PROBE]


def _cell(run: Run, link: str, way: Direction, flows: list[Row], rtts: Delays) -> Row:
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


def _users(run: Run, flows: list[Row], ramps: bool) -> Row:
    pages = _completions(run, "page", [flow["name"] for flow in flows])
    transfers = _completions(run, "transfer", [flow["name"] for flow in flows])
    return {
        "pages": len(pages),
        "page_p50_s": _quantile(pages, 50),
        "page_p95_s": _quantile(pages, 95),
        "short_transfers": len(transfers),
        "transfer_p50_s": _quantile(transfers, 50),
        "transfer_p95_s": _quantile(transfers, 95),
        **_responsiveness(run, flows, ramps),
    }


def _responsiveness(run: Run, flows: list[Row], ramps: bool) -> Row:
    """Returns the responsiveness under load. With `ramps`, returns the responsiveness at the end of the test that
    draft-ietf-ippm-responsiveness defines."""
    bulk = [flow for flow in flows if flow["kind"] == "bulk"]
    loaded = min((flow["start_s"] for flow in bulk), default=0.0)
    connects, answers = _probes(run)
    curves = [series.rtt(run, flow["name"]) for flow in bulk]
    counts = [np.nan_to_num(series.flow_column(run, flow["name"], "rtt_count").value) for flow in bulk]
    none: Floats = np.empty(0)
    time = np.concatenate([none, *(curve.time_s for curve in curves)])
    delay, weight = np.concatenate([none, *(curve.value for curve in curves)]), np.concatenate([none, *counts])

    def between(since_s: float, until_s: float) -> Row:
        """Returns the responsiveness between two times in seconds."""
        connect, answer = (
            trimmed_mean([took * 1e3 for start, took in times if start >= since_s and start + took <= until_s])
            for times in (connects, answers)
        )
        within = (time > since_s) & (time <= until_s + 1e-9)
        load = trimmed_mean(delay[within], weight[within])
        both = [each for each in (connect, answer) if each is not None]
        return {
            "probe_ms": sum(both) / len(both) if both else None,
            "load_ms": load,
            "rpm": round_trips_per_minute(connect, answer, load) if both else None,
        }

    end = float(run.scenario.resolved["duration_s"])
    if not ramps:
        return {**between(loaded, end), "rpm_confidence": None}
    ends = [INTERVAL_S * (number + 1) for number in range(int(end / INTERVAL_S))]
    total = sum(_delivered(run, flow["name"], ends) for flow in bulk)

    def rpm_at(interval: int) -> float | None:
        return between(ends[interval] - MAD * INTERVAL_S, ends[interval])["rpm"]

    found = saturation(list(np.diff(total, prepend=0.0)) if ends else [], rpm_at)
    until = ends[found.interval] if ends else end
    confidence = 3 if found.responsiveness else 2 if found.goodput and until >= 2 * MAD * INTERVAL_S else 1
    return {**between(max(0.0, until - MAD * INTERVAL_S), until), "rpm_confidence": confidence}


def _delivered(run: Run, name: str, times: Sequence[float]) -> Floats:
    """Returns the number of bytes that a flow has delivered by each time."""
    curve = series.flow_column(run, name, "delivered_bytes")
    if not len(curve.time_s):
        return np.zeros(len(times))
    return np.interp(times, curve.time_s, np.nan_to_num(curve.value), left=0.0)


def _probes(run: Run) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Returns the start and duration of each probe's handshake, and of the request after the handshake."""
    probing = {row["flow"] for row in run.flows.rows() if row["group"] == PROBE}
    rows = sorted(
        (row for row in run.transfers.rows() if row["flow"] in probing), key=lambda row: (row["flow"], row["start_s"])
    )
    connects = {(row["flow"], row["start_s"]): row["completion_s"] for row in rows if row["what"] == "connect"}
    handshakes = [(start, took) for (_, start), took in connects.items()]
    answers: list[tuple[float, float]] = []
    for row in rows:
        connect = connects.get((row["flow"], row["start_s"]))
        if row["what"] == "page" and connect is not None:
            answers.append((row["start_s"] + connect, row["completion_s"] - connect))
    return handshakes, answers


def _completions(run: Run, what: str, names: Collection[str]) -> Floats:
    """Returns the completion times of the named flows' transfers."""
    numbers = {row["flow"] for row in run.flows.rows() if row["name"] in names}
    rows = (row for row in run.transfers.rows() if row["what"] == what and row["flow"] in numbers)
    return np.array([row["completion_s"] for row in rows], dtype=np.float64)


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
