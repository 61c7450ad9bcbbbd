"""The model of the line and its traffic: the values that a capture gives, and the scenario made from them.

A `Draft` has what the capture measures or leaves open: flows, stacks, and a starting value for each parameter. A
`Structure` chooses queue disciplines, congestion controls and losses. Draft, structure and the parameters' values make
a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lopsided.scenario import Scenario
from lopsided.studies.fit.statistics import Flow

Way = Literal["down", "up"]
WAYS: Sequence[Way] = ("down", "up")
PACKET = 1500
"""Bytes of a full IP packet, the unit in which drop-tail buffers are counted."""
ACK = 52
"""Bytes of an ACK with timestamps."""
BUSY_MS = 2.5
"""If packets never waited this long in a queue, its buffer is unknown; the same bound as in `crates/capture`."""
RATE_MEASURED, FLOOR_MEASURED, BUFFER_MEASURED = (0.005, 0.03), (0.005, 0.02), (0.05, 0.1)
"""Usual error and 95 % bound of what `analyze` measures; see the accuracy in `docs/analyze.md`."""
LOGGED = 0.1
"""Spread of the logarithm of a rate from a log of another measurement."""
GUESSED = 0.4
"""Spread of the logarithm of a value that is not measured."""
QUEUES = ("fifo", "codel", "fq_codel", "pie", "cake")
CONTROLS = (
    "cubic", "reno", "bbr", "bic", "htcp", "westwood", "vegas", "illinois", "scalable", "hybla", "highspeed", "yeah",
)  # fmt: skip
"""Congestion controls that are tried, the most common first."""


@dataclass(frozen=True)
class Parameter:
    """A number of the line that is fitted, on a logarithmic scale around a starting value."""

    name: str
    start: float
    spread: float
    """Standard deviation of the logarithm of the starting value, which is the usual distance that the fit has to
    move."""
    unit: str
    measured: float = 0.0
    """Half width, in spreads, of the interval that the measurement of `analyze` alone gives; 0 if there is no
    measurement."""

    def value(self, position: float) -> float:
        """Returns the value at a position, in units of the spread."""
        return float(self.start * np.exp(position * self.spread))


@dataclass(frozen=True)
class Traffic:
    """A flow of the scenario, with the properties that a capture shows."""

    name: str
    way: Way
    start_s: float
    app: Mapping[str, Any]
    stop_s: float | None
    flow: Flow
    stack: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Structure:
    """The parts of the model that are not numbers: queue disciplines, congestion controls and random loss."""

    queues: Mapping[Way, str]
    controls: Mapping[Way, str]
    lossy: Mapping[Way, bool]

    def with_queue(self, way: Way, kind: str) -> Structure:
        """Returns the structure with another queue discipline in a direction."""
        return Structure({**self.queues, way: kind}, self.controls, self.lossy)

    def with_control(self, way: Way, name: str) -> Structure:
        """Returns the structure with another congestion control of a direction's senders."""
        return Structure(self.queues, {**self.controls, way: name}, self.lossy)

    def with_loss(self, way: Way, *, lossy: bool) -> Structure:
        """Returns the structure with or without random loss in a direction."""
        return Structure(self.queues, self.controls, {**self.lossy, way: lossy})

    @property
    def text(self) -> str:
        """The structure as readable text."""
        parts = [f"queue.{way} = {kind}" for way, kind in self.queues.items()]
        parts += [f"cc.{way} = {name}" for way, name in self.controls.items()]
        return ", ".join([*parts, *(f"loss.{way}" for way, lossy in self.lossy.items() if lossy)])

    @property
    def key(self) -> str:
        """A text that identifies the structure."""
        return repr((self.queues, self.controls, self.lossy))


@dataclass(frozen=True)
class Direction:
    """The findings of a capture about one direction of the line."""

    rate_bps: float
    rate_known: bool
    peak_bps: float
    """Highest rate of delivery for half a second; too high if an ACK covers data that arrived long before."""
    buffer_bytes: float | None
    """Buffer of a drop-tail queue in bytes of full packets, if losses show it."""
    mixed: bool
    """ACKs share the queue with data."""
    mean_bytes: float
    """Mean size of the packets in the queue, ACKs of the other direction's flows included."""
    longest_wait_ms: float
    discipline: str
    losses: float
    """Share of retransmitted packets among data packets."""
    marks: int
    loaded: bool
    """Data made the queue grow."""
    logged: bool = False
    """The rate comes from a log of another measurement."""

    @property
    def first_buffer_bytes(self) -> float:
        """The buffer with which the search begins, in bytes of full packets.

        The longest wait bounds the bytes in the queue. A full queue holds more data than the direction has on average,
        and some ACKs: the geometric mean lies between a queue of full packets and one of the average mix.
        """
        if self.buffer_bytes:
            return self.buffer_bytes
        waiting = self.longest_wait_ms * self.rate_bps / 8e3
        return max(waiting * float(np.sqrt(PACKET / self.mean_bytes)), 4 * PACKET)


