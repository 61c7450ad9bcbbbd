"""What a sweep is judged by: each metric's name, its column, and how that follows from the table's others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data.catalogue import Column
from lopsided.data.study_tables import SWEEP
from lopsided.data.suggestions import meant
from lopsided.data.table import Table
from lopsided.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    "delay": "rtt_mean_ms",
    "delay95": "rtt_p95_ms",
    "loss": "loss_share",
    "retransmits": "retransmits",
    "completion": "completion_s",
    "jain": "jain",
    "performance": "performance",
}
"""The column of each metric but goodput, which is measured while all flows are active where that is ever so. A numeric
column of the table is a metric by its own name."""
METRICS = ("goodput", *COLUMNS)
"""What a sweep can be judged by, beside the columns of its table."""
OF_RUN = ("jain", "performance")
"""Metrics of a whole run, not of a flow."""

_MADE = {
    "loss_share": Column("loss_share", "share", "loss", "Retransmitted segments, over all that were sent."),
    "jain": Column("jain", "index", "Jain", "Jain's index of the flows' goodput."),
}


def check_metric(metric: str) -> None:
    """Refuses what a sweep cannot be judged by, before anything runs."""
    columns = [column.name for column in SWEEP.columns if column.kind != "text"]
    if metric not in METRICS and metric not in columns:
        said = f"; there are {', '.join(METRICS)}, and the table's columns"
        if found := meant(metric, METRICS) or meant(metric, columns):
            said = f"; did you mean {found!r}?"
        raise UsageError(f"no metric {metric!r}{said}")


def measured_by(table: Table, metric: str) -> tuple[Table, Column]:
    """The table with the metric's column, and what that is; refused where no flow has it."""
    frame = table.to_polars()
    name = goodput_column(frame) if metric == "goodput" else COLUMNS.get(metric, metric)
    if name not in frame.columns and name in _MADE:
        frame = _with(frame, name, [*table.columns[: table.columns.index("repetition")], "repetition"])
    if name in frame.columns and frame[name].null_count() == frame.height:
        raise UsageError(f"no flow of this sweep has a {metric}")
    if name not in frame.columns or not frame[name].dtype.is_numeric():
        raise UsageError(f"no metric {metric!r}; there are {', '.join(METRICS)}, and the table's columns")
    return Table(frame, SWEEP), _MADE.get(name) or table.column(name)


def goodput_column(frame: pl.DataFrame) -> str:
    """Goodput while all flows are active, or over each flow's life where they never are.

    Raises UsageError for a sweep that measured neither.
    """
    if "goodput_bps" not in frame.columns or "name" not in frame.columns:
        raise UsageError("this sweep measured something of its own; draw from its table")
    return "goodput_overlap_bps" if frame["goodput_overlap_bps"].null_count() < frame.height else "goodput_bps"


def _with(frame: pl.DataFrame, name: str, of_run: list[str]) -> pl.DataFrame:
    """The frame with a column that follows from others."""
    import polars as pl

    if name == "jain" and "goodput_bps" in frame.columns:
        rate = pl.col(goodput_column(frame))
        return frame.with_columns((rate.sum() ** 2 / (pl.len() * (rate**2).sum())).over(of_run).alias(name))
    if name == "loss_share" and {"retransmits", "data_segments_out"} <= set(frame.columns):
        return frame.with_columns((pl.col("retransmits") / pl.col("data_segments_out")).alias(name))
    return frame
