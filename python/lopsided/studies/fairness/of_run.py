"""Measures the fairness of any run: goodput, fair rate and harm per group of flows.

Flows with the same `group` are measured together. The copies that `count` creates also form a group. A flow's fair rate
is its max-min share of the links that its data crosses. ACKs are not counted. Harm is relative to the same run without
the other groups. A flow is assumed to send all the time, even if its application pauses or ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided import metrics
from lopsided.data import series
from lopsided.data.fairness import Fairness
from lopsided.data.study_tables import GROUPS
from lopsided.data.table import Table, number
from lopsided.errors import UsageError
from lopsided.studies.fairness.means import Means, harms, known, means, share_window_s, shares
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario


@dataclass(frozen=True)
class Asked:
    """The settings of a fairness measurement. The fields have the names of the keys in a scenario's `[fairness]`."""

    warmup_s: float | None = None
    within: float = 0.2
    hold_s: float = 5.0
    harm: bool = True


def asked_of(scenario: Scenario, **changes: Any) -> Asked:
    """Returns the scenario's `[fairness]` settings or the defaults, with the given changes."""
    said = scenario.resolved["fairness"]
    asked = Asked(**said) if said else Asked()
    return replace(asked, **{name: value for name, value in changes.items() if value is not None})


def of_run(
    run: Run,
    *,
    warmup_s: float | None = None,
    within: float | None = None,
    hold_s: float | None = None,
    harm: bool | None = None,
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Fairness:
    """Measures the fairness between a run's groups.

    If an argument is `None`, the value in the scenario's `[fairness]` applies, or else the default. Raises UsageError
    if the run has no samples, or if the warm-up leaves no time in which all flows are active.
    """
    asked = asked_of(run.scenario, warmup_s=warmup_s, within=within, hold_s=hold_s, harm=harm)
    if len(run.samples) == 0:
        raise UsageError("fairness needs samples, and this run has none: set [record] interval")
    begin, stop = series.both_active(run)
    start = begin + ((stop - begin) / 3 if asked.warmup_s is None else asked.warmup_s)
    if start >= stop:
        raise UsageError(
            f"a warm-up of {start - begin:g} s leaves nothing of the {stop - begin:g} s in which all flows are active"
        )
    names = run.flows.values("name")
    goodput = np.array([series.goodput_between(run, name, start, stop) for name in names])
    fair = fair_rates(run.scenario)
    bounded = bool(np.isfinite(fair).all())
    rtt_s = max((float(value) for value in run.flows.values("rtt_mean_ms") if value is not None), default=0.0) / 1e3
    window_s = share_window_s(rtt_s, run.scenario.interval_s or 0.0)

    def converged(target: Any) -> float | None:
        time, share = shares(run, [[name] for name in names], begin, window_s)
        return metrics.convergence_time_s(time, share, target, begin, within=asked.within, hold_s=asked.hold_s)

    carried = bool(goodput.sum() > 0)
    groups = _groups(run, goodput, fair, start, stop)
    if asked.harm:
        _add_harm(run, groups, start, stop, workers, progress)
    import polars as pl

    return Fairness(
        groups=Table(pl.DataFrame(groups, infer_schema_length=None), GROUPS),
        jain=metrics.jain_index(goodput) if carried else None,
        jain_max_min=metrics.jain_index(metrics.normalised_rates(goodput, fair)) if carried and bounded else None,
        converged_s=converged(metrics.shares(fair)) if bounded else None,
        settled_s=converged(metrics.shares(goodput)) if carried else None,
        start_s=start,
        stop_s=stop,
        window_s=window_s,
        within=asked.within,
        hold_s=asked.hold_s,
    )


def fair_rates(scenario: Scenario) -> Any:
    """Returns each flow's max-min fair rate in bit/s on the wire; infinite if no link on its path has a rate."""
    places = [
        (link["name"], direction, link[direction]["rate_bps"])
        for link in scenario.resolved["links"]
        for direction in ("down", "up")
    ]
    bounded = {(name, direction): rate for name, direction, rate in places if rate}
    index = {place: number for number, place in enumerate(bounded)}
    routes = [[index[hop] for hop in path if hop in index] for path in scenario.paths.values()]
    return metrics.max_min_rates(routes, list(bounded.values()) or [1.0])


def _groups(run: Run, goodput: Any, fair: Any, start: float, stop: float) -> list[dict[str, Any]]:
    """Returns one row per group, without the harm."""
    flows = list(run.flows.rows())
    rows: list[dict[str, Any]] = []
    for group in dict.fromkeys(flow["group"] for flow in flows):
        places = [place for place, flow in enumerate(flows) if flow["group"] == group]
        own, entitled = goodput[places], float(fair[places].sum())
        measured = means(run, [flows[place]["name"] for place in places], start, stop)
        rows.append(
            {
                "group": group,
                "cc": ", ".join(dict.fromkeys(flows[place]["cc"] for place in places)),
                "flows": len(places),
                "goodput_bps": float(own.sum()),
                "share": float(own.sum() / goodput.sum()) if goodput.sum() > 0 else None,
                "fair_bps": entitled if math.isfinite(entitled) else None,
                "of_fair": float(own.sum()) / entitled if math.isfinite(entitled) else None,
                "jain": metrics.jain_index(own) if own.sum() > 0 else None,
                "rtt_ms": known(measured.rtt_ms),
                "retransmit_ratio": known(measured.retransmit_ratio),
            }
        )
    return rows


def _add_harm(
    run: Run,
    groups: list[dict[str, Any]],
    start: float,
    stop: float,
    workers: int | None,
    progress: Callable[[float], object] | None,
) -> None:
    """Runs each group alone, and adds the metrics of that run and the harm to the rows."""
    if len(groups) == 1:
        return  # A single group has no other group that could harm it.
    in_company = [Means(row["goodput_bps"], number(row["rtt_ms"]), number(row["retransmit_ratio"])) for row in groups]
    members = {row["group"]: run.flows.to_polars().filter(group=row["group"])["name"].to_list() for row in groups}
    jobs = [Job(run.scenario.only(members[row["group"]]), run.seed) for row in groups]

    def reduce(number: int, alone: Run) -> None:
        row = groups[number]
        measured = means(alone, members[row["group"]], start, stop)
        row |= {f"alone_{name}": known(value) for name, value in vars(measured).items()}
        row |= harms(measured, in_company[number])

    kernel = run.facts.get("kernel_kind")
    run_jobs(jobs, reduce, world=run.world, kernel=kernel, workers=workers, progress=progress)
