"""Measures the ACKs, the bursts, and what limits the downloads' senders in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.data.table import Row
from lopsided.metrics.performance import jain_index
from lopsided.studies.spread import medians

if TYPE_CHECKING:
    import polars as pl

    from lopsided.scenario import Run, Scenario

_LEAST_LIMIT = 0.5
"""A limit is reported if it applies for at least this fraction of the time."""
_FULL = 0.95
"""A line counts as full if its utilisation is at least this fraction."""
_RECEIVER = ("receive window", "stream flow control", "connection flow control")
"""Limits that the receiver imposes on the sender, in TCP and in QUIC."""


def of_transport(scenario: Scenario, kind: str) -> list[int]:
    """Returns the indices of the flows that use the given transport, except datagram flows."""
    flows = enumerate(scenario.resolved["flows"])
    return [number for number, flow in flows if flow["transport"]["kind"] == kind and flow["app"]["kind"] != "udp"]


def measure(run: Run, link: str) -> Row:
    import polars as pl

    flows = list(run.flows.rows())
    ways = {way: [row for row in flows if row["direction"] == way] for way in ("down", "up")}
    lines = {row["direction"]: row for row in run.links.rows() if row["link"] == link}
    rates = {way: sum(row["goodput_bps"] for row in ways[way]) for way in ways}
    shares = [rates[way] / lines[way]["rate_bps"] for way in rates if ways[way] and lines[way]["rate_bps"]]
    events = run.events.to_polars()
    down = [row["flow"] for row in ways["down"]]
    # A QUIC receiver sends only requests and ACKs, so count all its packets.
    pure = (pl.col("payload_bytes") == 0) & (pl.col("protocol") == "tcp")
    quic = pl.col("flow").is_in(of_transport(run.scenario, "quic"))
    acks = events.filter(pl.col("flow").is_in(down) & (pure | quic))
    senders = [row["from"] for row in ways["down"]]
    segments = sum(row["data_segments_out"] for row in ways["down"])
    at_link = acks.filter((pl.col("node") == link) & (pl.col("direction") == "up"))
    carried = at_link.filter(pl.col("event") == "dequeued")
    dropped = at_link.filter((pl.col("event") == "dropped") & (pl.col("reason") != "ack_filtered"))
    saved = _saved_bytes(run, link)
    room = (lines["up"]["rate_bps"] or 0) * run.scenario.duration_s / 8
    # If the headers of an upload are also compressed, the bytes saved on ACKs are unknown.
    known = room and not (saved and ways["up"])
    spent = (int(carried["size_bytes"].sum()) - saved) / room if known else None
    return {
        "digest": run.digest,
        "down_goodput_bps": rates["down"] if ways["down"] else None,
        "up_goodput_bps": rates["up"] if ways["up"] else None,
        "rank_score": sum(shares),
        **_of_acks(acks, senders, segments),
        "ack_share": spent or None,
        **_of_bursts(events, down, senders),
        "jain": jain_index(shares) if len(shares) > 1 else None,
        "down_rtt_p50_ms": median(row["rtt_p50_ms"] for row in ways["down"]) if ways["down"] else None,
        "up_wait_p95_ms": lines["up"]["sojourn_p95_ms"],
        "ack_wait_ms": carried["sojourn_ms"].mean(),
        "dropped_acks": len(dropped),
        **_of_limits(run, down, lines),
    }


def _saved_bytes(run: Run, link: str) -> float:
    """Returns the bytes that header compression saved on the uplink."""
    import polars as pl

    where = (pl.col("node") == link) & (pl.col("direction") == "up") & (pl.col("quantity") == "saved_bytes")
    saved = run.parts.to_polars().filter(where)["value"]
    return float(saved[-1]) if len(saved) else 0.0


def _of_acks(acks: pl.DataFrame, senders: Sequence[str], segments: int) -> Row:
    """Returns the ACKs per segment, the bytes per ACK, and the fraction of compressed ACKs.

    An ACK is compressed if the time between its arrival and the previous ACK's arrival is less than half of the time
    between the sending of these two ACKs.
    """
    import polars as pl

    came = acks.filter((pl.col("event") == "received") & pl.col("node").is_in(senders))
    left = acks.filter(pl.col("event") == "sent").select("packet", pl.col("time_s").alias("left_s"))
    each = (
        came.join(left, on="packet", how="left")
        .sort("flow", "time_s")
        .with_columns(
            (pl.col("ack").cast(pl.Int64).diff().over("flow") % (1 << 32)).alias("step"),
            pl.col("time_s").diff().over("flow").alias("came_apart_s"),
            pl.col("left_s").diff().over("flow").alias("left_apart_s"),
        )
    )
    said = each.filter((pl.col("step") > 0) & (pl.col("step") < (1 << 31)))["step"]
    closer = each.filter(pl.col("left_apart_s") > 0)
    squeezed = closer.filter(pl.col("came_apart_s") < pl.col("left_apart_s") / 2)
    return {
        "ack_ratio": len(came) / segments if segments else None,
        "stretch_p50_bytes": said.median() if len(said) else None,
        "stretch_p95_bytes": said.quantile(0.95, "higher") if len(said) else None,
        "ack_compression": len(squeezed) / len(closer) if len(closer) else None,
    }


def _of_bursts(events: pl.DataFrame, flows: Sequence[int], senders: Sequence[str]) -> Row:
    """Returns statistics of bursts. A burst is a group of segments that the sender sends at the same instant."""
    import polars as pl

    sent = events.filter(
        (pl.col("event") == "sent")
        & pl.col("flow").is_in(flows)
        & pl.col("node").is_in(senders)
        & (pl.col("payload_bytes") > 0)
    )
    bursts = sent.group_by("flow", "time_s").len()["len"]
    if not len(bursts):
        return {"burst_p95": None, "burst_max": None}
    return {"burst_p95": bursts.quantile(0.95, "higher"), "burst_max": bursts.max()}


def _of_limits(run: Run, flows: Sequence[int], lines: Mapping[str, Mapping[str, Any]]) -> Row:
    """Returns the fraction of time for which each limit applied to the downloads' senders, the number of window
    reductions, and the utilisation and queueing delay of the downlink.
    """
    import polars as pl

    told = run.tcp_events.to_polars().filter(pl.col("flow").is_in(flows) & (pl.col("end") == "sender"))
    limited = told.filter(pl.col("event") == "limited").sort("flow", "time_s")
    spans = limited.with_columns(
        (pl.col("time_s").shift(-1).over("flow").fill_null(run.scenario.duration_s) - pl.col("time_s")).alias("span_s")
    )
    held = {
        row["reason"]: row["span_s"] for row in spans.group_by("reason").agg(pl.col("span_s").sum()).rows(named=True)
    }
    total = sum(held.values()) or 1.0
    fell = told.filter((pl.col("event") == "cwnd_reduced") & pl.col("reason").is_in(["loss", "timeout"]))
    return {
        "down_utilisation": lines["down"]["utilisation"],
        "limited_window": held.get("congestion window", 0.0) / total,
        "limited_receiver": sum(held.get(reason, 0.0) for reason in _RECEIVER) / total,
        "limited_application": held.get("application", 0.0) / total,
        "limited_pacing": held.get("pacing", 0.0) / total,
        "reductions": len(fell),
        "down_wait_ms": lines["down"]["sojourn_mean_ms"],
    }


def median_of(arm: str, rows: Sequence[Row]) -> Row:
    own = [row for row in rows if row["remedies"] == arm]
    return {"remedies": arm, **medians(own, own[0].keys() - {"remedies", "repetition", "seed", "digest"})}


def limit_of(arm: str, rows: Sequence[Row]) -> str:
    """Returns a phrase that states, with numbers, what limits the downloads."""
    cell = median_of(arm, rows)
    used, waits = cell["down_utilisation"] or 0.0, (cell["ack_wait_ms"] or 0.0, cell["down_wait_ms"] or 0.0)
    if used >= _FULL:
        return f"the downlink: the flows use {units.percent(used)} of its capacity"
    for column, what in (("limited_receiver", "the receive window"), ("limited_application", "the application")):
        if cell[column] >= _LEAST_LIMIT:
            return f"{what}, which limits the sender for {units.percent(cell[column])} of its time"
    held = "the pacing rate" if cell["limited_pacing"] > cell["limited_window"] else "the congestion window"
    share = max(cell["limited_pacing"], cell["limited_window"])
    sentence = f"{held} ({units.percent(share)} of the sender's time)"
    if waits[0] > waits[1]:
        dropped = round(cell["dropped_acks"] or 0)
        ones = "ACK is" if dropped == 1 else "ACKs are"
        lost = f", and {dropped:,} {ones} dropped from this queue" if dropped else ""
        return f"the ACK path: {sentence}, while ACKs wait {waits[0]:.0f} ms in the uplink's queue{lost}"
    if cell["reductions"]:
        return f"loss: {sentence}, after {cell['reductions']:.0f} reductions because of losses"
    return sentence
