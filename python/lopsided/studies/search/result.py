"""The result of a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from lopsided.data import units
from lopsided.data.catalogue import Column, Kind, TableSpec
from lopsided.data.table import Table
from lopsided.data.units import counted
from lopsided.data.view import Heading, View, heading, view, words
from lopsided.errors import UsageError
from lopsided.metrics import mean_interval
from lopsided.metrics.confidence import Interval
from lopsided.studies.search.goals import Goal, Limit, Metric
from lopsided.studies.search.space import Space
from lopsided.studies.spread import INTERVAL
from lopsided.studies.starts import varies
from lopsided.studies.study import Block, Drawing, Headline, Source, Study, Terms, digest_of
from lopsided.studies.sweep.axes import axis_column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.scenario import Scenario

FIGURES = {
    "front": "The goals against each other",
    "progress": "The best value by trial",
    "settings": "The first goal against each key",
}
"""Titles of the figures, by kind."""
_BEST, _MOST, _MOST_ROWS = 10, 20, 200
_CHECKED = Heading("other seeds", "mean over seeds that the search did not use")
_AS_IT_STANDS = "unchanged"
_HOW = (
    "All trials use the same seeds, and numbers are means over these seeds. A trial is on the front if no other trial "
    "is better in every goal; limits apply to the means. The best trials ran again with **other seeds**, which the "
    "search did not use, because the best of many trials is partly the best by chance."
)

Settings = tuple[tuple[str, str], ...]


class Done(NamedTuple):
    """A finished run: its digest, and the value of each metric."""

    digest: str
    values: tuple[float | None, ...]


Key = tuple[Settings, int]
"""The settings and the seed of a run."""


@dataclass
class Trial:
    """One combination of settings with its runs."""

    number: int
    labels: Mapping[str, str]
    settings: Mapping[str, str]
    runs: list[Done] = field(default_factory=list[Done])
    checks: list[Done] = field(default_factory=list[Done])
    """Runs with seeds that the search itself did not use."""
    refused: str = ""
    """The reason why the scenario rejects the settings; empty if it accepts them."""

    def interval(self, metric: int, *, checked: bool = False) -> Interval:
        """Returns the metric's mean over the search's seeds, or over the check's seeds if `checked` is true, with its
        95 % interval."""
        return mean_interval(run.values[metric] for run in (self.checks if checked else self.runs))

    def mean(self, metric: int) -> float | None:
        """Returns the metric's mean; `None` if a run has no value."""
        values = [run.values[metric] for run in self.runs]
        if not values or any(value is None for value in values):
            return None
        return self.interval(metric).mean


