"""Stores the results and captures of each run on Linux in a folder, one folder per scenario and seed.

A run on Linux takes minutes, but a simulated run takes about 1 s. Therefore, each scenario runs on Linux only once.
Pages are written from the stored values. After each change of the simulator, the stored packets are aligned with the
simulated packets again. The folders are not in the repository.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lopsided.cli.terminal import print_line, progress
from lopsided.scenario import Run
from lopsided.studies import packets as aligning
from lopsided.studies.jobs import run_jobs
from lopsided.worlds import kernel
from lopsided.worlds.base import Job
from lopsided.worlds.kernel import GuestFailed, KernelUnavailable
from reference.fidelity.cells import Cell, Simulated
from reference.fidelity.records import Measurement, Records, Values

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

Progress = Callable[[float], object]

FOLDER = Path(".fidelity")
SIDE_BY_SIDE = 2
IN_VIRTUAL_TIME = "timetravel"
"""The kind of kernel that executes all recorded runs. Otherwise, a machine without this kernel would run Linux in real
time."""
MARK, WORLD_MARK = 12, 6
"""Number of digits of the fingerprint, and of the kernel world's version, in the name of a folder."""


@dataclass(frozen=True)
class Wanted:
    """A run on Linux whose results a page of the documentation shows."""

    name: str
    fingerprint: str
    """Hash of the scenario. Its first digits are part of the folder's name."""
    seed: int
    scenario: Callable[[], Scenario]

    def folder(self, kept: Path = FOLDER) -> Path:
        """Returns the folder in which the run is stored. The folder's name contains the version of the kernel world."""
        plain = re.sub("[^a-z0-9.]+", "-", self.name.lower()).strip("-")
        seed = "" if self.seed == 1 else f"-seed-{self.seed}"
        return kept / f"{plain}-{self.fingerprint[:MARK]}-{self.world[:WORLD_MARK]}{seed}"

    @cached_property
    def world(self) -> str:
        """Returns the version of the kernel world that would execute this run."""
        return kernel.version_of(self.scenario(), self.seed)

    def is_kept(self, kept: Path = FOLDER) -> bool:
        """Returns true if the captures of the run are stored."""
        return (self.folder(kept) / aligning.CAPTURES).is_dir()

    def run(self, kept: Path = FOLDER) -> Run:
        """Returns the stored run. If no run is stored, runs the scenario on Linux and stores the result."""
        folder = self.folder(kept)
        if self.is_kept(kept):
            return Run.load(folder)
        return aligning.keep(self.scenario(), folder, seed=self.seed, kernel=IN_VIRTUAL_TIME)


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Effort:
    """Limits of the runs on Linux: the number of concurrent runs, and the latest time at which a run may start."""

    workers: int = SIDE_BY_SIDE
    until: float | None = None
    """Latest time at which a run may start, on the clock `time.monotonic()`; `None` if there is no limit."""

    @property
    def is_spent(self) -> bool:
        """True if the time limit has passed."""
        return self.until is not None and time.monotonic() > self.until

    @staticmethod
    def of(minutes: float | None, workers: int = SIDE_BY_SIDE) -> Effort:
        """Returns the limits. No run starts later than `minutes` from now."""
        return Effort(workers, None if minutes is None else time.monotonic() + 60 * minutes)


def runs(
    wanted: Sequence[Wanted],
    effort: Effort,
    progress: Progress | None = None,
    kept: Path | None = FOLDER,
) -> Iterator[tuple[int, Run]]:
    """Executes the runs in `wanted`. When a run finishes, yields its index in `wanted` and its results.

    If `kept` is `None`, runs are neither captured nor stored.
    """

    def made(number: int) -> Run:
        one = wanted[number]
        return one.run(kept) if kept else one.scenario().run(seed=one.seed, world="kernel", kernel=IN_VIRTUAL_TIME)

    return each([f"{one.name}, seed {one.seed}" for one in wanted], made, effort, progress)


T = TypeVar("T")


def each(
    names: Sequence[str], make: Callable[[int], T], effort: Effort, progress: Progress | None = None
) -> Iterator[tuple[int, T]]:
    """Calls `make` with the index of each name, and yields the index and the result when a call returns.

    Calls start in the order of the names, within the time limit. A failed run is reported, and the other runs continue.
    """

    def made(number: int) -> T | None:
        if effort.is_spent:
            return None
        try:
            return make(number)
        except GuestFailed as error:
            # Continue, because runs on fast lines can fail on a busy machine.
            return print_line(f"{names[number]}: {error}")

    with ThreadPoolExecutor(effort.workers) as pool:
        begun = {pool.submit(made, number): number for number in range(len(names))}
        try:
            for done, future in enumerate(as_completed(begun), 1):
                found = future.result()
                if progress is not None:
                    progress(done / len(names))
                if found is not None:
                    yield begun[future], found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def on_linux(what: str) -> Generator[Progress | None]:
    """Shows the progress of the Linux runs that the `with` block executes. If this machine cannot run Linux, prints the
    reason and ends the block. Pages are then written from the records."""
    try:
        with progress(what) as report:
            yield report
    except KernelUnavailable as error:
        print(f"using only the records: {error}", file=sys.stderr)


def measure(
    records: Records,
    wanted: Iterable[tuple[C, int]],
    effort: Effort,
    kept: Path | None = FOLDER,
    also: Callable[[C, Run], object] = lambda _cell, _run: None,
) -> None:
    """Executes missing and outdated runs on Linux, and adds their values to the records. Calls `also` with each run."""
    with on_linux("measuring on Linux") as report:
        missing = [(cell, seed) for cell, seed in wanted if records.needs(cell, seed, cell.scenario(seed))]
        due = [Wanted(cell.name, cell.fingerprint(), seed, partial(cell.scenario, seed)) for cell, seed in missing]
        for number, run in runs(due, effort, report, kept):
            cell, seed = missing[number]
            records.add(Measurement.of(cell, seed, run, cell.values_of(run)))
            print_line(f"{cell.name}, seed {seed}")
            also(cell, run)


def simulate(wanted: Sequence[tuple[Simulated, int]]) -> dict[tuple[str, int], Values]:
    """Simulates all scenarios, and returns their values for each scenario's name and seed."""
    jobs = [Job(cell.scenario(seed), seed) for cell, seed in wanted]
    with progress("simulating") as report:
        found = run_jobs(jobs, lambda number, run: wanted[number][0].values_of(run), progress=report)
    return {(cell.name, seed): values for (cell, seed), values in zip(wanted, found, strict=True)}


def parser(module: str, about: str | None, minutes: float | None = None) -> argparse.ArgumentParser:
    """Returns a parser for the options that all commands that measure on Linux share."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    made.add_argument(
        "--recorded", action="store_true", help="measure nothing on Linux; write the pages from the records"
    )
    made.add_argument(
        "--minutes", type=float, default=minutes, help="start no run on Linux after this number of minutes"
    )
    made.add_argument("--workers", type=int, default=SIDE_BY_SIDE, help="number of parallel runs on Linux")
    return made
