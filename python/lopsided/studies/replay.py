"""Replays recorded packet arrivals into a scenario's link, to compare queues.

    arrivals = [replay.Arrival(at_ns, replay.datagram(1500, port=7)) for at_ns in range(0, 10**9, 10**6)]
    fates = replay.replay(scenario, "link", "down", arrivals)
    [fate.left_ns for fate in fates]

No sender reacts to drops, so packets arrive at their original times. A discipline can therefore be compared packet by
packet with another discipline, or with the discipline of a router.
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
    """A packet that arrives at a queue. `octets` are its headers, from IP to the end of TCP or UDP."""

    at_ns: int
    octets: bytes
    flow: int = 0
    """Flow number that the rules of a classifier can use."""


@dataclass(frozen=True)
class Fate:
    """The result for one packet: the packet departed at `left_ns` as departure number `place` (from 0), or was dropped
    at `dropped_ns` for `reason`."""

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
    """Replays packets, by arrival time, into one direction of a link. Returns the fate of each packet.

    `instants` replaces the line's rate: one packet is dequeued at each of these times. With `credit_ns`, the line sends
    the first packet after an idle time as if the packet had arrived `credit_ns` earlier. Linux's htb, which the kernel
    world uses, does the same.
    """
    packets = [(arrival.at_ns, arrival.flow, arrival.octets) for arrival in arrivals]
    times = None if instants is None else list(instants)
    played = _native.replay(scenario.native, link, direction, packets, instants=times, credit_ns=credit_ns, seed=seed)
    return [
        Fate(*(left or (None, None)), *(dropped or (None, None)), marked=marked) for left, dropped, marked in played
    ]


def datagram(size: int, port: int, tos: int = 0) -> bytes:
    """Returns the headers of a UDP packet with `port` as its source port and its destination port."""
    ip = struct.pack("!BBHHHBBHII", 0x45, tos, size, 0, 0x4000, 64, 17, 0, 0x0A000001, 0x0A000002)
    return ip + struct.pack("!HHHH", port, port, size - 20, 0)
