"""Runs a paper's experiments and holds what was measured.

All runs that are due go to the simulator in one call, so that its workers stay busy. Repetition r of every case uses
the same seed: settings are compared under the same random numbers. Only the first repetition's runs are kept whole,
where the experiment asks for it; of the others the measured row remains, so memory hardly grows with repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from lopsided.papers.framework.model import Case, Experiment, Label, Overrides, Paper
from lopsided.papers.framework.published import Published

if TYPE_CHECKING:
    import polars as pl

    from lopsided.run import Run
    from lopsided.scenario import Scenario
    from lopsided.worlds.base import Job

T = TypeVar("T")


class RunJobs(Protocol):
    """Runs all jobs and returns `reduce(index, run)` of each in order: `lopsided.studies.sweep.run_jobs`."""

    def __call__(
        self,
        jobs: Sequence[Job],
        reduce: Callable[[int, Run], T],
        *,
        progress: Callable[[float], object] | None = None,
    ) -> list[T]: ...


@dataclass(frozen=True)
class _Due:
    experiment: Experiment
    case: Case
    repetition: int


class Lab:
    """What was measured for a paper: one row per run, medians over repetitions, and the first repetition's runs."""

    def __init__(
        self,
        paper: Paper,
        rows: Mapping[str, pl.DataFrame],
        runs: Mapping[tuple[str, frozenset[tuple[str, Label]]], Run],
        published: Published | None = None,
    ) -> None:
        self.paper = paper
        self.published = published or paper.published
        self._rows = rows
        self._runs = runs
        self._medians: dict[str, pl.DataFrame] = {}

    @property
    def repetitions(self) -> tuple[int, ...]:
        """The repetitions that were run, counted from 0."""
        found = {int(number) for rows in self._rows.values() for number in rows["repetition"].unique()}
        return tuple(sorted(found))

    def has(self, experiments: Iterable[str]) -> bool:
        """Whether all these experiments were run."""
        return all(key in self._rows for key in experiments)

    def every(self, experiment: str) -> pl.DataFrame:
        """One row per run: labels, `repetition`, `seed`, `digest` and the measured columns."""
        return self._rows[experiment]

    def table(self, experiment: str) -> pl.DataFrame:
        """One row per case, in the experiment's order: labels, and for each measured column its median over the
        repetitions, `<column>_low` and `<column>_high`."""
        if experiment not in self._medians:
            self._medians[experiment] = self._median(experiment)
        return self._medians[experiment]

    def _median(self, experiment: str) -> pl.DataFrame:
        import polars as pl

        rows = self._rows[experiment]
        labels = _labels(self.paper.experiment(experiment))
        values = [name for name in rows.columns if name not in (*labels, "repetition", "seed", "digest")]
        return rows.group_by(labels, maintain_order=True).agg(
            *(pl.col(name).fill_nan(None).median() for name in values),
            *(pl.col(name).fill_nan(None).min().alias(f"{name}_low") for name in values),
            *(pl.col(name).fill_nan(None).max().alias(f"{name}_high") for name in values),
            pl.len().alias("runs"),
        )

    def run(self, experiment: str, **labels: Label) -> Run:
        """The first repetition's run of the case with these labels; raises KeyError if there is none."""
        return self._runs[experiment, frozenset(labels.items())]

    def only(self, repetition: int) -> Lab:
        """The same, as if nothing but this repetition had been run."""
        import polars as pl

        rows = {key: frame.filter(pl.col("repetition") == repetition) for key, frame in self._rows.items()}
        return Lab(self.paper, rows, self._runs if repetition == 0 else {}, self.published)

    def digest(self, experiment: str) -> str:
        """One digest over all runs of an experiment: equal digests, equal results."""
        import hashlib

        digests = sorted(str(value) for value in self._rows[experiment]["digest"])
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def carry_out(
    paper: Paper,
    experiments: Sequence[Experiment],
    repetitions: int,
    run_jobs: RunJobs,
    *,
    overrides: Overrides | None = None,
    keep_runs: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Lab:
    """Runs these experiments and measures every run.

    `overrides` are laid over every case's own (an assumption's variant). `progress` is told the share that is done.
    """
    import polars as pl

    from lopsided.worlds.base import Job

    due = [
        _Due(experiment, case, repetition)
        for repetition in range(repetitions)
        for experiment in experiments
        for case in experiment.cases
    ]
    scenarios = _scenarios(paper, due, overrides or {})
    jobs = [Job(scenario, scenario.seed + item.repetition) for item, scenario in zip(due, scenarios, strict=True)]
    runs: dict[tuple[str, frozenset[tuple[str, Label]]], Run] = {}

    def measure(index: int, run: Run) -> dict[str, object]:
        item = due[index]
        if item.experiment.keep and keep_runs and item.repetition == 0:
            runs[item.experiment.key, frozenset(item.case.labels.items())] = run
        identity = {"repetition": item.repetition, "seed": run.seed, "digest": run.digest}
        return {**item.case.labels, **identity, **item.experiment.measure(run, item.case)}

    measured = run_jobs(jobs, measure, progress=progress) if jobs else []
    rows: dict[str, list[dict[str, object]]] = {experiment.key: [] for experiment in experiments}
    for item, row in zip(due, measured, strict=True):
        rows[item.experiment.key].append(row)
    return Lab(paper, {key: pl.DataFrame(group, infer_schema_length=None) for key, group in rows.items()}, runs)


def _scenarios(paper: Paper, due: Sequence[_Due], overrides: Overrides) -> list[Scenario]:
    """The scenario of each run; every file is read once and every case resolved once."""
    from lopsided.scenario import Scenario

    files: dict[str, Scenario] = {}
    resolved: dict[int, Scenario] = {}
    for item in due:
        if id(item.case) not in resolved:
            name = item.case.scenario
            if name not in files:
                files[name] = Scenario.load(paper.folder / "scenarios" / name)
            resolved[id(item.case)] = files[name].with_(**{**item.case.overrides, **overrides})
    return [resolved[id(item.case)] for item in due]


def _labels(experiment: Experiment) -> list[str]:
    return list(experiment.cases[0].labels)
