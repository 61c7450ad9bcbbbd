"""Builds pairs of sides at one bottleneck, and their scenarios.

A side is a number of flows from one host with one congestion control and one RTT. The delay of the host's link
determines the RTT. Both sides share the queue of one line. The second side must take bandwidth from the first, so each
pair runs in both orders, unless the sides are equal.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from lopsided import metrics
from lopsided.controllers import Controllers
from lopsided.data import units
from lopsided.errors import ScenarioError, UsageError
from lopsided.scenario import Scenario
from lopsided.settings import Tables
from lopsided.studies.jobs import MOST_RUNS, check_count
from lopsided.studies.options import FairnessOptions

Kind = Literal["usual", "inter", "intra", "full"]
Direction = Literal["down", "up"]

FULL_PACKET = int(metrics.FULL_PACKET_BYTES)
_BDP = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*bdp\s*", re.IGNORECASE)
_MOST_BDP = 10_000
_LEAST_PACKETS = 100
_QUIC = "quic:"
JITTER_S = 1.0
"""Range of a flow's random start delay in seconds."""


@dataclass(frozen=True, order=True)
class Contender:
    """A congestion control at a base RTT. The prefix `quic:` selects QUIC instead of TCP."""

    cc: str
    rtt_ms: float

    @property
    def flow(self) -> dict[str, str]:
        """The congestion control and the transport of the side's flows, as keys of a scenario."""
        return {
            "cc": self.cc.removeprefix(_QUIC),
            "transport": "quic" if self.cc.startswith(_QUIC) else "tcp",
        }

    def __str__(self) -> str:
        return f"{self.cc} at {self.rtt_ms:g} ms"


@dataclass(frozen=True)
class Bottleneck:
    """The line that both sides share, and the settings that are the same in all runs."""

    down_bps: int
    up_bps: int
    direction: Direction
    buffer: str
    """Queue limit per direction: `50 packets`, `64 kB`, or a multiple of the BDP at the mean RTT of the sides."""
    flows: int
    """Number of flows on each side."""
    stack: str
    socket_buffer: str | None
    """Socket buffer of all hosts. `None` means four times the capacity of line and queue, so that the buffer never
    limits a flow."""
    lead_s: float
    """Seconds for which the first side runs alone before the second side starts."""
    both_s: float
    warmup_s: float
    """Seconds after the start of the second side that the means exclude."""

    @classmethod
    def of(cls, asked: FairnessOptions) -> Bottleneck:
        """Returns the bottleneck that the options describe. Raises UsageError if their direction is unknown."""
        if asked.direction not in ("down", "up"):
            raise UsageError(f"no direction is called {asked.direction!r}; choose down or up")
        both_s = units.parse_time(asked.duration)
        return cls(
            down_bps=units.parse_rate(asked.link),
            up_bps=units.parse_rate(asked.link if asked.up is None else asked.up),
            direction=asked.direction,
            buffer=asked.buffer,
            flows=asked.flows,
            stack=asked.stack,
            socket_buffer=asked.socket_buffer,
            lead_s=units.parse_time(asked.lead),
            both_s=both_s,
            warmup_s=both_s / 3 if asked.warmup is None else units.parse_time(asked.warmup),
        )

    @property
    def rate_bps(self) -> int:
        """Rate, in bit/s, of the direction that carries the data."""
        return self.down_bps if self.direction == "down" else self.up_bps

    @property
    def duration_s(self) -> float:
        """The duration of a run in seconds."""
        return self.lead_s + JITTER_S + self.both_s

    @property
    def window_s(self) -> tuple[float, float]:
        """Start and end of the measured period in seconds."""
        return self.lead_s + JITTER_S + self.warmup_s, self.duration_s

    def check(self) -> None:
        """Raises UsageError if the settings leave no period to measure."""
        if self.flows < 1:
            raise UsageError(f"{self.flows} flows on each side: there must be at least one")
        if self.both_s <= 0 or self.lead_s < 0 or not 0 <= self.warmup_s < self.both_s:
            raise UsageError(
                f"a warm-up of {self.warmup_s:g} s leaves nothing of the {self.both_s:g} s in which both are active"
            )

        start, stop = self.window_s
        packets = self.rate_bps * (stop - start) / 8 / FULL_PACKET
        if packets < _LEAST_PACKETS:
            raise UsageError(
                f"{units.rate(self.rate_bps)} carry {packets:.0f} packets in the {stop - start:g} s that are measured: "
                "nothing to share"
            )

    def scenario(
        self, *sides: Contender, queue_rtt_ms: float | None = None, controllers: Controllers | None = None
    ) -> Scenario:
        """Returns a scenario in which these sides start in the given order. A single side starts immediately.

        `queue_rtt_ms` is the RTT with which a queue size in BDPs is computed (B = RTT C); default: the mean RTT of the
        sides. Raises UsageError if the scenario is invalid.
        """
        mean_ms = sum(side.rtt_ms for side in sides) / len(sides) if queue_rtt_ms is None else queue_rtt_ms
        try:
            return Scenario.build(self._tables(sides, mean_ms), "fairness", controllers=controllers)
        except ScenarioError as error:
            # The user has not seen this scenario, so the error omits its line number.
            raise UsageError("; ".join(filter(None, (error.message, error.help)))) from None

    def _tables(self, sides: Sequence[Contender], mean_ms: float) -> Tables:
        least_ms = min(side.rtt_ms for side in sides)
        hosts = [f"host{place}" for place in range(1, len(sides) + 1)]
        down, up = (
            {"rate": f"{rate} bit/s", "queue": str(self.queue_limit(rate, mean_ms))}
            for rate in (self.down_bps, self.up_bps)
        )
        buffer = self.socket_buffer or f"{self._ample_bytes(max(side.rtt_ms for side in sides), mean_ms)} B"
        line = {"name": "line", "between": ["r1", "r2"], "delay": _half(least_ms), "down": down, "up": up}
        links: list[Tables] = [line, {"between": ["r2", "client"], "rate": "unlimited"}]
        flows: list[Tables] = []
        for place, (side, host) in enumerate(zip(sides, hosts, strict=True)):
            links.append({"between": [host, "r1"], "rate": "unlimited", "delay": _half(side.rtt_ms - least_ms)})
            source, sink = (host, "client") if self.direction == "down" else ("client", host)
            starts = {"start": f"{self.lead_s * (place > 0):g} s", "start_jitter": f"{JITTER_S:g} s"}
            side_flow = {"name": f"side{place + 1}", **side.flow, "count": self.flows, "from": source, "to": sink}
            flows.append({**side_flow, **starts})
        return {
            "scenario": {
                "name": "fairness",
                "title": " against ".join(map(str, sides)),
                "duration": f"{self.duration_s:g} s",
            },
            "stack": {"profile": self.stack, "send_buffer": buffer, "receive_buffer": buffer},
            "topology": {"hosts": [*hosts, "client"], "routers": ["r1", "r2"], "link": links},
            "flow": flows,
        }

    def queue_limit(self, rate_bps: int, mean_rtt_ms: float) -> units.QueueLimit:
        """Returns a direction's queue limit. A multiple of the BDP is converted to bytes, at least two full packets.

        Raises UsageError if the text is not a buffer size.
        """
        products = _BDP.fullmatch(self.buffer)
        if products is None:
            try:
                return units.parse_limit(self.buffer)
            except UsageError as error:
                raise UsageError(f"{error}, or '1 BDP'") from None
        if not 0 < (times := float(products[1])) <= _MOST_BDP:
            raise UsageError(f"{self.buffer!r} is not a valid buffer: a queue holds at most {_MOST_BDP:,} BDP")
        octets = times * metrics.bandwidth_delay_product_bytes(rate_bps, mean_rtt_ms / 1e3)
        return units.QueueLimit(max(2 * FULL_PACKET, round(octets)), "B")

    def _ample_bytes(self, rtt_ms: float, mean_rtt_ms: float) -> int:
        """Returns four times the maximum number of bytes in flight, because Linux's buffers also count the overhead of
        packets."""
        queue = self.queue_limit(self.rate_bps, mean_rtt_ms)
        pipe = metrics.bandwidth_delay_product_bytes(self.rate_bps, rtt_ms / 1e3)
        return max(1 << 20, int(4 * (pipe + queue.count * (FULL_PACKET if queue.unit == "packets" else 1))))


