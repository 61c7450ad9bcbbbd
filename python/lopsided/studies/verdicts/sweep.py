"""What a sweep says: with which settings the flows perform best and worst, and where each does best by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.studies.sweep import axis_columns

if TYPE_CHECKING:
    import polars as pl

    from lopsided.data.table import Table

_ALIKE = 0.02
"""Means that differ by less than this share are called alike."""
_MOST_FLOWS = 3


def verdict(table: Table) -> list[str]:
    """The sentences, of means over the seeds."""
    import polars as pl

    axes = axis_columns(table)
    frame = table.to_polars()
    if not axes or frame.select(axes).n_unique() < 2:
        return []
    overlap = frame["goodput_overlap_bps"].null_count() < len(frame)
    goodput = "goodput_overlap_bps" if overlap else "goodput_bps"
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
    if len(axes) == 1 and not named:
        return str(row[axes[0]])
    return ", ".join(f"{axis} {row[axis]}" for axis in axes)
