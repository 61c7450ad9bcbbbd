"""Runs a paper's experiments and measures every run.

All runs are passed to the simulator in one call, which keeps the simulator's workers busy. A repetition uses the same
seed in every case, so that all settings use the same random numbers. Complete runs are kept only for the first
repetition of experiments with `keep`. All other runs are reduced to one row of numbers, which saves memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from lopsided.papers.framework.measurements import Label, Measurements
from lopsided.papers.framework.model import Case, Experiment, Overrides, Paper
from lopsided.scenario import Scenario
from lopsided.studies.jobs import seeds
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Run

T = TypeVar("T")


class RunJobs(Protocol):
    """Runs all jobs. Returns the results of `reduce(index, run)` in job order (`lopsided.studies.jobs.run_jobs`)."""

    def __call__(
        self, jobs: Sequence[Job], reduce: Callable[[int, Run], T], *, progress: Callable[[float], object] | None = None
    ) -> list[T]: ...


@dataclass(frozen=True)
class _Due:
    experiment: Experiment
    case: Case
    repetition: int


def run_experiments(
    paper: Paper,
    experiments: Sequence[Experiment],
    repetitions: int,
    run_jobs: RunJobs,
    *,
    overrides: Overrides | None = None,
    keep_runs: bool = True,
    seed: int = 1,
    progress: Callable[[int, float], object] | None = None,
) -> Measurements:
    """Runs experiments of a paper and measures every run.

    Parameters
    ----------
    paper
        The paper. Its folder contains the scenarios.
    experiments
        Experiments to run.
    repetitions
        Number of seeds for each setting.
    run_jobs
        `lopsided.studies.jobs.run_jobs`, bound to a world.
    overrides
        Settings that override the settings of every case.
    keep_runs
        False to keep no complete run, even if an experiment has `keep`.
    seed
        First seed. `seed - 1` is added to each scenario's own seed, so that scenarios with different seeds still have
        different seeds.
    progress
        Called with the number of runs, and the completed fraction of them, from 0 to 1.

    Returns
    -------
    Measurements
        One row for each run.

    Raises
    ------
    UsageError
        If a seed exceeds 64 bits.
    """
    import polars as pl

    times = {each.key: each.repetitions(repetitions, usual=repetitions == paper.repeat) for each in experiments}
    due = [
        _Due(experiment, case, repetition)
        for repetition in range(max(times.values(), default=0))
        for experiment in experiments
        for case in experiment.cases
        if repetition < (times[experiment.key] if case.draws else 1)
    ]
    scenarios = _scenarios(paper, due, overrides or {})
    texts = {key: each.native.to_toml() for key, each in {id(each): each for each in scenarios}.items()}
    # `seeds` raises an error if a seed exceeds 64 bits.
    first_seeds = {number: seeds(number + seed - 1, repetitions)[0] for number in {each.seed for each in scenarios}}
    # Run each pair of scenario and seed once, and share the run between all cases that need it.
    sharing: dict[tuple[str, int, frozenset[str]], list[int]] = {}
    for index, (item, scenario) in enumerate(zip(due, scenarios, strict=True)):
        run_seed = first_seeds[scenario.seed] + item.repetition
        run = texts[id(scenario)], run_seed, frozenset(item.experiment.ours)
        sharing.setdefault(run, []).append(index)
    jobs = [Job(scenarios[first], seed, ours) for (_, seed, ours), (first, *_) in sharing.items()]
    shared = list(sharing.values())
    runs: dict[tuple[str, frozenset[tuple[str, Label]]], Run] = {}

    def measure(index: int, run: Run) -> dict[str, object]:
        item = due[index]
        if item.experiment.keep and keep_runs and item.repetition == 0:
            runs[item.experiment.key, frozenset(item.case.labels.items())] = run
        identity = {"repetition": item.repetition, "seed": run.seed, "digest": run.digest}
        return {**item.case.labels, **identity, **item.experiment.measure(run, item.case)}

    def measure_all(job: int, run: Run) -> list[dict[str, object]]:
        return [measure(index, run) for index in shared[job]]

    report = None if progress is None else partial(progress, len(jobs))
    measured = run_jobs(jobs, measure_all, progress=report) if jobs else []
    found = {
        index: row
        for indices, group in zip(shared, measured, strict=True)
        for index, row in zip(indices, group, strict=True)
    }
    rows: dict[str, list[dict[str, object]]] = {experiment.key: [] for experiment in experiments}
    for index, item in enumerate(due):
        rows[item.experiment.key].append(found[index])
    frames = {key: pl.DataFrame(group, infer_schema_length=None) for key, group in rows.items()}
    labels = {experiment.key: tuple(experiment.cases[0].labels) for experiment in paper.experiments}
    return Measurements(frames, runs, labels, paper.published)


def _scenarios(paper: Paper, due: Sequence[_Due], overrides: Overrides) -> list[Scenario]:
    """Returns the scenario of each run. Every file is read only once. Cases with the same overrides share one resolved
    scenario."""
    files: dict[str, Scenario] = {}
    resolved: dict[tuple[str, tuple[tuple[str, str], ...]], Scenario] = {}
    found: list[Scenario] = []
    for item in due:
        name, settings = item.case.scenario, {**item.case.overrides, **overrides}
        key = name, tuple(settings.items())
        if key not in resolved:
            if name not in files:
                files[name] = Scenario.load(paper.folder / "scenarios" / name)
            resolved[key] = files[name].with_(**settings)
        found.append(resolved[key])
    return found
