"""Computes the utilisation of the forward link from the normalised asymmetry k, the buffers and the loss.

The authors' expressions were not available. The expressions here are our own, for Reno with one ACK per segment. `mu`
is the forward rate in packets per second, `tau` the base RTT, and `pipe` their product. For k > 1 and a busy forward
link:

- One of k ACKs is delivered, and each delivered ACK releases a burst of about k packets.
- The reverse buffer is full, and each ACK in this buffer acknowledges k packets.
- The window grows once per delivered ACK, so its growth is k times slower than with all ACKs.

The model ignores timeouts, the first slow start, and several losses in a window.
"""

from __future__ import annotations

import math

PACKET_BYTES, ACK_BYTES = 1000, 40


def reverse_rate_bps(forward_bps: float, k: float) -> float:
    """Returns the reverse link's rate in bit/s for the normalised asymmetry k."""
    return forward_bps * ACK_BYTES / PACKET_BYTES / k


def without_loss(k: float, forward_buffer: float, reverse_buffer: float, pipe: float) -> float:
    """Returns the utilisation, from 0 to 1, if only full buffers drop packets. Buffers and pipe are in packets.

    - k up to 1: the forward buffer overflows when the window reaches pipe + buffer.
    - k up to the forward buffer: each ACK in the reverse buffer acknowledges k packets, and the forward buffer must
      store a burst of k packets.
    - Larger k: each burst overflows the forward buffer, and delivers at most one packet more than this buffer stores.
    """
    if k > forward_buffer:
        return min(1.0, (forward_buffer + 1) / k)
    most = pipe + forward_buffer + (k * reverse_buffer - k if k > 1 else 0.0)
    return _sawtooth(most, pipe)


def _sawtooth(most: float, pipe: float) -> float:
    """Returns the utilisation of a window that grows by one packet per RTT from half of `most` to `most`."""
    least = most / 2
    if least >= pipe:
        return 1.0
    # Times are in units of the base RTT. A round trip takes one base RTT if the window is smaller than the pipe. If the
    # window is larger, a round trip takes the transmission time of all packets in the window.
    idle, busy = pipe - least, (most**2 - pipe**2) / (2 * pipe)
    sent = (pipe**2 - least**2) / 2 + (most**2 - pipe**2) / 2
    return sent / (pipe * (idle + busy))


def with_loss(probability: float, k: float, reverse_buffer: float, pipe: float) -> float:
    """Returns the utilisation, from 0 to 1, under random loss with buffers that never overflow.

    p is the loss probability, tau the base RTT, and mu the forward rate in packets per second. If the reverse link does
    not limit ACKs, the throughput is T = sqrt(3 / 2p) / tau. Otherwise, one of T k / mu ACKs is delivered, and the RTT
    includes the full reverse buffer. The window grows more slowly, and the utilisation U follows from
    U^3 = 1.5 / (p k pipe^2).
    """
    free = math.sqrt(1.5 / probability) / pipe
    if k <= 1 or free <= 1 / k:
        return min(1.0, free)
    limited = (1.5 / product(probability, k, pipe + k * reverse_buffer)) ** (1 / 3)
    # If the reverse buffer is neither empty nor full, ACKs arrive at the rate of the reverse link.
    return min(1.0, max(limited, 1 / k))


def product(probability: float, k: float, pipe: float) -> float:
    """Returns the abstract's measure of throughput loss: loss probability * asymmetry * pipe squared."""
    return probability * max(k, 1.0) * pipe**2
