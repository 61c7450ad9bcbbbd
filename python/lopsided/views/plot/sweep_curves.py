"""Figures of a sweep: one axis as curves with their spread, two as a heat map."""

# matplotlib leaves out the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from lopsided.data.table import Table, number
from lopsided.errors import UsageError
from lopsided.metrics import mean_interval
from lopsided.studies import sweep as sweeps
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.sweep_metrics import COLUMNS, OF_RUN, goodput_column, measured_by
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.scenario import Scenario

_MOST_FLOWS = 8


_AXES: dict[str, tuple[str, float]] = {
    "delay": ("RTT (ms)", 1.0),
    "delay95": ("RTT, 95 % (ms)", 1.0),
    "retransmits": ("retransmitted segments", 1.0),
    "loss": ("retransmitted segments (%)", 100.0),
    "completion": ("completion time (s)", 1.0),
    "jain": ("Jain's index", 1.0),
    "performance": ("performance", 1.0),
}
"""What stands at the axis of a metric, and the scale of its values there."""


def draw(table: Table, scenario: Scenario, metric: str = SWEEP_METRIC, *, cdf: bool = False) -> Figure:
    """The sweep's figure: a metric of each flow, or of the run, against one or two axes.

    By default goodput, and performance where there is one. With `cdf` the distribution of the metric over flows and
    seeds, a curve for each combination. Raises UsageError for more than two axes.
    """
    axes = sweeps.axis_columns(table)
    if metric != "goodput":
        table, _ = measured_by(table, metric)
    if cdf:
        return _distribution(table, scenario, axes, metric)
    if len(axes) == 1:
        return _curves(table, scenario, axes[0]) if metric == "goodput" else _metric(table, scenario, axes[0], metric)
    if len(axes) == 2:
        return _heat_map(table, scenario, axes[0], axes[1], metric)
    raise UsageError(f"a sweep of {len(axes)} axes has no one figure; draw from its table, or its --cdf")


def _named(metric: str) -> tuple[str, str, float]:
    """Its column, what stands at its axis, and the scale of its values there."""
    return COLUMNS.get(metric, metric), *_AXES.get(metric, (metric.replace("_", " "), 1.0))


def _metric(table: Table, scenario: Scenario, axis: str, metric: str) -> Figure:
    """A metric's means against an axis, with their 95 % intervals."""
    frame = table.to_polars()
    column, label, scale = _named(metric)
    frame = frame.with_columns(pl.col(column) * scale)
    of_run = metric in OF_RUN
    names = [""] if of_run else frame["name"].unique(maintain_order=True).to_list()
    sheet = style.sheet(label[:1].upper() + label[1:], _subtitle(scenario), (2.7,), sweeps.axis_label(axis))
    (panel,) = sheet.panels
    labels: list[style.EndLabel] = []
    for index, name in enumerate(names[:_MOST_FLOWS]):
        rows = (
            frame.unique([axis, "repetition"], maintain_order=True) if of_run else frame.filter(pl.col("name") == name)
        )
        ink = style.INK if of_run else style.colour(rows["direction"][0], index)
        last = _band(panel, rows, axis, column, ink)
        if name and last == last:
            labels.append((last, name, ink))
    panel.set_ylim(0, 1.02 if of_run else None)
    panel.set_ylabel(label)
    _set_ticks(panel, frame[axis])
    style.end_labels(panel, labels)
    style.small_print(sheet.figure, _spread(frame), f"digest of all runs {_digest(frame)}")
    return sheet.figure


