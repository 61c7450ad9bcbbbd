"""Finds the limits of a sender over time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lopsided.data.table import Row

LIMITS = {
    "application": "the application had nothing to send",
    "receive_window": "the receiver's window was full",
    "slow_start": "the congestion window was full, in slow start",
    "avoidance": "the congestion window was full, after slow start",
    "recovery": "the sender recovered from losses",
    "pacing": "the sender spread its packets over time",
    "ack_path": "ACKs were late: they waited longer than the data",
    "rto_idle": "nothing moved until the retransmission timer expired",
    "receiver_stall": "the receiver had closed its window",
}
"""The name and the meaning of each limit."""


@dataclass(frozen=True)
class Stretch:
    """A period in which the sender has one main limit. Times are in seconds since the capture's first packet."""

    begin_s: float
    end_s: float
    limit: str
    confidence: float
    """Fraction of the period (0 to 1) during which the limit applies."""
    first_packet: int
    last_packet: int


def joined(bins: Iterable[Row]) -> list[Stretch]:
    """Returns one direction's periods. Adjacent intervals with the same limit are merged."""
    found: list[Stretch] = []
    for row in bins:
        # If there is no limit, nothing was sent in the interval.
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
