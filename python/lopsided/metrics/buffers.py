"""Buffer sizes: the bandwidth-delay product, the sizing rules derived from it, and merritt2010's bound for the uplink.

Rates are in bit/s, times in seconds, windows in bytes, buffers in full packets of 1,500 bytes unless a name says
otherwise. Left out: buffers whose limit is in bytes or in memory cells, and measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive

FULL_PACKET_BYTES = 1500.0
"""The packet size that merritt2010 divides by (eqs 2.2, 2.3, 6.6; table 5.1; appendix H)."""


def bandwidth_delay_product_bytes(rate_bps: float, rtt_s: float) -> float:
    """Number of bytes that fill a path with the given bottleneck rate and RTT (merritt2010 eq 2.1; MER-M04)."""
    return rate_bps * rtt_s / 8.0


def one_bdp_buffer_packets(rate_bps: float, rtt_s: float, packet_bytes: float = FULL_PACKET_BYTES) -> float:
    """The rule of thumb B = RTT C, as a number of packets (merritt2010 eq 2.2, after Villamizar and Song; MER-M05)."""
    positive("packet size", packet_bytes)
    return bandwidth_delay_product_bytes(rate_bps, rtt_s) / packet_bytes


def many_flow_buffer_packets(
    rate_bps: float, rtt_s: float, flows: int, packet_bytes: float = FULL_PACKET_BYTES
) -> float:
    """The rule B = RTT C / sqrt(N) for N desynchronised flows, as a number of packets (merritt2010 eq 2.3, after
    Appenzeller; MER-M06)."""
    positive("number of flows", flows)
    return one_bdp_buffer_packets(rate_bps, rtt_s, packet_bytes) / math.sqrt(flows)


def drain_time_s(packets: float, rate_bps: float, packet_bytes: float = FULL_PACKET_BYTES) -> float:
    """Time in seconds that a full buffer of the given number of packets takes to drain at the given rate (merritt2010
    table 5.1)."""
    positive("rate", rate_bps)
    return packets * packet_bytes * 8.0 / rate_bps


def two_way_phase(
    window_down_bytes: float, window_up_bytes: float, bdp_bytes: float
) -> Literal["in phase", "out of phase"]:
    """Returns whether two fixed windows are in phase (W_D <= W_U + 2 BDP) or out of phase (eqs 2.4, 2.5; MER-M07).

    The function follows the labels of the equations. The sentence after the equations swaps the two cases (MER-A01).
    """
    return "in phase" if window_down_bytes <= window_up_bytes + 2.0 * bdp_bytes else "out of phase"


def uplink_buffer_bound_packets(
    window_down_bytes: float,
    window_up_bytes: float,
    rtt_s: float,
    uplink_bps: float,
    packet_bytes: float = FULL_PACKET_BYTES,
) -> float:
    """The largest uplink buffer that keeps two flows out of phase, in packets (merritt2010 eq 6.6; MER-M08).

    `((W_D - W_U) / 2 - RTT C_U) / packet`. W_D and W_U are the largest windows of the download and the upload in bytes.
    RTT is the mean RTT that the download's sender measures while no upload runs. C_U is the uplink rate, here in bit/s
    (the thesis calls it C_D and counts bytes, MER-A02). The result is negative if the difference of the windows is too
    small: then no buffer keeps the flows out of phase.
    """
    positive("uplink rate", uplink_bps)
    positive("packet size", packet_bytes)
    return (
        (window_down_bytes - window_up_bytes) / 2.0 - bandwidth_delay_product_bytes(uplink_bps, rtt_s)
    ) / packet_bytes


def window_difference_for_bound_bytes(
    bound_packets: float, rtt_s: float, uplink_bps: float, packet_bytes: float = FULL_PACKET_BYTES
) -> float:
    """The difference W_D - W_U in bytes for which eq 6.6 returns the given bound. With a published estimate, it is the
    difference that the estimate implies."""
    return 2.0 * (bound_packets * packet_bytes + bandwidth_delay_product_bytes(uplink_bps, rtt_s))


@dataclass(frozen=True)
class Crossing:
    """The point at which a curve of estimates crosses the line estimate = configured size (merritt2010 figure 6.2)."""

    packets: float | None
    """The first crossing from above to below the line, interpolated, in packets; `None` if the curve never crosses
    downwards."""
    every: tuple[float, ...]
    """All crossings, upwards and downwards. More than one means that the threshold is not sharp."""
    side: Literal["crosses", "above", "below"]
    """Where the estimates lie. `above`: no estimate is smaller than its configured size. `below`: every estimate is.
    `crosses`: some are."""


def diagonal_crossing(configured_packets: ArrayLike, estimated_packets: ArrayLike) -> Crossing:
    """Finds the smallest buffer that is not below its own estimate (merritt2010 section 6.3, figure 6.2).

    Both columns have one row per configured size, in increasing order; crossings are interpolated linearly between
    rows. Raises ValueError if the columns differ in length or if the sizes do not increase.
    """
    configured = np.asarray(configured_packets, dtype=np.float64)
    excess = np.asarray(estimated_packets, dtype=np.float64) - configured
    if configured.ndim != 1 or configured.shape != excess.shape or configured.size == 0:
        raise ValueError("configured and estimated sizes must be two columns of the same, non-zero length")
    if np.any(np.diff(configured) <= 0):
        raise ValueError("configured sizes must increase")
    crossings: list[float] = []
    first_down: float | None = None
    for left in range(configured.size - 1):
        a, b = excess[left], excess[left + 1]
        if (a >= 0) == (b >= 0):
            continue
        at = float(configured[left] + (configured[left + 1] - configured[left]) * a / (a - b))
        crossings.append(at)
        if a >= 0 and first_down is None:
            first_down = at
    side: Literal["crosses", "above", "below"] = "crosses" if crossings else "above" if excess[0] >= 0 else "below"
    return Crossing(first_down, tuple(crossings), side)
