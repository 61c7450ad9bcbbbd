"""Many runs at once: on threads where the world can, each given as it is done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
"""Runs of one sweep or repetition: as many as a file's `[sweep]` may ask for."""
Progress = Callable[[float], object]


Runner = Callable[[Sequence[Job], Progress | None], Iterator[tuple[int, "Run"]]]
_elsewhere: ContextVar[Runner | None] = ContextVar("_elsewhere", default=None)


@contextmanager
def elsewhere(runner: Runner) -> Generator[None]:
    """Within the block the runs of many jobs are made by `runner`, such as the workers of a cluster."""
    before = _elsewhere.set(runner)
    try:
        yield
    finally:
        _elsewhere.reset(before)


Kept = Callable[[Sequence[Job], Callable[[Sequence[int]], Iterator[tuple[int, Any]]]], list[Any]]
_kept: ContextVar[Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def kept_by(keep: Kept) -> Generator[None]:
    """Within the block `keep` decides which runs of a divided study are made here.

    `keep(jobs, made)` returns what the study measured in each job; `made(numbers)` makes these runs and yields each
    number with what was measured.
    """
    before = _kept.set(keep)
    try:
        yield
    finally:
        _kept.reset(before)


def part_of(progress: Progress | None, begun: float, share: float) -> Progress | None:
    """Progress of a part that is `share` of the whole and begins when `begun` of it is done."""
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
    """Runs all jobs and gives each one's number and run as it is done; no more are held than need be.

    `kernel` names the kernel that the kernel world takes, by default the best at hand, `ours` the hosts that have
    the simulator's TCP in the live world. Raises UsageError for a number of workers that cannot be had.
    """
    if workers is not None and not 1 <= workers <= MOST_THREADS:
        raise UsageError(f"cannot run on {workers} workers: from 1 to {MOST_THREADS:,} can be had")
    for job in jobs:
        checked_seed(job.seed)
    if (other := _elsewhere.get()) is not None:
        if world != "sim":
            raise UsageError(f"runs of the world {world} are made on this machine")
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
    divided: bool = False,
) -> list[T]:
    """Runs all jobs and returns `reduce(number, run)` of each, in the order of the jobs.

    `divided`: shards may share these runs (`studies.shards`). `reduce` then returns plain JSON.
    """

    def made(numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
        chosen = [jobs[number] for number in numbers]
        runs = run_many(chosen, world=world, kernel=kernel, ours=ours, workers=workers, progress=progress)
        for place, run in runs:
            yield numbers[place], reduce(numbers[place], run)

    if divided and (keep := _kept.get()) is not None:
        return keep(jobs, made)
    reduced = dict(made(range(len(jobs))))
    return [reduced[number] for number in range(len(jobs))]


def seeds(first: int, times: int) -> range:
    """The seeds of `times` repetitions, refused where there are too many or where they leave 64 bits."""
    if times < 1:
        raise UsageError(f"cannot repeat a run {times} times")
    check_count(times)
    checked_seed(first)
    if first + times > 2**64:
        raise UsageError(f"{times} seeds from {first} on go beyond 2^64 - 1")
    return range(first, first + times)


def check_count(runs: int) -> None:
    """Refuses more runs than can be meant."""
    if runs > MOST_RUNS:
        raise UsageError(f"{runs:,} runs are asked for; at most {MOST_RUNS:,} are made at once")


def repeated(scenarios: Sequence[Scenario], first: int, times: int) -> list[Job]:
    """Each scenario with each of `times` seeds from `first` on. Raises UsageError for more runs than can be meant."""
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
    """Runs the scenario with `times` seeds: `seed` (default: the scenario's) and those that follow it."""
    jobs = repeated([scenario], scenario.seed if seed is None else seed, times)
    return run_jobs(jobs, lambda _, run: run, world=world, kernel=kernel, ours=ours, workers=workers, progress=progress)