def pairs_of(ccs: Sequence[str], rtts_ms: Sequence[float], kind: Kind) -> list[tuple[Contender, Contender]]:
    """Returns a study's pairs, each once, in the order of `ccs` and `rtts_ms`.

    - `inter`: every two congestion controls at equal RTTs, including each congestion control with itself.
    - `intra`: every congestion control against itself at every two different RTTs.
    - `usual`: `inter` and `intra`.
    - `full`: every side against every side.

    Raises UsageError if the kind is unknown or there are no pairs.
    """
    if kind not in get_args(Kind):
        raise UsageError(f"no pairs called {kind!r}; there are {', '.join(get_args(Kind))}")
    _check_sides(ccs, rtts_ms)
    check_count(len(ccs) * len(rtts_ms))
    sides = [Contender(cc, rtt) for cc in ccs for rtt in rtts_ms]
    # More pairs than `MOST_RUNS` are rejected, because each pair needs at least one run.
    every = itertools.combinations_with_replacement(sides, 2)
    found = list(itertools.islice((pair for pair in every if _wanted(*pair, kind)), MOST_RUNS + 1))
    check_count(len(found))
    if not found:
        raise UsageError("--pairs intra needs at least two different round-trip times")
    return found


def _wanted(first: Contender, second: Contender, kind: Kind) -> bool:
    inter = first.rtt_ms == second.rtt_ms
    intra = first.cc == second.cc and not inter
    return {"inter": inter, "intra": intra, "usual": inter or intra, "full": True}[kind]


def _check_sides(ccs: Sequence[str], rtts_ms: Sequence[float]) -> None:
    for what, values in (("congestion control", ccs), ("round-trip time", rtts_ms)):
        if not values:
            raise UsageError(f"give at least one {what}")
        counts = Counter(values)
        if twice := [value for value, count in counts.items() if count > 1]:
            raise UsageError(f"the {what} {twice[0]} is given twice")
    if wrong := [rtt for rtt in rtts_ms if not 0 < rtt <= 100_000]:
        raise UsageError(f"an RTT of {wrong[0]:g} ms is impossible for a line on Earth")


@dataclass(frozen=True)
class Meeting:
    """Two competing sides, and which side starts first."""

    first: Contender
    second: Contender


def pair_orders(pair: tuple[Contender, Contender], lead_s: float) -> Iterator[Meeting]:
    """Returns the orders of arrival of a pair: one order if the sides are equal or start together, else two."""
    first, second = pair
    yield Meeting(first, second)
    if first != second and lead_s > 0:
        yield Meeting(second, first)


def _half(milliseconds: float) -> str:
    """Returns half of a time for a scenario, exact to 1 ns."""
    return f"{round(milliseconds * 5e5)} ns"
