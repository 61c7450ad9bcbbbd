"""A search: trials that Optuna asks for, run on all cores, and the best of them.

Optuna's Tree-structured Parzen Estimator proposes settings (of several goals by their fronts), a batch at a time, so
that the answer is the same whatever the workers. A space that can be counted and is no larger than the trials asked for
is tried as a whole. A trial is the mean over `repeat` seeds, the same for all; a setting that was tried is not tried
again. What came out best is run once more with seeds that the search has not seen: the best of many is always a
little lucky.

Every finished run is handed to a log. The same search with that log goes the same way, and runs only what is missing:
so an interrupted search goes on, and so does one that is given more trials.

Left out: pruning of runs that look bad half-way, and settings that depend on one another but for kinds
(`lopsided.studies.search.space`).
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data.catalogue import Column, Kind, TableSpec
from lopsided.data.table import Table
from lopsided.errors import LopsidedError, ScenarioError, UsageError
from lopsided.metrics import mean_interval
from lopsided.metrics.confidence import Interval
from lopsided.studies import sweep as sweeps
from lopsided.studies.jobs import MOST_RUNS, Progress, part_of, run_many, seeds
from lopsided.studies.search.goals import Goal, Limit, Metric, goals_of
from lopsided.studies.search.options import BATCH, MOST_TRIALS, TRIALS
from lopsided.studies.search.space import Space
from lopsided.studies.starts import varied
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from lopsided.scenario import Run, Scenario

CHECKED = 20
"""So many of the best are run again with other seeds."""
_LEAST_CHECKS = 3
_ASKS = 50
"""A proposal that was tried already is taken back; after so many in a row all is tried that there is."""

Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Done:
    """What a finished run gave: its digest, and a value for each metric of the search."""

    digest: str
    values: tuple[float | None, ...]


Key = tuple[Settings, int]
"""Settings and the seed."""


@dataclass
class Trial:
    """Settings that were tried, and what came out."""

    number: int
    labels: Mapping[str, str]
    settings: Mapping[str, str]
    runs: list[Done] = field(default_factory=list[Done])
    checks: list[Done] = field(default_factory=list[Done])
    """Runs with other seeds than the search's."""
    refused: str = ""
    """Why the scenario does not take the settings."""

    def interval(self, metric: int, *, checked: bool = False) -> Interval:
        """The mean of a metric over the seeds, with its 95 % interval."""
        return mean_interval(run.values[metric] for run in (self.checks if checked else self.runs))

    def mean(self, metric: int) -> float | None:
        """The mean of a metric over the seeds; None where a run has no value."""
        values = [run.values[metric] for run in self.runs]
        if not values or any(value is None for value in values):
            return None
        return self.interval(metric).mean


