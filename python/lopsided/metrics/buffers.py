"""Buffer sizes: the bandwidth-delay product, sizing rules, and merritt2010's bound for the uplink.

Rates are in bit/s, times in seconds, windows in bytes, and buffers in packets of 1,500 bytes unless a name says
otherwise. The module does not cover buffer limits in bytes or memory cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive

FULL_PACKET_BYTES = 1500.0
"""merritt2010's packet size (eqs 2.2, 2.3, 6.6; table 5.1; appendix H)."""


def bandwidth_delay_product_bytes(rate_bps: float, rtt_s: float) -> float:
    """Returns the number of bytes that fill a path with this bottleneck rate and RTT (merritt2010 eq 2.1; MER-M04)."""
    return rate_bps * rtt_s / 8.0


def one_bdp_buffer_packets(rate_bps: float, rtt_s: float, packet_bytes: float = FULL_PACKET_BYTES) -> float:
    """Returns the buffer size in packets that the rule of thumb B = RTT C yields. Source: merritt2010 eq 2.2, after
    Villamizar and Song; MER-M05."""
    positive("packet size", packet_bytes)
    return bandwidth_delay_product_bytes(rate_bps, rtt_s) / packet_bytes


def many_flow_buffer_packets(
    rate_bps: float, rtt_s: float, flows: int, packet_bytes: float = FULL_PACKET_BYTES
) -> float:
    """Returns the buffer size in packets by the rule B = RTT C / sqrt(N), for N desynchronised flows.

    Source: merritt2010 eq 2.3, after Appenzeller; MER-M06.
    """
    positive("number of flows", flows)
    return one_bdp_buffer_packets(rate_bps, rtt_s, packet_bytes) / math.sqrt(flows)


def drain_time_s(packets: float, rate_bps: float, packet_bytes: float = FULL_PACKET_BYTES) -> float:
    """Returns the time in seconds that a full buffer takes to drain (merritt2010 table 5.1)."""
    positive("rate", rate_bps)
    return packets * packet_bytes * 8.0 / rate_bps


def two_way_phase(
    window_down_bytes: float, window_up_bytes: float, bdp_bytes: float
) -> Literal["in phase", "out of phase"]:
    """Returns whether two flows with fixed windows are in phase (W_D <= W_U + 2 BDP) or out of phase.

    Source: merritt2010 eqs 2.4 and 2.5; MER-M07. The sentence after the equations swaps the two cases (MER-A01); this
    function follows the equations.
    """
    return "in phase" if window_down_bytes <= window_up_bytes + 2.0 * bdp_bytes else "out of phase"


def uplink_buffer_bound_packets(
    window_down_bytes: float,
    window_up_bytes: float,
    rtt_s: float,
    uplink_bps: float,
    packet_bytes: float = FULL_PACKET_BYTES,
) -> float:
    """Returns the largest uplink buffer in packets that keeps two flows out of phase (merritt2010 eq 6.6; MER-M08).

    `((W_D - W_U) / 2 - RTT C_U) / packet`. W_D and W_U are the largest windows in bytes. RTT is the download's mean RTT
    before the upload starts. C_U is the uplink rate in bit/s (the thesis calls it C_D and counts bytes, MER-A02). A
    negative result means that no buffer keeps the flows out of phase.
    """
    positive("uplink rate", uplink_bps)
    positive("packet size", packet_bytes)
    return (
        (window_down_bytes - window_up_bytes) / 2.0 - bandwidth_delay_product_bytes(uplink_bps, rtt_s)
    ) / packet_bytes


def window_difference_for_bound_bytes(
    bound_packets: float, rtt_s: float, uplink_bps: float, packet_bytes: float = FULL_PACKET_BYTES
) -> float:
    """Returns the window difference W_D - W_U in bytes for which eq 6.6 yields the given bound."""
    return 2.0 * (bound_packets * packet_bytes + bandwidth_delay_product_bytes(uplink_bps, rtt_s))


@dataclass(frozen=True)
class Crossing:
    """The buffer size at which the curve of estimates crosses the line "estimate = configured size" (merritt2010
    figure 6.2)."""

    packets: float | None
    """The first downward crossing in packets, interpolated; `None` if the curve never crosses downward."""
    every: tuple[float, ...]
    """All crossings. If there are several crossings, the threshold is not sharp."""
    side: Literal["crosses", "above", "below"]
    """`above` if every estimate is at least its configured size, `below` if every estimate is smaller, else
    `crosses`."""


def diagonal_crossing(configured_packets: ArrayLike, estimated_packets: ArrayLike) -> Crossing:
    """Finds the smallest configured buffer size that is at least as large as the size estimated from its run.

    Source: merritt2010, section 6.3, figure 6.2.

    The columns have one row per configured size, in increasing order. Raises ValueError if the columns have different
    lengths, or if the sizes do not increase.
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
