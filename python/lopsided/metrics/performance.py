"""Measures how well flows use a line: merritt2010's performance metric, and related formulas.

The formulas use goodputs (application data at the receiver) and link rates, both in bit/s. The caller chooses the
period (see `intervals`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive


def asymmetry_ratio(downlink_bps: float, uplink_bps: float) -> float:
    """Returns the downlink rate divided by the uplink rate (merritt2010 eq 1.1; MER-M01)."""
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return downlink_bps / uplink_bps


def min_normalised_goodput(
    goodput_down_bps: float, goodput_up_bps: float, downlink_bps: float, uplink_bps: float
) -> float:
    """Returns the ratio of goodput to link rate, 0 to 1, of the direction with the smaller ratio (eq 1.2; MER-M02).

    Source: merritt2010. Both directions have equal weight. If the upload of a 2400/196 kbit/s line stalls, the net
    goodput hardly changes, but this metric is 0. Headers keep the metric below 1 (0.96 with full Ethernet frames).
    """
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return min(goodput_down_bps / downlink_bps, goodput_up_bps / uplink_bps)


def normalised_net_goodput(
    goodput_down_bps: float, goodput_up_bps: float, downlink_bps: float, uplink_bps: float
) -> float:
    """Returns the sum of both goodputs divided by the sum of both rates, 0 to 1 (merritt2010 appendix I,
    `netPerformance`; MER-M21)."""
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return (goodput_down_bps + goodput_up_bps) / (downlink_bps + uplink_bps)


def padhye_throughput_bps(
    segment_bytes: float, rtt_s: float, loss: float, *, rto_s: float = 0.2, segments_per_ack: float = 1
) -> float:
    """Returns a Reno flow's throughput in bit/s at a loss rate (Padhye et al. 1998; havey2015 eq 2.1, HAV-M03).

    `loss` is the fraction of lost segments, above 0 and at most 1. `rto_s` is the retransmission timeout (Linux: at
    least 200 ms). The formula ignores the receiver's window. The dissertation prints the formula without the cap
    `min(1, 3 sqrt(3 b p / 8))`; the two forms agree for loss rates of a few percent. Raises ValueError if `loss` is out
    of bounds.
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
    """Returns the largest possible `min_normalised_goodput` of one download and one upload without losses, 0 to 1.

    Assume that both goodputs are the same fraction p of the link rates. Each direction then carries its own data with
    headers, and the ACKs of the other direction. The direction that fills first determines p. A higher value is only
    possible with lost ACKs or more segments per ACK. Sizes are bytes on the wire. The defaults describe full Ethernet
    frames with TCP timestamps, and one ACK per two segments. The formula is our own; its ACK load follows RFC 3449's
    normalised bandwidth ratio.
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
    """Returns one rate divided by another rate, for example a download's rate during an upload divided by its rate
    without the upload."""
    positive("reference rate", reference_bps)
    return rate_bps / reference_bps


def jain_index(rates: ArrayLike) -> float:
    """Returns Jain's fairness index of rates in any unit: 1 if all rates are equal, 1/n if only one of n rates is not
    0.

    Raises ValueError if there are no rates, if a rate is negative, or if all are 0. Source: Jain, Chiu, Hawe 1984; used
    by balakrishnan1999 section 3.2.
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
    """Returns the download's mean window divided by the upload's mean window, while both flows are active (MER-M27,
    after Heusse et al.)."""
    positive("upload window", cwnd_up_bytes)
    return cwnd_down_bytes / cwnd_up_bytes
