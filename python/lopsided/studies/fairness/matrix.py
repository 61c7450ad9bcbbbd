"""Measures the fairness between congestion controls at one bottleneck.

A side is a group of flows with one congestion control and RTT. Every pair of sides runs in both orders of arrival, with
several seeds. Each side also runs alone, as the reference for harm. The table has two rows (cells) per pair, one for
each side. A pair has exactly two sides, and all flows are bulk transfers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Literal

from lopsided import metrics
from lopsided.controllers import Controllers
from lopsided.data import series
from lopsided.data.rows import Rows
from lopsided.data.study_tables import CELLS
from lopsided.data.table import Row, Table
from lopsided.studies.fairness.means import Means, harms, known, means, share_window_s, shares
from lopsided.studies.fairness.pairs import Contender, Meeting
from lopsided.studies.fairness.plan import Plan, plan
from lopsided.studies.fairness.result import KEYS, Matrix
from lopsided.studies.jobs import check_count, repeated, run_jobs
from lopsided.studies.options import FairnessOptions, from_arguments
from lopsided.studies.spread import grouped, medians
from lopsided.studies.study import digest_of

if TYPE_CHECKING:
    from lopsided.scenario import Run

MEDIANS = (
    *("goodput_bps", "share", "jain", "utilisation", "rtt_mean_ms", "retransmit_ratio"),
    *("alone_goodput_bps", "alone_rtt_ms", "alone_retransmit_ratio", "harm_rate", "harm_rtt", "harm_retransmits"),
)
"""Columns of a cell that contain the median over its runs."""

INTERVALS = {"goodput_bps": "goodput{}_bps", "share": "share{}", "jain": "jain{}", "harm_rate": "harm_rate{}"}
"""Columns of a cell for which two more columns contain the mean and its 95 % half-width. Each value is a pattern for
the names of these two columns, such as `goodput_mean_bps` and `goodput_ci95_bps`."""


def matrix(
    cc: Sequence[str],
    rtt_ms: Sequence[float],
    link: str | int = FairnessOptions.link,
    *,
    world: str = "sim",
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
    controllers: Controllers | None = None,
    up: str | int | None = FairnessOptions.up,
    direction: Literal["down", "up"] = FairnessOptions.direction,
    buffer: str = FairnessOptions.buffer,
    pairs: Literal["usual", "inter", "intra", "full"] = FairnessOptions.pairs,
    flows: int = FairnessOptions.flows,
    stack: str = FairnessOptions.stack,
    socket_buffer: str | None = FairnessOptions.socket_buffer,
    duration: str | float = FairnessOptions.duration,
    warmup: str | float | None = FairnessOptions.warmup,
    lead: str | float = FairnessOptions.lead,
    within: str | float = FairnessOptions.within,
    hold: str | float = FairnessOptions.hold,
    harm: bool = FairnessOptions.harm,
    repeat: int = FairnessOptions.repeat,
    seed: int = FairnessOptions.seed,
) -> Matrix:
    """Runs congestion controls against each other: `fairness_matrix(["cubic", "bbr"], [20, 100], "100M")`.

    Parameters
    ----------
    cc
        Names of congestion controls; `quic:cubic` is CUBIC over QUIC.
    rtt_ms
        Base round-trip times.
    link
        Rate of the bottleneck in bit/s, as a number or text.
    world
        The world to run in.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.
    controllers
        User-defined congestion controls, as for `Scenario.load`.
    up, direction, buffer, pairs, flows, stack, socket_buffer, duration, warmup, lead, within, hold, harm, repeat, seed
        See `FairnessOptions` and `lopsided fairness --help`.

    Raises
    ------
    UsageError
        If a side, a rate or a time is invalid.
    """
    options = from_arguments(FairnessOptions, locals())
    return run(plan(cc, rtt_ms, options, controllers), world=world, workers=workers, progress=progress)


def run(
    plan: Plan,
    *,
    world: str = "sim",
    kernel: str | None = None,
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Matrix:
    check_count(len(plan))
    scenarios = [plan.scenario(meeting.first, meeting.second) for meeting in plan.together]
    scenarios += [plan.scenario(side, queue_rtt_ms=rtt_ms) for side, rtt_ms in plan.alone]
    jobs = repeated(scenarios, plan.options.seed, plan.repeat)

    def reduce(number: int, run: Run) -> list[Row]:
        place, repetition = divmod(number, plan.repeat)
        common = {"repetition": repetition, "seed": run.seed, "digest": run.digest}
        if place < len(plan.together):
            return _meeting_rows(run, plan, plan.together[place], common)
        return _alone_rows(run, plan, *plan.alone[place - len(plan.together)], common)

    rows = run_jobs(jobs, reduce, world=world, kernel=kernel, workers=workers, progress=progress)
    return _summarize(plan, list(itertools.chain.from_iterable(rows)), world)


def _meeting_rows(run: Run, study: Plan, meeting: Meeting, common: Row) -> list[Row]:
    """Returns one row per side of a run."""
    start, stop = study.bottleneck.window_s
    sides = _flows_of_sides(run)
    got = [means(run, flows, start, stop) for flows in sides]
    each = [series.goodput_between(run, flow, start, stop) for flow in itertools.chain(*sides)]
    total = sum(each)
    both = {
        "jain": metrics.jain_index(each) if total > 0 else None,
        "utilisation": total / study.bottleneck.rate_bps,
    }
    newcomer = _times_of_convergence(run, study, sides, got)
    rows: list[Row] = []
    for place, (side, other) in enumerate([(meeting.first, meeting.second), (meeting.second, meeting.first)]):
        mine, theirs = got[place], got[1 - place]
        first = place == 0 and study.bottleneck.lead_s > 0
        rows.append(
            {
                **dict(zip(KEYS, (side.cc, side.rtt_ms, other.cc, other.rtt_ms), strict=True)),
                "first": first,
                **common,
                "goodput_bps": mine.goodput_bps,
                "share": mine.goodput_bps / total if total > 0 else None,
                "ratio": mine.goodput_bps / theirs.goodput_bps if theirs.goodput_bps > 0 else None,
                "rtt_mean_ms": known(mine.rtt_ms),
                "retransmit_ratio": known(mine.retransmit_ratio),
                **both,
                **(dict.fromkeys(newcomer) if first else newcomer),
            }
        )
    return rows


def _times_of_convergence(
    run: Run, study: Plan, sides: Sequence[Sequence[str]], got: Sequence[Means]
) -> dict[str, float | None]:
    """Returns the times in seconds from the second side's start until its share stays near 50 %, and near its final
    value."""
    since = series.both_active(run)[0]
    rtt_s = max((each.rtt_ms for each in got if not math.isnan(each.rtt_ms)), default=0.0) / 1e3
    time, share = shares(run, sides, since, share_window_s(rtt_s, run.scenario.interval_s or 0.0))
    rates = [each.goodput_bps for each in got]
    targets = {"converged_s": [0.5, 0.5], "settled_s": list(metrics.shares(rates)) if sum(rates) > 0 else None}
    return {
        name: None
        if target is None
        else metrics.convergence_time_s(time, share, target, since, within=study.within, hold_s=study.hold_s)
        for name, target in targets.items()
    }


def _alone_rows(run: Run, study: Plan, side: Contender, queue_rtt_ms: float, common: Row) -> list[Row]:
    """Returns two rows for a side that runs alone: its reference values as the first and as the second side of a
    pair.

    Both rows cover the measured period of a pair, relative to the start of the side. In a pair, the second side starts
    `lead_s` seconds after the first side. A side that runs alone starts at 0. Its measured period as the second side
    therefore begins `lead_s` seconds earlier than in a pair.
    """
    (flows,) = _flows_of_sides(run)
    rows: list[Row] = []
    for first, younger in ((True, 0.0), (False, study.bottleneck.lead_s)):
        start, stop = (time - younger for time in study.bottleneck.window_s)
        got = {f"alone_{name}": known(value) for name, value in vars(means(run, flows, start, stop)).items()}
        names = {"cc": side.cc, "rtt_ms": side.rtt_ms, "queue_rtt_ms": queue_rtt_ms}
        rows.append({**names, "first": first, **common, **got})
    return rows


def _flows_of_sides(run: Run) -> list[list[str]]:
    """Returns the flows of each side. The groups are `side1` and, in pairs, `side2`."""
    groups: dict[str, list[str]] = {}
    for name, group in zip(run.flows.values("name"), run.flows.values("group"), strict=True):
        groups.setdefault(group, []).append(name)
    return list(groups.values())


def _summarize(study: Plan, rows: list[Row], world: str) -> Matrix:
    alone = [row for row in rows if "queue_rtt_ms" in row]
    runs = [row for row in rows if "queue_rtt_ms" not in row]
    _add_harm(runs, alone)
    cells = [_cell(mine) for mine in grouped(runs, KEYS).values()]
    by_name = {tuple(cell[key] for key in KEYS): cell for cell in cells}
    for cell in cells:
        own = by_name.get((cell["cc"], cell["rtt_ms"], cell["cc"], cell["against_rtt_ms"]))
        cell["harm_rate_own"] = own["harm_rate"] if own else None
        cell["rtt_exponent"] = _exponent(
            cell, by_name[cell["against_cc"], cell["against_rtt_ms"], *list(cell.values())[:2]]
        )
    digest = digest_of(row["digest"] for row in rows)
    tables = [Table(Rows(part), CELLS) for part in (cells, runs, alone)]
    return Matrix(study, *tables, digest=digest, world=world)


def _add_harm(runs: list[Row], alone: list[Row]) -> None:
    """Adds the harm to each row. The reference is the same side alone, with the same queue, seed and period."""
    found = {(row["cc"], row["rtt_ms"], row["queue_rtt_ms"], row["first"], row["repetition"]): row for row in alone}
    for row in runs:
        queue_rtt_ms = (row["rtt_ms"] + row["against_rtt_ms"]) / 2
        single = found.get((row["cc"], row["rtt_ms"], queue_rtt_ms, row["first"], row["repetition"]))
        if single is None:
            row |= dict.fromkeys(column for column in MEDIANS if column.startswith(("alone", "harm")))
            continue
        row |= {name: value for name, value in single.items() if name.startswith("alone_")}
        mine = _as_means(row["goodput_bps"], row["rtt_mean_ms"], row["retransmit_ratio"])
        row |= harms(
            _as_means(*(single[f"alone_{name}"] for name in ("goodput_bps", "rtt_ms", "retransmit_ratio"))), mine
        )


def _cell(rows: list[Row]) -> Row:
    """Combines all runs of one side against a competing side into one row."""
    cell: Row = {key: rows[0][key] for key in KEYS} | medians(rows, MEDIANS)
    # A side that competes with itself has two rows per run.
    cell["runs"] = len({row["digest"] for row in rows})
    shares, share = [row["share"] for row in rows if row["share"] is not None], cell["share"]
    cell |= {"share_least": min(shares, default=None), "share_most": max(shares, default=None)}
    # This is the ratio of the median shares. The median of the runs' ratios could exceed 1 for both sides.
    cell["ratio"] = None if share is None or share == 1 else share / (1 - share)
    for column in INTERVALS:
        cell |= _interval(rows, column)
    joined = [row for row in rows if not row["first"]]
    for column in ("converged_s", "settled_s"):
        # If the flows do not converge, the time counts as infinite.
        times = sorted(math.inf if row[column] is None else row[column] for row in joined)
        middle = median(times) if times else math.inf
        cell[column] = middle if math.isfinite(middle) else None
    cell["converged_runs"] = sum(row["converged_s"] is not None for row in joined)
    cell["joined_runs"] = len(joined)
    return cell


def _interval(rows: list[Row], column: str) -> dict[str, float | None]:
    """Returns the mean over both orders of arrival, with equal weights, and its 95 % half-width.

    The half-width is `None` if each order has only one run. If a side competes with itself, the mean of a run's two
    rows is one observation.
    """
    itself = (rows[0]["cc"], rows[0]["rtt_ms"]) == (rows[0]["against_cc"], rows[0]["against_rtt_ms"])
    groups = grouped(rows, ["repetition" if itself else "first"]).values()
    strata: list[list[float | None]] = [[row[column] for row in group] for group in groups]
    if itself:
        strata = [[metrics.mean_interval(values).mean for values in strata]]
    interval = metrics.stratified_interval(strata)
    # If a side competes with itself, its mean share is 50 % by definition.
    reach = math.nan if itself and column == "share" else interval.half_width
    name = INTERVALS[column].format
    return {name("_mean"): known(interval.mean), name("_ci95"): known(reach)}


def _exponent(cell: Row, other: Row) -> float | None:
    """Returns the exponent of RTT unfairness, computed from mean RTTs including queueing; `None` if undefined."""
    rates, rtts = ([side[column] for side in (cell, other)] for column in ("goodput_bps", "rtt_mean_ms"))
    if cell["cc"] != other["cc"] or cell["rtt_ms"] == other["rtt_ms"] or not all(rates) or not all(rtts):
        return None
    return metrics.rtt_unfairness_exponent(*rates, *rtts) if rtts[0] != rtts[1] else None


def _as_means(goodput_bps: float, rtt_ms: float | None, retransmit_ratio: float | None) -> Means:
    return Means(goodput_bps, *(math.nan if value is None else value for value in (rtt_ms, retransmit_ratio)))
