"""Compares one scenario in several worlds, several runs, or two congestion controls.

    compare(scenario, ("sim", "kernel"))                        # two worlds
    compare_arms(arms_against(scenario, "Gentle", "reno"))      # a user-defined congestion control, and a built-in one
    compare_runs({"before": [Run.load("runs/a")], "after": [Run.load("runs/b")]})

Runs are paired: repetition k starts its flows at the same times in every world. Different start times therefore cannot
cause a difference. The last world is the reference. The error of a quantity is the error of its median. The spread is
the range of the errors of single pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series
from lopsided.data.table import number
from lopsided.errors import UsageError
from lopsided.settings import dotted_key
from lopsided.studies.arms import Arm, check_names, check_worlds, in_worlds, kernel_in, run_each
from lopsided.studies.compare.result import QUANTITIES, TOLERANCES, Comparison, Key, Row, Window
from lopsided.studies.jobs import Progress, run_repeated
from lopsided.studies.options import COMPARED_RUNS, COMPARED_WORLDS
from lopsided.studies.starts import varied

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario


def compare(
    scenario: Scenario,
    worlds: Sequence[str] = COMPARED_WORLDS,
    *,
    repeat: int = COMPARED_RUNS,
    seed: int | None = None,
    kernel: str | None = None,
    ours: Iterable[str] = (),
    tolerances: Mapping[str, float] = TOLERANCES,
    window: Window | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs the scenario in each world, and compares each world with the last one (see `compare_arms`).

    In the live world, the hosts in `ours` run the simulator's stacks. Raises UsageError if `ours` is given and the live
    world is not compared.
    """
    arms = in_worlds(scenario, worlds, ours)
    return compare_arms(
        arms, repeat=repeat, seed=seed, kernel=kernel, tolerances=tolerances, window=window, progress=progress
    )