def _distribution(table: Table, scenario: Scenario, axes: list[str], metric: str) -> Figure:
    """The share of flows and seeds, or of runs, that have at most so much of the metric."""
    frame = table.to_polars()
    column, label, scale = (goodput_column(frame), "", 1.0) if metric == "goodput" else _named(metric)
    if metric == "goodput":
        per_unit, unit = style.rate_unit(number(frame[column].max(), 0.0))
        label, scale = f"goodput ({unit})", 1 / per_unit
    if metric in OF_RUN:
        frame = frame.unique([*axes, "repetition"], maintain_order=True)
    sheet = style.sheet(f"Distribution of {label}", _subtitle(scenario), (2.9,), label)
    (panel,) = sheet.panels
    arms = frame.partition_by(axes, maintain_order=True)
    # Neighbours are of another hue.
    inks = (style.DOWN[0], style.UP[0], *style.OTHER, style.INK, *style.DOWN[1:], *style.UP[1:])
    for index, arm in enumerate(arms[: len(inks)]):
        values = np.sort(arm[column].drop_nulls().to_numpy() * scale)
        share = np.arange(1, len(values) + 1) / max(1, len(values))
        name = ", ".join(str(arm[axis][0]) for axis in axes)
        panel.step(np.append(values[:1], values), np.append(0.0, share), where="post", color=inks[index], label=name)
    panel.set_ylim(0, 1)
    panel.margins(x=0.03)
    panel.set_ylabel("share")
    panel.legend(
        loc="lower right",
        frameon=False,
        fontsize=7.5,
        title=" / ".join(map(sweeps.axis_label, axes)),
        title_fontsize=7.5,
    )
    left = f"; {len(arms) - len(inks)} combinations more are not drawn" if len(arms) > len(inks) else ""
    of = "runs" if metric in OF_RUN else "flows"
    style.small_print(sheet.figure, f"over {of} and seeds{left}", f"digest of all runs {_digest(frame)}")
    return sheet.figure


def data(table: Table, metric: str = SWEEP_METRIC) -> pl.DataFrame:
    """What the curves of a metric show: for each combination and flow the mean, its 95 % interval and how many runs."""
    measured, of = measured_by(table, metric)
    frame, column = measured.to_polars(), of.name
    rows: list[dict[str, object]] = []
    axes = sweeps.axis_columns(table)
    keys = axes if metric in OF_RUN else [*axes, "name"]
    for key, arm in frame.group_by(keys, maintain_order=True):
        values = arm.unique("repetition", maintain_order=True) if metric in OF_RUN else arm
        found = mean_interval(values[column].to_list())
        known = {"mean": found.mean, "low_95": found.low, "high_95": found.high, "runs": found.of}
        if values["digest"].n_unique() == 1:
            # One and the same run over and over has no interval.
            known |= {"low_95": None, "high_95": None}
        rows.append({**dict(zip(keys, key, strict=True)), "column": column, **known})
    return pl.DataFrame(rows).fill_nan(None)


def _curves(table: Table, scenario: Scenario, axis: str) -> Figure:
    frame = table.to_polars()
    goodput = goodput_column(frame)
    directions = [name for name in ("down", "up", "") if name in frame["direction"]]
    performance = "performance" in frame.columns and frame["performance"].null_count() < len(table)
    heights = (1.9,) * (len(directions) + performance)
    sheet = style.sheet(
        "Goodput" + (" and performance" if performance else ""), _subtitle(scenario), heights, sweeps.axis_label(axis)
    )
    for panel, direction in zip(sheet.panels, directions, strict=False):
        _flow_curves(panel, frame.filter(pl.col("direction") == direction), axis, goodput, direction)
    if performance:
        panel = sheet.panels[-1]
        once = frame.unique([axis, "repetition"], maintain_order=True)
        _band(panel, once, axis, "performance", style.INK)
        panel.set_ylim(0, 1)
        panel.set_ylabel("performance")
    _set_ticks(sheet.panels[-1], frame[axis])
    meaning = "performance: the smaller of both directions' goodput / rate; " if performance else ""
    style.small_print(
        sheet.figure, f"{meaning}{_spread(frame)}", _when(goodput), f"digest of all runs {_digest(frame)}"
    )
    return sheet.figure


def _flow_curves(panel: Axes, rows: pl.DataFrame, axis: str, goodput: str, direction: str) -> None:
    names = rows["name"].unique(maintain_order=True).to_list()
    top = number(rows[goodput].max(), 0.0)
    scale, unit = style.rate_unit(top)
    labels: list[style.EndLabel] = []
    for index, name in enumerate(names[:_MOST_FLOWS]):
        of_flow = rows.filter(pl.col("name") == name).with_columns(pl.col(goodput) / scale)
        ink = style.colour(direction, index)
        last = _band(panel, of_flow, axis, goodput, ink)
        labels.append((last, name, ink))
    panel.set_ylim(0, top / scale * 1.08 or 1)
    panel.set_ylabel(f"{direction} ({unit})" if direction else f"({unit})")
    if len(names) > _MOST_FLOWS:
        labels.append((0.0, f"{len(names) - _MOST_FLOWS} more not drawn", style.MUTED))
    style.end_labels(panel, labels)


