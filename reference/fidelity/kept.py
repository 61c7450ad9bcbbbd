"""What Linux sent, kept: one run folder with captures for each scenario and seed, made once.

A run on Linux takes minutes, a simulated one a second. What is kept serves the values of a page and the alignment of
packets alike, and the simulator is held to it anew whenever it has changed. The folders are no part of the repository,
which has the records alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from lopsided.scenario import Run
from lopsided.studies import packets as aligning
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from reference.fidelity.records import Measurement, Named, Records, Values

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

Progress = Callable[[float], object]

FOLDER = Path(".fidelity")
SIDE_BY_SIDE = 2
MARK = 12
"""So many digits of the fingerprint are part of a folder's name."""


@dataclass(frozen=True)
class Wanted:
    """One run on Linux."""

    name: str
    fingerprint: str
    """What it is valid for."""
    seed: int
    scenario: Callable[[], Scenario]

    def folder(self, kept: Path = FOLDER) -> Path:
        """Where it is kept."""
        plain = re.sub("[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        seed = "" if self.seed == 1 else f"-seed-{self.seed}"
        return kept / f"{plain}-{self.fingerprint[:MARK]}{seed}"

    def is_kept(self, kept: Path = FOLDER) -> bool:
        """Whether Linux has run it here."""
        return (self.folder(kept) / aligning.CAPTURES).is_dir()

    def run(self, kept: Path = FOLDER) -> Run:
        """The run that is kept; made where there is none."""
        folder = self.folder(kept)
        return Run.load(folder) if self.is_kept(kept) else aligning.keep(self.scenario(), folder, seed=self.seed)


class Cell(Named, Protocol):
    """A cell whose scenario is the same for every seed."""

    def scenario(self) -> Scenario:
        """The scenario as it runs."""
        ...


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Effort:
    """How much of Linux is wanted: how many runs side by side, and when none is begun any more."""

    workers: int = SIDE_BY_SIDE
    until: float | None = None
    """By `time.monotonic`; None: until all is measured."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.until is not None and time.monotonic() > self.until

    @staticmethod
    def of(minutes: float | None, workers: int = SIDE_BY_SIDE) -> Effort:
        """This number of minutes from now."""
        return Effort(workers, None if minutes is None else time.monotonic() + 60 * minutes)


def runs(
    wanted: Sequence[Wanted],
    effort: Effort,
    progress: Progress | None = None,
    kept: Path = FOLDER,
) -> Iterator[tuple[int, Run]]:
    """Each one's number and run as it is done, begun in their order, as far as the effort reaches."""
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
    """Has Linux run those cells and seeds that the records lack, adds their values as they come, and gives the runs."""
    missing = [(cell, seed) for cell, seed in wanted if records.get(cell, seed) is None]
    on_linux = [Wanted(cell.name, cell.fingerprint(), seed, cell.scenario) for cell, seed in missing]
    for number, run in runs(on_linux, effort, progress):
        cell, seed = missing[number]
        records.add(Measurement.of(cell, seed, run, values_of(run)))
        yield cell, seed, run


def simulate(
    wanted: Sequence[tuple[Cell, int]], values_of: Callable[[Run], Values], progress: Progress | None = None
) -> dict[tuple[str, int], Values]:
    """The same values of the simulator, by cell and seed."""
    jobs = [Job(cell.scenario(), seed) for cell, seed in wanted]
    found = run_jobs(jobs, lambda _, run: values_of(run), progress=progress)
    return {(cell.name, seed): values for (cell, seed), values in zip(wanted, found, strict=True)}
