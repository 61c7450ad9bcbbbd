"""The collection that this paper's figures, tables and claims enter themselves into, and how they look things up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lopsided.papers.framework.model import Collection
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.yahya2011.testbed import Test
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab

collection = Collection()

INKS = {"SACK": style.MUTED, "CUBIC": style.DOWN[0], "HIGHSPEED": style.UP[0], "WESTWOOD": style.OTHER[0]}
MBIT = 1e6

ELAPSED, THROUGHPUT, RTT = "elapsed_time", "throughput_printed", "rtt_average"
RETRANSMITTED, PACKETS, WINDOW = "retransmitted_data_packets", "total_packets", "average_window_advertised"

_LOGS = ("Section 3.1.1", "Section 3.2.1", "Section 3.3.1")


def printed(lab: Lab, test: Test, flow: str, metric: str) -> PublishedValue | None:
    """What the report's logs say of a test's flow; None for what is lost, or was not taken."""
    metrics = (metric, "throughput_reconstructed") if metric == THROUGHPUT else (metric,)
    for row in lab.published:
        same = row.conditions.get("test") == test.name and row.conditions.get("flow") == flow
        if same and row.where in _LOGS and row.metric in metrics:
            return row
    return None


def number(value: PublishedValue | None) -> float:
    """The printed number; NaN where there is none."""
    return float("nan") if value is None else value.number


def row(lab: Lab, experiment: str, test: Test) -> Mapping[str, Any]:
    """The measured row of a test: medians, `_low` and `_high`."""
    return next(row for row in lab.table(experiment).iter_rows(named=True) if row["test"] == test.name)


def three(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    """Median, low and high of a measure; NaN where there is none."""
    values = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    median, low, high = (float("nan") if value is None else float(value) for value in values)
    return median, low, high


def experiment_of(test: Test) -> str:
    """Where a test as intended was run."""
    return "baselines" if test.alone else "combos"
