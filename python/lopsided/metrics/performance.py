"""Use of a line: merritt2010's performance metric, and related formulas.

They use goodputs (application data at the receiver) and link rates, both in bit/s. The caller chooses the period (see
`intervals`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive


def asymmetry_ratio(downlink_bps: float, uplink_bps: float) -> float:
    """Downlink rate divided by uplink rate (merritt2010 eq 1.1; MER-M01)."""
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return downlink_bps / uplink_bps


def min_normalised_goodput(
    goodput_down_bps: float, goodput_up_bps: float, downlink_bps: float, uplink_bps: float
) -> float:
    """The smaller of two ratios, each direction's goodput over its link rate: 0 to 1 (merritt2010 eq 1.2; MER-M02).

    Both directions count equally. On a 2400/196 kbit/s line, an upload without goodput hardly changes the net goodput,
    but makes this metric 0. Headers keep it below 1 (about 0.96 with full Ethernet frames).
    """
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return min(goodput_down_bps / downlink_bps, goodput_up_bps / uplink_bps)


def normalised_net_goodput(
    goodput_down_bps: float, goodput_up_bps: float, downlink_bps: float, uplink_bps: float
) -> float:
    """Sum of goodputs over sum of rates: 0 to 1 (merritt2010 appendix I, `netPerformance`; MER-M21)."""
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return (goodput_down_bps + goodput_up_bps) / (downlink_bps + uplink_bps)


def padhye_throughput_bps(
    segment_bytes: float, rtt_s: float, loss: float, *, rto_s: float = 0.2, segments_per_ack: float = 1
) -> float:
    """A Reno flow's throughput in bit/s at a loss rate (Padhye et al. 1998; havey2015 eq 2.1, HAV-M03).

    `loss` is the fraction of lost segments, above 0 and at most 1. `rto_s` is the retransmission timeout (Linux: at
    least 200 ms). Left out: the receiver's window. The dissertation prints no cap `min(1, 3 sqrt(3 b p / 8))`; at a few
    percent of loss, both agree. Raises ValueError for a `loss` outside of the bounds.
    """
    positive("segment size", segment_bytes)
    positive("round-trip time", rtt_s)
    if not 0 < loss <= 1:
        raise ValueError(f"the share of lost segments must be above 0 and at most 1, not {loss:g}")
    recovery = rtt_s * np.sqrt(2 * segments_per_ack * loss / 3)
    timeouts = rto_s * min(1.0, 3 * np.sqrt(3 * segments_per_ack * loss / 8)) * loss * (1 + 32 * loss**2)
    return float(segment_bytes * 8 / (recovery + timeouts))


def two_way_performance_bound(
    downlink_bps: float,
    uplink_bps: float,
    *,
    payload_bytes: float = 1448,
    packet_bytes: float = 1514,
    ack_bytes: float = 66,
    segments_per_ack: float = 2,
) -> float:
    """The best min-normalised goodput of a download and an upload without losses: 0 to 1.

    If goodputs are a fraction p of the rates, each direction carries p times its rate in data, headers, and the other
    direction's ACKs. The direction that fills first determines p. Only lost ACKs, or more segments per ACK, allow more.
    Sizes are bytes on the wire; defaults are full Ethernet frames with timestamps and an ACK per two segments. The
    formula is ours, its ACK load that of RFC 3449's normalised bandwidth ratio.
    """
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    positive("payload", payload_bytes)
    positive("segments per ACK", segments_per_ack)
    inflation = packet_bytes / payload_bytes
    ack_load = ack_bytes / (segments_per_ack * payload_bytes)
    shares = (
        1.0 / (inflation + ack_load * downlink_bps / uplink_bps),
        1.0 / (inflation + ack_load * uplink_bps / downlink_bps),
    )
    return min(shares)


def throughput_ratio(rate_bps: float, reference_bps: float) -> float:
    """One rate over another, such as a download's with and without an upload; 0.5 means "halved"."""
    positive("reference rate", reference_bps)
    return rate_bps / reference_bps


def jain_index(rates: ArrayLike) -> float:
    """Jain's fairness index of rates in any unit: 1 if all are equal, 1/n if one of n flows has everything.

    Raises ValueError without rates, for a negative rate, or if all are 0. Source: Jain, Chiu, Hawe 1984; used by
    balakrishnan1999 section 3.2.
    """
    values = np.asarray(rates, dtype=np.float64).ravel()
    if values.size == 0:
        raise ValueError("Jain's index needs at least one rate")
    if np.any(values < 0):
        raise ValueError("Jain's index is for non-negative rates")
    square_sum = float(np.dot(values, values))
    if square_sum == 0:
        raise ValueError("Jain's index is undefined when every rate is zero")
    return float(values.sum()) ** 2 / (values.size * square_sum)


def cwnd_efficiency_ratio(cwnd_down_bytes: float, cwnd_up_bytes: float) -> float:
    """Mean download window divided by mean upload window, while both are active (MER-M27, after Heusse et al.)."""
    positive("upload window", cwnd_up_bytes)
    return cwnd_down_bytes / cwnd_up_bytes
