"""Computes the metrics of a run in a sweep, per flow and for the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lopsided.data import series
from lopsided.data.table import Row
from lopsided.errors import UsageError
from lopsided.metrics import min_normalised_goodput

if TYPE_CHECKING:
    from lopsided.scenario import Run


def flow_rows(run: Run) -> list[Row]:
    """Returns a run's flows, with two additional columns.

    `goodput_overlap_bps` is the goodput in the period in which all flows are active; null if there is no such period.
    `performance` is the smaller of two ratios in this period: download goodput to downlink rate, and upload goodput to
    uplink rate. It is null unless both directions have flows.
    """
    rows = list(run.flows.rows())
    together = together_goodput(run)
    performance = None if together is None else performance_of(run, together)
    return [
        {**row, "goodput_overlap_bps": None if together is None else together[row["name"]], "performance": performance}
        for row in rows
    ]


def together_goodput(run: Run) -> dict[str, float] | None:
    """Returns each flow's goodput in bit/s while all flows are active; `None` if there is no such period."""
    if len(run.samples) == 0:
        return None
    try:
        start, stop = series.both_active(run)
    except UsageError:
        return None
    return {name: series.goodput_between(run, name, start, stop) for name in run.flows.values("name")}


def performance_of(run: Run, goodput_bps: Mapping[str, float]) -> float | None:
    """Returns the performance (merritt2010 eq 1.2): the download goodput divided by the downlink's rate, or the upload
    goodput divided by the uplink's rate, whichever is smaller. Returns `None` if a direction has no flow or no rate."""
    down_bps, up_bps = run.scenario.link_rate_bps("down"), run.scenario.link_rate_bps("up")
    totals = {"down": 0.0, "up": 0.0}
    directions = dict(zip(run.flows.values("name"), run.flows.values("direction"), strict=True))
    if not set(directions.values()) >= {"down", "up"} or not down_bps or not up_bps:
        return None
    for name, goodput in goodput_bps.items():
        if directions[name] in totals:
            totals[directions[name]] += goodput
    return min_normalised_goodput(totals["down"], totals["up"], down_bps, up_bps)
