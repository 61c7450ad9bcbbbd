"""The fixed set of scenarios in which the simulator is compared with Linux, and their measurement.

Linux is measured once. Its values are stored next to the page, with the release of the kernel, so that the page can be
written again, and the simulator compared again, on a machine without Linux. `python -m reference.fidelity` does all of
this.
"""

from __future__ import annotations

import hashlib
import random
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.studies import compare
from lopsided.studies.jobs import run_jobs, run_many
from lopsided.worlds.base import Job
from reference.fidelity.records import Measurement, Records, Values
from reference.fidelity.stamps import Probe

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

FOLDER = Path(__file__).parent
LINES = ((2400, 196), (3000, 1000), (3000, 100))
"""Rates down and up, in kbit/s."""
BUFFERS = range(5, 51, 5)
"""Buffers of the uplink, in packets."""

VARIATION = 0.02
"""The largest deviation of a varied cell's rates and delays from the nominal ones, as a share."""


@dataclass(frozen=True)
class Cell:
    """One scenario of the set, and the times in seconds between which it is measured."""

    name: str
    file: str
    settings: tuple[tuple[str, str], ...]
    window: tuple[float, float]
    varied: tuple[tuple[str, float], ...] = ()
    """Rates in bit/s and delays in us that each seed changes by up to `VARIATION`, the same in both worlds."""

    def scenario(self, seed: int) -> Scenario:
        """The scenario for a run with this seed."""
        from lopsided.scenario import Scenario

        return Scenario.load(FOLDER / self.file, **{**dict(self.settings), **self._variation(seed)})

    def fingerprint(self) -> str:
        """Identifies what a measurement is valid for: the scenario file, its settings, and the measured time."""
        said = tomllib.loads((FOLDER / self.file).read_text())
        varied = self.varied or ""
        return hashlib.sha256(f"{said}{self.settings}{self.window}{varied}".encode()).hexdigest()[:16]

    def seeds(self, seeds: range) -> range:
        """The seeds of this cell: twice the usual number if the cell is varied, because its runs differ more."""
        return range(seeds.start, seeds.start + len(seeds) * (2 if self.varied else 1))

    def _variation(self, seed: int) -> dict[str, str]:
        draws = random.Random(f"{self.name} {seed}")
        settings = {}
        for key, value in self.varied:
            changed = value * (1 + draws.uniform(-VARIATION, VARIATION))
            # Linux's shapers need whole bytes per second.
            settings[key] = f"{round(changed / 8) * 8} bit/s" if key.endswith("rate") else f"{round(changed)} us"
        return settings


def two_way(down: int, up: int, buffer: int) -> Cell:
    """A cell of the two-way experiment."""
    settings = (
        ("link.down.rate", f"{down} kbit/s"),
        ("link.up.rate", f"{up} kbit/s"),
        ("link.up.queue.limit", f"{buffer} packets"),
    )
    return Cell(f"{down}/{up} u{buffer}", "two_way.toml", settings, (22.0, 110.0))


def two_way_varied(down: int, up: int, buffer: int) -> Cell:
    """The same cell with rates and delay that deviate from the nominal ones."""
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
"""Cells whose nominal times are multiples of each other, so that drop-tail locks, with deviations that break the
lock.
"""

CELLS = (
    Cell("alone 3000/1000", "alone.toml", (), (0.0, 60.0)),
    UNEQUAL,
    *(two_way(down, up, buffer) for down, up in LINES for buffer in BUFFERS),
    *VARIED,
)


def records(path: Path) -> Records:
    """Linux's values on disk."""
    return Records(path, (cell.name for cell in CELLS))


def runs(seeds: range) -> Iterator[tuple[Cell, int]]:
    """Every cell with each of its seeds."""
    return ((cell, seed) for cell in CELLS for seed in cell.seeds(seeds))


def measure_linux(
    known: Records, seeds: range, progress: Callable[[float], object] | None = None
) -> Iterator[Measurement]:
    """Measures the runs that are missing or old, and adds each when it is done."""
    missing = [(cell, seed) for cell, seed in runs(seeds) if known.needs(cell, seed, cell.scenario(seed))]
    jobs = [Job(cell.scenario(seed), seed) for cell, seed in missing]
    for number, run in run_many(jobs, world="kernel", progress=progress):
        cell, seed = missing[number]
        measurement = Measurement.of(cell, seed, run, compare.measure(run, cell.window))
        known.add(measurement)
        yield measurement


def probes() -> list[Probe]:
    """A few runs, whose digests show whether a page is up to date with the simulator."""
    cells = (two_way(3000, 1000, 10), two_way(2400, 196, 20), two_way(3000, 100, 40))
    return [Probe(cell.name, cell.scenario(1)) for cell in cells]


def simulate(seeds: range) -> dict[tuple[str, int], Values]:
    """Returns the simulator's values for every cell and seed."""
    wanted = list(runs(seeds))
    jobs = [Job(cell.scenario(seed), seed) for cell, seed in wanted]
    measured = run_jobs(jobs, lambda number, run: compare.measure(run, wanted[number][0].window))
    return {(cell.name, seed): values for (cell, seed), values in zip(wanted, measured, strict=True)}
