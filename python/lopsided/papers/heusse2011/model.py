"""The data pendulum as formulas: window and throughput ratios that follow from the sizes of the two buffers.

The full text with the authors' expression was not available. This expression is our own and uses three facts. Data of
one flow and ACKs of the other share each buffer. Both flows cross both buffers, so they have the same round trip, and
the ratio of their throughputs is that of their windows (merritt2010, section 2.6, credits this ratio to the authors).
Only one buffer is filled at a time (abstract), so a buffer overflows when the windows of both flows are in it:

    down:  W_D + s W_U = B_D        up:  W_U + s W_D = B_U

`W` is a window in segments at the overflow, and `B` the room of a buffer and of the line behind it. `s` is the buffer
space of the ACKs of one segment, relative to the space of the segment: 1.7 % in a byte buffer and 50 % in a packet
buffer. Left out: how the windows grow, timeouts, and losses of ACKs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PACKET_BYTES, ACK_BYTES = 1500, 52
"""Sizes in bytes of a full packet and of a pure ACK with timestamps."""

ACKS_PER_SEGMENT = 0.5
"""Number of ACKs per segment: a delayed ACK acknowledges two segments."""

PAYLOAD = 1448 / 1500
"""Payload bytes per byte of a full packet."""


@dataclass(frozen=True)
class Windows:
    """Windows of the download and the upload, in segments, at the time when a buffer overflows. Both are NaN if one
    flow finds no space in the buffer."""

    down: float
    up: float

    @property
    def ratio(self) -> float:
        """Download throughput divided by upload throughput."""
        return self.down / self.up

    def shares(self, down_bps: float, up_bps: float) -> tuple[float, float]:
        """Returns the data throughput of each direction relative to its line rate, from 0 to 1.

        The direction with the longer queueing delay is always busy, and its delay determines the RTT of both flows.
        """
        ack = ACKS_PER_SEGMENT * ACK_BYTES
        round_trip_s = 8 * max(
            (PACKET_BYTES * self.down + ack * self.up) / down_bps, (PACKET_BYTES * self.up + ack * self.down) / up_bps
        )
        bits = 8 * PACKET_BYTES
        return bits * self.down / round_trip_s / down_bps, bits * self.up / round_trip_s / up_bps


def ack_room(unit: str) -> float:
    """Returns the buffer space that the ACKs of one segment occupy, as a multiple of the segment's own space, if the
    buffer counts `bytes` or `packets`."""
    return ACKS_PER_SEGMENT * (ACK_BYTES / PACKET_BYTES if unit == "bytes" else 1.0)


def windows(unit: str, down_room: float, up_room: float) -> Windows:
    """Returns both windows in full packets, for buffers of this size.

    If the buffers count packets, the ACKs of one flow alone can fill the other flow's buffer. Both windows are then
    NaN.
    """
    share = ack_room(unit)
    down, up = ((one - share * other) / (1 - share**2) for one, other in ((down_room, up_room), (up_room, down_room)))
    return Windows(down, up) if min(down, up) > 0 else Windows(math.nan, math.nan)


def room(buffer_packets: float, rate_bps: float, rtt_s: float) -> float:
    """Returns the size of a buffer plus the packets in flight on the line behind it, in full packets.

    Each direction takes half of the base RTT. The segments of a flow fill one direction and its ACKs the other.
    """
    return buffer_packets + rate_bps * rtt_s / (8 * PACKET_BYTES)