class Search(Study):
    """The result of a search: `trials`, the `front`, and, if there is only one goal, the `best` trial."""

    kind: ClassVar[str] = "search"
    figures: ClassVar[Mapping[str, str]] = FIGURES
    footer: ClassVar[str] = (
        "`trials.csv` next to this page contains all numbers of the page, and `runs.parquet` contains all runs. Column "
        "names end with the unit. You can run the scenario files of the best trials without changes."
    )

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
        """The requested number of trials."""
        self.repeat = repeat
        self.start_jitter_s = start_jitter_s
        """Each flow starts later by a random time up to this number of seconds; `None` if no such delay was added."""
        self.whole = whole
        """True if every combination was tried."""
        self.baseline, *self.tried = trials
        """`baseline` is the unchanged scenario, and `tried` contains the trials with other settings."""

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of the goals, and then the metrics that only limits use."""
        return metrics_of(self.goals, self.limits)

    @cached_property
    def front(self) -> list[Trial]:
        """The Pareto front of the trials that satisfy all limits, sorted by the first goal."""
        fit = [trial for trial in self.tried if self.keeps(trial)]
        found = [one for one in fit if not any(self._betters(other, one) for other in fit)]
        first = self.goals[0]
        return sorted(found, key=lambda trial: -self.value(trial, 0) if first.maximise else self.value(trial, 0))

    @property
    def best(self) -> Trial | None:
        """The trial with the best value of the first goal among the trials that satisfy all limits; `None` if no trial
        satisfies them."""
        return self.front[0] if self.front else None

    @property
    def nearest(self) -> Trial | None:
        """The trial with the smallest sum of limit violations; `None` if no trial has a value for every metric."""
        known = [trial for trial in self.tried if trial.runs and None not in self.means(trial)]
        return min(known, key=lambda trial: sum(max(0.0, each) for each in self.excesses(trial)), default=None)

    def keeps(self, trial: Trial) -> bool:
        """Returns true if a trial has a value for every metric and satisfies every limit."""
        return bool(trial.runs) and None not in self.means(trial) and all(each <= 0 for each in self.excesses(trial))

    def means(self, trial: Trial) -> list[float | None]:
        """Returns the mean of each metric over the seeds."""
        return [trial.mean(number) for number in range(len(self.metrics))]

    def value(self, trial: Trial, goal: int) -> float:
        """Returns the mean of a goal's metric over the seeds; NaN if the metric has no value."""
        mean = trial.mean(goal)
        return math.nan if mean is None else mean

    def excesses(self, trial: Trial) -> list[float]:
        """Returns the relative violation of each limit."""
        means = dict(zip((metric.text for metric in self.metrics), self.means(trial), strict=True))
        return [limit.excess(or_else(means[limit.metric.text], math.inf)) for limit in self.limits]

    def _betters(self, one: Trial, other: Trial) -> bool:
        pairs = [(goal, self.value(one, number), self.value(other, number)) for number, goal in enumerate(self.goals)]
        if all(a == b for _, a, b in pairs):
            # If two trials have equal values, the earlier trial counts as better.
            return one.number < other.number
        return not any(goal.better(b, a) for goal, a, b in pairs)

    def scenario_of(self, trial: Trial | int) -> Scenario:
        """Returns the scenario of a trial. Raises UsageError if there is no such trial."""
        found = trial if isinstance(trial, Trial) else next((t for t in self.tried if t.number == trial), None)
        if found is None:
            raise UsageError(f"there is no trial {trial}; there are {len(self.tried)}, numbered from 1")
        return self.scenario.with_(**found.settings)

    @cached_property
    def trials(self) -> Table:
        """One row per trial: settings, means with the half-widths of their 95 % intervals, means over the check's
        seeds, and whether the trial satisfies the limits and is on the front."""
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
        return Table.of(rows, self.spec())

    def spec(self) -> TableSpec:
        settings = [_setting(key, name, values.values()) for key, (name, values) in self._setting_columns().items()]
        measured = [
            each
            for column in (metric.stored for metric in self.metrics)
            for each in (
                column,
                Column(f"{column.name}_ci95", column.unit, "95 %", "Half width of the mean's 95 % interval."),
                Column(f"{column.name}_checked", column.unit, "other seeds", "Mean over seeds not used by the search."),
            )
        ]
        marks = [
            Column("keeps", "text", "keeps", "True if the trial keeps the limits.", "text"),
            Column("front", "text", "front", "True if no other trial is better in every goal.", "text"),
            Column("refused", "text", "refused", "Reason why the scenario rejects the settings.", "text"),
        ]
        return TableSpec(
            "trials",
            "One row for each trial of a search.",
            (Column("trial", "label", "trial", "The trial's number, from 1.", "integer"), *settings, *measured, *marks),
        )

    def _setting_columns(self) -> dict[str, tuple[str, dict[str, float | int | str]]]:
        """Returns the name of each key's column, and the column's entry for each value of the key."""
        found: dict[str, tuple[str, dict[str, float | int | str]]] = {}
        for key in self.space.keys:
            labels = list(dict.fromkeys(trial.labels[key.key] for trial in self.tried if key.key in trial.labels))
            found[key.key] = axis_column(key.key, labels) if labels else (key.key, {})
        return found

    @property
    def digest(self) -> str:
        digests = [run.digest for trial in (self.baseline, *self.tried) for run in (*trial.runs, *trial.checks)]
        return digest_of(digests)

    @property
    def title(self) -> str:
        return self.scenario.heading

    @property
    def details(self) -> str:
        several = "every combination" if self.whole else counted(len(self.tried), "trial")
        return f"sim · {several} · {counted(self.repeat, 'seed')} each · digest of all {self.digest}"

    def conclusions(self) -> list[str]:
        return answer(self)

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("wanted", ", ".join(map(str, self.goals))),
            ("where", ", ".join(map(str, self.limits)) or "no limits"),
            ("trials", f"{units.count(len(self.tried))} of {units.count(self.asked)}"),
            ("proposed by", "every combination in turn" if self.whole else "Optuna's TPE sampler"),
            ("simulated", f"{units.seconds(self.scenario.duration_s)} in each run"),
            ("seeds", f"{self.repeat} from {self.scenario.seed}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {
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

    def results(self) -> dict[str, Any]:
        return {"trials": list(self.trials.rows()), "best": [str(name) for name in self.best_files()]}

    def files(self) -> Mapping[str, Table | str]:
        scenarios = {name: self.scenario_of(number).to_toml() for name, number in self.best_files().items()}
        tables = {"trials.csv": self.trials, "trials.parquet": self.trials}
        return {"scenario.toml": self.scenario.to_toml(), **tables, **scenarios}

    def best_files(self) -> dict[str, int]:
        """Returns the numbers of the trials to save, by file name. With one goal, only the best trial is saved,
        otherwise the whole front."""
        if len(self.goals) == 1:
            return {} if self.best is None else {"best.toml": self.best.number}
        digits = len(str(len(self.tried)))
        return {f"front/trial-{trial.number:0{digits}}.toml": trial.number for trial in self.front}

    def drawn(self) -> Iterable[str]:
        return ["front" if len(self.goals) > 1 else "progress", "settings"]

    def plot(self, kind: str = "") -> Figure:
        """Plots `front` (goals against each other), `progress` (best value over trials) or `settings` (first goal over
        each key).

        The default is `front` for several goals, else `progress`. Raises UsageError if no trial has a value.
        """
        return super().plot(kind or ("front" if len(self.goals) > 1 else "progress"))

    def shown(self) -> Iterable[Block]:
        yield best(self)

    def page(self) -> Iterable[Block]:
        yield Headline("Best trials")
        yield best(self)
        yield from (Drawing(kind, self.figures[kind]) for kind in self.drawn())
        yield Headline("Searched keys")
        yield Terms([(key.key, key.told) for key in self.space.keys])
        yield Headline("Settings of the search")
        yield _HOW
        yield Headline("All trials")
        yield view(self.trials, keys=1 + len(self.space.keys), most=_MOST_ROWS, where=" in trials.csv")
        yield Headline("Scenario")
        yield Source("scenario.toml with all defaults", self.scenario.to_toml())

    def __repr__(self) -> str:
        return f"Search({len(self.tried)} trials, {len(self.front)} on the front, digest {self.digest})"


def answer(found: Search) -> list[str]:
    wanted = f"Goals: {' and '.join(map(str, found.goals))}{_under(found)}."
    said: list[str] = []
    if found.best is None:
        return [*_none(found), wanted]
    if len(found.goals) > 1 and len(found.front) == 1:
        shown = [_shown(found, found.best, number) for number in range(len(found.goals))]
        said.append(f"One of {_kept(found)} is best in every goal: {settings(found.best)}, with {', '.join(shown)}.")
    elif len(found.goals) > 1:
        for number, goal in enumerate(found.goals):
            best = (max if goal.maximise else min)(found.front, key=lambda trial: found.value(trial, number))
            metric, value = found.metrics[number], found.metrics[number].shown(best.mean(number))
            said.append(f"{metric.text} is {'highest' if goal.maximise else 'lowest'}, {value}, with {settings(best)}.")
        front = f"{len(found.front)} of {_kept(found)} are on the Pareto front"
        said.append(f"{front}: no trial on the front is worse than another in every goal.")
    else:
        said.append(f"Best of {_kept(found)}: {settings(found.best)}, with {_shown(found, found.best, 0)}.")
    stand = [_shown(found, found.baseline, number) for number in range(len(found.metrics))]
    kept = "" if found.keeps(found.baseline) or not found.limits else ", beyond the limits"
    said.append(f"The unchanged scenario has {', '.join(stand)}{kept}.")
    return [*said, *_doubts(found), *varies(found.start_jitter_s), wanted]


def settings(trial: Trial) -> str:
    """Returns a trial's settings as text."""
    return ", ".join(f"{key} {label}" for key, label in trial.labels.items())


def best(found: Search) -> View:
    """Returns a table of the unchanged scenario and the best trials. With several goals, the best trials are the
    front."""
    trials = found.front[:_MOST]
    more = f"and {len(found.front) - _MOST} more on the front" if len(found.front) > _MOST else ""
    if len(found.goals) == 1:
        trials, more = ranked(found)[:_BEST], ""
    if not trials and found.nearest is not None:
        trials, more = [found.nearest], "no trial keeps the limits; this one exceeds them least"
    return _table(found, [found.baseline, *trials], more)


def ranked(found: Search) -> list[Trial]:
    """Returns the trials that satisfy the limits, sorted by the first goal."""
    sign = -1 if found.goals[0].maximise else 1
    return sorted((t for t in found.tried if found.keeps(t)), key=lambda t: (sign * found.value(t, 0), t.number))


def _table(found: Search, trials: Sequence[Trial], more: str) -> View:
    keys = [key.key for key in found.space.keys if any(key.key in trial.labels for trial in trials)]
    checked, goals = any(trial.checks for trial in trials), [goal.metric.text for goal in found.goals]
    headings = [Heading("trial"), *words(*keys)]
    for metric in found.metrics:
        headings += [heading(metric.stored), *([INTERVAL] if found.repeat > 1 else [])]
        headings += [_CHECKED] if checked and metric.text in goals else []
    rows = [
        [
            str(trial.number) if trial.number else _AS_IT_STANDS,
            *(trial.labels.get(key, "" if trial.number == 0 else "–") for key in keys),
            *(
                cell
                for number in range(len(found.metrics))
                for cell in _cells(found, trial, number, checked=checked and number < len(goals))
            ),
        ]
        for trial in trials
    ]
    seeds = f"means over {found.repeat} seeds, ±: 95 % interval" if found.repeat > 1 else "one seed"
    other = f"other seeds: the mean over {_checks(found)} that the search did not use" if checked else ""
    return View(headings, rows, keys=1 + len(keys), caption="; ".join(part for part in (seeds, other, more) if part))


def _cells(found: Search, trial: Trial, number: int, *, checked: bool) -> list[str]:
    metric, spread = found.metrics[number], trial.interval(number)
    cells = [metric.shown(trial.mean(number))]
    if found.repeat > 1:
        cells.append(f"± {metric.shown(spread.half_width)}" if spread.of > 1 else "–")
    if checked:
        again = trial.interval(number, checked=True)
        cells.append(metric.shown(again.mean) if again.of else "–")
    return cells


def _checks(found: Search) -> int:
    return max((len(trial.checks) for trial in found.tried), default=0)


def _shown(found: Search, trial: Trial, number: int) -> str:
    metric = found.metrics[number]
    return f"{metric.text} {metric.shown(trial.mean(number))}"


def _under(found: Search) -> str:
    return f", with the limits {' and '.join(map(str, found.limits))}" if found.limits else ""


def _trials(count: int) -> str:
    return counted(count, "trial")


def _kept(found: Search) -> str:
    if not found.limits:
        return _trials(len(found.tried))
    kept = sum(found.keeps(trial) for trial in found.tried)
    return f"{units.count(kept)} that keep{'s' if kept == 1 else ''} the limits (of {_trials(len(found.tried))})"


def _none(found: Search) -> list[str]:
    if found.nearest is None:
        return [f"No trial of {_trials(len(found.tried))} has a value to compare."]
    if not found.limits:
        return [f"None of {_trials(len(found.tried))} has a value for each goal."]
    numbers = {metric.text: number for number, metric in enumerate(found.metrics)}
    broken = [
        f"{_shown(found, found.nearest, numbers[limit.metric.text])} (limit: {limit})"
        for limit, excess in zip(found.limits, found.excesses(found.nearest), strict=True)
        if excess > 0
    ]
    return [f"None of {_trials(len(found.tried))} keeps the limits. The nearest, {settings(found.nearest)}, has "
            f"{' and '.join(broken)}."]  # fmt: skip


def _doubts(found: Search) -> list[str]:
    """Returns the verdict's warnings, for example about trials that the scenario rejected."""
    said: list[str] = []
    refused = sum(bool(trial.refused) for trial in found.tried)
    if refused:
        said.append(f"{_trials(refused)} {'was' if refused == 1 else 'were'} rejected by the scenario and not run.")
    if len(found.tried) < found.asked and not found.whole:
        said.append(f"These are the first of {found.asked} requested trials; repeat the command to continue.")
    if found.best is not None and (edges := _edges(found, found.best)):
        said.append(f"At an end of its range: {', '.join(edges)}; values beyond the range may be better.")
    if broken := [trial for trial in found.front if trial.checks and not _keeps_checked(found, trial)]:
        which = "The best does" if len(found.front) == 1 else f"{units.count(len(broken))} of the front do"
        said.append(
            f"{which} not keep the limits with other seeds: the result depends on chance, or is too close to the "
            "limits."
        )
    return said


def _edges(found: Search, trial: Trial) -> list[str]:
    return [
        f"{key.key} {trial.labels[key.key]}"
        for key in found.space.keys
        if key.key in trial.labels and trial.labels[key.key] in key.ends
    ]


def _keeps_checked(found: Search, trial: Trial) -> bool:
    means = {metric.text: trial.interval(n, checked=True).mean for n, metric in enumerate(found.metrics)}
    return all(limit.kept(means[limit.metric.text]) for limit in found.limits)


def _setting(key: str, name: str, values: Iterable[float | int | str]) -> Column:
    types = {type(value) for value in values}
    kind: Kind = "text" if str in types or not types else "float" if float in types else "integer"
    return Column(name, "text" if kind == "text" else "label", key, "A searched key.", kind)


def metrics_of(goals: Sequence[Goal], limits: Sequence[Limit]) -> list[Metric]:
    """Returns the metrics of the goals, and then the metrics that only limits use."""
    found = {each.metric.text: each.metric for each in (*goals, *limits)}
    return list(found.values())


def or_else(value: float | None, other: float) -> float:
    return other if value is None else value
