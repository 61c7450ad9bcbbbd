"""Measures each run: the metrics of tcptrace, and metrics that tcptrace cannot measure at the sender."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

FLOWS = ("S1", "S2")
_SHORT_BYTES = 1000
"""A flow with fewer bytes than this is not measured: it exists only because the scenario requires two flows."""

Row: TypeAlias = Mapping[str, Any]

_MEASURES: Mapping[str, Callable[[Row, Row], float]] = {
    "elapsed_s": lambda flow, trace: trace["elapsed_s"],
    "completion_s": lambda flow, trace: flow["completion_s"],
    "throughput_bps": lambda flow, trace: trace["acked_bytes"] * 8 / trace["elapsed_s"],
    "rtt_ms": lambda flow, trace: trace["rtt_mean_ms"],
    "end_to_end_rtt_ms": lambda flow, trace: flow["rtt_mean_ms"],
    "retransmitted_packets": lambda flow, trace: trace["retransmitted_packets"],
    "total_packets": lambda flow, trace: trace["packets"] + trace["packets_back"],
    "outstanding_mean_bytes": lambda flow, trace: trace["outstanding_mean_bytes"],
    "outstanding_max_bytes": lambda flow, trace: trace["outstanding_max_bytes"],
    "outstanding_max_after_s": lambda flow, trace: trace["outstanding_max_s"] - flow["start_s"],
    "window_bytes": lambda flow, trace: trace["window_mean_bytes"],
    "window_back_bytes": lambda flow, trace: trace["window_back_mean_bytes"],
    "timeouts": lambda flow, trace: flow["timeouts"],
    "local_congestion": lambda flow, trace: flow["local_congestion"],
}
"""The function of each metric. Its arguments are the table row of a flow and the row of the flow's trace.

`rtt_ms` is tcptrace's average at the sender, where packets have already passed netem. `end_to_end_rtt_ms` is TCP's own
RTT.
"""


def measure(run: Run, case: Case) -> Mapping[str, float]:
    """Returns the row of a test. For each flow and metric, there is a column `<flow>_<metric>`; NaN for an unused
    flow."""
    flows = {row["name"]: row for row in run.flows.rows()}
    traces = {row["flow"]: row for row in run.traces.rows()}
    found: dict[str, float] = {}
    for name in FLOWS:
        # Skip the second flow of a test with one flow, which sends only one byte.
        sized = name in traces and traces[name]["acked_bytes"] > _SHORT_BYTES
        for measure, read in _MEASURES.items():
            found[f"{name}_{measure}"] = float(read(flows[name], traces[name])) if sized else float("nan")
    found["router_drops_packets"] = sum(row["dropped_packets"] for row in run.links.rows())
    found["blackout_lost_packets"] = sum(row["packets"] for row in run.drops.rows() if row["reason"] == "pattern_loss")
    return found
