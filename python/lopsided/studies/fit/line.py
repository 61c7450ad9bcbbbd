"""The model of the line and its traffic.

A `Draft` contains flows, stacks and a starting value per parameter. A `Structure` contains the disciplines, the
congestion controls and the directions with random loss. A draft, a structure and the values of the parameters determine
a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from lopsided.scenario import Scenario
from lopsided.studies.fit.statistics import Flow

Way = Literal["down", "up"]
WAYS: Sequence[Way] = ("down", "up")
PACKET = 1500
"""Size of a full IP packet in bytes: the unit of drop-tail buffers."""
ACK = 52
"""Size in bytes of an ACK with timestamps."""
OTHER = 1000
"""Size in bytes of the packets of traffic that is missing from the capture."""
BUSY_MS = 2.5
"""If packets wait less than this number of ms, the buffer's size stays unknown. `crates/capture` uses the same
value."""
RATE_MEASURED, FLOOR_MEASURED, BUFFER_MEASURED = (0.005, 0.03), (0.005, 0.02), (0.05, 0.1)
"""Errors of the rate, shortest RTT and buffer that `analyze` measures: the typical relative error, then the 95 % bound
(see `docs/analyze.md`)."""
RATE_ERROR, BUFFER_ERROR = 0.003, 0.08
"""Relative half-widths of the 95 % intervals of values that the packets show directly (`queues.py`)."""
LOGGED = 0.1
"""Standard deviation of the logarithm of a rate that comes from another measurement's log."""
THINNED = 0.15
"""Standard deviation of the logarithm of the thinning ratio. The ratio is the number of ACKs that the path receives per
ACK that it forwards."""
GUESSED = 0.4
"""Standard deviation of the logarithm of a value that was not measured."""
AQMS = ("codel", "fq_codel", "pie", "fq_pie", "cake")
QUEUES = ("fifo", *AQMS)
RED_SHARES = (3, 12)
"""Upper threshold and limit of a RED queue, as multiples of the lower threshold (as in the example in tc-red(8))."""
RED_WAIT = 2.5
"""Starting value of the lower threshold: bytes at the longest wait, divided by this number."""
CONTROLS = (
    "cubic", "reno", "bbr", "bic", "htcp", "westwood", "vegas", "illinois", "scalable", "hybla", "highspeed", "yeah",
)  # fmt: skip
"""Congestion controls to try, most common first."""


class Piece(NamedTuple):
    """Traffic that is missing from the capture, in a period in which its rate is constant."""

    begin_s: float
    end_s: float
    rate_bps: float


@dataclass(frozen=True)
class Parameter:
    """A parameter to fit, on a logarithmic scale around its starting value."""

    name: str
    start: float
    spread: float
    """Standard deviation of the logarithm of the starting value."""
    unit: str
    measured: float = 0.0
    """Half-width of the interval, in units of the spread, if only `analyze` measured the value; 0 if `analyze` did not
    measure it."""
    direct: bool = False
    """True if the packets show the value directly. The interval then needs no simulations."""

    def value(self, position: float) -> float:
        """Returns the value at a position. A position is the difference between the logarithms of the value and of the
        starting value, divided by the spread."""
        return float(self.start * np.exp(position * self.spread))


@dataclass(frozen=True)
class Traffic:
    """A flow of the scenario, with the properties that the capture shows."""

    name: str
    way: Way
    start_s: float
    app: Mapping[str, Any]
    stop_s: float | None
    flow: Flow
    stack: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Structure:
    """The parts of the model that are not numbers: disciplines, congestion controls, directions with random loss."""

    queues: Mapping[Way, str]
    controls: Mapping[Way, str]
    lossy: Mapping[Way, bool]

    def with_queue(self, way: Way, kind: str) -> Structure:
        return Structure({**self.queues, way: kind}, self.controls, self.lossy)

    def with_control(self, way: Way, name: str) -> Structure:
        return Structure(self.queues, {**self.controls, way: name}, self.lossy)

    def with_loss(self, way: Way, *, lossy: bool) -> Structure:
        return Structure(self.queues, self.controls, {**self.lossy, way: lossy})

    @property
    def text(self) -> str:
        parts = [f"queue.{way} = {kind}" for way, kind in self.queues.items()]
        parts += [f"cc.{way} = {name}" for way, name in self.controls.items()]
        return ", ".join([*parts, *(f"loss.{way}" for way, lossy in self.lossy.items() if lossy)])

    @property
    def key(self) -> str:
        return repr((self.queues, self.controls, self.lossy))