def compare_arms(
    arms: Sequence[Arm],
    *,
    repeat: int = COMPARED_RUNS,
    seed: int | None = None,
    kernel: str | None = None,
    tolerances: Mapping[str, float] = TOLERANCES,
    window: Window | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs each arm `repeat` times and compares it with the last arm. Flows are matched by name.

    `window` is a start and an end in seconds. All values cover only this period.
    """
    _check_quantities(tolerances)
    check_names([arm.name for arm in arms])
    check_worlds(arms, kernel)
    starts = varied([arm.scenario for arm in arms], repeat)
    arms = [replace(arm, scenario=each) for arm, each in zip(arms, starts.scenarios, strict=True)]

    def run(arm: Arm, part: Progress | None) -> list[Run]:
        its = kernel_in(arm.world, [each.world for each in arms], kernel)
        return run_repeated(arm.scenario, repeat, seed=seed, world=arm.world, kernel=its, ours=arm.ours, progress=part)

    found = compare_runs(run_each(arms, run, progress), tolerances=tolerances, window=window)
    return replace(found, start_jitter_s=starts.unasked_s)


def compare_runs(
    runs: Mapping[str, Sequence[Run]],
    *,
    tolerances: Mapping[str, float] = TOLERANCES,
    window: Window | None = None,
) -> Comparison:
    """Compares each named group of saved runs with the last group. All groups have the same number of runs. Runs at the
    same position form a pair."""
    check_names(list(runs))
    _check_quantities(tolerances)
    measured = {name: [measure(run, window) for run in found] for name, found in runs.items()}
    keys = list(dict.fromkeys(key for found in measured.values() for each in found for key in each))
    rows = [
        Row(
            what,
            quantity,
            {name: tuple(each.get((what, quantity), math.nan) for each in found) for name, found in measured.items()},
            tolerances.get(quantity),
        )
        for what, quantity in keys
    ]
    examples = {name: found[0] for name, found in runs.items()}
    return Comparison(next(reversed(examples.values())).scenario, tuple(runs), tuple(rows), examples)


def arms_against(
    scenario: Scenario, controller: str, against: str | None = None, worlds: Sequence[str] = ("sim",)
) -> list[Arm]:
    """Returns an arm with the user's congestion control in the simulator, and one arm per world with the other
    congestion control.

    The user's congestion control runs in the flows that name it. If no flow names this congestion control, it runs in
    all flows. In the other arms, these flows run `against`, by default the congestion control that they name in the
    scenario. Raises UsageError if there is no TCP flow, or if `against` is missing and the flows name no other
    congestion control.
    """
    # Expand each `count`, so that every flow has its own name.
    plain = scenario.build(scenario.to_tables(), scenario.name, controllers=scenario.controllers)
    flows = {
        flow["name"]: flow["sender_stack"]["cc"] for flow in plain.resolved["flows"] if flow["app"]["kind"] != "udp"
    }
    named = [name for name, cc in flows.items() if cc == controller]
    taken = named or list(flows)
    if against is None and named:
        raise UsageError(f"name the control to compare {controller} with, for example --against reno")
    if not taken:
        raise UsageError("the scenario has no flow over TCP")

    def with_control(control: str) -> Scenario:
        ends = ("sender_stack", "receiver_stack")
        return plain.with_(**{dotted_key("flow", name, end, "cc"): control for name in taken for end in ends})

    other = plain if against is None else with_control(against)
    what = against or " and ".join(dict.fromkeys(flows[name] for name in taken))
    names = {world: what if world == "sim" else f"{what} in {world}" for world in worlds}
    return [Arm(controller, with_control(controller), "sim"), *(Arm(names[world], other, world) for world in worlds)]


def _check_quantities(tolerances: Mapping[str, float]) -> None:
    if unknown := set(tolerances) - set(QUANTITIES):
        raise UsageError(f"no quantity called {sorted(unknown)[0]!r}; there are {', '.join(QUANTITIES)}")


def measure(run: Run, window: Window | None = None) -> dict[Key, float]:
    """Returns the compared metrics of one run, per flow and per link direction with a queue."""
    return _summaries(run) if window is None else _within(run, window)


def _summaries(run: Run) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for flow in run.flows.rows():
        for quantity in ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "rtt_std_ms", "retransmits"):
            found[flow["name"], quantity] = number(flow[quantity])
    for link in run.links.rows():
        if link["rate_bps"]:
            for quantity in ("dropped_packets", "mean_backlog_packets"):
                found[f"{link['link']} {link['direction']}", quantity] = number(link[quantity])
    return found


def _within(run: Run, window: Window) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for name in run.scenario.flow_names:
        found[name, "goodput_bps"] = series.goodput_between(run, name, *window)
        mean, std = _round_trips(run, name, window)
        found[name, "rtt_mean_ms"], found[name, "rtt_std_ms"] = mean, std
        found[name, "retransmits"] = _growth(series.flow_column(run, name, "retransmits"), window)
    for link in run.links.rows():
        if link["rate_bps"]:
            place = (link["link"], link["direction"])
            drops = series.queue_column(run, *place, "dropped_packets")
            backlog = series.queue_column(run, *place, "backlog_packets")
            found[" ".join(place), "dropped_packets"] = _growth(drops, window)
            inside = backlog.value[(backlog.time_s > window[0]) & (backlog.time_s <= window[1])]
            found[" ".join(place), "mean_backlog_packets"] = float(np.mean(inside)) if len(inside) else math.nan
    return found


def _round_trips(run: Run, flow: str, window: Window) -> tuple[float, float]:
    """Returns the mean and standard deviation of the RTT within `window`."""

    curves = (series.flow_column(run, flow, name) for name in ("rtt_count", "rtt_sum_ms", "rtt_sumsq_ms2"))
    count, total, squares = (curve.total(*window) for curve in curves)
    if not count:
        return math.nan, math.nan
    return total / count, math.sqrt(max(0.0, squares / count - (total / count) ** 2))


def _growth(counter: series.Series, window: Window) -> float:
    return counter.growth(*window) if len(counter.time_s) else math.nan
