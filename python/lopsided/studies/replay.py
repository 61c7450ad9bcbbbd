"""A capture played again to a link of a scenario: what its queue does with the packets that came to another one.

    arrivals = [replay.Arrival(at_ns, replay.datagram(1500, port=7)) for at_ns in range(0, 10**9, 10**6)]
    fates = replay.replay(scenario, "link", "down", arrivals)
    [fate.left_ns for fate in fates]

Every packet comes at the time at which it came there, whatever becomes of those before it: nothing answers. So two
queue disciplines, or one here and one in a router, meet the very same packets, and can be held against each other one
by one.
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
    """A packet that comes to a queue. `octets` are its first, from the IP header to the end of TCP's or UDP's."""

    at_ns: int
    octets: bytes
    flow: int = 0
    """The number that a classifier's rule knows its flow by."""


@dataclass(frozen=True)
class Fate:
    """What became of a packet: it left the queue at a time, as the `place`-th of all, or was dropped for a reason."""

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
    """Plays packets, in the order of their times, to a direction of a link.

    With `instants` the line is left aside: the queue discipline is asked for a packet at each of these times, those at
    which one left elsewhere. With a credit the line lets the first packet of a busy time go as if it had come that much
    earlier: so does the kernel world's.
    """
    packets = [(arrival.at_ns, arrival.flow, arrival.octets) for arrival in arrivals]
    times = None if instants is None else list(instants)
    played = _native.replay(scenario.native, link, direction, packets, instants=times, credit_ns=credit_ns, seed=seed)
    return [
        Fate(*(left or (None, None)), *(dropped or (None, None)), marked=marked) for left, dropped, marked in played
    ]


def datagram(size: int, port: int, tos: int = 0) -> bytes:
    """The headers of a UDP packet of so many octets, of a flow with this port."""
    ip = struct.pack("!BBHHHBBHII", 0x45, tos, size, 0, 0x4000, 64, 17, 0, 0x0A000001, 0x0A000002)
    return ip + struct.pack("!HHHH", port, port, size - 20, 0)
