"""The tables that commands print about runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from lopsided.data import series, units
from lopsided.data.table import text
from lopsided.studies.sweep import axis_columns
from lopsided.views import notable_links
from lopsided.views.sparkline import sparkline

if TYPE_CHECKING:
    from lopsided.data.table import Table
    from lopsided.run import Run

_SPARKS = 28
_MOST_ROWS = 30
_MOST_ARMS = 100
_ARROWS = {"down": "↓", "up": "↑"}


def flows(run: Run) -> RichTable:
    """One row per flow, its goodput over the run as a sparkline."""
    table = plain_table(
        "flow", "", "control", "goodput", "RTT", "RTT 95 %", "cwnd max", "sent again", "timeouts", left=3
    )
    table.add_column(f"goodput over {run.scenario.duration_s:g} s", no_wrap=True)
    for row in list(run.flows.rows())[:_MOST_ROWS]:
        table.add_row(
            row["name"],
            _ARROWS.get(row["direction"], ""),
            row["cc"],
            units.rate(row["goodput_bps"]),
            units.millis(row["rtt_mean_ms"]),
            units.millis(row["rtt_p95_ms"]),
            units.size(row["cwnd_max_bytes"] or None),
            units.count(row["retransmits"]),
            units.count(row["timeouts"]),
            _spark(run, row["name"], row["direction"]),
        )
    _say_left_out(table, len(run.flows))
    return table


def repeated_flows(runs: Sequence[Run]) -> RichTable:
    """One row per flow: the median over the runs, with the least and the greatest."""
    table = plain_table(
        "flow", "", "control", "goodput", "least to greatest", "RTT", "least to greatest", "sent again", left=3
    )
    first = runs[0]
    for index, row in enumerate(list(first.flows.rows())[:_MOST_ROWS]):
        goodput = [float(run.flows["goodput_bps"][index]) for run in runs]
        rtt = [value for run in runs if (value := run.flows["rtt_mean_ms"][index]) is not None]
        table.add_row(
            row["name"],
            _ARROWS.get(row["direction"], ""),
            row["cc"],
            units.rate(median(goodput)),
            f"{units.rate(min(goodput))} to {units.rate(max(goodput))}",
            units.millis(median(rtt)) if rtt else "–",
            f"{units.millis(min(rtt))} to {units.millis(max(rtt))}" if rtt else "–",
            units.count(median(int(run.flows["retransmits"][index]) for run in runs)),
        )
    alike = len({run.digest for run in runs}) == 1
    remark = "all alike: nothing in this scenario is random; a start_jitter would vary it" if alike else "medians"
    _say_left_out(table, len(first.flows), f"{len(runs)} runs, {remark}")
    return table


def links(run: Run) -> RichTable:
    """One row per notable link direction: rate, use, queue, drops, and marks where there are any."""
    notable = notable_links.links(run)
    marking = any(row["marked_packets"] for row in notable)
    marked = ["marked"] if marking else []
    table = plain_table(
        "link",
        "",
        "rate",
        "used",
        "queue mean",
        "queue max",
        "wait mean",
        "wait 95 %",
        *marked,
        "dropped",
        "lost",
        left=2,
    )
    for row in notable[:_MOST_ROWS]:
        table.add_row(
            row["link"],
            _ARROWS.get(row["direction"], ""),
            units.rate(row["rate_bps"]),
            units.percent(row["utilisation"]),
            f"{row['mean_backlog_packets']:.1f} pkt",
            f"{row['max_backlog_packets']} pkt",
            text("_ms", row["sojourn_mean_ms"]),
            text("_ms", row["sojourn_p95_ms"]),
            *([units.count(row["marked_packets"])] if marking else []),
            units.count(row["dropped_packets"]),
            units.count(row["lost_random"] + row["lost_pattern"]),
        )
    quiet = len(run.links) - len(notable)
    _say_left_out(table, len(notable), _quiet(quiet))
    return table


def fairness(runs: Sequence[Run]) -> RichTable:
    """One row per group of flows of the first run: what it got, was entitled to, and lost by company."""
    found = runs[0].fairness()
    table = plain_table(
        *("group", "control", "flows", "goodput", "share", "of fair", "Jain", "RTT", "resent"),
        *("alone", "harm", "to delay", "by loss"),
        left=2,
    )
    for row in list(found.groups.rows())[:_MOST_ROWS]:
        table.add_row(
            row["group"],
            row["cc"],
            units.count(row["flows"]),
            units.rate(row["goodput_bps"]),
            units.percent(row["share"]),
            units.percent(row["of_fair"]),
            "–" if row["jain"] is None else f"{row['jain']:.3f}",
            units.millis(row["rtt_ms"]),
            units.percent(row["resent"]),
            units.rate(row.get("alone_goodput_bps")),
            *(units.percent(row.get(f"harm_{kind}")) for kind in ("rate", "rtt", "resent")),
        )
    jains = [run.fairness(harm=False).jain for run in runs[1:]]
    known = [jain for jain in (found.jain, *jains) if jain is not None]
    spread = f"; Jain's index over the seeds {min(known):.3f} to {max(known):.3f}" if len(known) > 1 else ""
    _say_left_out(table, len(found.groups), found.text + spread)
    return table


def _quiet(directions: int) -> str:
    if not directions:
        return ""
    return f"{directions} more direction{'s' if directions > 1 else ''} at which nothing waited"


def plain_table(*headings: str, left: int) -> RichTable:
    """A table in the house's look; the first `left` columns are text, the others numbers."""
    table = RichTable(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False, caption_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right", no_wrap=True)
    return table


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _spark(run: Run, flow: str, direction: str) -> Text:
    if len(run.samples) == 0:
        return Text("not sampled", style="dim")
    window = run.scenario.duration_s / _SPARKS
    curve = series.goodput(run, flow, window)
    # A flow's curve starts with the flow; the line of text spans the run.
    middles = window * (np.arange(_SPARKS) + 0.5)
    values = (
        np.interp(middles, curve.time_s, curve.value, left=0.0, right=0.0) if len(curve.time_s) else np.zeros(_SPARKS)
    )
    return Text(
        sparkline([float(value) for value in values]), style={"down": "blue", "up": "yellow"}.get(direction, "green")
    )


def _say_left_out(table: RichTable, rows: int, caption: str = "") -> None:
    more = f"and {rows - _MOST_ROWS:,} more in the run folder's tables" if rows > _MOST_ROWS else ""
    table.caption = "; ".join(part for part in (caption, more) if part) or None


def sweep(table: Table) -> RichTable:
    """One row for each arm and flow of a sweep: medians over the repetitions, with the least and the greatest."""
    axes = axis_columns(table)
    frame = table.to_polars()
    goodput = "together_bps" if frame["together_bps"].null_count() < len(table) else "goodput_bps"
    performance = frame["performance"].null_count() < len(table)
    headings = ("flow", "", "goodput", "least to greatest", "RTT", *(("performance",) if performance else ()))
    shown = plain_table(*axes, *headings, left=len(axes) + 2)
    arms = frame.partition_by([*axes, "name"], maintain_order=True)
    for arm in arms[:_MOST_ARMS]:
        cells = [str(arm[axis][0]) for axis in axes]
        rates = arm[goodput].drop_nulls().to_list()
        rtts, shares = arm["rtt_mean_ms"].drop_nulls().to_list(), arm["performance"].drop_nulls().to_list()
        cells += [arm["name"][0], _ARROWS.get(arm["direction"][0], "")]
        cells += [
            units.rate(_middle(rates)),
            f"{units.rate(min(rates, default=None))} to {units.rate(max(rates, default=None))}",
        ]
        cells.append(units.millis(_middle(rtts)))
        if performance:
            cells.append(units.percent(_middle(shares)))
        shown.add_row(*cells)
    more = f"; and {len(arms) - _MOST_ARMS:,} more rows in the table" if len(arms) > _MOST_ARMS else ""
    when = "while all flows are active" if goodput == "together_bps" else "over each flow's life"
    seeds = frame["repetition"].n_unique()
    alike = seeds > 1 and frame["digest"].n_unique() == frame.select(axes).n_unique()
    remark = " (all alike: nothing here is random; a start_jitter would vary it)" if alike else ""
    shown.caption = f"medians over {seeds} seeds{remark}; goodput {when}{more}"
    return shown
