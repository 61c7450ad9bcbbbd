"""Executes many runs, in threads if the world allows it, and yields each result when its run finishes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lopsided.errors import UsageError
from lopsided.run_options import MOST_THREADS, RunOptions
from lopsided.scenario import checked_seed
from lopsided.worlds import world as world_of
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

T = TypeVar("T")

MOST_RUNS = 1_000_000
"""Maximum number of runs in one study. The limit also applies to a sweep that the scenario's `[sweep]` table
defines."""
Progress = Callable[[float], object]


Runner = Callable[[Sequence[Job], Progress | None], Iterator[tuple[int, "Run"]]]
_elsewhere: ContextVar[Runner | None] = ContextVar("_elsewhere", default=None)


@contextmanager
def elsewhere(runner: Runner) -> Generator[None]:
    """Lets `runner` execute all runs of the `with` block, for example on a cluster."""
    before = _elsewhere.set(runner)
    try:
        yield
    finally:
        _elsewhere.reset(before)


@dataclass(frozen=True)
class Divided:
    """Marks runs that can be divided among shards. The measurements of these runs must be plain JSON values."""

    what: str
    """Identifies the quantities that are measured, such as the metrics of a search. Shards include this text in their
    fingerprint."""
    goes_on: bool = False
    """True if later runs depend on the results of these runs. Each shard then needs all measurements."""


Kept = Callable[[Sequence[Job], Callable[[Sequence[int]], Iterator[tuple[int, Any]]], Divided], list[Any]]
_kept: ContextVar[Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def kept_by(keep: Kept) -> Generator[None]:
    """Lets `keep` decide which of the divided runs in the `with` block this process executes.

    `keep(jobs, made, divided)` returns the measurement of each job. `made(numbers)` executes the runs with these
    numbers, and yields each number with its measurement.
    """
    before = _kept.set(keep)
    try:
        yield
    finally:
        _kept.reset(before)


def part_of(progress: Progress | None, begun: float, share: float) -> Progress | None:
    """Returns a function that converts the progress of a part of the work to progress of the whole work. The part
    begins at the fraction `begun` of the whole work, and makes up the fraction `share`."""
    return None if progress is None else (lambda done: progress(begun + done * share))


def run_many(
    jobs: Sequence[Job],
    *,
    world: str = "sim",
    kernel: str | None = None,
    ours: Iterable[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Run]]:
    """Runs all jobs. When a job finishes, yields its number and its run, so that only a few runs are in memory.

    `kernel` is the kernel for the kernel world (default: the best available). `ours` are the hosts that use the
    simulator's TCP in the live world. Raises UsageError if the number of workers is invalid.
    """
    if workers is not None and not 1 <= workers <= MOST_THREADS:
        raise UsageError(f"cannot run on {workers} workers: must be from 1 to {MOST_THREADS:,}")
    for job in jobs:
        checked_seed(job.seed)
    if (other := _elsewhere.get()) is not None:
        if world != "sim":
            raise UsageError(f"the world {world} runs on this machine only, not on a cluster")
        yield from other(jobs, progress)
        return
    options = RunOptions(progress=progress, kernel=kernel, ours=frozenset(ours))
    yield from world_of(world).run_many(jobs, options, workers=workers)


def run_jobs(
    jobs: Sequence[Job],
    reduce: Callable[[int, Run], T],
    *,
    world: str = "sim",
    kernel: str | None = None,
    ours: Iterable[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
    divided: Divided | None = None,
) -> list[T]:
    """Runs all jobs. Returns `reduce(number, run)` for each job, in the order of the jobs.

    If `divided` is set, shards can execute the runs (`studies.shards`).
    """

    def made(numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
        chosen = [jobs[number] for number in numbers]
        runs = run_many(chosen, world=world, kernel=kernel, ours=ours, workers=workers, progress=progress)
        for place, run in runs:
            yield numbers[place], reduce(numbers[place], run)

    if divided is not None and (keep := _kept.get()) is not None:
        return keep(jobs, made, divided)
    reduced = dict(made(range(len(jobs))))
    return [reduced[number] for number in range(len(jobs))]


def seeds(first: int, times: int) -> range:
    """Returns `times` consecutive seeds, starting with `first`. Raises UsageError if `times` is less than 1 or too
    large, or if a seed exceeds 64 bits."""
    if times < 1:
        raise UsageError(f"cannot repeat a run {times} times")
    check_count(times)
    checked_seed(first)
    if first + times > 2**64:
        raise UsageError(f"{times} seeds from {first} exceed 2^64 - 1")
    return range(first, first + times)


def check_count(runs: int) -> None:
    """Raises UsageError if there are more than `MOST_RUNS` runs."""
    if runs > MOST_RUNS:
        raise UsageError(f"{runs:,} runs are too many; the maximum is {MOST_RUNS:,}")


def repeated(scenarios: Sequence[Scenario], first: int, times: int) -> list[Job]:
    """Returns one job per scenario and seed, with `times` consecutive seeds that start with `first`. Raises UsageError
    if there are too many runs."""
    of_seeds = seeds(first, times)
    check_count(len(scenarios) * times)
    return [Job(scenario, seed) for scenario in scenarios for seed in of_seeds]


def run_repeated(
    scenario: Scenario,
    times: int,
    *,
    seed: int | None = None,
    world: str = "sim",
    kernel: str | None = None,
    ours: Iterable[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Runs the scenario with `times` consecutive seeds. The first seed is `seed`, by default the scenario's seed."""
    jobs = repeated([scenario], scenario.seed if seed is None else seed, times)
    return run_jobs(jobs, lambda _, run: run, world=world, kernel=kernel, ours=ours, workers=workers, progress=progress)
