"""The tables that commands print about runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided import metrics
from lopsided.data import series, units
from lopsided.data.catalogue import Column
from lopsided.data.table import Row
from lopsided.data.view import Heading, Styled, View, heading, view
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.sweep import axis_columns, axis_label
from lopsided.studies.sweep_metrics import goodput_column, measured_by
from lopsided.views import notable_links
from lopsided.views.sparkline import sparkline

if TYPE_CHECKING:
    from lopsided.data.table import Table
    from lopsided.scenario import Run

_SPARKS = 28
_MOST_ROWS = 30
_MOST_ARMS = 100
_ARROWS = {"down": "↓", "up": "↑"}
_ARROW = Heading("", "down: towards the client; up: away from it", numeric=False)
_WHERE = " in the run folder's tables"
_INTERVAL = Heading("95 %", "how far the mean's 95 % interval reaches to each side (Student's t over the seeds)")
_MEANS = "means, ±: 95 % interval"

FLOWS = ("cc", "goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "cwnd_max_bytes", "retransmits", "timeouts")
LINKS = ("rate_bps", "utilisation", "mean_backlog_packets", "max_backlog_packets", "sojourn_mean_ms", "sojourn_p95_ms")


def cores(used: Row) -> str:
    """What became of the wish to run on several cores, in a sentence."""
    if used["used"] == 1:
        return f"On one core: {used['why']}."
    return f"On {used['used']} cores for {units.percent(used['share'])} of the time: {used['why']}."


def flows(run: Run) -> View:
    """One row per flow, its goodput over the run as a sparkline; transfers and lost datagrams where there are any."""
    rows = list(run.flows.rows())
    transfers = ("transfers", "completion_s") if any(row["transfers"] for row in rows) else ()
    lost = ("lost_packets",) if any(row["lost_packets"] for row in rows) else ()
    columns = [run.flows.column(name) for name in (*FLOWS, *transfers, *lost)]
    curve = Heading(f"goodput over {run.scenario.duration_s:g} s", numeric=False, spare=True)
    return View(
        [heading(run.flows.column("name")), _ARROW, *map(heading, columns), curve],
        [
            [row["name"], _arrow(row), *_cells(columns, row), _spark(run, row["name"], row["direction"])]
            for row in rows[:_MOST_ROWS]
        ],
        keys=2,
        caption=_more(rows),
    )


def repeated_flows(runs: Sequence[Run]) -> View:
    """One row per flow: the mean over the runs, with its 95 % interval."""
    first = runs[0]
    alike = _alike(run.digest for run in runs)
    goodput, rtt = (first.flows.column(name) for name in ("goodput_bps", "rtt_mean_ms"))
    names = ("name", "cc", "goodput_bps", "rtt_mean_ms", "retransmits")
    flow, cc, *_, retransmits = (heading(first.flows.column(name)) for name in names)
    rows: list[list[str]] = []
    every = list(first.flows.rows())
    for index, row in enumerate(every[:_MOST_ROWS]):
        rates = [float(run.flows["goodput_bps"][index]) for run in runs]
        rtts = [value for run in runs if (value := run.flows["rtt_mean_ms"][index]) is not None]
        again = units.count(metrics.mean_interval(int(run.flows["retransmits"][index]) for run in runs).mean)
        rows.append(
            [row["name"], _arrow(row), row["cc"], *_spread(goodput, rates, alike), *_spread(rtt, rtts, alike), again]
        )
    remark = f"all one and the same: {ALIKE}" if alike else _MEANS
    return View(
        [flow, _ARROW, cc, heading(goodput), _INTERVAL, heading(rtt), _INTERVAL, retransmits],
        rows,
        keys=2,
        caption=_joined(f"{len(runs)} runs, {remark}", _more(every)),
    )


def links(run: Run) -> View:
    """One row per notable link direction: rate, utilization, queue, drops; marks and filtered ACKs where there are."""
    notable = notable_links.links(run)
    marked = ("marked_packets",) if any(row["marked_packets"] for row in notable) else ()
    filtered = ("filtered_packets",) if any(row["filtered_packets"] for row in notable) else ()
    columns = [run.links.column(name) for name in (*LINKS, *marked, *filtered, "dropped_packets", "lost_packets")]
    quiet = len(run.links) - len(notable)
    said = f"{quiet} more direction{'s' if quiet > 1 else ''} at which nothing waited" if quiet else ""
    return View(
        [heading(run.links.column("link")), _ARROW, *map(heading, columns)],
        [[row["link"], _arrow(row), *_cells(columns, row)] for row in notable[:_MOST_ROWS]],
        keys=2,
        caption=_joined(said, _more(notable)),
    )


def repeated_links(runs: Sequence[Run]) -> View:
    """One row per notable link direction of the first run: means over the runs, with their 95 % intervals."""
    first = runs[0]
    names = ("utilisation", "sojourn_mean_ms", "dropped_packets")
    columns = [first.links.column(name) for name in names]
    notable = notable_links.links(first)
    tables = [{(row["link"], row["direction"]): row for row in run.links.rows()} for run in runs]
    alike = _alike(run.digest for run in runs)
    rows: list[list[str]] = []
    for row in notable[:_MOST_ROWS]:
        found = [table[row["link"], row["direction"]] for table in tables]
        cells = [cell for column in columns for cell in _spread(column, [each[column.name] for each in found], alike)]
        rows.append([row["link"], _arrow(row), first.links.column("rate_bps").text(row["rate_bps"]), *cells])
    rate = heading(first.links.column("rate_bps"))
    headings = [heading(first.links.column("link")), _ARROW, rate]
    for column in columns:
        headings += [heading(column), _INTERVAL]
    return View(headings, rows, keys=2, caption=_more(notable))


def fairness(runs: Sequence[Run]) -> View:
    """One row per group of flows of the first run: what it got, was entitled to, and lost by company."""
    found = runs[0].fairness()
    jains = [run.fairness(harm=False).jain for run in runs[1:]]
    known = [jain for jain in (found.jain, *jains) if jain is not None]
    jain = metrics.mean_interval(known)
    differ = len(known) > 1 and not _alike(run.digest for run in runs)
    spread = f"; Jain's index over the seeds {jain.mean:.3f} ± {jain.half_width:.3f} (95 %)" if differ else ""
    left_out = {"fair_bps", "alone_rtt_ms", "alone_retransmit_ratio"}
    columns = [name for name in found.groups.columns if name not in left_out]
    return view(found.groups, columns, keys=2, most=_MOST_ROWS, caption=found.text + spread, where=_WHERE)


def sweep(table: Table, metric: str = SWEEP_METRIC, most: int = _MOST_ARMS) -> View:
    """One row for each arm and flow of a sweep: means over the repetitions, that of the metric with its 95 % interval;
    beside it goodput, RTT and performance."""
    axes = axis_columns(table)
    table, first = measured_by(table, metric)
    frame = table.to_polars()
    goodput = goodput_column(frame)
    others = [table.column(name) for name in (goodput, "rtt_mean_ms", "performance")]
    others = [column for column in others if column != first and frame[column.name].null_count() < len(table)]
    rows: list[list[str]] = []
    arms = frame.partition_by([*axes, "name"], maintain_order=True)
    for arm in arms[:most]:
        place = [str(arm[axis][0]) for axis in axes]
        arrow = _ARROWS.get(arm["direction"][0], "")
        middles = [column.text(_middle(arm[column.name])) for column in others]
        values = arm[first.name].drop_nulls().to_list()
        rows.append([*place, arm["name"][0], arrow, *_spread(first, values, _alike(arm["digest"])), *middles])
    seeds = frame["repetition"].n_unique()
    same = sum(_alike(arm["digest"]) for arm in arms)
    all_or_some = "all runs" if same == len(arms) else f"of {same} rows all runs"
    remark = f" ({all_or_some} were one and the same: {ALIKE})" if seeds > 1 and same else ""
    of_seeds = f"means over {seeds} seeds, ±: 95 % interval{remark}" if seeds > 1 else "one seed"
    more = f"and {len(arms) - most:,} more rows in the table" if len(arms) > most else ""
    when = "while all flows are active" if goodput == "goodput_overlap_bps" else "over each flow's life"
    return View(
        [
            *(Heading(axis_label(axis), numeric=False) for axis in axes),
            heading(table.column("name")),
            _ARROW,
            heading(first),
            _INTERVAL,
            *map(heading, others),
        ],
        rows,
        keys=len(axes) + 2,
        caption=_joined(of_seeds, f"goodput {when}", more),
    )


def _cells(columns: Sequence[Column], row: Row) -> list[str]:
    return [column.text(row[column.name]) for column in columns]


ALIKE = "nothing in them is random; `--start-jitter 1s` varies when flows start"
"""Why there is no interval where all runs have one digest."""


def _alike(digests: Iterable[str]) -> bool:
    """Whether all runs were one and the same: an interval over them would say nothing."""
    return len(set(digests)) == 1


def _spread(column: Column, values: Sequence[float | None], alike: bool) -> tuple[str, str]:
    """The mean, and how far its 95 % interval reaches to each side, if the runs differ at all."""
    found = metrics.mean_interval(values)
    if found.of == 0:
        return "–", "–"
    return column.text(found.mean), f"± {column.text(found.half_width)}" if found.of > 1 and not alike else "–"


def _middle(values: pl.Series) -> float | None:
    found = metrics.mean_interval(values.to_list())
    return found.mean if found.of else None


def _arrow(row: Row) -> str:
    return _ARROWS.get(row["direction"], "")


def _more(rows: Sequence[object]) -> str:
    return f"and {len(rows) - _MOST_ROWS:,} more{_WHERE}" if len(rows) > _MOST_ROWS else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _spark(run: Run, flow: str, direction: str) -> Styled:
    if len(run.samples) == 0:
        return Styled("not sampled", "dim")
    window = run.scenario.duration_s / _SPARKS
    curve = series.goodput(run, flow, window)
    # A flow's curve starts with the flow; the line of text spans the run.
    middles = window * (np.arange(_SPARKS) + 0.5)
    values = (
        np.interp(middles, curve.time_s, curve.value, left=0.0, right=0.0) if len(curve.time_s) else np.zeros(_SPARKS)
    )
    style = {"down": "blue", "up": "yellow"}.get(direction, "green")
    return Styled(sparkline([float(value) for value in values]), style)
