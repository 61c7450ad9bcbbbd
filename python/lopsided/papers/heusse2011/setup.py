"""Defines lines, buffers and experiments. Every number is an assumption, because no public text states numbers.

Two lines are from merritt2010 (table 4.3). The third line is symmetric. The downlink's buffer stores 50 full packets,
as in merritt2010. The size of the uplink's buffer varies. The limits of both buffers are in bytes or in packets.
"""

from __future__ import annotations

from dataclasses import dataclass

from lopsided.papers.framework.model import Case, Experiment, Overrides
from lopsided.papers.heusse2011.measure import acknowledgements, two_way
from lopsided.views.plot import style

DOWNLINK_BUFFER = 50
"""Size of the downlink's buffer, in full packets."""

BUFFERS = (4, 8, 17, 25, 35, 50, 70, 100)
"""Uplink buffers in full packets. On the three lines, buffers of 50, 17 and 4 packets have the same drain time as the
downlink's buffer."""

UNITS = ("bytes", "packets")
RTT_S = 0.02

MECHANISMS = ("fifo", "acks_first", "fq_codel")


@dataclass(frozen=True)
class AccessLine:
    """A line: its rates in bit/s, and its colour and marker in figures.

    `matched` is the size in packets of the uplink buffer that has the same drain time as the downlink buffer.
    """

    name: str
    down_bps: float
    up_bps: float
    matched: int
    duration: str
    ink: str
    mark: str

    @property
    def rates(self) -> Overrides:
        return {
            "link.down.rate": f"{self.down_bps / 1e3:g} kbit/s",
            "link.up.rate": f"{self.up_bps / 1e3:g} kbit/s",
            "scenario.duration": self.duration,
        }


SYMMETRIC = AccessLine("2000/2000", 2e6, 2e6, 50, "300 s", style.OTHER[1], "D")
MIDDLE = AccessLine("3000/1000", 3e6, 1e6, 17, "300 s", style.OTHER[0], "o")
STEEP = AccessLine("2400/196", 2.4e6, 196e3, 4, "900 s", style.DOWN[0], "s")
LINES = (SYMMETRIC, MIDDLE, STEEP)
ASYMMETRIC = (MIDDLE, STEEP)


def limit(unit: str, packets: int) -> str:
    """Returns a buffer limit for the given number of full packets."""
    return f"{packets * 1500} B" if unit == "bytes" else f"{packets} packets"


def _case(line: AccessLine, unit: str, packets: int, overrides: Overrides, **labels: str) -> Case:
    sizes = {"link.down.queue.limit": limit(unit, DOWNLINK_BUFFER), "link.up.queue.limit": limit(unit, packets)}
    named = {"line": line.name, "unit": unit, "uplink_packets": packets, **labels}
    return Case("line.toml", {**line.rates, **sizes, **overrides}, named)


def _mechanism(kind: str) -> Overrides:
    fifo = f'{{ kind = "fifo", limit = "{limit("bytes", DOWNLINK_BUFFER)}" }}'
    bands = f'{{ kind = "prio", bands = [{fifo}, {fifo}], classify = [{{ packet = "ack", class = 0 }}] }}'
    queue = {"fifo": fifo, "acks_first": bands, "fq_codel": '{ kind = "fq_codel" }'}[kind]
    return {"link.down.queue": queue, "link.up.queue": queue}


SWEEP = Experiment(
    key="sweep",
    summary=f"three lines, {len(BUFFERS)} uplink buffers, counted in bytes and in packets",
    cases=tuple(_case(line, unit, packets, {}) for line in LINES for unit in UNITS for packets in BUFFERS),
    measure=two_way,
    usual=1,
    full_repetitions=3,
)

ACKS = Experiment(
    key="acks",
    summary="equal and matched buffers of bytes again, sampled every 10 ms, for ACK compression and the pendulum",
    cases=tuple(
        _case(line, "bytes", packets, {"record.interval": "10 ms", "scenario.duration": "150 s"})
        for line, packets in ((SYMMETRIC, 50), (SYMMETRIC, 25), (MIDDLE, 50), (MIDDLE, 17), (STEEP, 50), (STEEP, 4))
    ),
    measure=acknowledgements,
    keep=True,
    usual=1,
)

REMEDIES = Experiment(
    key="mechanisms",
    summary="equal buffers of bytes on the three lines: one FIFO, ACKs first, and fq_codel at both ends",
    cases=tuple(
        Case("line.toml", {**line.rates, **_mechanism(kind)}, {"line": line.name, "mechanism": kind})
        for line in LINES
        for kind in MECHANISMS
    ),
    measure=two_way,
    usual=1,
    full_repetitions=3,
)
