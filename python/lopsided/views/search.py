"""A search as people see it: the answer in sentences, and the best trials as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.view import Heading, View, heading
from lopsided.studies.starts import varies

if TYPE_CHECKING:
    from lopsided.studies.search import Search, Trial

_BEST = 10
_MOST = 20
_INTERVAL = Heading("95 %", "how far the mean's 95 % interval reaches to each side (Student's t over the seeds)")
_CHECKED = Heading("other seeds", "mean over seeds that the search has not seen")
_AS_IT_STANDS = "as it stands"


def title(found: Search) -> str:
    """What was searched, in a line."""
    return found.scenario.title or found.scenario.name


def details(found: Search) -> str:
    """How it came about."""
    seeds = f"{units.count(found.repeat)} seed{'s' if found.repeat > 1 else ''} each"
    several = "every combination" if found.whole else _trials(len(found.tried))
    return f"sim · {several} · {seeds} · digest of all {found.digest}"


def answer(found: Search) -> list[str]:
    """What came out, in sentences."""
    wanted = f"Wanted: {' and '.join(map(str, found.goals))}{_under(found)}."
    said: list[str] = []
    if found.best is None:
        return [*_none(found), wanted]
    if len(found.goals) > 1 and len(found.front) == 1:
        shown = [_shown(found, found.best, number) for number in range(len(found.goals))]
        said.append(f"One of {_kept(found)} is best in all: {settings(found.best)}, with {', '.join(shown)}.")
    elif len(found.goals) > 1:
        for number, goal in enumerate(found.goals):
            best = (max if goal.maximise else min)(found.front, key=lambda trial: found.value(trial, number))
            metric, value = found.metrics[number], found.metrics[number].shown(best.mean(number))
            said.append(f"{'Most' if goal.maximise else 'Least'} {metric.text}, {value}, comes with {settings(best)}.")
        front = f"{len(found.front)} of {_kept(found)} are on the Pareto front"
        said.append(f"{front}: none betters another in every goal.")
    else:
        said.append(f"Best of {_kept(found)}: {settings(found.best)}, with {_shown(found, found.best, 0)}.")
    stand = [_shown(found, found.baseline, number) for number in range(len(found.metrics))]
    kept = "" if found.keeps(found.baseline) or not found.limits else ", beyond the limits"
    said.append(f"As it stands the scenario has {', '.join(stand)}{kept}.")
    return [*said, *_doubts(found), *varies(found.start_jitter_s), wanted]


def settings(trial: Trial) -> str:
    """The settings of a trial, as a sentence has them."""
    return ", ".join(f"{key} {label}" for key, label in trial.labels.items())


def best(found: Search) -> View:
    """The scenario as it stands and the front; of one goal the best trials."""
    trials = found.front[:_MOST]
    more = f"and {len(found.front) - _MOST} more on the front" if len(found.front) > _MOST else ""
    if len(found.goals) == 1:
        trials, more = ranked(found)[:_BEST], ""
    if not trials and found.nearest is not None:
        trials, more = [found.nearest], "no trial keeps the limits; this one breaks them least"
    return _table(found, [found.baseline, *trials], more)


def ranked(found: Search) -> list[Trial]:
    """The trials that keep the limits, by the first goal, the best first."""
    sign = -1 if found.goals[0].maximise else 1
    return sorted((t for t in found.tried if found.keeps(t)), key=lambda t: (sign * found.value(t, 0), t.number))


def _table(found: Search, trials: Sequence[Trial], more: str) -> View:
    keys = [key.key for key in found.space.keys if any(key.key in trial.labels for trial in trials)]
    checked, goals = any(trial.checks for trial in trials), [goal.metric.text for goal in found.goals]
    headings = [Heading("trial"), *(Heading(key, numeric=False) for key in keys)]
    for metric in found.metrics:
        headings += [heading(metric.stored), *([_INTERVAL] if found.repeat > 1 else [])]
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
    other = f"other seeds: the mean over {_checks(found)} that the search has not seen" if checked else ""
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
    return f", where {' and '.join(map(str, found.limits))}" if found.limits else ""


def _trials(count: int) -> str:
    return f"{units.count(count)} trial{'s' if count != 1 else ''}"


def _kept(found: Search) -> str:
    if not found.limits:
        return _trials(len(found.tried))
    kept = sum(found.keeps(trial) for trial in found.tried)
    return f"{units.count(kept)} that keep{'s' if kept == 1 else ''} the limits (of {_trials(len(found.tried))})"


def _none(found: Search) -> list[str]:
    if found.nearest is None:
        return [f"None of {_trials(len(found.tried))} has a value to compare."]
    if not found.limits:
        return [f"None of {_trials(len(found.tried))} has a value for each goal."]
    numbers = {metric.text: number for number, metric in enumerate(found.metrics)}
    broken = [
        f"{_shown(found, found.nearest, numbers[limit.metric.text])}, where {limit} is wanted"
        for limit, excess in zip(found.limits, found.excesses(found.nearest), strict=True)
        if excess > 0
    ]
    return [f"None of {_trials(len(found.tried))} keeps the limits. The nearest, {settings(found.nearest)}, has "
            f"{' and '.join(broken)}."]  # fmt: skip


def _doubts(found: Search) -> list[str]:
    """What speaks against taking the answer as it is."""
    said: list[str] = []
    refused = sum(bool(trial.refused) for trial in found.tried)
    if refused:
        said.append(f"{_trials(refused)} {'was' if refused == 1 else 'were'} refused by the scenario, and not run.")
    if len(found.tried) < found.asked and not found.whole:
        said.append(f"Of {found.asked} trials that were asked for these are the first; the same command goes on.")
    if found.best is not None and (edges := _edges(found, found.best)):
        said.append(f"At an end of its range: {', '.join(edges)}; there may be better beyond.")
    if broken := [trial for trial in found.front if trial.checks and not _keeps_checked(found, trial)]:
        which = "The best does" if len(found.front) == 1 else f"{units.count(len(broken))} of the front do"
        said.append(f"{which} not keep the limits with other seeds: it is luck, or too near to them.")
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