@dataclass(frozen=True)
class Framing:
    """The bytes that the line adds to an IP packet: a constant, and for ATM also cell headers and padding."""

    overhead_bytes: int = 0
    cells: bool = False

    def on_wire(self, octets: Any) -> Any:
        """Returns the bytes on the wire for these IP packet sizes."""
        framed = octets + self.overhead_bytes
        return np.ceil(framed / 48) * 53 if self.cells else framed

    @property
    def keys(self) -> dict[str, Any]:
        """Returns the keys of the table `framing`."""
        return {"overhead": f"{self.overhead_bytes} B", **({"cell_format": "atm"} if self.cells else {})}


@dataclass(frozen=True)
class Observed:
    """The queue of one direction, measured from the packets of a capture without simulations."""

    rate_bps: float
    """Rate in bit/s, including framing."""
    framing: Framing | None
    """The framing; `None` if unknown. If the framing is unknown, the rate counts IP packets."""
    buffer_packets: int | None
    """Capacity of a drop-tail queue in packets; `None` if unknown."""
    discipline: str
    """`drop_tail`, `aqm` or `unknown`."""
    burst_bytes: int | None
    """Size of the shaper's bucket; `None` if the line has no bucket."""
    sure: bool
    """True if the capture was taken in front of the queue, and so contains the packets that the queue dropped."""
    error: float = RATE_ERROR
    """Half-width of the rate's 95 % interval, as a fraction of the rate."""


@dataclass(frozen=True)
class Direction:
    """The measurements of one direction in a capture."""

    rate_bps: float
    rate_known: bool
    peak_bps: float
    """Highest delivery rate over 0.5 s. Late ACKs make this value too high."""
    buffer_bytes: float | None
    """Size in bytes of a drop-tail buffer that is filled with full packets; `None` unless a loss showed the size."""
    mixed: bool
    """True if ACKs share the queue with data."""
    mean_bytes: float
    """Mean size of the queued packets in bytes, including ACKs."""
    longest_wait_ms: float
    discipline: str
    losses: float
    """Retransmissions as a fraction of data packets."""
    marks: int
    loaded: bool
    """True if data waited in the queue."""
    logged: bool = False
    """True if the rate comes from another measurement's log."""
    observed: Observed | None = None
    """The queue as measured from the packets of the capture; `None` without a usable measurement."""
    thinning: float | None = None
    """Number of ACKs that the path receives per ACK that it forwards.

    `None` if data loads the direction, or if the path does not thin ACKs.
    """
    thinning_sure: bool = False
    """True if the path is known to drop ACKs; false if the receiver may have sent fewer ACKs."""

    @property
    def first_buffer_bytes(self) -> float:
        """Starting value of the buffer in bytes of full packets.

        If the buffer was not measured, its size is estimated from the bytes that waited at the longest wait. If all
        waiting packets were data, these bytes would be the buffer's size. If the packets had the mean size, including
        ACKs, the same number of full packets would be the buffer's size. The estimate is the geometric mean of these
        two sizes.
        """
        if self.observed and self.observed.buffer_packets:
            return float(self.observed.buffer_packets * PACKET)
        if self.buffer_bytes:
            return self.buffer_bytes
        waiting = self.longest_wait_ms * self.rate_bps / 8e3
        return max(waiting * float(np.sqrt(PACKET / self.mean_bytes)), 4 * PACKET)


