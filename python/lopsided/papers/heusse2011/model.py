"""Describes the data pendulum by formulas: window and throughput ratios that follow from the two buffer sizes.

The full text was not available, so the expression is our own. It uses three facts:

- Each buffer stores data of one flow and ACKs of the other flow.
- Both flows cross both buffers, so they have the same RTT. The ratio of their throughputs is therefore the ratio of
  their windows (merritt2010, section 2.6, attributes this result to the authors).
- Only one buffer is filled at a time (abstract), so a buffer overflows when it contains the windows of both flows:

    down:  W_D + s W_U = B_D        up:  W_U + s W_D = B_U

`W` is a window in segments at the time of the overflow. `B` is the capacity of a buffer and of the line behind it, in
segments. `s` is the space that the ACKs of one segment need, in segments: 1.7 % in a byte buffer, and 50 % in a packet
buffer. The formulas ignore window growth, timeouts and losses of ACKs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PACKET_BYTES, ACK_BYTES = 1500, 52
"""Sizes in bytes of a full packet and of a pure ACK with timestamps."""

ACKS_PER_SEGMENT = 0.5
"""Number of ACKs per segment: a delayed ACK acknowledges two segments."""

PAYLOAD = 1448 / 1500
"""Fraction of a full packet's bytes that are payload."""


@dataclass(frozen=True)
class Windows:
    """The windows of both flows, in segments, when a buffer overflows; NaN if the buffer has no room for one flow."""

    down: float
    up: float

    @property
    def ratio(self) -> float:
        """Returns the download's throughput divided by the upload's throughput."""
        return self.down / self.up

    def shares(self, down_bps: float, up_bps: float) -> tuple[float, float]:
        """Returns each direction's data throughput relative to its line rate, from 0 to 1.

        The direction with the longer queueing delay is always busy and determines the RTT.
        """
        ack = ACKS_PER_SEGMENT * ACK_BYTES
        round_trip_s = 8 * max(
            (PACKET_BYTES * self.down + ack * self.up) / down_bps, (PACKET_BYTES * self.up + ack * self.down) / up_bps
        )
        bits = 8 * PACKET_BYTES
        return bits * self.down / round_trip_s / down_bps, bits * self.up / round_trip_s / up_bps


def ack_room(unit: str) -> float:
    """Returns the buffer space that one segment's ACKs need, in segments. `unit` is `bytes` or `packets`, the unit of
    the buffer's limit."""
    return ACKS_PER_SEGMENT * (ACK_BYTES / PACKET_BYTES if unit == "bytes" else 1.0)


def windows(unit: str, down_room: float, up_room: float) -> Windows:
    """Returns both windows in full packets.

    In packet buffers, one flow's ACKs can fill the other flow's buffer. Both windows are then NaN.
    """
    share = ack_room(unit)
    down, up = ((one - share * other) / (1 - share**2) for one, other in ((down_room, up_room), (up_room, down_room)))
    return Windows(down, up) if min(down, up) > 0 else Windows(math.nan, math.nan)


def room(buffer_packets: float, rate_bps: float, rtt_s: float) -> float:
    """Returns the size of a buffer plus the number of packets in flight behind the buffer, in full packets.

    The delay of each direction is half of the base RTT.
    """
    return buffer_packets + rate_bps * rtt_s / (8 * PACKET_BYTES)
