"""Computes the highest goodput of a download over a slow return path (balakrishnan1999 sections 4.2.1 and 7.1.3)."""

from __future__ import annotations

from lopsided.metrics._series import positive


def normalised_bandwidth_ratio(forward_bps: float, reverse_bps: float, data_bytes: float, ack_bytes: float) -> float:
    """Returns k: the ratio of the link rates divided by the ratio of the packet sizes.

    If the receiver sends more than one ACK per k data packets, the return path fills before the forward path.
    """
    for name, value in (
        ("forward rate", forward_bps),
        ("return rate", reverse_bps),
        ("size of a data packet", data_bytes),
        ("size of an ACK", ack_bytes),
    ):
        positive(name, value)
    return (forward_bps / reverse_bps) / (data_bytes / ack_bytes)


def ack_limited_bps(
    forward_bps: float, reverse_bps: float, data_bytes: float, ack_bytes: float, segments_per_ack: float = 1
) -> float:
    """Returns the highest forward rate in bit/s if each ACK acknowledges `segments_per_ack` segments."""
    positive("number of segments for each ACK", segments_per_ack)
    k = normalised_bandwidth_ratio(forward_bps, reverse_bps, data_bytes, ack_bytes)
    return forward_bps * min(1.0, segments_per_ack / k)


def blocked_window_bps(window_bytes: float, reverse_packet_bytes: float, reverse_bps: float) -> float:
    """Returns the highest forward rate in bit/s if every ACK waits behind one data packet in the return queue."""
    positive("window", window_bytes)
    positive("packet", reverse_packet_bytes)
    positive("return rate", reverse_bps)
    return window_bytes * reverse_bps / reverse_packet_bytes