@dataclass(frozen=True)
class Draft:
    """The line and its traffic before the fit."""

    ways: Mapping[Way, Direction]
    floor_ms: float
    traffic: Sequence[Traffic]
    duration_s: float
    mtu_bytes: int
    ecn: bool
    begin_s: float = 0.0
    """Time of the first packet of the flows in the capture."""
    notes: Sequence[str] = ()
    """The assumptions of the draft and the parts that it leaves out, in sentences."""
    outages: Mapping[Way, Sequence[tuple[float, float]]] = field(default_factory=dict[Way, Any])

    def parameters(self, structure: Structure) -> list[Parameter]:
        """Returns the numbers that are fitted for a structure."""
        found: list[Parameter] = []
        for way in WAYS:
            seen = self.ways[way]
            # Losses on the line can keep a flow below the line's rate.
            rate = max(seen.rate_bps, seen.peak_bps) if structure.lossy[way] and not seen.rate_known else seen.rate_bps
            if seen.logged:
                found.append(Parameter(f"rate.{way}", rate, LOGGED, "bit/s"))
            else:
                found.append(_parameter(f"rate.{way}", rate, "bit/s", RATE_MEASURED if seen.rate_known else None))
        found.append(_parameter("rtt_floor", self.floor_ms, "ms", FLOOR_MEASURED))
        for way in WAYS:
            seen = self.ways[way]
            if structure.queues[way] == "fifo" and seen.loaded:
                known = seen.buffer_bytes is not None and not seen.mixed
                error = BUFFER_MEASURED if known else None
                found.append(_parameter(f"buffer.{way}", seen.first_buffer_bytes, "B", error))
            if structure.lossy[way]:
                found.append(_parameter(f"loss.{way}", max(seen.losses, 0.001), "share", None))
        return found

    def scenario(self, structure: Structure, values: Mapping[str, float], *, sampled: bool = True) -> Scenario:
        """Returns the scenario for a structure and the values of its parameters, with or without samples over time."""
        rates = {way: round(values[f"rate.{way}"]) for way in WAYS}
        # The floor is the round trip of small packets, which take time on the wire too.
        serial_ms = 60 * 8e3 * sum(1 / rate for rate in rates.values())
        rtt_ms = max(values["rtt_floor"] - serial_ms, 0.01)
        line: dict[str, Any] = {"rtt": f"{rtt_ms:.4f} ms"}
        for way in WAYS:
            line[way] = {"rate": f"{rates[way]} bit/s", "queue": self._queue(structure.queues[way], way, values)}
            loss: dict[str, Any] = {}
            if structure.lossy[way]:
                loss["random"] = round(min(values[f"loss.{way}"], 0.5), 6)
            if outages := self.outages.get(way):
                loss["outages"] = [[f"{one:.4f} s", f"{two:.4f} s"] for one, two in outages]
            if loss:
                line[way]["loss"] = loss
        tables = {
            "scenario": {"title": "Fitted to a capture", "duration": f"{self.duration_s:.4f} s"},
            "link": line,
            "stack": {"mtu": f"{self.mtu_bytes} B", **({"ecn": "on"} if self.ecn else {})},
            "flow": [self._flow(each, structure) for each in self.traffic],
        }
        if not sampled:
            tables["record"] = {"interval": "off"}
        return Scenario.build(tables, "fit")

    def _queue(self, kind: str, way: Way, values: Mapping[str, float]) -> dict[str, Any]:
        if kind == "fifo":
            buffer = values.get(f"buffer.{way}")
            if buffer is None:
                return {"kind": "fifo", "limit": "1000 packets"}
            return {"kind": "fifo", "limit": f"{max(2, round(buffer / PACKET))} packets"}
        marking = {"ecn": True} if self.ecn and kind in ("codel", "fq_codel", "pie") else {}
        return {"kind": kind, **marking}

    def _flow(self, traffic: Traffic, structure: Structure) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": traffic.name,
            "direction": traffic.way,
            "start": f"{traffic.start_s:.6f} s",
            "cc": structure.controls[traffic.way],
            "app": dict(traffic.app),
        }
        if traffic.stop_s is not None:
            found["stop"] = f"{traffic.stop_s:.6f} s"
        if traffic.stack:
            found["stack"] = dict(traffic.stack)
        return found


def _parameter(name: str, start: float, unit: str, error: tuple[float, float] | None) -> Parameter:
    """Returns a parameter with the spread and the bound of its measurement, or with those of a guess."""
    if error is None:
        return Parameter(name, start, GUESSED, unit)
    spread, bound = error
    return Parameter(name, start, spread, unit, bound / spread)
