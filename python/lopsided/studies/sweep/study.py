"""Runs a sweep.

All arms use the same seeds, so differences between arms are caused only by the settings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data.table import Row
from lopsided.errors import UsageError
from lopsided.studies.jobs import Divided, Progress, repeated, run_jobs
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.starts import varied
from lopsided.studies.sweep.axes import Arm, Axes, Grid
from lopsided.studies.sweep.measures import flow_rows
from lopsided.studies.sweep.result import Sweep

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario


def sweep(
    scenario: Scenario,
    axes: Axes | None = None,
    *,
    repeat: int | None = None,
    start_jitter: str | float | None = None,
    measure: Callable[[Run], Iterable[Mapping[str, Any]]] | None = None,
    metric: str = SWEEP_METRIC,
    world: str = "sim",
    kernel: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Runs every combination of the axes' values and returns one tidy table.

    Parameters
    ----------
    scenario
        The scenario to change.
    axes
        Settings and values: `{"link.up.queue.limit": "5..50:5 packets"}`, a list of values, or dictionaries with a
        `label` and several settings. Default: the scenario's `[sweep]`.
    repeat
        Number of seeds per combination; default: `repeat` in the scenario's `[sweep]`, or 1.
    start_jitter
        Largest random delay of each flow's start if there are several seeds (seconds or text); default: up to 1 s if
        nothing else is random.
    measure
        A function that returns the rows of a run, as mappings; default: `flow_rows`, one row per flow.
    metric
        The metric that sentences, table and report show: a name in `lopsided.studies.sweep.metrics.METRICS` or a
        column.
    world, kernel
        The world to run in: `sim`, `kernel` or `live`. `kernel` is the kernel for the kernel world.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.

    Returns
    -------
    Sweep
        A table with a column per axis, then `repetition`, `seed` and `digest`, then the columns of `measure`. If all
        values of an axis have the same unit, the axis's column contains numbers, and its name ends in the unit.

    Raises
    ------
    UsageError
        If there is nothing to sweep, or no value of an axis changes anything.
    """
    grid = Grid.of(scenario, axes, repeat)
    measure = measure or flow_rows
    runs = [grid.run(number) for number in range(grid.runs)]
    scenarios = [scenario.with_(**settings) for _, settings, repetition in runs if repetition == 0]
    _check_axes(grid.axes, scenarios)
    starts = varied(scenarios, grid.repeat, start_jitter, workers)
    jobs = repeated(starts.scenarios, scenario.seed, grid.repeat)

    def rows(number: int, run: Run) -> list[Row]:
        labels, _, repetition = runs[number]
        key = {**labels, "repetition": repetition, "seed": run.seed, "digest": run.digest}
        return [{**key, **row} for row in measure(run)]

    where = Divided(f"sweep in {world}")
    collected = run_jobs(jobs, rows, world=world, kernel=kernel, workers=workers, progress=progress, divided=where)
    return Sweep(itertools.chain.from_iterable(collected), scenario, starts, metric, world)


def _check_axes(axes: Mapping[str, Sequence[Arm]], scenarios: Sequence[Scenario]) -> None:
    """Raises UsageError if all values of an axis lead to the same scenario. `scenarios` are in the order of the axes'
    Cartesian product."""
    counts = [len(arms) for arms in axes.values()]
    for place, (name, arms) in enumerate(axes.items()):
        if len(arms) < 2:
            continue
        step = math.prod(counts[place + 1 :])
        for start in range(len(scenarios)):
            if (start // step) % len(arms):
                continue
            alike = {scenarios[start + number * step].to_toml() for number in range(len(arms))}
            if len(alike) > 1:
                break
        else:
            raise UsageError(f"the axis {name} has no effect: every value gives the same scenario")
