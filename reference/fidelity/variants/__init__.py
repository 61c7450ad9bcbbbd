"""Compares the congestion controls of Linux with those of the simulator, for several lines and buffers, with and
without other traffic.

All values are measured over the whole run, including slow start. Linux is measured once, and the values are stored.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.studies import compare
from reference.fidelity.cells import hash_of
from reference.fidelity.records import Records, Values
from reference.fidelity.stamps import Probe

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

FOLDER = Path(__file__).parent

CONTROLS = ("reno", "cubic", "bic", "highspeed", "htcp", "westwood", "vegas", "bbr")
"""Congestion controls that are measured on all lines."""
OTHERS = ("scalable", "illinois", "hybla", "veno", "yeah")
"""Other common congestion controls, which are measured only on one line."""

BUFFERS = (0.3, 1.0, 4.0)
"""Downlink buffer sizes to measure, in BDP."""

PACKET_BYTES = 1500


@dataclass(frozen=True)
class Line:
    """An access line. Its RTT is long enough for 0.3 BDP to be several packets."""

    down_kbps: int
    up_kbps: int
    rtt_ms: int
    uplink_packets: int
    duration_s: int
    cross_seeds: int
    """Number of runs if there is other traffic. Without other traffic, one run is sufficient, because repetitions are
    almost equal."""

    @property
    def name(self) -> str:
        """The line's name in tables: its rates and its RTT."""
        if self.down_kbps == self.up_kbps:
            return f"{self.down_kbps // 1000} Mbit/s, {self.rtt_ms} ms"
        return f"{self.down_kbps}/{self.up_kbps} kbit/s, {self.rtt_ms} ms"

    @property
    def asymmetric(self) -> bool:
        """True if the line's rates differ. In this case, the other traffic includes an upload."""
        return self.down_kbps != self.up_kbps

    def packets(self, buffer: float) -> int:
        """Converts the size of a downlink buffer from BDP to packets."""
        return max(2, round(buffer * self.down_kbps * self.rtt_ms / 8 / PACKET_BYTES))


LINES = (
    Line(512, 128, 200, 10, 180, 4),
    Line(3000, 1000, 100, 10, 120, 3),
    Line(20_000, 20_000, 20, 100, 30, 1),
    Line(20_000, 20_000, 50, 100, 60, 1),
    Line(20_000, 20_000, 100, 100, 60, 1),
    Line(20_000, 20_000, 200, 100, 90, 1),
    Line(20_000, 20_000, 400, 100, 120, 1),
)

COMMON = LINES[3]
"""The only line on which `OTHERS` are measured."""


@dataclass(frozen=True)
class Cell:
    """A scenario: the combination of a congestion control, a line, a buffer size in BDP, and other traffic."""

    control: str
    line: Line
    buffer: float
    traffic: str
    """`alone` for a single download, or `cross` for a download with other traffic."""

    @property
    def name(self) -> str:
        """The name that identifies the cell in the records."""
        return f"{self.control}, {self.line.name}, {self.buffer:g} BDP, {self.traffic}"

    @property
    def seeds(self) -> range:
        """The seeds with which the cell is run."""
        return range(1, 1 + (1 if self.traffic == "alone" else self.line.cross_seeds))

    @property
    def file(self) -> str:
        """The name of the scenario file to which `settings` apply."""
        if self.traffic == "alone":
            return "alone.toml"
        return "crossed.toml" if self.line.asymmetric else "joined.toml"

    @property
    def settings(self) -> dict[str, str]:
        """Settings for the scenario file that describe this cell."""
        line = self.line
        settings = {
            "scenario.duration": f"{line.duration_s} s",
            "link.rtt": f"{line.rtt_ms} ms",
            "link.down.rate": f"{line.down_kbps} kbit/s",
            "link.down.queue.limit": f"{line.packets(self.buffer)} packets",
            "link.up.rate": f"{line.up_kbps} kbit/s",
            "link.up.queue.limit": f"{line.uplink_packets} packets",
            "flow.tested.cc": self.control,
        }
        joining = {"joining": line.down_kbps, "against": line.up_kbps}
        if self.traffic == "alone":
            joining = {}
        elif not line.asymmetric:
            del joining["against"]
        for flow, kbps in joining.items():
            settings[f"flow.{flow}.start"] = f"{line.duration_s // 3} s"
            settings[f"flow.{flow}.app.size"] = f"{kbps * line.duration_s // (8 * 6)} kB"
        return settings

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the cell's scenario. The scenario is the same for all seeds."""
        from lopsided.scenario import Scenario

        return Scenario.load(FOLDER / self.file, **self.settings)

    def fingerprint(self) -> str:
        """Returns a hash of the scenario. A recorded run with a different hash is outdated."""
        said = tomllib.loads((FOLDER / self.file).read_text())
        return hash_of(f"{said}{sorted(self.settings.items())}")

    def values_of(self, run: Run) -> Values:
        """Returns the values of each flow that the page compares, measured over the whole run."""
        found = compare.measure(run, (0.0, run.scenario.duration_s))
        return {
            (flow, quantity): found.get((flow, quantity), math.nan)
            for flow in run.scenario.flow_names
            for quantity in QUANTITIES
        }


def _grid() -> Iterator[Cell]:
    """Yields all cells, the most informative first, so that the results of an unfinished measurement are useful."""
    for traffic, buffers in (("alone", (1.0,)), ("cross", (1.0,)), ("alone", (0.3, 4.0)), ("cross", (0.3, 4.0))):
        for line in LINES:
            for buffer in buffers:
                for control in CONTROLS:
                    yield Cell(control, line, buffer, traffic)
    for control in OTHERS:
        yield Cell(control, COMMON, 1.0, "alone")


CELLS = tuple(_grid())

QUANTITIES = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms", "retransmits")


def records(path: Path) -> Records:
    """Returns the stored results of runs on Linux."""
    return Records(path, (cell.name for cell in CELLS))


def runs() -> list[tuple[Cell, int]]:
    """Returns all runs as pairs of a cell and a seed, in ascending order of the seed."""
    most = max(len(cell.seeds) for cell in CELLS)
    return [(cell, seed) for seed in range(1, 1 + most) for cell in CELLS if seed in cell.seeds]


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    chosen = (cell for cell in CELLS if cell.line == LINES[0] and cell.buffer == 1 and cell.traffic == "cross")
    return [Probe(cell.name, cell.scenario()) for cell in chosen]
