"""What a sweep says: with which settings the flows perform best and worst, and where each does best by itself; of
another metric than goodput, where that is lowest and highest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.sweep import axis_columns, axis_setting
from lopsided.studies.sweep_metrics import OF_RUN, goodput_column, measured_by

if TYPE_CHECKING:
    import polars as pl

    from lopsided.data.catalogue import Column
    from lopsided.data.table import Table

_ALIKE = 0.02
"""Means that differ by less than this share are called alike."""
_MOST_FLOWS = 3
_WORDS = {
    "rtt_mean_ms": "mean round trip",
    "rtt_p95_ms": "95th percentile of round trips",
    "loss_share": "share of segments retransmitted",
    "completion_s": "mean completion time",
    "jain": "Jain's index",
}
"""Columns in a sentence, where the heading does not do."""


def verdict(table: Table, metric: str = SWEEP_METRIC) -> list[str]:
    """The sentences, of means over the seeds."""
    axes = axis_columns(table)
    frame = table.to_polars()
    if not axes or frame.select(axes).n_unique() < 2:
        return []
    return _of_goodput(frame, axes) if metric == "goodput" else _of_metric(*measured_by(table, metric), metric, axes)


def _of_metric(table: Table, column: Column, metric: str, axes: list[str]) -> list[str]:
    """Where the metric of each flow, or of the run, is lowest and highest."""
    import polars as pl

    of_run = metric in OF_RUN
    keys = axes if of_run else [*axes, "name"]
    means = table.to_polars().group_by(keys, maintain_order=True).agg(pl.col(column.name).mean())
    means = means.drop_nulls(column.name)
    names = [""] if of_run else means["name"].unique(maintain_order=True).to_list()
    said: list[str] = []
    for name in names if len(names) <= _MOST_FLOWS else ():
        arms = means if of_run else means.filter(pl.col("name") == name)
        if len(arms) < 2:
            continue
        highest, lowest = _extremes(arms, column.name)
        what = _WORDS.get(column.name, f"number of {column.heading}" if column.unit == "count" else column.heading)
        top, bottom = column.text(highest[column.name]), column.text(lowest[column.name])
        alike = lowest[column.name] > (1 - _ALIKE) * highest[column.name] or top == bottom
        low, high = _place(lowest, axes, named=not said), _place(highest, axes)
        if not name:
            what = what[0].upper() + what[1:]
            told = (
                f"the same with all of them, {top}"
                if alike
                else f"lowest, {bottom}, with {low}, and highest, {top}, with {high}"
            )
            said.append(f"{what} is {told}.")
        elif alike:
            said.append(f"{name} has the same {what}, {top}, with all of them.")
        else:
            said.append(f"{name} has its lowest {what}, {bottom}, with {low}, and its highest, {top}, with {high}.")
    return said


def _of_goodput(frame: pl.DataFrame, axes: list[str]) -> list[str]:
    """How well all perform together, and what each flow gets."""
    import polars as pl

    goodput = goodput_column(frame)
    means = frame.group_by([*axes, "name"], maintain_order=True).agg(
        pl.col(goodput).mean(), pl.col("rtt_mean_ms").mean(), pl.col("performance").mean()
    )
    said: list[str] = []
    arms = means.group_by(axes, maintain_order=True).agg(pl.col("performance").first()).drop_nulls("performance")
    if len(arms) > 1:
        best, worst = _extremes(arms, "performance")
        if worst["performance"] > (1 - _ALIKE) * best["performance"]:
            said.append(f"Performance is the same with all of them, {units.percent(best['performance'])}.")
        else:
            said.append(
                f"Performance is best, {units.percent(best['performance'])}, with {_place(best, axes, named=True)}, "
                f"and worst, {units.percent(worst['performance'])}, with {_place(worst, axes)}."
            )
    names = means["name"].unique(maintain_order=True).to_list()
    for name in names if len(names) <= _MOST_FLOWS else ():
        said.extend(_of_flow(means.filter(pl.col("name") == name), name, goodput, axes, named=not said))
    return said


def _of_flow(arms: pl.DataFrame, name: str, goodput: str, axes: list[str], *, named: bool) -> list[str]:
    arms = arms.drop_nulls(goodput)
    if len(arms) < 2:
        return []
    most, least = _extremes(arms, goodput)
    if least[goodput] > (1 - _ALIKE) * most[goodput]:
        told = f"{name} gets the same with all of them, {units.rate(most[goodput])}"
    else:
        told = (
            f"{name} gets most, {units.rate(most[goodput])}, with {_place(most, axes, named=named)}, and least, "
            f"{units.rate(least[goodput])}, with {_place(least, axes)}"
        )
    timed = arms.drop_nulls("rtt_mean_ms")
    if len(timed) > 1:
        longest, shortest = _extremes(timed, "rtt_mean_ms")
        if shortest["rtt_mean_ms"] < (1 - _ALIKE) * longest["rtt_mean_ms"]:
            times = (units.millis(row["rtt_mean_ms"]) for row in (shortest, longest))
            told += "; its mean round trip is {} to {}".format(*times)
    return [f"{told}."]


def _extremes(rows: pl.DataFrame, column: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows with the largest and the smallest value, the first of equals."""
    return rows.row(rows[column].arg_max(), named=True), rows.row(rows[column].arg_min(), named=True)


def _place(row: dict[str, Any], axes: list[str], *, named: bool = False) -> str:
    """Where it is; of a single key the value says that, once the key was named."""
    found = [(*axis_setting(axis), row[axis]) for axis in axes]
    if len(axes) == 1 and not named:
        return " ".join(filter(None, (str(found[0][2]), found[0][1])))
    return ", ".join(" ".join(filter(None, (setting, str(value), unit))) for setting, unit, value in found)