class Search:
    """What a search found: `trials`, the `front` of the best, and `best` where there is one goal."""

    def __init__(
        self,
        scenario: Scenario,
        space: Space,
        goals: Sequence[Goal],
        limits: Sequence[Limit],
        trials: Sequence[Trial],
        asked: int,
        repeat: int,
        *,
        whole: bool,
        start_jitter_s: float | None = None,
    ) -> None:
        self.scenario = scenario
        self.space = space
        self.goals = tuple(goals)
        self.limits = tuple(limits)
        self.asked = asked
        """Trials that were asked for."""
        self.repeat = repeat
        self.start_jitter_s = start_jitter_s
        """By how much starts vary with the seed, if that was not asked for."""
        self.whole = whole
        """Whether every combination was tried."""
        self.baseline, *self.tried = trials
        """The scenario as it stands, and the trials in their order."""

    @property
    def metrics(self) -> list[Metric]:
        """What was measured: the goals', then the limits' that are none."""
        return _metrics(self.goals, self.limits)

    @cached_property
    def front(self) -> list[Trial]:
        """The trials that keep all limits and that none betters in every goal, the best by the first goal first."""
        fit = [trial for trial in self.tried if self.keeps(trial)]
        found = [one for one in fit if not any(self._betters(other, one) for other in fit)]
        first = self.goals[0]
        return sorted(found, key=lambda trial: -self.value(trial, 0) if first.maximise else self.value(trial, 0))

    @property
    def best(self) -> Trial | None:
        """The best trial; of several goals that which is best by the first. None where no trial keeps the limits."""
        return self.front[0] if self.front else None

    @property
    def nearest(self) -> Trial | None:
        """The trial that breaks the limits least."""
        known = [trial for trial in self.tried if trial.runs and None not in self.means(trial)]
        return min(known, key=lambda trial: sum(max(0.0, each) for each in self.excesses(trial)), default=None)

    def keeps(self, trial: Trial) -> bool:
        """Whether a trial has a value for every metric and keeps every limit."""
        return bool(trial.runs) and None not in self.means(trial) and all(each <= 0 for each in self.excesses(trial))

    def means(self, trial: Trial) -> list[float | None]:
        """The mean of each metric."""
        return [trial.mean(number) for number in range(len(self.metrics))]

    def value(self, trial: Trial, goal: int) -> float:
        """The mean of a goal's metric; NaN where there is none."""
        mean = trial.mean(goal)
        return math.nan if mean is None else mean

    def excesses(self, trial: Trial) -> list[float]:
        """By how much a trial is beyond each limit."""
        means = dict(zip((metric.text for metric in self.metrics), self.means(trial), strict=True))
        return [limit.excess(_or(means[limit.metric.text], math.inf)) for limit in self.limits]

    def _betters(self, one: Trial, other: Trial) -> bool:
        pairs = [(goal, self.value(one, number), self.value(other, number)) for number, goal in enumerate(self.goals)]
        if all(a == b for _, a, b in pairs):
            # Of what comes out the same the first is kept.
            return one.number < other.number
        return not any(goal.better(b, a) for goal, a, b in pairs)

    def scenario_of(self, trial: Trial | int) -> Scenario:
        """The scenario with the settings of a trial. Raises UsageError where there is no such trial."""
        found = trial if isinstance(trial, Trial) else next((t for t in self.tried if t.number == trial), None)
        if found is None:
            raise UsageError(f"there is no trial {trial}; there are {len(self.tried)}, numbered from 1")
        return self.scenario.with_(**found.settings)

    @cached_property
    def trials(self) -> Table:
        """One row for each trial: its settings, the means of the metrics with the half width of their 95 % intervals,
        whether it keeps the limits and is on the front, and the same means with other seeds where it was checked."""
        front = {trial.number for trial in self.front}
        columns = self._setting_columns()
        rows: list[dict[str, Any]] = []
        for trial in self.tried:
            row: dict[str, Any] = {"trial": trial.number}
            for key, (name, values) in columns.items():
                row[name] = values[trial.labels[key]] if key in trial.labels else None
            for number, metric in enumerate(self.metrics):
                column, mean = metric.stored.name, trial.mean(number)
                reach, again = trial.interval(number).half_width, trial.interval(number, checked=True)
                row |= {column: mean, f"{column}_ci95": None if mean is None or math.isnan(reach) else reach}
                row[f"{column}_checked"] = again.mean if again.of else None
            marks = {"keeps": self.keeps(trial), "front": trial.number in front}
            row |= {name: "yes" if holds else "no" for name, holds in marks.items()} | {"refused": trial.refused}
            rows.append(row)
        spec = self.spec()
        return Table(spec.frame(rows), spec)

    def spec(self) -> TableSpec:
        """The columns of `trials`."""
        settings = [_setting(key, name, values.values()) for key, (name, values) in self._setting_columns().items()]
        measured = [
            each
            for column in (metric.stored for metric in self.metrics)
            for each in (
                column,
                Column(f"{column.name}_ci95", column.unit, "95 %", "Half width of the mean's 95 % interval."),
                Column(f"{column.name}_checked", column.unit, "other seeds", "Mean over seeds that were not searched."),
            )
        ]
        marks = [
            Column("keeps", "text", "keeps", "Whether the trial keeps the limits.", "text"),
            Column("front", "text", "front", "Whether no other trial betters it in every goal.", "text"),
            Column("refused", "text", "refused", "Why the scenario does not take the settings.", "text"),
        ]
        return TableSpec(
            "trials",
            "One row for each trial of a search.",
            (Column("trial", "label", "trial", "Its number, from 1.", "integer"), *settings, *measured, *marks),
        )

    def _setting_columns(self) -> dict[str, tuple[str, dict[str, float | int | str]]]:
        """For each key its column, and what stands there for each of its values."""
        found: dict[str, tuple[str, dict[str, float | int | str]]] = {}
        for key in self.space.keys:
            labels = list(dict.fromkeys(trial.labels[key.key] for trial in self.tried if key.key in trial.labels))
            found[key.key] = sweeps.axis_column(key.key, labels) if labels else (key.key, {})
        return found

    @property
    def digest(self) -> str:
        """A digest of all runs."""
        digests = [run.digest for trial in (self.baseline, *self.tried) for run in (*trial.runs, *trial.checks)]
        return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()

    def plot(self, kind: str | None = None) -> Figure:
        """`front` (the goals against each other), `progress` (what was found when) or `settings` (the first goal
        against each key); by default the front of several goals, or progress."""
        return filled_in("Search.plot")(self, kind)

    def report(self) -> str:
        """The report as one self-contained HTML page."""
        return filled_in("Search.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes the search into the folder, with the best as scenario files, and returns its path."""
        return filled_in("Search.save")(self, folder, overwrite=overwrite, report=report)

    def manifest(self) -> dict[str, Any]:
        """What identifies this search."""
        return {
            "lopsided": _native.__version__,
            "kind": "search",
            "name": self.scenario.name,
            "digest": self.digest,
            "seed": self.scenario.seed,
            "repeat": self.repeat,
            "start_jitter_s": self.start_jitter_s,
            "trials": len(self.tried),
            "asked": self.asked,
            "whole": self.whole,
            "goals": [str(goal) for goal in self.goals],
            "limits": [str(limit) for limit in self.limits],
            "front": [trial.number for trial in self.front],
        }

    def __repr__(self) -> str:
        return f"Search({len(self.tried)} trials, {len(self.front)} on the front, digest {self.digest})"


@dataclass
class Searcher:
    """A search under way: `run` it, and `result` says at any time what was found so far."""

    scenario: Scenario
    space: Space
    goals: tuple[Goal, ...]
    limits: tuple[Limit, ...]
    trials: int
    repeat: int = 1
    batch: int = BATCH
    done: dict[Key, Done] = field(default_factory=dict[Key, Done])
    """Runs that were finished before, by settings and seed."""
    workers: int | None = None
    start_jitter_s: float | None = None
    log: Callable[[Mapping[Key, Done]], object] | None = None
    """Is given all finished runs after each batch, and when the search is interrupted."""

    def __post_init__(self) -> None:
        if self.trials < 1 or self.batch < 1:
            raise UsageError(f"a search of {self.trials} trials, {self.batch} at a time, finds nothing")
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a run {self.repeat} times")
        if self.trials > MOST_TRIALS or self.trials * self.repeat > MOST_RUNS:
            raise UsageError(f"{self.trials:,} trials are asked for; at most {MOST_TRIALS:,} are made")
        # The seeds of the search, and those that check what it finds.
        self._seeds = seeds(self.scenario.seed, self.repeat + max(self.repeat, _LEAST_CHECKS))
        self._found = [Trial(0, {}, {})]
        self._tried: dict[Settings, Trial] = {}
        self._whole = False
        self._optuna = _optuna()

    @property
    def metrics(self) -> list[Metric]:
        """What is measured in each run."""
        return _metrics(self.goals, self.limits)

    def fingerprint(self) -> str:
        """Whether two searches are the same, whatever the number of their trials."""
        said = [
            self.scenario.to_toml(),
            self.scenario.seed,
            [repr(key) for key in self.space.keys],
            [str(goal) for goal in self.goals],
            [limit.text for limit in self.limits],
            [self.repeat, self.batch, _native.__version__],
        ]
        return hashlib.blake2b(json.dumps(said).encode(), digest_size=16).hexdigest()

    def result(self) -> Search:
        """What was found so far."""
        known = [trial for trial in self._found if trial.runs or trial.refused or trial.number == 0]
        return Search(
            self.scenario,
            self.space,
            self.goals,
            self.limits,
            known,
            self.trials,
            self.repeat,
            whole=self._whole,
            start_jitter_s=self.start_jitter_s,
        )

    def run(self, progress: Progress | None = None) -> Search:
        """Makes all trials and gives what was found."""
        try:
            self._search(progress)
        finally:
            if self.log is not None:
                self.log(self.done)
        return self.result()

    def _search(self, progress: Progress | None) -> None:
        report = part_of(progress, 0.0, 0.95)
        self._carry_out(self._found[:1], self._seeds[: self.repeat], report, 1 / (self.trials + 1))
        for batch in self._batches():
            self._carry_out(batch, self._seeds[: self.repeat], report, (len(self._found)) / (self.trials + 1))
            self._without_values()
            if self.log is not None:
                self.log(self.done)
        self._carry_out(self.result().front[:CHECKED], self._seeds[self.repeat :], None, 1.0, checks=True)
        if progress is not None:
            progress(1.0)

    def _without_values(self) -> None:
        """Refuses to go on where nothing can be compared."""
        runs = [trial for trial in self._found if trial.runs]
        for number, metric in enumerate(self.metrics):
            if len(runs) > self.batch // 2 and all(trial.mean(number) is None for trial in runs):
                raise UsageError(f"{metric.text} has no value in any of {len(runs)} trials: choose another metric")

    def _batches(self) -> Iterable[list[Trial]]:
        """Trials that are proposed together; they are told to Optuna when they come back."""
        if (size := self.space.size) is not None and size <= self.trials:
            yield from _in_batches(self._all(), self.batch)
            self._whole = True
            return
        study = self._study()
        left = self.trials
        while left:
            asked: list[tuple[Any, Trial | None]] = []
            fresh: list[Trial] = []
            for _ in range(min(self.batch, left)):
                trial = self._proposed(study, asked)
                if trial is None:
                    break
                fresh.append(trial)
            yield [trial for trial in fresh if not trial.refused]
            for proposal, trial in asked:
                self._tell(study, proposal, trial)
            left -= len(fresh)
            if not fresh:
                return

    def _proposed(self, study: Any, asked: list[tuple[Any, Trial | None]]) -> Trial | None:
        """The next trial with settings of which nothing is known; None where Optuna has no such."""
        for _ in range(_ASKS):
            proposal = study.ask()
            labels, settings, refused = self._chosen(proposal)
            known = self._tried.get(_key(settings))
            if known is None:
                trial = self._new(labels, settings, refused)
                asked.append((proposal, trial))
                return trial
            asked.append((proposal, known))
        return None

    def _chosen(self, proposal: Any) -> tuple[dict[str, str], dict[str, str], str]:
        try:
            return *self.space.chosen(proposal, self.scenario), ""
        except ScenarioError as error:
            labels = {key.key: key.suggest(proposal) for key in self.space.keys}
            settings = {name: value for key in self.space.keys for name, value in key.settings(labels[key.key]).items()}
            return labels, settings, error.message

    def _new(self, labels: dict[str, str], settings: dict[str, str], refused: str) -> Trial:
        trial = Trial(len(self._found), labels, settings, refused=refused)
        self._found.append(trial)
        self._tried[_key(settings)] = trial
        return trial

    def _all(self) -> Iterable[Trial]:
        """Every combination, in order."""
        for labels in itertools.product(*(key.of_finite() for key in self.space.keys)):
            fixed = {key.key: key.parameter(label) for key, label in zip(self.space.keys, labels, strict=True)}
            found, settings, refused = self._chosen(self._optuna.trial.FixedTrial(fixed))
            if _key(settings) not in self._tried:
                trial = self._new(found, settings, refused)
                if not refused:
                    yield trial

    def _study(self) -> Any:
        sampler = self._optuna.samplers.TPESampler(seed=self.scenario.seed % 2**32)
        directions = ["maximize" if goal.maximise else "minimize" for goal in self.goals]
        return self._optuna.create_study(sampler=sampler, directions=directions)

    def _tell(self, study: Any, proposal: Any, trial: Trial | None) -> None:
        failed = self._optuna.trial.TrialState.FAIL
        metrics = self.metrics
        means = [] if trial is None else [trial.mean(number) for number in range(len(metrics))]
        if not means or None in means or trial is None or trial.refused:
            study.tell(proposal, state=failed)
            return
        of = dict(zip((metric.text for metric in metrics), means, strict=True))
        for number, limit in enumerate(self.limits):
            proposal.set_constraint(str(number), limit.excess(_or(of[limit.metric.text], math.inf)))
        study.tell(proposal, [of[goal.metric.text] for goal in self.goals])

    def _carry_out(
        self,
        trials: Sequence[Trial],
        of_seeds: Sequence[int],
        progress: Progress | None,
        until: float,
        *,
        checks: bool = False,
    ) -> None:
        """Runs what is missing of the trials' runs, and puts all of them in their places."""
        wanted = [(trial, seed) for trial in trials for seed in of_seeds]
        missing = [(trial, seed) for trial, seed in wanted if (_key(trial.settings), seed) not in self.done]
        jobs = [Job(self.scenario.with_(**trial.settings), seed) for trial, seed in missing]
        begun = until - max(1, len(trials)) / (self.trials + 1)
        share = part_of(progress, begun, until - begun)
        for number, run in run_many(jobs, workers=self.workers, progress=share):
            trial, seed = missing[number]
            self.done[_key(trial.settings), seed] = Done(run.digest, _values(run, self.metrics))
        for trial in trials:
            found = [self.done[_key(trial.settings), seed] for seed in of_seeds]
            (trial.checks if checks else trial.runs).extend(found)


def search(
    scenario: Scenario,
    over: Mapping[str, str | Iterable[Any]],
    *,
    maximise: str | Sequence[str] = (),
    minimise: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    trials: int = TRIALS,
    repeat: int = 1,
    seed: int | None = None,
    batch: int = BATCH,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Search:
    """Asks Optuna for the settings that maximise and minimise metrics, and runs `trials` of them, each with `repeat`
    seeds.

    `over` maps keys to values: `{"link.up.queue.limit": "5..100 packets", "link.up.queue.kind": "fifo|codel"}`.
    Metrics are such as `goodput.download`, `rtt.down` or `sojourn_p95_ms.link.up`; constraints are such as
    `loss.upload < 2 %`, kept by the mean over the seeds. The same seed gives the same search, on any number of workers.

    Raises UsageError where Optuna is not installed (`pip install 'lopsided[search]'`), or for what makes no sense.
    """
    if seed is not None:
        scenario = scenario.with_(**{"scenario.seed": seed})
    searcher = prepared(
        scenario, over, maximise, minimise, subject_to, trials=trials, repeat=repeat, batch=batch, workers=workers
    )
    return searcher.run(progress)


def prepared(
    scenario: Scenario,
    over: Mapping[str, str | Iterable[Any]],
    maximise: str | Sequence[str],
    minimise: str | Sequence[str],
    subject_to: str | Sequence[str],
    **rest: Any,
) -> Searcher:
    """A search that can be begun: all that was written makes sense."""
    # What was found is checked with further seeds even where a trial has one.
    starts = varied([scenario], _LEAST_CHECKS)
    (scenario,) = starts.scenarios
    goals = goals_of(scenario, _listed(maximise), _listed(minimise))
    limits = tuple(Limit.of(text, scenario) for text in _listed(subject_to))
    return Searcher(scenario, Space.of(over, scenario), goals, limits, start_jitter_s=starts.unasked_s, **rest)


def _setting(key: str, name: str, values: Iterable[float | int | str]) -> Column:
    """The column of a key that was searched over."""
    types = {type(value) for value in values}
    kind: Kind = "text" if str in types or not types else "float" if float in types else "integer"
    return Column(name, "text" if kind == "text" else "label", key, "A key that was searched over.", kind)


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _metrics(goals: Sequence[Goal], limits: Sequence[Limit]) -> list[Metric]:
    found = {each.metric.text: each.metric for each in (*goals, *limits)}
    return list(found.values())


def _values(run: Run, metrics: Sequence[Metric]) -> tuple[float | None, ...]:
    return tuple(metric.of_run(run) for metric in metrics)


def _key(settings: Mapping[str, str]) -> Settings:
    return tuple(sorted(settings.items()))


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _in_batches(trials: Iterable[Trial], size: int) -> Iterable[list[Trial]]:
    waiting: list[Trial] = []
    for trial in trials:
        waiting.append(trial)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _optuna() -> Any:
    """The library, of whose types nothing is known here."""
    try:
        found = importlib.import_module("optuna")
    except ImportError:
        raise UsageError("Optuna is not installed: pip install 'lopsided[search]'") from None
    if int(found.__version__.partition(".")[0]) < 5:
        raise LopsidedError(f"Optuna {found.__version__} is too old: pip install 'lopsided[search]'")
    found.logging.set_verbosity(found.logging.ERROR)
    return found
