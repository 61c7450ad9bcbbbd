"""The paper's networks, protocols and loads, and the experiments made of them (balakrishnan1999 sections 4 to 9).

A remedy is what it changes in a scenario, so it combines with every network. Experiments whose runs no random number
touches are run once, and once for each of several delays of the return line where the paper's table rests on chaos.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lopsided.papers.balakrishnan1999 import measure
from lopsided.papers.framework.model import Case, Experiment, Label, Overrides

FORWARD_BPS = 10e6
PACKET_BYTES, ACK_BYTES, COMPRESSED_BYTES = 1000, 40, 6
"""Of the simulations: a data packet in all, an ACK, and an ACK with header compression."""


@dataclass(frozen=True)
class Line:
    """A return line: its rate, and what an ACK takes of it."""

    key: str
    rate_bps: float
    ack_bytes: int

    @property
    def title(self) -> str:
        """ "28.8 kbit/s, compressed"."""
        compressed = ", compressed" if self.ack_bytes == COMPRESSED_BYTES else ""
        return f"{self.rate_bps / 1e3:g} kbit/s{compressed}"

    @property
    def overrides(self) -> Overrides:
        """The rate at which a bare ACK of 40 B takes the time that it has."""
        return {"link.up.rate": f"{self.rate_bps * ACK_BYTES / self.ack_bytes / 1e3:g} kbit/s"}


LINES = (
    Line("9.6", 9600, ACK_BYTES),
    Line("9.6C", 9600, COMPRESSED_BYTES),
    Line("28.8", 28800, ACK_BYTES),
    Line("28.8C", 28800, COMPRESSED_BYTES),
)
"""The reverse channels of figure 8; "C" is with header compression."""

SLOWEST, COMPRESSED_SLOW, UNCOMPRESSED, DIALUP = LINES

RETURN_QUEUE = "9 packets"
"""10, of which the authors' drop-tail queues hold one less."""


@dataclass(frozen=True)
class Scheme:
    """A protocol of the paper: what it makes of the queue before the slow line, and of TCP."""

    key: str
    title: str
    tables: tuple[int, ...] = ()
    """Of the paper, in which it stands."""
    filtered: bool = False
    acks_first: bool = False

    def queue(self, limit: str) -> str:
        """The discipline before the return line, as TOML."""
        plain = f'{{ kind = "fifo", limit = "{limit}" }}'
        if self.acks_first:
            plain = f'{{ kind = "prio", bands = [{plain}, {plain}] }}'
        return f'{{ kind = "ack_filter", queue = {plain} }}' if self.filtered else plain

    def overrides(self, limit: str = RETURN_QUEUE, place: str = "link.up.queue") -> Overrides:
        """What it changes in a scenario whose slow queue stands at `place`."""
        return {place: self.queue(limit)}


RENO = Scheme("reno", "Reno", (1, 2, 3, 5, 6))
RENO_FIRST = Scheme("reno_first", "Reno + acks-first", acks_first=True)

SCHEMES: tuple[Scheme, ...] = (RENO,)
"""Of the simulations, in the order of the tables."""

TWO_WAY_SCHEMES: tuple[Scheme, ...] = (RENO, RENO_FIRST)
"""Of table 3."""

RETURN_DELAYS_MS = (49.6, 49.8, 50.0, 50.2, 50.4)
"""A single flow into drop-tail queues has no random number: these delays stand for the repetitions of case B."""

SERIES = range(5)
"""Repetitions are multiplied by so many where the paper has 50 runs and 10 elsewhere."""

HOPS = (1, 2, 3)
CONNECTIONS = (1, 2, 4, 6, 8, 10, 12)


def cases(
    scenario: str,
    schemes: Iterable[Scheme],
    settings: Iterable[tuple[Mapping[str, Label], Overrides]] = (({}, {}),),
    place: str = "link.up.queue",
) -> tuple[Case, ...]:
    """Every scheme in every setting."""
    settings = tuple(settings)
    return tuple(
        Case(scenario, {**overrides, **scheme.overrides(place=place)}, {"scheme": scheme.key, **labels})
        for scheme in schemes
        for labels, overrides in settings
    )


CASE_B = {
    "stack.max_window": "120 segments",
    "stack.remembered_threshold": "120 segments",
    "link.down.queue": "9 packets",
    "lan.queue": "9 packets",
}
"""Every queue of 10 packets, and a window of 120."""

ONE_WAY = Experiment(
    key="one-way",
    summary="case A: one download for 50 s over four return lines, nothing lost forward",
    cases=cases("hybrid.toml", SCHEMES, [({"line": line.key}, line.overrides) for line in LINES]),
    measure=measure.one_way,
    most=1,
)

LOSSY = Experiment(
    key="lossy",
    summary="case B: the same with every queue of 10 packets, so that packets are lost forward",
    cases=cases(
        "hybrid.toml",
        SCHEMES,
        [({"return_delay_ms": delay}, {**CASE_B, "link.up.delay": f"{delay:g} ms"}) for delay in RETURN_DELAYS_MS],
    ),
    measure=measure.one_way,
    keep=True,
    most=1,
)

TWO_DOWNLOADS = Experiment(
    key="two-downloads",
    summary="a second download that begins 5 to 10 s after the first",
    cases=cases("hybrid-two.toml", SCHEMES),
    measure=measure.two_downloads,
)

TWO_WAY = Experiment(
    key="two-way",
    summary="an upload that begins 5 to 10 s after the download",
    cases=cases(
        "hybrid-two-way.toml",
        TWO_WAY_SCHEMES,
        [({"series": series}, {"scenario.seed": str(1 + 1000 * series)}) for series in SERIES],
    ),
    measure=measure.two_way,
    keep=True,
)

RADIO = Experiment(
    key="radio",
    summary="a download for 100 s over one, two and three hops of packet radio",
    cases=tuple(
        case
        for hops in HOPS
        for case in cases(f"radio-{hops}.toml", SCHEMES, [({"hops": hops}, {})], "topology.medium.radio.queue")
    ),
    measure=measure.radio,
    keep=True,
)

RADIO_MANY = Experiment(
    key="radio-many",
    summary="one to twelve downloads over one hop of packet radio",
    cases=cases(
        "radio-1.toml",
        SCHEMES,
        [({"connections": number}, {"flow.transfer.count": str(number)}) for number in CONNECTIONS],
        "topology.medium.radio.queue",
    ),
    measure=measure.radio,
)
