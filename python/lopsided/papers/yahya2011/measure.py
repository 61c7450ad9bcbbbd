"""What is taken from each run: what the report took from tcptrace, and beside it what tcptrace there could not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

FLOWS = ("S1", "S2")
_SHORT_BYTES = 1000
"""A flow with fewer octets is only there to fill its place."""


def measure(run: Run, case: Case) -> Mapping[str, float]:
    """One row for a test: for each flow `<name>_<measure>`, NaN for a flow that the test has not."""
    flows = {row["name"]: row for row in run.flows.rows()}
    traces = {row["flow"]: row for row in run.traces.rows()}
    found: dict[str, float] = {}
    for name in FLOWS:
        sized = name in traces and traces[name]["acked_bytes"] > _SHORT_BYTES
        values = _of_flow(flows[name], traces[name]) if sized else dict.fromkeys(_MEASURES, float("nan"))
        found |= {f"{name}_{measure}": value for measure, value in values.items()}
    links = {(row["link"], row["direction"]): row for row in run.links.rows()}
    found["router_drops_packets"] = sum(row["dropped_packets"] for row in links.values())
    found["blackout_lost_packets"] = sum(row["packets"] for row in run.drops.rows() if row["reason"] == "pattern_loss")
    return found


_MEASURES = (
    "elapsed_s",
    "completion_s",
    "throughput_bps",
    "rtt_ms",
    "end_to_end_rtt_ms",
    "retransmitted_packets",
    "total_packets",
    "outstanding_mean_bytes",
    "outstanding_max_bytes",
    "outstanding_max_after_s",
    "timeouts",
    "local_congestion",
)


def _of_flow(flow: Mapping[str, float], trace: Mapping[str, float]) -> dict[str, float]:
    """`rtt_ms` is tcptrace's average at the sender, behind its netem; `end_to_end_rtt_ms` what the sender's TCP met."""
    elapsed = trace["elapsed_s"]
    values = (
        elapsed,
        flow["completion_s"],
        trace["acked_bytes"] * 8 / elapsed,
        trace["rtt_mean_ms"],
        flow["rtt_mean_ms"],
        trace["retransmitted_packets"],
        trace["packets"] + trace["packets_back"],
        trace["outstanding_mean_bytes"],
        trace["outstanding_max_bytes"],
        trace["outstanding_max_s"] - flow["start_s"],
        flow["timeouts"],
        flow["local_congestion"],
    )
    return {name: float(value) for name, value in zip(_MEASURES, values, strict=True)}
