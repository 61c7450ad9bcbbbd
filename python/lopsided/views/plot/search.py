"""Draws the figures of a search: the Pareto front, the first goal over the trials, and the first goal over each key."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from lopsided.errors import UsageError
from lopsided.studies.search.result import ranked
from lopsided.studies.search.space import Choice, Range
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.studies.search import Metric, Search, Trial

_MOST_NAMED = 12
_MOST_KEYS = 8
_FOUND, _KEPT, _BROKEN = style.UP[0], style.DOWN[0], style.MUTED


def draw(found: Search, kind: str) -> Figure:
    """Draws the figure `kind`, one of `Search.figures`. Raises UsageError if no trial has a value for each goal."""
    if not any(_valued(found, trial) for trial in found.tried):
        raise UsageError("nothing to plot: no trial has a value for each goal")
    if kind == "front":
        if len(found.goals) < 2:
            raise UsageError("a search with one goal has no front: draw its progress or its settings")
        return _front(found)
    return _progress(found) if kind == "progress" else _settings(found)


def _front(found: Search) -> Figure:
    pairs = list(itertools.combinations(range(len(found.goals)), 2))[:6]
    names = [
        f"{found.goals[y].metric.text} by {found.goals[x].metric.text}" if len(pairs) > 1 else "" for y, x in pairs
    ]
    height = 3.3 if len(pairs) == 1 else 2.2
    if len(pairs) == 1:
        sheet = style.sheet("Pareto front", found.scenario.heading, (height,), "")
        figure, panels = sheet.figure, sheet.panels
    else:
        figure, panels = style.small_panels("Pareto front", found.scenario.heading, names, 2, height)
    for (y, x), panel in zip(pairs, panels, strict=True):
        _cloud(found, panel, x, y)
    stands = "cross: the unchanged scenario; number: the trial"
    beyond = "; grey: beyond the limits" if found.limits else ""
    style.small_print(figure, f"{_seeds(found)}; {stands}{beyond}", f"digest of all runs {found.digest}")
    return figure


def _cloud(found: Search, panel: Axes, x: int, y: int) -> None:
    """Plots every trial by its values of two goals, and the Pareto front as a line."""
    scale_x, label_x = _scale(found, x)
    scale_y, label_y = _scale(found, y)

    def place(trial: Trial) -> tuple[float, float]:
        return found.value(trial, x) / scale_x, found.value(trial, y) / scale_y

    for trials, ink, fill in _groups(found, found.front):
        if trials:
            points = np.array([place(trial) for trial in trials])
            panel.plot(points[:, 0], points[:, 1], "o", color=ink, markersize=3.5, fillstyle=fill, alpha=0.7)
    if found.front:
        best = sorted(map(place, found.front))
        line = "-o" if len(found.goals) == 2 else "o"
        panel.plot([p[0] for p in best], [p[1] for p in best], line, color=_FOUND, markersize=5, linewidth=1.2)
        for trial in _spread(found.front):
            panel.annotate(
                str(trial.number), place(trial), xytext=(5, 5), textcoords="offset points", fontsize=7.5, color=_FOUND
            )
    if _valued(found, found.baseline):
        panel.plot(*place(found.baseline), "x", color=style.INK, markersize=8, markeredgewidth=2)
    panel.margins(0.06)
    panel.set_xlabel(_arrow(found, x, label_x))
    panel.set_ylabel(_arrow(found, y, label_y))


def _progress(found: Search) -> Figure:
    scale, label = _scale(found, 0)
    sheet = style.sheet("Progress of the search", found.scenario.heading, (2.9,), "trial")
    (panel,) = sheet.panels
    for trials, ink, fill in _groups(found):
        values = [found.value(trial, 0) / scale for trial in trials]
        panel.plot([t.number for t in trials], values, "o", color=ink, markersize=3.5, fillstyle=fill)
    best: list[tuple[int, float]] = []
    for trial in (t for t in found.tried if found.keeps(t)):
        value = found.value(trial, 0) / scale
        if not best or found.goals[0].better(value, best[-1][1]):
            best.append((trial.number, value))
    labels: list[style.EndLabel] = []
    if best:
        last = found.tried[-1].number
        panel.step([n for n, _ in [*best, (last, 0.0)]], [v for _, v in [*best, best[-1]]], where="post", color=_FOUND)
        labels.append((best[-1][1], "best so far", _FOUND))
    if _valued(found, found.baseline):
        stands = found.value(found.baseline, 0) / scale
        panel.axhline(stands, color=style.INK, linewidth=1, linestyle=(0, (4, 2)))
        labels.append((stands, "unchanged", style.INK))
    panel.margins(0.03, 0.08)
    panel.set_ylabel(label)
    style.end_labels(panel, labels)
    beyond = "; grey: beyond the limits" if found.limits else ""
    style.small_print(sheet.figure, f"{_seeds(found)}{beyond}", f"digest of all runs {found.digest}")
    return sheet.figure


def _settings(found: Search) -> Figure:
    """Draws one panel per key: the value of the first goal over the values of the key."""
    scale, label = _scale(found, 0)
    keys = [key for key in found.space.keys if any(key.key in trial.labels for trial in found.tried)][:_MOST_KEYS]
    columns = 1 if len(keys) == 1 else 2
    names = [f"{label} by {key.key}{_unit(key)}" for key in keys]
    figure, panels = style.small_panels(found.figures["settings"], found.scenario.heading, names, columns, 1.7)
    for key, panel in zip(keys, panels, strict=True):
        for trials, ink, fill in (*_groups(found, found.front), (found.front, _FOUND, "full")):
            known = [trial for trial in trials if key.key in trial.labels]
            if known:
                xs = [float(key.parameter(trial.labels[key.key]) if not isinstance(key, Choice) else
                            key.labels.index(trial.labels[key.key])) for trial in known]  # fmt: skip
                if not isinstance(key, Choice) and key.step is not None:
                    xs = [key.first + x * key.step for x in xs]
                ys = [found.value(trial, 0) / scale for trial in known]
                panel.plot(xs, ys, "o", color=ink, markersize=3.5, fillstyle=fill)
        if isinstance(key, Choice):
            panel.set_xticks(range(len(key.labels)), [_short(name) for name in key.labels])
            panel.set_xlim(-0.4, len(key.labels) - 0.6)
        else:
            panel.margins(0.04)
            if key.log:
                panel.set_xscale("log")
    beyond = ", grey: beyond the limits" if found.limits else ""
    best = "best" if len(found.goals) == 1 else "on the front"
    style.small_print(figure, f"{_seeds(found)}; orange: {best}{beyond}", f"digest of all runs {found.digest}")
    return figure


def _groups(found: Search, front: Sequence[Trial] = ()) -> tuple[tuple[list[Trial], str, Literal["none", "full"]], ...]:
    """Returns two groups of trials, each with its colour and marker style: the trials that violate a limit, and the
    other trials that are not in `front`."""
    drawn = {trial.number for trial in front}
    broken = [trial for trial in found.tried if _valued(found, trial) and not found.keeps(trial)]
    kept = [trial for trial in found.tried if found.keeps(trial) and trial.number not in drawn]
    return (broken, _BROKEN, "none"), (kept, _KEPT, "full")


def _valued(found: Search, trial: Trial) -> bool:
    return bool(trial.runs) and all(trial.mean(number) is not None for number in range(len(found.goals)))


def _scale(found: Search, goal: int) -> tuple[float, str]:
    """Returns the number by which a goal's values are divided for the axis, and the axis label."""
    metric: Metric = found.goals[goal].metric
    values = [found.value(trial, goal) for trial in (found.baseline, *found.tried) if _valued(found, trial)]
    if metric.unit == "bps":
        scale, unit = style.rate_unit(max(values, default=0.0))
        return scale, f"{metric.text} ({unit})"
    scale, unit = {"share": (0.01, "%"), "bytes": (1e3, "kB"), "ms": (1.0, "ms"), "s": (1.0, "s")}.get(
        metric.unit, (1.0, "")
    )
    return scale, f"{metric.text} ({unit})" if unit else metric.text


def _arrow(found: Search, goal: int, label: str) -> str:
    return f"{label}, {'more' if found.goals[goal].maximise else 'less'} is better"


def _spread(front: list[Trial]) -> list[Trial]:
    """Returns the trials on the Pareto front whose numbers are printed: at most `_MOST_NAMED`, evenly spread."""
    if len(front) <= _MOST_NAMED:
        return front
    places = np.unique(np.linspace(0, len(front) - 1, _MOST_NAMED).round().astype(int))
    return [front[place] for place in places]


def _unit(key: Choice | Range) -> str:
    return f" ({key.unit})" if isinstance(key, Range) and key.unit else ""


def _short(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:13]}…"


def _seeds(found: Search) -> str:
    kept = len(ranked(found))
    seeds = f"means of {found.repeat} seeds" if found.repeat > 1 else "one seed"
    return f"{len(found.tried)} trials, {kept} within the limits, {seeds}" if found.limits else (
        f"{len(found.tried)} trials, {seeds}"
    )  # fmt: skip
