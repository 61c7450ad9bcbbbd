"""Run folders of Linux with captures, one for each scenario and seed, each made once.

A run on Linux takes minutes, a simulated run a second. The folders provide the values of a page and the packets to
align, and the simulator is compared with them again whenever it changes. The folders are not part of the repository,
which only has the records.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from lopsided.scenario import Run
from lopsided.studies import packets as aligning
from lopsided.studies.jobs import run_jobs
from lopsided.worlds import kernel
from lopsided.worlds.base import Job
from reference.fidelity.records import Measurement, Named, Records, Values

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

Progress = Callable[[float], object]

FOLDER = Path(".fidelity")
SIDE_BY_SIDE = 2
MARK, WORLD_MARK = 12, 6
"""Number of digits of the fingerprint, and of the version of the kernel world, in a folder's name."""


@dataclass(frozen=True)
class Wanted:
    """One run on Linux."""

    name: str
    fingerprint: str
    """Identifies the scenario that the run is valid for."""
    seed: int
    scenario: Callable[[], Scenario]

    def folder(self, kept: Path = FOLDER) -> Path:
        """The folder of the run. A changed kernel world gives it another name."""
        plain = re.sub("[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        seed = "" if self.seed == 1 else f"-seed-{self.seed}"
        return kept / f"{plain}-{self.fingerprint[:MARK]}-{self.world[:WORLD_MARK]}{seed}"

    @cached_property
    def world(self) -> str:
        """The version of the kernel world for the run."""
        return kernel.version_of(self.scenario(), self.seed)

    def is_kept(self, kept: Path = FOLDER) -> bool:
        """True if the folder of the run exists."""
        return (self.folder(kept) / aligning.CAPTURES).is_dir()

    def run(self, kept: Path = FOLDER) -> Run:
        """Returns the stored run, after making it on Linux if it is missing."""
        folder = self.folder(kept)
        return Run.load(folder) if self.is_kept(kept) else aligning.keep(self.scenario(), folder, seed=self.seed)


class Cell(Named, Protocol):
    """A cell whose scenario is the same for every seed."""

    def scenario(self) -> Scenario:
        """The scenario to run."""
        ...


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Effort:
    """Limits of the measurement on Linux: the number of parallel runs, and the time after which no run starts."""

    workers: int = SIDE_BY_SIDE
    until: float | None = None
    """A time of `time.monotonic`; `None` for no limit."""

    @property
    def is_spent(self) -> bool:
        """True if no run may start any more."""
        return self.until is not None and time.monotonic() > self.until

    @staticmethod
    def of(minutes: float | None, workers: int = SIDE_BY_SIDE) -> Effort:
        """The effort of this number of minutes from now."""
        return Effort(workers, None if minutes is None else time.monotonic() + 60 * minutes)


def runs(
    wanted: Sequence[Wanted],
    effort: Effort,
    progress: Progress | None = None,
    kept: Path = FOLDER,
) -> Iterator[tuple[int, Run]]:
    """Yields the number and the run of each when it is done. Runs start in their order, as far as the effort allows."""
    with ThreadPoolExecutor(effort.workers) as pool:
        begun = {
            pool.submit(lambda one: None if effort.is_spent else one.run(kept), one): number
            for number, one in enumerate(wanted)
        }
        try:
            for done, future in enumerate(as_completed(begun), 1):
                run = future.result()
                if progress is not None:
                    progress(done / len(wanted))
                if run is not None:
                    yield begun[future], run
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def measure(
    records: Records,
    wanted: Iterable[tuple[C, int]],
    values_of: Callable[[Run], Values],
    effort: Effort,
    progress: Progress | None = None,
) -> Iterator[tuple[C, int, Run]]:
    """Runs on Linux the cells and seeds whose records are missing or old, adds their values, and yields the runs."""
    missing = [(cell, seed) for cell, seed in wanted if records.needs(cell, seed, cell.scenario())]
    on_linux = [Wanted(cell.name, cell.fingerprint(), seed, cell.scenario) for cell, seed in missing]
    for number, run in runs(on_linux, effort, progress):
        cell, seed = missing[number]
        records.add(Measurement.of(cell, seed, run, values_of(run)))
        yield cell, seed, run


def simulate(
    wanted: Sequence[tuple[Cell, int]], values_of: Callable[[Run], Values], progress: Progress | None = None
) -> dict[tuple[str, int], Values]:
    """Returns the simulator's values by cell and seed."""
    jobs = [Job(cell.scenario(), seed) for cell, seed in wanted]
    found = run_jobs(jobs, lambda _, run: values_of(run), progress=progress)
    return {(cell.name, seed): values for (cell, seed), values in zip(wanted, found, strict=True)}
