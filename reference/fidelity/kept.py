"""Stores run folders of Linux with captures, one for each scenario and seed.

A run on Linux takes minutes, a simulated run takes a second. So each Linux run is made once and stored. A page reads
its values and aligns its packets, and the simulator is compared with it again after each change. The folders are not
part of the repository, which contains only the records.
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
"""Number of hexadecimal digits in a folder's name: of the scenario's fingerprint, and of the version of the kernel
world."""


@dataclass(frozen=True)
class Wanted:
    """A run on Linux that a page needs."""

    name: str
    fingerprint: str
    """Hash of the scenario, part of the folder's name."""
    seed: int
    scenario: Callable[[], Scenario]

    def folder(self, kept: Path = FOLDER) -> Path:
        """Returns the path of the run's folder. Its name changes with the version of the kernel world."""
        plain = re.sub("[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        seed = "" if self.seed == 1 else f"-seed-{self.seed}"
        return kept / f"{plain}-{self.fingerprint[:MARK]}-{self.world[:WORLD_MARK]}{seed}"

    @cached_property
    def world(self) -> str:
        """The version of the kernel world that applies to this run."""
        return kernel.version_of(self.scenario(), self.seed)

    def is_kept(self, kept: Path = FOLDER) -> bool:
        """True if the run's captures are stored."""
        return (self.folder(kept) / aligning.CAPTURES).is_dir()

    def run(self, kept: Path = FOLDER) -> Run:
        """Returns the stored run. If there is none, the run is made on Linux first."""
        folder = self.folder(kept)
        return Run.load(folder) if self.is_kept(kept) else aligning.keep(self.scenario(), folder, seed=self.seed)


class Cell(Named, Protocol):
    """A cell that has the same scenario for every seed."""

    def scenario(self) -> Scenario:
        """Returns the scenario to run."""
        ...


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Effort:
    """Limits for the runs on Linux: the number of parallel runs, and the time after which no further run starts."""

    workers: int = SIDE_BY_SIDE
    until: float | None = None
    """A time of `time.monotonic()`; `None` if there is no limit."""

    @property
    def is_spent(self) -> bool:
        """True if the time limit has passed."""
        return self.until is not None and time.monotonic() > self.until

    @staticmethod
    def of(minutes: float | None, workers: int = SIDE_BY_SIDE) -> Effort:
        """Returns limits that let no run start after the given number of minutes; `None` sets no time limit."""
        return Effort(workers, None if minutes is None else time.monotonic() + 60 * minutes)


def runs(
    wanted: Sequence[Wanted],
    effort: Effort,
    progress: Progress | None = None,
    kept: Path = FOLDER,
) -> Iterator[tuple[int, Run]]:
    """Yields the index in `wanted` and the run, for each run when it is done. Runs start in the order of `wanted`,
    until the time limit has passed."""
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
    """Makes the missing and outdated runs on Linux, adds their values to the records, and yields the runs."""
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
