"""Defines the fixed set of scenarios in which the simulator is compared with Linux.

Linux is measured once, and its values are stored in the repository. A machine that cannot run the kernel world can
therefore still compare a changed simulator with Linux, and write the page again. `python -m reference.fidelity`
measures, compares and writes the page.
"""

from __future__ import annotations

import random
import tomllib
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
LINES = ((2400, 196), (3000, 1000), (3000, 100))
"""Downlink and uplink rates, in kbit/s, of the lines in the two-way scenarios."""
BUFFERS = range(5, 51, 5)
"""Uplink buffer sizes, in packets, of the two-way scenarios."""

VARIATION = 0.02
"""Largest relative change that a seed applies to the rates and delays of a varied scenario."""


@dataclass(frozen=True)
class Cell:
    """A scenario, and the start and end, in seconds, of the period in which its values are measured."""

    name: str
    file: str
    settings: tuple[tuple[str, str], ...]
    window: tuple[float, float]
    varied: tuple[tuple[str, float], ...] = ()
    """Keys of settings that vary, and their nominal values in bit/s or µs. The seed changes each value by up to
    `VARIATION`. Linux and the simulator use the same values."""

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario with the settings for this seed."""
        from lopsided.scenario import Scenario

        return Scenario.load(FOLDER / self.file, **{**dict(self.settings), **self._variation(seed)})

    def fingerprint(self) -> str:
        """Returns a hash of the scenario, the settings and the measured period. Stored values with another hash are out
        of date."""
        said = tomllib.loads((FOLDER / self.file).read_text())
        return hash_of(f"{said}{self.settings}{self.window}{self.varied or ''}")

    def values_of(self, run: Run) -> Values:
        return compare.measure(run, self.window)

    def seeds(self, seeds: range) -> range:
        """Returns the seeds for this scenario. A varied scenario has twice as many seeds as `seeds`, because its runs
        differ more."""
        return range(seeds.start, seeds.start + len(seeds) * (2 if self.varied else 1))

    def _variation(self, seed: int) -> dict[str, str]:
        draws = random.Random(f"{self.name} {seed}")
        settings = {}
        for key, value in self.varied:
            changed = value * (1 + draws.uniform(-VARIATION, VARIATION))
            # Round rates, because Linux's shapers require a whole number of bytes per second.
            settings[key] = f"{round(changed / 8) * 8} bit/s" if key.endswith("rate") else f"{round(changed)} us"
        return settings


def two_way(down: int, up: int, buffer: int) -> Cell:
    """Returns the two-way scenario with these rates in kbit/s and this uplink buffer in packets."""
    settings = (
        ("link.down.rate", f"{down} kbit/s"),
        ("link.up.rate", f"{up} kbit/s"),
        ("link.up.queue.limit", f"{buffer} packets"),
    )
    return Cell(f"{down}/{up} u{buffer}", "two_way.toml", settings, (22.0, 110.0))


def two_way_varied(down: int, up: int, buffer: int) -> Cell:
    """Returns a two-way scenario whose rates and RTT depend on the seed."""
    cell = two_way(down, up, buffer)
    varied = (("link.down.rate", down * 1e3), ("link.up.rate", up * 1e3), ("link.rtt", 2e4))
    return Cell(f"{cell.name}, varied", cell.file, cell.settings, cell.window, varied)


UNEQUAL = Cell("unequal RTT", "unequal_rtt.toml", (), (10.0, 110.0))
UNEQUAL_VARIED = Cell(
    "unequal RTT, varied",
    UNEQUAL.file,
    (),
    UNEQUAL.window,
    (
        ("topology.link.far-r1.delay", 4e4),
        ("topology.link.line.delay", 1e4),
        ("topology.link.line.down.rate", 3e6),
    ),
)
VARIED = (UNEQUAL_VARIED, *(two_way_varied(3000, 100, buffer) for buffer in BUFFERS[::2]))
"""Scenarios whose rates and delays vary with the seed. Without variation, transmission times and delays would be
multiples of each other, and the phase between two flows at a drop-tail queue would be fixed."""

CELLS = (
    Cell("alone 3000/1000", "alone.toml", (), (0.0, 60.0)),
    UNEQUAL,
    *(two_way(down, up, buffer) for down, up in LINES for buffer in BUFFERS),
    *VARIED,
)


def records(path: Path) -> Records:
    """Returns the stored results of runs on Linux."""
    return Records(path, (cell.name for cell in CELLS))


def runs(seeds: range) -> list[tuple[Cell, int]]:
    """Returns all runs, as pairs of a scenario and a seed."""
    return [(cell, seed) for cell in CELLS for seed in cell.seeds(seeds)]


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    cells = (two_way(3000, 1000, 10), two_way(2400, 196, 20), two_way(3000, 100, 40))
    return [Probe(cell.name, cell.scenario(1)) for cell in cells]