def _band(panel: Axes, rows: pl.DataFrame, axis: str, column: str, ink: str) -> float:
    """A mean with its 95 % interval as a band; returns the mean at the right end."""
    arms = rows.group_by(axis, maintain_order=True).agg(pl.col(column))
    found = [mean_interval(values) for values in arms[column].to_list()]
    middle = np.array([each.mean for each in found])
    # One seed has no interval.
    reach = np.nan_to_num(np.array([each.half_width for each in found]))
    least, greatest = middle - reach, middle + reach
    if arms[axis].dtype.is_numeric():
        x = arms[axis].to_numpy()
        panel.fill_between(x, least, greatest, color=ink, alpha=0.15, linewidth=0)
        panel.plot(x, middle, color=ink, marker="o", markersize=3)
    else:
        # Between words there is nothing to draw a line through.
        spread = np.array([middle - least, greatest - middle])
        panel.errorbar(np.arange(len(arms)), middle, spread, color=ink, fmt="o", markersize=5, capsize=4)
    return float(middle[-1])


def _heat_map(table: Table, scenario: Scenario, x_axis: str, y_axis: str, metric: str) -> Figure:
    if metric not in ("goodput", "performance"):
        column, label, scale = _named(metric)
        each = table.to_polars().with_columns(pl.col(column) * scale)
        rows = each.group_by(x_axis, y_axis, "repetition", maintain_order=True).agg(pl.col(column).mean())
        meaning = "" if metric in OF_RUN else "mean over the flows; "
        return _map(rows, column, label, scenario, (x_axis, y_axis), f"{meaning}{_means(each)}", _digest(each))
    frame = table.to_polars()
    performance = "performance" in frame.columns and frame["performance"].null_count() < len(table)
    column = "performance" if performance else goodput_column(frame)
    rows = (
        frame
        if performance
        else frame.group_by(x_axis, y_axis, "repetition", maintain_order=True).agg(pl.col(column).sum() / 1e6)
    )
    title = "Performance" if performance else "Goodput of all flows (Mbit/s)"
    meaning = "the smaller of both directions' goodput / rate" if performance else "sum over the flows"
    return _map(rows, column, title, scenario, (x_axis, y_axis), f"{meaning}; {_means(frame)}", _digest(frame))


def _map(
    rows: pl.DataFrame, column: str, title: str, scenario: Scenario, axes: tuple[str, str], meaning: str, digest: str
) -> Figure:
    x_axis, y_axis = axes
    cells = rows.group_by(x_axis, y_axis, maintain_order=True).agg(pl.col(column).mean())
    xs, ys = (cells[axis].unique(maintain_order=True) for axis in (x_axis, y_axis))
    grid = np.full((len(ys), len(xs)), np.nan)
    for x, y, value in cells.iter_rows():
        grid[ys.to_list().index(y), xs.to_list().index(x)] = value
    sheet = style.sheet(title, _subtitle(scenario), (3.2,), sweeps.axis_label(x_axis))
    (panel,) = sheet.panels
    with mpl.rc_context({"axes.grid": False}):
        image = panel.imshow(grid, origin="lower", aspect="auto", cmap="cividis")
    panel.grid(False)
    panel.set_xticks(range(len(xs)), [f"{x}" for x in xs])
    panel.set_yticks(range(len(ys)), [f"{y}" for y in ys])
    panel.set_ylabel(sweeps.axis_label(y_axis))
    if grid.size <= 240:
        for (row, place), value in np.ndenumerate(grid):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = style.PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else style.INK
            panel.text(place, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    else:
        sheet.figure.colorbar(image, ax=panel, fraction=0.04)
    style.small_print(sheet.figure, meaning, f"digest of all runs {digest}")
    return sheet.figure


def _when(goodput: str) -> str:
    return "while all flows are active" if goodput == "goodput_overlap_bps" else "over each flow's life"


def _set_ticks(panel: Axes, values: pl.Series) -> None:
    if not values.dtype.is_numeric():
        names = values.unique(maintain_order=True).to_list()
        panel.set_xticks(range(len(names)), names)
        panel.set_xlim(-0.3, len(names) - 0.7)


def _subtitle(scenario: Scenario) -> str:
    return scenario.title or scenario.name


def _spread(frame: pl.DataFrame) -> str:
    means = _means(frame)
    return f"{means}, with 95 % intervals" if means.startswith("means") else means


def _means(frame: pl.DataFrame) -> str:
    repeats = frame["repetition"].n_unique()
    return f"means of {repeats} seeds" if repeats > 1 else "one seed"


def _digest(frame: pl.DataFrame) -> str:
    digests = frame["digest"].unique(maintain_order=True).to_list()
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
