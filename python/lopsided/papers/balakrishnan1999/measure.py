"""Measures one run.

Throughput counts whole packets of 1,000 bytes, as in the paper's simulator. Windows are in packets. In runs with two
flows, only the time in which both flows are active is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lopsided import metrics
from lopsided.papers.framework.traces import buffers_of, traces_of

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

PAYLOAD_BYTES, PACKET_BYTES = 960, 1000
WHOLE = PACKET_BYTES / PAYLOAD_BYTES
"""Ratio of a data packet's size to its payload."""

UPLOAD_PAYLOAD_BYTES = 994
"""Payload of an upload packet, in bytes. With headers, the packet has 1,034 bytes, or 1,000 bytes if the headers are
compressed."""
WHOLE_UPLOAD = PACKET_BYTES / UPLOAD_PAYLOAD_BYTES


def one_way(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures a download's throughput, mean window and mean RTT, and counts the ACKs at the slow line."""
    flow = next(iter(run.flows.rows()))
    return {
        "throughput_bps": flow["goodput_bps"] * WHOLE,
        "cwnd_packets": flow["cwnd_mean_bytes"] / PAYLOAD_BYTES,
        "rtt_ms": flow["rtt_mean_ms"],
        "rtt_std_ms": flow["rtt_std_ms"],
        "retransmits": float(flow["retransmits"]),
        "timeouts": float(flow["timeouts"]),
        **_acks(run),
    }


def _acks(run: Run) -> dict[str, float]:
    """Counts the arrived, dropped, filtered and delivered ACKs at the return line."""
    up = next(row for row in run.links.rows() if row["link"] == "link" and row["direction"] == "up")
    lost: dict[str, int] = {}
    for row in run.drops.rows():
        if row["node"] == "link" and row["direction"] == "up":
            lost[row["reason"]] = row["packets"]
    filtered = lost.get("ack_filtered", 0)
    return {
        "acks_sent": float(up["arrived_packets"]),
        "acks_delivered": float(up["sent_packets"]),
        "acks_filtered": float(filtered),
        "acks_dropped": float(sum(lost.values()) - filtered),
    }


def two_downloads(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures each download's throughput, the total throughput and Jain's index over the time in which both downloads
    are active."""
    rates = [rate * WHOLE for rate in _while_all_are_active(run, ("forward", "second"))]
    return {
        "first_bps": rates[0],
        "second_bps": rates[1],
        "total_bps": sum(rates),
        "fairness_index": metrics.jain_index(rates),
    }


def two_way(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the throughputs of both flows and the return line's mean queue, while both flows are active."""
    forward, reverse = _while_all_are_active(run, ("forward", "reverse"))
    begin = _all_send_from(run, ("forward", "reverse"))
    up = buffers_of(run)["up"]
    flows = {row["name"]: row for row in run.flows.rows()}
    return {
        "forward_bps": forward * WHOLE,
        "reverse_bps": reverse * WHOLE_UPLOAD,
        "backlog_packets": float(up["backlog_packets"][up["time_s"] >= begin].mean()),
        "forward_timeouts": float(flows["forward"]["timeouts"]),
        "reverse_timeouts": float(flows["reverse"]["timeouts"]),
        "reverse_cwnd_packets": flows["reverse"]["cwnd_mean_bytes"] / UPLOAD_PAYLOAD_BYTES,
    }


def _while_all_are_active(run: Run, names: tuple[str, ...]) -> list[float]:
    """Returns the goodputs in bit/s from the first data of the last flow until the first flow ends."""
    flows: dict[str, Any] = {row["name"]: row for row in run.flows.rows()}
    begin = _all_send_from(run, names)
    end = min(flows[name]["stop_s"] for name in names)
    traces = traces_of(run, names)
    return [traces[name].goodput_bps(begin, end) for name in names]


def _all_send_from(run: Run, names: tuple[str, ...]) -> float:
    """Returns the time in seconds at which the last flow sends its first byte."""
    samples = run.samples
    flow, time, sends = samples["flow"].to_numpy(), samples["time_s"].to_numpy(), (samples["sent_bytes"] > 0).to_numpy()
    # `start_s` may be the time of the handshake. Therefore the first data segment is used.
    first = [time[sends & (flow == row["flow"])] for row in run.flows.rows() if row["name"] in names]
    return float(max(times.min() for times in first if len(times)))


def radio(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the total throughput of all downloads, Jain's index, and the first download's RTT."""
    flows = list(run.flows.rows())
    rates = [row["goodput_bps"] * WHOLE for row in flows]
    radio = run.parts.to_polars().filter(pl.col("node") == "radio")
    last = radio.group_by("part", "quantity").agg(pl.col("value").last())

    def total(quantity: str) -> float:
        return float(last.filter(pl.col("quantity") == quantity)["value"].sum())

    return {
        "throughput_bps": sum(rates),
        "throughput_std_bps": float(np.std(rates)),
        "fairness_index": metrics.jain_index(rates),
        "rtt_ms": flows[0]["rtt_mean_ms"],
        "rtt_std_ms": flows[0]["rtt_std_ms"],
        "timeouts": float(sum(row["timeouts"] for row in flows)),
        "calls": total("calls"),
        "unanswered": total("calls_unanswered"),
        "piggybacked": total("acks_piggybacked"),
    }


def transfer(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the throughput, retransmissions and timeouts of one transfer."""
    flow = next(iter(run.flows.rows()))
    return {
        "throughput_bps": flow["goodput_bps"],
        "retransmits": float(flow["retransmits"]),
        "timeouts": float(flow["timeouts"]),
    }


def beside_an_upload(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the goodputs of both flows, and the end of the download's last long pause, in seconds."""
    flows = {row["name"]: row for row in run.flows.rows()}
    trace = traces_of(run, ("forward",))["forward"]
    moves = trace.time_s[1:][np.diff(trace.acked_bytes) > 0]
    pauses = np.diff(moves)
    long = np.flatnonzero(pauses > LONG_PAUSE_S)
    last = float(moves[long[-1] + 1]) if long.size else 0.0
    return {
        "forward_bps": flows["forward"]["goodput_bps"],
        "reverse_bps": flows["reverse"]["goodput_bps"],
        "longest_pause_s": float(pauses.max()) if pauses.size else float("nan"),
        "last_long_pause_s": last,
        "before_pauses_bps": trace.goodput_bps(flows["forward"]["start_s"], last),
        "after_pauses_bps": trace.goodput_bps(last, float(trace.time_s[-1])),
        "reverse_retransmits": float(flows["reverse"]["retransmits"]),
    }


LONG_PAUSE_S = 5.0
"""A pause counts as long if no new data is acknowledged for at least this number of seconds."""


def over_radio(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the RTT, timeouts, fast retransmits, and the fraction of time that a transfer spends in long pauses."""
    flow = next(iter(run.flows.rows()))
    trace = traces_of(run, ("transfer",))["transfer"]
    begin, end = flow["start_s"], flow["start_s"] + flow["active_s"]
    within = (trace.time_s >= begin) & (trace.time_s <= end)
    time, acked = trace.time_s[within], trace.acked_bytes[within]
    # Treat start and end as progress, so that pauses at the start and at the end count too.
    moves = np.concatenate(([begin], time[1:][np.diff(acked) > 0], [end]))
    pauses = np.diff(moves)
    return {
        "throughput_bps": flow["goodput_bps"],
        "rtt_ms": flow["rtt_mean_ms"],
        "rtt_std_ms": flow["rtt_std_ms"],
        "timeouts": float(flow["timeouts"]),
        "fast_retransmits": float(flow["fast_retransmits"]),
        "idle_share": float(pauses[pauses > LONG_PAUSE_S].sum() / (end - begin)),
        "longest_pause_s": float(pauses.max()),
        "shortest_pause_s": float(min(pauses[pauses > LONG_PAUSE_S], default=float("nan"))),
    }


def pages(run: Run, case: Case) -> Mapping[str, float]:
    """Measures the mean and standard deviation of the page completion time, and the fraction of hosts that complete the
    page."""
    took = np.array([row["completion_s"] for row in run.transfers.rows() if row["what"] == "page"])
    return {
        "completion_s": float(took.mean()) if took.size else float("nan"),
        "completion_std_s": float(took.std()) if took.size else float("nan"),
        "completed": float(took.size) / float(case.labels["hosts"]),
    }


def implemented_two_way(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the throughputs of both flows, from the start of the upload until one flow completes."""
    flows: dict[str, Any] = {row["name"]: row for row in run.flows.rows()}
    traces = traces_of(run, ("forward", "reverse"))
    begin = max(row["start_s"] for row in flows.values())
    end = min(row["start_s"] + row["active_s"] for row in flows.values())
    forward, reverse = (traces[name].goodput_bps(begin, end) for name in ("forward", "reverse"))
    return {"forward_bps": forward, "reverse_bps": reverse, "both_active_s": end - begin}