@dataclass(frozen=True)
class Draft:
    """The starting values of a fit: the line and its traffic, as estimated from the capture."""

    ways: Mapping[Way, Direction]
    floor_ms: float
    traffic: Sequence[Traffic]
    duration_s: float
    mtu_bytes: int
    ecn: bool
    begin_s: float = 0.0
    """Time of the first packet of the flows."""
    notes: Sequence[str] = ()
    """Sentences about assumptions that were made, and about parts of the capture that were left out."""
    outages: Mapping[Way, Sequence[tuple[float, float]]] = field(default_factory=dict[Way, Any])
    others: Mapping[Way, Sequence[Piece]] = field(default_factory=dict[Way, Any])
    """Traffic that is missing from the capture, as pieces of constant rate."""

    def parameters(self, structure: Structure) -> list[Parameter]:
        """Returns the parameters to fit for a structure."""
        found: list[Parameter] = []
        for way in WAYS:
            seen = self.ways[way]
            # If packets are lost at random, a flow may never reach the line's rate.
            rate = max(seen.rate_bps, seen.peak_bps) if structure.lossy[way] and not seen.rate_known else seen.rate_bps
            if seen.observed:
                found.append(_direct(f"rate.{way}", rate, "bit/s", seen.observed.error))
            elif seen.logged:
                found.append(Parameter(f"rate.{way}", rate, LOGGED, "bit/s"))
            else:
                found.append(_parameter(f"rate.{way}", rate, "bit/s", RATE_MEASURED if seen.rate_known else None))
        found.append(_parameter("rtt_floor", self.floor_ms, "ms", FLOOR_MEASURED))
        for way in WAYS:
            seen = self.ways[way]
            if structure.queues[way] == "fifo" and seen.loaded:
                known = seen.buffer_bytes is not None and not seen.mixed
                error = BUFFER_MEASURED if known else None
                if seen.observed and seen.observed.buffer_packets:
                    # For a small buffer, BUFFER_ERROR is less than 2 packets. The measurement is not that exact.
                    bound = max(BUFFER_ERROR, 2 / seen.observed.buffer_packets)
                    found.append(_direct(f"buffer.{way}", seen.first_buffer_bytes, "B", bound))
                else:
                    found.append(_parameter(f"buffer.{way}", seen.first_buffer_bytes, "B", error))
            if structure.queues[way] == "red":
                start = max(seen.longest_wait_ms * seen.rate_bps / 8e3 / RED_WAIT, PACKET)
                found.append(_parameter(f"threshold.{way}", start, "B", None))
            if structure.lossy[way]:
                found.append(_parameter(f"loss.{way}", max(seen.losses, 0.001), "share", None))
            if seen.thinning is not None:
                found.append(Parameter(f"thinning.{way}", seen.thinning, THINNED, "ACKs"))
        return found

    def scenario(self, structure: Structure, values: Mapping[str, float], *, sampled: bool = True) -> Scenario:
        """Returns the scenario with this structure and these values. Its runs record samples if `sampled` is true."""
        rates = {way: round(values[f"rate.{way}"]) for way in WAYS}
        # The RTT floor includes the transmission of small packets. A full bucket lets such a packet leave at once.
        serial_ms = sum(self.framing(way).on_wire(60) * 8e3 / rates[way] for way in WAYS if not self._burst_bytes(way))
        rtt_ms = max(values["rtt_floor"] - serial_ms, 0.01)
        line: dict[str, Any] = {"rtt": f"{rtt_ms:.4f} ms"}
        for way in WAYS:
            line[way] = {"rate": f"{rates[way]} bit/s", "queue": self._queue(structure.queues[way], way, values)}
            if (framing := self.framing(way)) != Framing():
                line[way]["framing"] = framing.keys
            if burst_bytes := self._burst_bytes(way):
                line[way]["shaper"] = {"burst": f"{burst_bytes} B"}
            if (thinning := values.get(f"thinning.{way}")) is not None:
                line[way]["stages"] = [{"kind": "ack_thinning", "keep": max(round(thinning), 2)}]
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
            "flow": [*(self._flow(each, structure) for each in self.traffic), *self._others()],
        }
        if not sampled:
            tables["record"] = {"interval": "off"}
        return Scenario.build(tables, "fit")

    def framing(self, way: Way) -> Framing:
        """Returns the framing of a direction; an empty framing if the packets do not show one."""
        seen = self.ways[way].observed
        return seen.framing if seen and seen.framing else Framing()

    def _burst_bytes(self, way: Way) -> int:
        """Returns the size of a shaper's bucket; 0 if the packets do not show one."""
        seen = self.ways[way].observed
        return (seen and seen.burst_bytes) or 0

    def _queue(self, kind: str, way: Way, values: Mapping[str, float]) -> dict[str, Any]:
        if kind == "fifo":
            buffer = values.get(f"buffer.{way}")
            if buffer is None:
                return {"kind": "fifo", "limit": "1000 packets"}
            return {"kind": "fifo", "limit": f"{max(2, round(buffer / PACKET))} packets"}
        marking = {"ecn": True} if self.ecn and kind in ("codel", "fq_codel", "pie", "fq_pie", "red") else {}
        if kind == "red":
            low = round(values[f"threshold.{way}"])
            most, limit = (share * low for share in RED_SHARES)
            return {"kind": kind, "min": f"{low} B", "max": f"{most} B", "limit": f"{limit} B", **marking}
        return {"kind": kind, **marking}

    def _others(self) -> list[dict[str, Any]]:
        return [
            {
                "name": f"other_{way}{number}",
                "direction": way,
                "start": f"{piece.begin_s:.4f} s",
                "stop": f"{piece.end_s:.4f} s",
                "app": {"kind": "udp", "rate": f"{round(piece.rate_bps)} bit/s", "size": f"{OTHER} B"},
            }
            for way in WAYS
            for number, piece in enumerate(self.others.get(way, []), 1)
        ]

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


def _direct(name: str, start: float, unit: str, bound: float) -> Parameter:
    """Creates a parameter whose value the packets show directly, with the 95 % bound of its relative error."""
    return Parameter(name, start, bound / 2, unit, 2.0, direct=True)


def _parameter(name: str, start: float, unit: str, error: tuple[float, float] | None) -> Parameter:
    """Creates a parameter. `error` contains the spread and 95 % bound of its measurement; `None` for a guess."""
    if error is None:
        return Parameter(name, start, GUESSED, unit)
    spread, bound = error
    return Parameter(name, start, spread, unit, bound / spread)
