"""Writes the sentences of a sweep: the best and worst settings, and the best setting for each flow.

For metrics other than goodput, the sentences name the settings with the lowest and the highest value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.table import Row
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.spread import grouped, mean
from lopsided.studies.sweep.axes import axis_columns, axis_setting
from lopsided.studies.sweep.metrics import OF_RUN, goodput_column, measured_by

if TYPE_CHECKING:
    from lopsided.data.catalogue import Column
    from lopsided.data.table import Table

_ALIKE = 0.02
"""Means count as equal if their relative difference is below this fraction."""
_MOST_FLOWS = 3
_WORDS = {
    "rtt_mean_ms": "mean round trip",
    "rtt_p95_ms": "95th percentile of round trips",
    "loss_share": "share of segments retransmitted",
    "completion_s": "mean completion time",
    "jain": "Jain's index",
}
"""Names of metrics in sentences. Other metrics have the heading of their column as their name."""


def verdict(table: Table, metric: str = SWEEP_METRIC) -> list[str]:
    """Returns sentences that compare the means of the arms; an empty list if there is only one arm."""
    axes = axis_columns(table)
    rows = list(table.rows())
    if not axes or len({tuple(row[axis] for axis in axes) for row in rows}) < 2:
        return []
    if metric == "goodput":
        return _of_goodput(rows, goodput_column(table), axes)
    measured, column = measured_by(table, metric)
    return _of_metric(list(measured.rows()), column, metric, axes)


def _means(rows: Iterable[Row], keys: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Returns one row per combination of the keys' values, with the means of the columns. The mean is `None` if no row
    has a value."""
    return [
        {**dict(zip(keys, key, strict=True)), **{column: mean(row[column] for row in group) for column in columns}}
        for key, group in grouped(rows, keys).items()
    ]


def _of_metric(rows: list[Row], column: Column, metric: str, axes: list[str]) -> list[str]:
    """Returns sentences about the settings with the lowest and the highest value of the metric, per flow or for the
    whole run."""
    of_run = metric in OF_RUN
    means = [
        row for row in _means(rows, axes if of_run else [*axes, "name"], [column.name]) if row[column.name] is not None
    ]
    names = [""] if of_run else list(dict.fromkeys(row["name"] for row in means))
    said: list[str] = []
    for name in names if len(names) <= _MOST_FLOWS else ():
        arms = means if of_run else [row for row in means if row["name"] == name]
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
                f"the same with all values, {top}"
                if alike
                else f"lowest, {bottom}, with {low}, and highest, {top}, with {high}"
            )
            said.append(f"{what} is {told}.")
        elif alike:
            said.append(f"{name} has the same {what}, {top}, with all values.")
        else:
            said.append(f"{name} has its lowest {what}, {bottom}, with {low}, and its highest, {top}, with {high}.")
    return said


def _of_goodput(rows: list[Row], goodput: str, axes: list[str]) -> list[str]:
    """Returns sentences about the settings with the best and the worst performance, and about each flow's goodput."""
    means = _means(rows, [*axes, "name"], [goodput, "rtt_mean_ms", "performance"])
    said: list[str] = []
    once = {tuple(row[axis] for axis in axes): row for row in reversed(means)}
    arms = [row for row in reversed(once.values()) if row["performance"] is not None]
    if len(arms) > 1:
        best, worst = _extremes(arms, "performance")
        if worst["performance"] > (1 - _ALIKE) * best["performance"]:
            said.append(f"Performance is the same with all values, {units.percent(best['performance'])}.")
        else:
            said.append(
                f"Performance is best, {units.percent(best['performance'])}, with {_place(best, axes, named=True)}, "
                f"and worst, {units.percent(worst['performance'])}, with {_place(worst, axes)}."
            )
    names = list(dict.fromkeys(row["name"] for row in means))
    for name in names if len(names) <= _MOST_FLOWS else ():
        said.extend(_of_flow([row for row in means if row["name"] == name], name, goodput, axes, named=not said))
    return said


def _of_flow(arms: list[Row], name: str, goodput: str, axes: list[str], *, named: bool) -> list[str]:
    arms = [row for row in arms if row[goodput] is not None]
    if len(arms) < 2:
        return []
    most, least = _extremes(arms, goodput)
    if least[goodput] > (1 - _ALIKE) * most[goodput]:
        told = f"{name} gets the same with all values, {units.rate(most[goodput])}"
    else:
        told = (
            f"{name} gets the most, {units.rate(most[goodput])}, with {_place(most, axes, named=named)}, "
            f"and the least, {units.rate(least[goodput])}, with {_place(least, axes)}"
        )
    timed = [row for row in arms if row["rtt_mean_ms"] is not None]
    if len(timed) > 1:
        longest, shortest = _extremes(timed, "rtt_mean_ms")
        if shortest["rtt_mean_ms"] < (1 - _ALIKE) * longest["rtt_mean_ms"]:
            times = (units.millis(row["rtt_mean_ms"]) for row in (shortest, longest))
            told += "; its mean round trip is {} to {}".format(*times)
    return [f"{told}."]


def _extremes(rows: list[Row], column: str) -> tuple[Row, Row]:
    """Returns the rows with the largest and the smallest value. If several rows have the same value, the first of
    these rows is returned."""
    return max(rows, key=lambda row: row[column]), min(rows, key=lambda row: row[column])


def _place(row: Row, axes: list[str], *, named: bool = False) -> str:
    """Returns a row's settings as text. With a single axis, the text contains the key only if `named` is true."""
    found = [(*axis_setting(axis), row[axis]) for axis in axes]
    if len(axes) == 1 and not named:
        return " ".join(filter(None, (str(found[0][2]), found[0][1])))
    return ", ".join(" ".join(filter(None, (setting, str(value), unit))) for setting, unit, value in found)
