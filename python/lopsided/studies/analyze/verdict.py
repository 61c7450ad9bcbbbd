"""Describes one direction of a connection in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data import units

if TYPE_CHECKING:
    from lopsided.data.table import Row

_SOME = 0.1
"""The sentences omit a sender limit or an ACK problem whose fraction is below this value."""
_CAPTURED = {
    "sender": "captured near the sender",
    "receiver": "captured near the receiver",
    "middle": "captured between the two ends",
    "unknown": "captured at an unknown place",
}
_LIMITED = {
    "application": "the application had nothing to send",
    "receive_window": "the receiver's window of {window} was full",
    "slow_start": "the connection was in slow start",
    "avoidance": "the congestion window was full",
    "recovery": "the sender recovered from losses",
    "pacing": "the sender paced its packets",
    "ack_path": "ACKs were late",
    "rto_idle": "nothing moved until the retransmission timer expired",
    "receiver_stall": "the receiver had closed its window",
}
_DISCIPLINES = {
    "drop_tail": "drops packets if the buffer is full (drop-tail)",
    "aqm": "seems to drop or mark packets before the buffer is full (AQM)",
    "policer": "drops packets above its rate and has no queue (policer)",
}


def sentences(row: Row) -> list[str]:
    """Returns the sentences about a direction, most important first."""
    said = [_carried(row), _limited(row)]
    said += [text for text in (_acks(row), _losses(row), _line(row), _control(row), _remedy(row)) if text]
    return said


def name(row: Row) -> str:
    """Returns the endpoints of a direction as `address:port > address:port`."""
    return f"{_end(row['from'], row['from_port'])} > {_end(row['to'], row['to_port'])}"


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _carried(row: Row) -> str:
    where = _CAPTURED[row["vantage"]]
    rate = f" at {units.rate(row['goodput_bps'])}" if row["goodput_bps"] is not None else ""
    trips = ""
    if row["rtt_floor_ms"] is not None:
        trips = f"; round trips take at least {units.millis(row['rtt_floor_ms'])}"
    return f"{units.size(row['acked_bytes'])} in {units.seconds(row['sending_s'])}{rate}, {where}{trips}."


def _limited(row: Row) -> str:
    shares = {limit: row[f"limited_{limit}"] for limit in _LIMITED}
    most = sorted(shares, key=lambda limit: -shares[limit])
    window = units.size(row["window_max_bytes"])
    told = [
        f"for {units.percent(shares[limit])} of the time {_LIMITED[limit].format(window=window)}"
        for limit in most
        if shares[limit] >= _SOME
    ]
    text = "; ".join(told or [f"mostly {_LIMITED[most[0]].format(window=window)}"])
    return f"{text[0].upper()}{text[1:]}."


def _acks(row: Row) -> str:
    told: list[str] = []
    if (row["ack_wait_p95_ms"] or 0.0) > max(2.0, 0.1 * (row["rtt_floor_ms"] or 0.0)):
        told.append(
            f"ACKs waited {units.millis(row['ack_wait_p50_ms'])} in the median and "
            f"{units.millis(row['ack_wait_p95_ms'])} at the 95th percentile"
        )
    if (row["compressed_share"] or 0.0) > _SOME:
        told.append(f"{units.percent(row['compressed_share'])} of the ACKs were compressed")
    if row["batching_ms"] is not None:
        told.append(f"ACKs arrived in batches every {units.millis(row['batching_ms'])}")
    if row["ack_thinning"] != "none":
        by = {
            "receiver": "the receiver sends few ACKs",
            "network": "the network seems to drop ACKs",
            "unknown": "ACKs are few",
        }[row["ack_thinning"]]
        told.append(f"{by}: an ACK covers {units.size(row['ack_bytes_p50_bytes'])} in the median")
    if (row["ack_uplink_share"] or 0.0) > _SOME:
        told.append(f"ACKs take {units.percent(row['ack_uplink_share'])} of the line that they share")
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _losses(row: Row) -> str:
    if not row["retransmitted_packets"]:
        return "No packet was retransmitted." if row["data_packets"] > 1 else ""
    share = row["retransmitted_packets"] / row["data_packets"]
    text = f"{row['retransmitted_packets']:,} packets ({units.percent(share)}) were retransmitted"
    if row["spurious_packets"]:
        text += f", {row['spurious_packets']:,} of them unnecessarily"
    repairs = [(row["recoveries"], "fast recovery", "fast recoveries"), (row["timeouts"], "timeout", "timeouts")]
    counted = [f"{number:,} {one if number == 1 else many}" for number, one, many in repairs if number]
    return f"{text}; {' and '.join(counted)}." if counted else f"{text}."


def _line(row: Row) -> str:
    told: list[str] = []
    if row["data_rate_bps"] is not None:
        told.append(f"the line of the data carries {units.rate(row['data_rate_bps'])}")
    if row["ack_rate_bps"] is not None:
        told.append(f"the line of the ACKs carries {units.rate(row['ack_rate_bps'])}")
    if not told:
        return "The line's rate is unknown: the line was never busy for long."
    text = " and ".join(told) + "."
    queue: list[str] = []
    if row["data_buffer_ms"] is not None:
        size = f" ({units.size(row['data_buffer_bytes'])})" if row["data_buffer_bytes"] is not None else ""
        queue.append(f"has a buffer of {units.millis(row['data_buffer_ms'])}{size}")
    if row["data_discipline"] in _DISCIPLINES:
        queue.append(_DISCIPLINES[row["data_discipline"]])
    if queue:
        text += f" The line of the data {' and '.join(queue)}."
    return text[0].upper() + text[1:]


def _control(row: Row) -> str:
    if row["cc"] == "unknown":
        return ""
    probability = units.percent(row["cc_probability"])
    return f"Among the known congestion controls, {row['cc']} fits best (probability {probability})."


def _remedy(row: Row) -> str:
    if row["limited_ack_path"] >= _SOME:
        return "On the line of the ACKs, try `lopsided ackpath`, or a shorter buffer (`lopsided size`)."
    waits = (row["data_wait_p50_ms"] or 0.0) > max(30.0, row["rtt_floor_ms"] or 0.0)
    if waits and row["limited_by"] in ("avoidance", "recovery", "slow_start", "pacing"):
        return "On the line of the data, try `lopsided aqm`, or a shorter buffer (`lopsided size`)."
    if row["limited_by"] == "receive_window":
        return "Try a larger receive buffer (Linux: `net.ipv4.tcp_rmem`)."
    return ""
