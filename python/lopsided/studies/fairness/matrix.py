"""Congestion controls against each other at one bottleneck: who takes what from whom.

Every pair of sides is run in both orders of arrival with several seeds, and every side alone at the same queue, which
harm is measured against. What a pair's runs say becomes two cells: what the one got against the other, and the other
way round. Left out: more than two sides at once, and traffic other than bulk transfers.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from lopsided import _native, metrics
from lopsided.accessors import filled_in
from lopsided.controllers import Controllers
from lopsided.data import series, units
from lopsided.data.study_tables import CELLS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.studies.fairness.means import Means, harms, known, means, share_window_s, shares
from lopsided.studies.fairness.pairs import Bottleneck, Contender, Meeting, pair_orders, pairs_of
from lopsided.studies.jobs import check_count, repeated, run_jobs
from lopsided.studies.options import FairnessOptions

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from lopsided.scenario import Run, Scenario

KEYS = ("cc", "rtt_ms", "against_cc", "against_rtt_ms")
"""The columns that name a cell: the side that it speaks of, and the side that this one met."""

MEDIANS = (
    *("goodput_bps", "share", "jain", "utilisation", "rtt_mean_ms", "retransmit_ratio"),
    *("alone_goodput_bps", "alone_rtt_ms", "alone_retransmit_ratio", "harm_rate", "harm_rtt", "harm_retransmits"),
)
"""The columns of a cell that are medians over its runs."""

INTERVALS = {"goodput_bps": "goodput{}_bps", "share": "share{}", "jain": "jain{}", "harm_rate": "harm_rate{}"}
"""Those of which a cell has the mean and half the width of its 95 % interval too, and how the two are called."""


@dataclass(frozen=True)
class HeatMapGrid:
    """Sides against each other: a heading, the sides from the top down, and how they are called."""

    heading: str
    sides: tuple[Contender, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """What is to be run. `len(study)` is the number of runs."""

    pairs: tuple[tuple[Contender, Contender], ...]
    options: FairnessOptions
    controllers: Controllers | None = None
    """Congestion controls of one's own, as `Scenario` takes them."""
    bottleneck: Bottleneck = field(init=False)
    within: float = field(init=False)
    hold_s: float = field(init=False)
    together: tuple[Meeting, ...] = field(init=False)
    alone: tuple[tuple[Contender, float], ...] = field(init=False)
    """Each side, and the RTT of the queue's BDP, which is that of a pair."""

    def __post_init__(self) -> None:
        bottleneck = Bottleneck.of(self.options)
        within, hold_s = units.parse_share(self.options.within), units.parse_time(self.options.hold)
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a measurement {self.repeat} times")
        if not 0 < within < 1 or hold_s < 0:
            raise UsageError(
                f"--within {self.options.within}, --hold {self.options.hold}: a flow converges to a part of its fair "
                "share between 0 and 100 %, held for 0 s or longer"
            )
        bottleneck.check()
        together = [meeting for pair in self.pairs for meeting in pair_orders(pair, bottleneck.lead_s)]
        alone = [(side, _mean_rtt(pair)) for pair in self.pairs for side in pair] if self.options.harm else []
        found = {
            "bottleneck": bottleneck,
            "within": within,
            "hold_s": hold_s,
            "together": tuple(together),
            "alone": tuple(dict.fromkeys(alone)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def repeat(self) -> int:
        """Seeds for each order of arrival."""
        return self.options.repeat

    def __len__(self) -> int:
        return (len(self.together) + len(self.alone)) * self.repeat

    def check(self) -> None:
        """Refuses, before any is run, what scenarios could not be made of."""
        for cc in self.ccs:
            self.scenario(Contender(cc, self.rtts_ms[0]))

    def scenario(self, *sides: Contender, queue_rtt_ms: float | None = None) -> Scenario:
        """The scenario of these sides at the study's bottleneck."""
        return self.bottleneck.scenario(*sides, queue_rtt_ms=queue_rtt_ms, controllers=self.controllers)

    @property
    def ccs(self) -> list[str]:
        """The congestion controls, in the order given."""
        return list(dict.fromkeys(side.cc for pair in self.pairs for side in pair))

    @property
    def rtts_ms(self) -> list[float]:
        """The round-trip times, in order."""
        return sorted({side.rtt_ms for pair in self.pairs for side in pair})

    def squares(self) -> list[list[HeatMapGrid]]:
        """How the cells are laid out, kind by kind: control against control, then round trip against round trip."""
        if self.options.pairs == "full":
            sides = tuple(Contender(cc, rtt) for cc in self.ccs for rtt in self.rtts_ms)
            if len(self.ccs) == 1:
                return [
                    [HeatMapGrid(f"{self.ccs[0]} with itself", sides, tuple(f"{side.rtt_ms:g} ms" for side in sides))]
                ]
            return [
                [HeatMapGrid("control and RTT in ms", sides, tuple(f"{side.cc} {side.rtt_ms:g}" for side in sides))]
            ]
        kinds: list[list[HeatMapGrid]] = []
        if self.options.pairs != "intra":
            at_rtts = [(rtt, tuple(Contender(cc, rtt) for cc in self.ccs)) for rtt in self.rtts_ms]
            kinds.append([HeatMapGrid(f"both at {rtt:g} ms", sides, tuple(self.ccs)) for rtt, sides in at_rtts])
        if self.options.pairs != "inter" and len(self.rtts_ms) > 1:
            labels = tuple(f"{rtt:g} ms" for rtt in self.rtts_ms)
            of_ccs = [(cc, tuple(Contender(cc, rtt) for rtt in self.rtts_ms)) for cc in self.ccs]
            kinds.append([HeatMapGrid(f"{cc} with itself", sides, labels) for cc, sides in of_ccs])
        return kinds

    def run(
        self,
        *,
        world: str = "sim",
        kernel: str | None = None,
        workers: int | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Matrix:
        """Runs everything and concludes."""
        check_count(len(self))
        scenarios = [self.scenario(meeting.first, meeting.second) for meeting in self.together]
        scenarios += [self.scenario(side, queue_rtt_ms=rtt_ms) for side, rtt_ms in self.alone]
        jobs = repeated(scenarios, self.options.seed, self.repeat)

        def reduce(number: int, run: Run) -> list[Row]:
            place, repetition = divmod(number, self.repeat)
            common = {"repetition": repetition, "seed": run.seed, "digest": run.digest}
            if place < len(self.together):
                return _meeting_rows(run, self, self.together[place], common)
            return _alone_rows(run, self, *self.alone[place - len(self.together)], common)

        rows = run_jobs(jobs, reduce, world=world, kernel=kernel, workers=workers, progress=progress)
        return _summarize(self, list(itertools.chain.from_iterable(rows)), world)


@dataclass(frozen=True)
class Matrix:
    """The answer; `docs/fairness.md` says what the columns mean.

    `cells` has one row for each side and each side that it met: medians over orders of arrival and seeds, and means
    with their 95 % intervals. `runs` has one row for each side of each run, `alone` one for each side alone.
    """

    study: Study
    cells: Table
    runs: Table
    alone: Table
    digest: str
    world: str

    def values(self, metric: str) -> dict[tuple[Contender, Contender], float | None]:
        """One metric by (side, side that it met). Raises UsageError for a metric that there is not."""
        if metric not in self.cells.columns:
            raise UsageError(f"no metric called {metric!r}; there are {', '.join(self.cells.columns[len(KEYS) :])}")
        return {
            (Contender(row["cc"], row["rtt_ms"]), Contender(row["against_cc"], row["against_rtt_ms"])): row[metric]
            for row in self.cells.rows()
        }

    def plot(self, metric: str = "share") -> Figure:
        """A heat map of a metric: see `lopsided.views.plot.heat_maps.MAPS`."""
        return filled_in("Matrix.plot")(self, metric)

    def report(self) -> str:
        """The report as one self-contained HTML page."""
        return filled_in("Matrix.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes the tables, the heat maps and the report into a folder and returns its path."""
        return filled_in("Matrix.save")(self, folder, overwrite=overwrite, report=report)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the single runs as plain values."""
        return {**self.manifest(), "cells": list(self.cells.rows()), "alone": list(self.alone.rows())}

    def manifest(self) -> dict[str, Any]:
        """What identifies this study."""
        study = self.study
        return {
            "lopsided": _native.__version__,
            "kind": "fairness",
            "world": self.world,
            "cc": study.ccs,
            "rtt_ms": study.rtts_ms,
            "pairs": study.options.pairs,
            "bottleneck": vars(study.bottleneck),
            "within": study.within,
            "hold_s": study.hold_s,
            "repeat": study.repeat,
            "seed": study.options.seed,
            "runs": len(study),
            "digest": self.digest,
        }

    def _repr_html_(self) -> str:
        return self.cells.to_html()


def matrix(
    cc: Sequence[str],
    rtt_ms: Sequence[float],
    link: str | int = FairnessOptions.link,
    *,
    world: str = "sim",
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
    controllers: Controllers | None = None,
    **options: Any,
) -> Matrix:
    """Runs congestion controls against each other: `fairness_matrix(["cubic", "bbr"], [20, 100], "100M")`.

    The others are those of `FairnessOptions`, and of `lopsided fairness`. `controllers` are congestion controls of
    one's own that `cc` may name, as `Scenario.load` takes them.
    """
    study = plan(cc, rtt_ms, FairnessOptions(link=link, **options), controllers)
    return study.run(world=world, workers=workers, progress=progress)


def plan(
    cc: Sequence[str],
    rtt_ms: Sequence[float],
    options: FairnessOptions,
    controllers: Controllers | None = None,
) -> Study:
    """What `matrix` runs, not yet run."""
    pairs = pairs_of(list(cc), [float(rtt) for rtt in rtt_ms], options.pairs)
    return Study(tuple(pairs), options, controllers)


def _meeting_rows(run: Run, study: Study, meeting: Meeting, common: Row) -> list[Row]:
    """A row for each side of a run."""
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
                **_names(side, other),
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
    run: Run, study: Study, sides: Sequence[Sequence[str]], got: Sequence[Means]
) -> dict[str, float | None]:
    """From the newcomer's start: until its share stays near the fair half, and near what it ends up with."""
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


def _alone_rows(run: Run, study: Study, side: Contender, queue_rtt_ms: float, common: Row) -> list[Row]:
    """What a side gets alone at the age at which it is measured in company, when it comes first and when second.

    A side that comes second is younger by the lead; alone, it may as well be measured earlier by that.
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
    """The flows of each side: their groups are side1 and, in company, side2."""
    groups: dict[str, list[str]] = {}
    for name, group in zip(run.flows["name"], run.flows["group"], strict=True):
        groups.setdefault(group, []).append(name)
    return list(groups.values())


def _summarize(study: Study, rows: list[Row], world: str) -> Matrix:
    import polars as pl

    alone = [row for row in rows if "queue_rtt_ms" in row]
    runs = [row for row in rows if "queue_rtt_ms" not in row]
    _add_harm(runs, alone)
    cells = [_cell(mine) for mine in _grouped(runs).values()]
    by_name = {tuple(cell[key] for key in KEYS): cell for cell in cells}
    for cell in cells:
        own = by_name.get((cell["cc"], cell["rtt_ms"], cell["cc"], cell["against_rtt_ms"]))
        cell["harm_rate_own"] = own["harm_rate"] if own else None
        cell["rtt_exponent"] = _exponent(
            cell, by_name[cell["against_cc"], cell["against_rtt_ms"], *list(cell.values())[:2]]
        )
    digests = "".join(row["digest"] for row in rows)
    digest = hashlib.blake2b(digests.encode(), digest_size=8).hexdigest()
    tables = [Table(pl.DataFrame(part, infer_schema_length=None), CELLS) for part in (cells, runs, alone)]
    return Matrix(study, *tables, digest=digest, world=world)


def _add_harm(runs: list[Row], alone: list[Row]) -> None:
    """Holds each side's row against the same side alone: at the same queue, age and seed."""
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
    """The runs of one side against one other as one row."""
    cell: Row = {key: rows[0][key] for key in KEYS}
    # A side that met itself has two rows of each run.
    cell["runs"] = len({row["digest"] for row in rows})
    for column in MEDIANS:
        values = [row[column] for row in rows if row[column] is not None]
        cell[column] = median(values) if values else None
        if column == "share":
            cell |= {"share_least": min(values, default=None), "share_most": max(values, default=None)}
            # Of the medians: that of a ratio and its inverse would be above 1 for both sides.
            share = cell["share"]
            cell["ratio"] = None if share is None or share == 1 else share / (1 - share)
        if column in INTERVALS:
            cell |= _interval(rows, column)
    joined = [row for row in rows if not row["first"]]
    for column in ("converged_s", "settled_s"):
        # One that is not seen to converge counts as taking longer than any other.
        times = sorted(math.inf if row[column] is None else row[column] for row in joined)
        middle = median(times) if times else math.inf
        cell[column] = middle if math.isfinite(middle) else None
    cell["converged_runs"] = sum(row["converged_s"] is not None for row in joined)
    cell["joined_runs"] = len(joined)
    return cell


def _interval(rows: list[Row], column: str) -> dict[str, float | None]:
    """The mean over both orders of arrival, each counting alike, and half of its 95 % interval: None of one run each.

    A side that met itself has two rows of a run, which are one observation: their mean.
    """
    itself = (rows[0]["cc"], rows[0]["rtt_ms"]) == (rows[0]["against_cc"], rows[0]["against_rtt_ms"])
    strata: dict[bool, list[float | None]] = {}
    if itself:
        of_runs: dict[int, list[float | None]] = {}
        for row in rows:
            of_runs.setdefault(row["repetition"], []).append(row[column])
        found = [metrics.mean_interval(values) for values in of_runs.values()]
        strata[True] = [each.mean for each in found]
    else:
        for row in rows:
            strata.setdefault(row["first"], []).append(row[column])
    interval = metrics.stratified_interval(list(strata.values()))
    # What a side gets of what it shares with itself is half by definition, and no estimate.
    reach = math.nan if itself and column == "share" else interval.half_width
    name = INTERVALS[column].format
    return {name("_mean"): known(interval.mean), name("_ci95"): known(reach)}


def _exponent(cell: Row, other: Row) -> float | None:
    """How much the RTT matters between two sides of one control: from their mean RTTs, queueing counted."""
    rates, rtts = ([side[column] for side in (cell, other)] for column in ("goodput_bps", "rtt_mean_ms"))
    if cell["cc"] != other["cc"] or cell["rtt_ms"] == other["rtt_ms"] or not all(rates) or not all(rtts):
        return None
    return metrics.rtt_unfairness_exponent(*rates, *rtts) if rtts[0] != rtts[1] else None


def _grouped(rows: list[Row]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    return groups


def _names(side: Contender, other: Contender) -> Row:
    return dict(zip(KEYS, (side.cc, side.rtt_ms, other.cc, other.rtt_ms), strict=True))


def _mean_rtt(pair: tuple[Contender, Contender]) -> float:
    return (pair[0].rtt_ms + pair[1].rtt_ms) / 2


def _as_means(goodput_bps: float, rtt_ms: float | None, retransmit_ratio: float | None) -> Means:
    return Means(goodput_bps, *(math.nan if value is None else value for value in (rtt_ms, retransmit_ratio)))
