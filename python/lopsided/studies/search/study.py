"""Searches for the best settings: simulates the trials that Optuna proposes, on all cores.

Optuna's Tree-structured Parzen Estimator proposes one batch of trials at a time, so that results do not depend on the
number of workers. If there are fewer combinations than trials, all combinations are simulated. The result of a trial is
the mean over `repeat` seeds, which are the same for all trials. The best of many trials is partly a matter of chance,
so the best trials are repeated with other seeds.

Every finished run is stored. If a search is repeated, it makes the same proposals and simulates only the missing runs.
An interrupted search can therefore continue, and a search can be extended. Unpromising runs are not stopped early.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.errors import LopsidedError, ScenarioError, UsageError
from lopsided.studies.jobs import MOST_RUNS, Divided, Progress, part_of, run_jobs, seeds
from lopsided.studies.search.goals import Goal, Limit, Metric, goals_of
from lopsided.studies.search.options import BATCH, MOST_TRIALS, TRIALS
from lopsided.studies.search.result import Done, Key, Search, Settings, Trial, metrics_of, or_else
from lopsided.studies.search.space import Space
from lopsided.studies.starts import varied
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

CHECKED = 20
"""At most this number of the best trials is repeated with other seeds."""
_LEAST_CHECKS = 3
_ASKS = 50
"""If Optuna proposes only known trials this number of times in a row, the search space counts as exhausted."""


@dataclass
class Searcher:
    """A search in progress. `result` can be called before the search ends."""

    scenario: Scenario
    space: Space
    goals: tuple[Goal, ...]
    limits: tuple[Limit, ...]
    trials: int
    repeat: int = 1
    batch: int = BATCH
    done: dict[Key, Done] = field(default_factory=dict[Key, Done])
    """Finished runs by settings and seed."""
    workers: int | None = None
    start_jitter_s: float | None = None
    log: Callable[[Mapping[Key, Done]], object] | None = None
    """Called with all finished runs after each batch and at the end, also if the search is interrupted."""

    def __post_init__(self) -> None:
        if self.trials < 1 or self.batch < 1:
            raise UsageError(
                "a search needs at least one trial and a batch of at least one: "
                f"{self.trials} trials, batches of {self.batch}"
            )
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a run {self.repeat} times")
        if self.trials > MOST_TRIALS or self.trials * self.repeat > MOST_RUNS:
            raise UsageError(f"{self.trials:,} trials were requested; at most {MOST_TRIALS:,} are made")
        # The first seeds are for the search, and the remaining seeds for the check of the best trials.
        self._seeds = seeds(self.scenario.seed, self.repeat + max(self.repeat, _LEAST_CHECKS))
        self._found = [Trial(0, {}, {})]
        self._tried: dict[Settings, Trial] = {}
        self._whole = False
        self._optuna = _optuna()

    @property
    def metrics(self) -> list[Metric]:
        return metrics_of(self.goals, self.limits)

    def fingerprint(self) -> str:
        """Returns a hash that identifies the search. The hash does not depend on the number of trials."""
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
        """Raises UsageError if a metric has no value in any trial so far."""
        runs = [trial for trial in self._found if trial.runs]
        for number, metric in enumerate(self.metrics):
            if len(runs) > self.batch // 2 and all(trial.mean(number) is None for trial in runs):
                raise UsageError(f"{metric.text} has no value in any of {len(runs)} trials: choose another metric")

    def _batches(self) -> Iterable[list[Trial]]:
        """Yields batches of trials to simulate. Optuna receives the results of each batch before it proposes the next
        batch."""
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
        """Returns the next new trial; `None` if Optuna proposes no new trial."""
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
            proposal.set_constraint(str(number), limit.excess(or_else(of[limit.metric.text], math.inf)))
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
        """Simulates the runs that are missing, and adds all runs to their trials."""
        wanted = [(trial, seed) for trial in trials for seed in of_seeds]
        missing = [(trial, seed) for trial, seed in wanted if (_key(trial.settings), seed) not in self.done]
        jobs = [Job(self.scenario.with_(**trial.settings), seed) for trial, seed in missing]
        begun = until - max(1, len(trials)) / (self.trials + 1)
        share = part_of(progress, begun, until - begun)

        def reduce(number: int, run: Run) -> Done:
            trial, seed = missing[number]
            found = Done(run.digest, tuple(metric.of_run(run) for metric in self.metrics))
            # Store the run immediately, so that an interrupted search keeps the run.
            self.done[_key(trial.settings), seed] = found
            return found

        divided = Divided(f"search {self.fingerprint()}, {self.trials} trials", goes_on=True)
        measured = run_jobs(jobs, reduce, workers=self.workers, progress=share, divided=divided)
        for (trial, seed), (digest, values) in zip(missing, measured, strict=True):
            self.done[_key(trial.settings), seed] = Done(digest, tuple(values))
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
    """Searches for the best settings: simulates `trials` proposals with `repeat` seeds each.

    `over` maps keys to values: `{"link.up.queue.limit": "5..100 packets", "link.up.queue.kind": "fifo|codel"}`. Metrics
    are, for example, `goodput.download`, `rtt.down` and `sojourn_p95_ms.link.up`. A constraint such as `loss.upload <
    2 %` applies to the mean over the seeds. The result for a seed does not depend on the number of workers.

    Raises UsageError if an argument is invalid, or if Optuna is not installed (`pip install 'lopsided[search]'`).
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
    """Prepares a search. Raises UsageError if an argument is invalid."""
    # Vary the start times even if `repeat` is 1, because the check of the best trials uses several seeds.
    starts = varied([scenario], _LEAST_CHECKS)
    (scenario,) = starts.scenarios
    goals = goals_of(scenario, _listed(maximise), _listed(minimise))
    limits = tuple(Limit.of(text, scenario) for text in _listed(subject_to))
    return Searcher(scenario, Space.of(over, scenario), goals, limits, start_jitter_s=starts.unasked_s, **rest)


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _key(settings: Mapping[str, str]) -> Settings:
    return tuple(sorted(settings.items()))


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
    """Imports Optuna and returns the module. Its type is `Any`, because Optuna has no complete type annotations."""
    try:
        found = importlib.import_module("optuna")
    except ImportError:
        raise UsageError("Optuna is not installed: pip install 'lopsided[search]'") from None
    if int(found.__version__.partition(".")[0]) < 5:
        raise LopsidedError(f"Optuna {found.__version__} is too old: pip install 'lopsided[search]'")
    found.logging.set_verbosity(found.logging.ERROR)
    return found
