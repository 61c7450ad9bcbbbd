"""The limits of a sender, and the stretches of time in which one of them held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lopsided.data.table import Row

LIMITS = {
    "application": "the application had nothing to send",
    "receive_window": "the receiver's window was full",
    "slow_start": "the congestion window was full, in slow start",
    "avoidance": "the congestion window was full, after slow start",
    "recovery": "losses were repaired",
    "pacing": "the sender spread its packets over time",
    "ack_path": "ACKs came late: they waited longer than the data",
    "rto_idle": "nothing moved until the retransmission timer expired",
    "receiver_stall": "the receiver had closed its window",
}
"""The limits of a sender, and their meaning."""


@dataclass(frozen=True)
class Stretch:
    """A part of the time in which one limit held a direction back for most of it."""

    begin_s: float
    end_s: float
    limit: str
    confidence: float
    """Share of its time in which the limit held."""
    first_packet: int
    last_packet: int


def joined(bins: Iterable[Row]) -> list[Stretch]:
    """The stretches of a direction: neighbouring parts of the time line with the same limit."""
    found: list[Stretch] = []
    for row in bins:
        if not row["limit"]:
            continue
        begin, end = row["time_s"], row["time_s"] + row["width_s"]
        last = found[-1] if found else None
        if last is not None and last.limit == row["limit"] and begin - last.end_s < row["width_s"] / 2:
            before = last.end_s - last.begin_s
            confidence = (last.confidence * before + row["confidence"] * row["width_s"]) / (before + row["width_s"])
            packets = (last.first_packet or row["first_packet"], max(last.last_packet, row["last_packet"]))
            found[-1] = Stretch(last.begin_s, end, last.limit, confidence, *packets)
        else:
            found.append(Stretch(begin, end, row["limit"], row["confidence"], row["first_packet"], row["last_packet"]))
    return found
