"""Utilisation of the forward link, computed from the normalised asymmetry k, the buffers and the loss.

The full text with the authors' expressions was not available. These expressions are our own, for Reno with one ACK per
segment. `mu` is the forward rate in packets per second, `tau` the base RTT, and `pipe` their product.

The expressions follow from three facts. If k > 1 and the forward link is busy, one in k ACKs is delivered, and each of
these ACKs releases a burst of about k packets. The reverse buffer is then full, and for each ACK in that buffer k
packets are in flight. The window grows once per delivered ACK, so its growth is slower by a factor of k.

Left out: timeouts, the first slow start, and several losses in a window.
"""

from __future__ import annotations

import math

PACKET_BYTES, ACK_BYTES = 1000, 40


def reverse_rate_bps(forward_bps: float, k: float) -> float:
    """Returns the rate of the reverse link, in bit/s, that gives the normalised asymmetry k."""
    return forward_bps * ACK_BYTES / PACKET_BYTES / k


def without_loss(k: float, forward_buffer: float, reverse_buffer: float, pipe: float) -> float:
    """Returns the utilisation, from 0 to 1, if only full buffers drop packets. Buffers and pipe are in packets.

    - k of at most 1: the forward buffer overflows when the window reaches the sum of pipe and buffer.
    - k above 1 and at most the forward buffer: each ACK in the reverse buffer stands for k packets in flight, and the
      forward buffer must hold a burst of k packets.
    - k above the forward buffer: each burst overflows the buffer, and at most one packet more than the buffer holds is
      delivered per burst.
    """
    if k > forward_buffer:
        return min(1.0, (forward_buffer + 1) / k)
    most = pipe + forward_buffer + (k * reverse_buffer - k if k > 1 else 0.0)
    return _sawtooth(most, pipe)


def _sawtooth(most: float, pipe: float) -> float:
    """Utilisation of a window that grows linearly from half of `most` to `most`, by one packet per RTT."""
    least = most / 2
    if least >= pipe:
        return 1.0
    # While the window is below the pipe, a round trip takes `tau`. Above, one packet is sent per 1/mu. Times are in
    # units of tau.
    idle, busy = pipe - least, (most**2 - pipe**2) / (2 * pipe)
    sent = (pipe**2 - least**2) / 2 + (most**2 - pipe**2) / 2
    return sent / (pipe * (idle + busy))


def with_loss(probability: float, k: float, reverse_buffer: float, pipe: float) -> float:
    """Returns the utilisation, from 0 to 1, under random loss with buffers that never overflow.

    If the reverse link does not limit ACKs, the throughput is T = sqrt(3 / 2p) / tau. If it does, only one in T k / mu
    ACKs is delivered, and the round trip includes the full reverse buffer. The window then grows so much more slowly
    that U cubed is 1.5 / (p k pipe squared).
    """
    free = math.sqrt(1.5 / probability) / pipe
    if k <= 1 or free <= 1 / k:
        return min(1.0, free)
    limited = (1.5 / product(probability, k, pipe + k * reverse_buffer)) ** (1 / 3)
    # If the reverse buffer is neither empty nor full, the rate of ACKs equals the rate of the reverse link.
    return min(1.0, max(limited, 1 / k))


def product(probability: float, k: float, pipe: float) -> float:
    """Returns loss probability times asymmetry times the square of the pipe: the abstract's measure of throughput
    loss."""
    return probability * max(k, 1.0) * pipe**2
