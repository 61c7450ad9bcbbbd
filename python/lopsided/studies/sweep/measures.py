"""A run's metrics in a sweep, per flow and together."""

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
    """A run's flows, with two columns on the period in which all are active.

    `goodput_overlap_bps` is the goodput in this period; null without one. `performance` is the smaller of two ratios,
    download goodput over downlink rate and upload goodput over uplink rate; null unless both directions have flows.
    """
    rows = list(run.flows.rows())
    together = together_goodput(run)
    performance = None if together is None else performance_of(run, together)
    return [
        {**row, "goodput_overlap_bps": None if together is None else together[row["name"]], "performance": performance}
        for row in rows
    ]


def together_goodput(run: Run) -> dict[str, float] | None:
    """Each flow's goodput in bit/s while all are active; `None` without such a period."""
    if len(run.samples) == 0:
        return None
    try:
        start, stop = series.both_active(run)
    except UsageError:
        return None
    return {name: series.goodput_between(run, name, start, stop) for name in run.flows.values("name")}


def performance_of(run: Run, goodput_bps: Mapping[str, float]) -> float | None:
    """Performance (merritt2010 eq 1.2): the smaller ratio of a direction's goodput to its rate."""
    down_bps, up_bps = run.scenario.link_rate_bps("down"), run.scenario.link_rate_bps("up")
    totals = {"down": 0.0, "up": 0.0}
    directions = dict(zip(run.flows.values("name"), run.flows.values("direction"), strict=True))
    if not set(directions.values()) >= {"down", "up"} or not down_bps or not up_bps:
        return None
    for name, goodput in goodput_bps.items():
        if directions[name] in totals:
            totals[directions[name]] += goodput
    return min_normalised_goodput(totals["down"], totals["up"], down_bps, up_bps)
