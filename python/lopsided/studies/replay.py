"""Replays recorded packet arrivals into a link of a scenario, to compare its queue with the queue at which they were
recorded.

    arrivals = [replay.Arrival(at_ns, replay.datagram(1500, port=7)) for at_ns in range(0, 10**9, 10**6)]
    fates = replay.replay(scenario, "link", "down", arrivals)
    [fate.left_ns for fate in fates]

Every packet arrives at its original time, even if earlier packets are dropped: no sender reacts. So two queue
disciplines, or one here and one in a router, get the same packets and can be compared packet by packet.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided import _native

if TYPE_CHECKING:
    from lopsided.scenario import Scenario


@dataclass(frozen=True)
class Arrival:
    """A packet that arrives at a queue. `octets` are its headers, from the IP header to the end of the TCP or UDP
    header."""

    at_ns: int
    octets: bytes
    flow: int = 0
    """The flow number that the rules of a classifier refer to."""


@dataclass(frozen=True)
class Fate:
    """The outcome for a packet: it departed at `left_ns` as number `place` of all packets, or was dropped for
    `reason`."""

    left_ns: int | None = None
    place: int | None = None
    dropped_ns: int | None = None
    reason: str | None = None
    marked: bool = False


def replay(
    scenario: Scenario,
    link: str,
    direction: str,
    arrivals: Sequence[Arrival],
    *,
    instants: Sequence[int] | None = None,
    credit_ns: int = 0,
    seed: int = 1,
) -> list[Fate]:
    """Replays packets, in the order of their arrival times, into one direction of a link.

    If `instants` is given, the line's rate is ignored: one packet is dequeued at each of these times, for example at
    the departure times of another queue. If `credit_ns` is given, the line sends the first packet of a busy period as
    if it had arrived that much earlier, as in the kernel world.
    """
    packets = [(arrival.at_ns, arrival.flow, arrival.octets) for arrival in arrivals]
    times = None if instants is None else list(instants)
    played = _native.replay(scenario.native, link, direction, packets, instants=times, credit_ns=credit_ns, seed=seed)
    return [
        Fate(*(left or (None, None)), *(dropped or (None, None)), marked=marked) for left, dropped, marked in played
    ]


def datagram(size: int, port: int, tos: int = 0) -> bytes:
    """Returns the headers of a UDP packet of `size` bytes with the given source and destination ports."""
    ip = struct.pack("!BBHHHBBHII", 0x45, tos, size, 0, 0x4000, 64, 17, 0, 0x0A000001, 0x0A000002)
    return ip + struct.pack("!HHHH", port, port, size - 20, 0)
