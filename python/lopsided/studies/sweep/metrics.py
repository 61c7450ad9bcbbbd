"""Defines the metrics of a sweep: names, columns, and computed columns."""

from __future__ import annotations

from lopsided.data.catalogue import Column
from lopsided.data.rows import Rows
from lopsided.data.study_tables import SWEEP
from lopsided.data.suggestions import meant
from lopsided.data.table import Table
from lopsided.errors import UsageError
from lopsided.metrics import jain_index
from lopsided.studies.options import METRIC_COLUMNS, METRICS
from lopsided.studies.spread import grouped
from lopsided.studies.sweep.axes import axis_columns

OF_RUN = ("jain", "performance")
"""Metrics that have one value per run instead of one value per flow."""

_MADE = {
    "loss_share": Column("loss_share", "share", "loss", "Retransmitted segments as a share of all sent segments."),
    "jain": Column("jain", "index", "Jain", "Jain's index of the flows' goodput."),
}


def check_metric(metric: str) -> None:
    """Raises UsageError if a metric is unknown. The check needs no run."""
    columns = [column.name for column in SWEEP.columns if column.kind != "text"]
    if metric not in METRICS and metric not in columns:
        said = f"; there are {', '.join(METRICS)}, and the table's columns"
        if found := meant(metric, METRICS) or meant(metric, columns):
            said = f"; did you mean {found!r}?"
        raise UsageError(f"no metric {metric!r}{said}")


def measured_by(table: Table, metric: str) -> tuple[Table, Column]:
    """Returns the table, with the metric's column added if necessary, and the declaration of this column.

    Raises
    ------
    UsageError
        If the metric does not exist, or if no row has a value.
    """
    name = goodput_column(table) if metric == "goodput" else METRIC_COLUMNS.get(metric, metric)
    if name not in table.columns and name in _MADE:
        table = _with(table, name)
    if name not in table.columns:
        raise UsageError(f"no metric {metric!r}; there are {', '.join(METRICS)}, and the table's columns")
    known = [value for value in table.values(name) if value is not None]
    if not known:
        raise UsageError(f"no flow of this sweep has a {metric}")
    if isinstance(known[0], str):
        raise UsageError(f"no metric {metric!r}; there are {', '.join(METRICS)}, and the table's columns")
    return table, _MADE.get(name) or table.column(name)


def goodput_column(table: Table) -> str:
    """Returns the name of the goodput column.

    The column contains the goodput while all flows are active, if the table has such values. Otherwise it contains the
    goodput over each flow's lifetime.

    Raises UsageError if the table has no flows with goodputs.
    """
    if "goodput_bps" not in table.columns or "name" not in table.columns:
        raise UsageError("this sweep uses a function of your own as measure; draw the figure from its table")
    together = table.values("goodput_overlap_bps")
    return "goodput_overlap_bps" if any(value is not None for value in together) else "goodput_bps"


def _with(table: Table, name: str) -> Table:
    """Returns the table with a computed column, or unchanged if the column cannot be computed from the table."""
    rows = list(table.rows())
    if name == "jain" and "goodput_bps" in table.columns:
        rate = goodput_column(table)
        for of_run in grouped(rows, [*axis_columns(table), "repetition"]).values():
            index = jain_index([row[rate] or 0.0 for row in of_run])
            for row in of_run:
                row[name] = index
        return Table(Rows(rows), SWEEP)
    if name == "loss_share" and {"retransmits", "data_segments_out"} <= set(table.columns):
        for row in rows:
            sent = row["data_segments_out"]
            row[name] = row["retransmits"] / sent if sent else None
        return Table(Rows(rows), SWEEP)
    return table
