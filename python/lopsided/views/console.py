"""Builds the tables about runs that commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.data import series, units
from lopsided.data.catalogue import Column
from lopsided.data.table import Row
from lopsided.data.view import Heading, Styled, View, heading, view
from lopsided.studies.spread import ALIKE, ARROW, ARROWS, INTERVAL, all_alike, spread, uncertain
from lopsided.views import notable_links
from lopsided.views.sparkline import sparkline

if TYPE_CHECKING:
    from lopsided.scenario import Run

_SPARKS = 28
_MOST_ROWS = 30
_WHERE = " in the run folder's tables"
_MEANS = "means, ±: 95 % interval"

FLOWS = ("cc", "goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "cwnd_max_bytes", "retransmits", "timeouts")
LINKS = ("rate_bps", "utilisation", "mean_backlog_packets", "max_backlog_packets", "sojourn_mean_ms", "sojourn_p95_ms")


def cores(used: Row) -> str:
    """Returns a sentence with the number of cores that the run used, and the reason for this number."""
    if used["used"] == 1:
        return f"On one core: {used['why']}."
    return f"On {used['used']} cores for {units.percent(used['share'])} of the events: {used['why']}."


def flows(run: Run) -> View:
    """Returns a table with one row per flow. The last column shows the flow's goodput over time as a sparkline.

    The table has columns for transfers and lost datagrams only if there were transfers or lost datagrams.
    """
    rows = list(run.flows.rows())
    transfers = ("transfers", "completion_s") if any(row["transfers"] for row in rows) else ()
    lost = ("lost_packets",) if any(row["lost_packets"] for row in rows) else ()
    columns = [run.flows.column(name) for name in (*FLOWS, *transfers, *lost)]
    curve = Heading(f"goodput over {run.scenario.duration_s:g} s", numeric=False, spare=True)
    return View(
        [heading(run.flows.column("name")), ARROW, *map(heading, columns), curve],
        [
            [row["name"], _arrow(row), *_cells(columns, row), _spark(run, row["name"], row["direction"])]
            for row in rows[:_MOST_ROWS]
        ],
        keys=2,
        caption=_more(rows),
    )


def repeated_flows(runs: Sequence[Run]) -> View:
    """Returns a table with one row per flow: means over the runs, with 95 % confidence intervals."""
    first = runs[0]
    alike = all_alike(run.digest for run in runs)
    goodput, rtt = (first.flows.column(name) for name in ("goodput_bps", "rtt_mean_ms"))
    names = ("name", "cc", "goodput_bps", "rtt_mean_ms", "retransmits")
    flow, cc, *_, retransmits = (heading(first.flows.column(name)) for name in names)
    rows: list[list[str]] = []
    found: list[metrics.Interval] = []
    every = list(first.flows.rows())
    for index, row in enumerate(every[:_MOST_ROWS]):
        rates = [float(run.flows.values("goodput_bps")[index]) for run in runs]
        rtts = [value for run in runs if (value := run.flows.values("rtt_mean_ms")[index]) is not None]
        found += [] if alike else [metrics.mean_interval(rates), metrics.mean_interval(rtts)]
        again = units.count(metrics.mean_interval(int(run.flows.values("retransmits")[index]) for run in runs).mean)
        rows.append(
            [row["name"], _arrow(row), row["cc"], *spread(goodput, rates, alike), *spread(rtt, rtts, alike), again]
        )
    remark = f"all identical: {ALIKE}" if alike else _MEANS
    return View(
        [flow, ARROW, cc, heading(goodput), INTERVAL, heading(rtt), INTERVAL, retransmits],
        rows,
        keys=2,
        caption=_joined(f"{len(runs)} runs, {remark}", uncertain(found), _more(every)),
    )


def links(run: Run) -> View:
    """Returns a table with one row per notable link direction: rate, utilisation, queue and drops.

    The table has columns for marked packets and filtered ACKs only if packets were marked or ACKs were filtered.
    """
    notable = notable_links.links(run)
    marked = ("marked_packets",) if any(row["marked_packets"] for row in notable) else ()
    filtered = ("filtered_packets",) if any(row["filtered_packets"] for row in notable) else ()
    columns = [run.links.column(name) for name in (*LINKS, *marked, *filtered, "dropped_packets", "lost_packets")]
    quiet = len(run.links) - len(notable)
    said = f"{units.counted(quiet, 'more direction')} in which no packet waited" if quiet else ""
    return View(
        [heading(run.links.column("link")), ARROW, *map(heading, columns)],
        [[row["link"], _arrow(row), *_cells(columns, row)] for row in notable[:_MOST_ROWS]],
        keys=2,
        caption=_joined(said, _more(notable)),
    )


def repeated_links(runs: Sequence[Run]) -> View:
    """Returns a table of the link directions that are notable in the first run: means over all runs, with 95 %
    confidence intervals."""
    first = runs[0]
    names = ("utilisation", "sojourn_mean_ms", "dropped_packets")
    columns = [first.links.column(name) for name in names]
    notable = notable_links.links(first)
    tables = [{(row["link"], row["direction"]): row for row in run.links.rows()} for run in runs]
    alike = all_alike(run.digest for run in runs)
    rows: list[list[str]] = []
    intervals: list[metrics.Interval] = []
    for row in notable[:_MOST_ROWS]:
        found = [table[row["link"], row["direction"]] for table in tables]
        intervals += [] if alike else [metrics.mean_interval(each[name] for each in found) for name in names]
        cells = [cell for column in columns for cell in spread(column, [each[column.name] for each in found], alike)]
        rows.append([row["link"], _arrow(row), first.links.column("rate_bps").text(row["rate_bps"]), *cells])
    rate = heading(first.links.column("rate_bps"))
    headings = [heading(first.links.column("link")), ARROW, rate]
    for column in columns:
        headings += [heading(column), INTERVAL]
    return View(headings, rows, keys=2, caption=_joined(uncertain(intervals), _more(notable)))


def fairness(runs: Sequence[Run]) -> View:
    """Returns a table with one row per group of flows: goodput, fair rate, and harm."""
    found = runs[0].fairness()
    jains = [run.fairness(harm=False).jain for run in runs[1:]]
    known = [jain for jain in (found.jain, *jains) if jain is not None]
    jain = metrics.mean_interval(known)
    differ = len(known) > 1 and not all_alike(run.digest for run in runs)
    spread = f"; Jain's index over the seeds {jain.mean:.3f} ± {jain.half_width:.3f} (95 %)" if differ else ""
    left_out = {"fair_bps", "alone_rtt_ms", "alone_retransmit_ratio"}
    columns = [name for name in found.groups.columns if name not in left_out]
    return view(found.groups, columns, keys=2, most=_MOST_ROWS, caption=found.text + spread, where=_WHERE)


def _cells(columns: Sequence[Column], row: Row) -> list[str]:
    return [column.text(row[column.name]) for column in columns]


def _arrow(row: Row) -> str:
    return ARROWS.get(row["direction"], "")


def _more(rows: Sequence[object]) -> str:
    return f"and {len(rows) - _MOST_ROWS:,} more{_WHERE}" if len(rows) > _MOST_ROWS else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _spark(run: Run, flow: str, direction: str) -> Styled:
    if len(run.samples) == 0:
        return Styled("not sampled", "dim")
    window = run.scenario.duration_s / _SPARKS
    curve = series.goodput(run, flow, window)
    # The curve starts when its flow starts, but the sparkline covers the whole run.
    middles = window * (np.arange(_SPARKS) + 0.5)
    values = (
        np.interp(middles, curve.time_s, curve.value, left=0.0, right=0.0) if len(curve.time_s) else np.zeros(_SPARKS)
    )
    style = {"down": "blue", "up": "yellow"}.get(direction, "green")
    return Styled(sparkline([float(value) for value in values]), style)
