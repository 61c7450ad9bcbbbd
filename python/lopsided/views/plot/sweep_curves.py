"""Figures of a sweep: one axis as curves with their spread, two as a heat map."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from lopsided.data.table import number
from lopsided.errors import UsageError
from lopsided.studies import sweep as sweeps
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.data.table import Table
    from lopsided.scenario import Scenario

_MOST_FLOWS = 8


def draw(table: Table, scenario: Scenario) -> Figure:
    """The sweep's figure: goodput of each flow, and performance where there is one, against one or two axes."""
    axes = sweeps.axis_columns(table)
    if len(axes) == 1:
        return _curves(table, scenario, axes[0])
    if len(axes) == 2:
        return _heat_map(table, scenario, axes[0], axes[1])
    raise UsageError(f"a sweep of {len(axes)} axes has no one figure; draw from its table")


def _curves(table: Table, scenario: Scenario, axis: str) -> Figure:
    frame = table.to_polars()
    goodput = _goodput_column(frame)
    directions = [name for name in ("down", "up", "") if name in frame["direction"]]
    performance = "performance" in frame.columns and frame["performance"].null_count() < len(table)
    heights = (1.9,) * (len(directions) + performance)
    sheet = style.sheet(
        "Goodput" + (" and performance" if performance else ""), _subtitle(scenario), heights, _axis_label(axis)
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
    labels = []
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
    """A median with its band; returns the median at the right end."""
    value = pl.col(column)
    arms = rows.group_by(axis, maintain_order=True).agg(
        value.median(), value.min().alias("least"), value.max().alias("greatest")
    )
    middle, least, greatest = (arms[name].to_numpy() for name in (column, "least", "greatest"))
    if arms[axis].dtype.is_numeric():
        x = arms[axis].to_numpy()
        panel.fill_between(x, least, greatest, color=ink, alpha=0.15, linewidth=0)
        panel.plot(x, middle, color=ink, marker="o", markersize=3)
    else:
        # Between words there is nothing to draw a line through.
        spread = np.array([middle - least, greatest - middle])
        panel.errorbar(np.arange(len(arms)), middle, spread, color=ink, fmt="o", markersize=5, capsize=4)
    return float(arms[column][-1])


def _heat_map(table: Table, scenario: Scenario, x_axis: str, y_axis: str) -> Figure:
    frame = table.to_polars()
    performance = "performance" in frame.columns and frame["performance"].null_count() < len(table)
    column = "performance" if performance else _goodput_column(frame)
    rows = (
        frame
        if performance
        else frame.group_by(x_axis, y_axis, "repetition", maintain_order=True).agg(pl.col(column).sum() / 1e6)
    )
    cells = rows.group_by(x_axis, y_axis, maintain_order=True).agg(pl.col(column).median())
    xs, ys = (cells[axis].unique(maintain_order=True) for axis in (x_axis, y_axis))
    grid = np.full((len(ys), len(xs)), np.nan)
    for x, y, value in cells.iter_rows():
        grid[ys.to_list().index(y), xs.to_list().index(x)] = value
    title = "Performance" if performance else "Goodput of all flows (Mbit/s)"
    sheet = style.sheet(title, _subtitle(scenario), (3.2,), _axis_label(x_axis))
    (panel,) = sheet.panels
    with mpl.rc_context({"axes.grid": False}):
        image = panel.imshow(grid, origin="lower", aspect="auto", cmap="cividis")
    panel.grid(False)
    panel.set_xticks(range(len(xs)), [f"{x}" for x in xs])
    panel.set_yticks(range(len(ys)), [f"{y}" for y in ys])
    panel.set_ylabel(_axis_label(y_axis))
    middle = float(np.nanmean(grid))
    if grid.size <= 240:
        for (row, place), value in np.ndenumerate(grid):
            ink = "#ffffff" if value < middle else "#1c2530"
            panel.text(place, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    else:
        sheet.figure.colorbar(image, ax=panel, fraction=0.04)
    meaning = "the smaller of both directions' goodput / rate" if performance else "sum over the flows"
    style.small_print(sheet.figure, f"{meaning}; {_spread(frame)}", f"digest of all runs {_digest(frame)}")
    return sheet.figure


def _goodput_column(frame: pl.DataFrame) -> str:
    if "goodput_bps" not in frame.columns or "name" not in frame.columns:
        raise UsageError("this sweep measured something of its own; draw from its table")
    return "goodput_overlap_bps" if frame["goodput_overlap_bps"].null_count() < frame.height else "goodput_bps"


def _when(goodput: str) -> str:
    return "while all flows are active" if goodput == "goodput_overlap_bps" else "over each flow's life"


def _set_ticks(panel: Axes, values: pl.Series) -> None:
    if not values.dtype.is_numeric():
        names = values.unique(maintain_order=True).to_list()
        panel.set_xticks(range(len(names)), names)
        panel.set_xlim(-0.3, len(names) - 0.7)


def _axis_label(axis: str) -> str:
    setting, _, unit = axis.rpartition("_")
    return f"{setting} ({unit.replace('_', ' ')})" if setting and "." in setting else axis


def _subtitle(scenario: Scenario) -> str:
    return scenario.title or scenario.name


def _spread(frame: pl.DataFrame) -> str:
    repeats = frame["repetition"].n_unique()
    return f"medians of {repeats} seeds, spread from least to greatest" if repeats > 1 else "one seed"


def _digest(frame: pl.DataFrame) -> str:
    digests = frame["digest"].unique(maintain_order=True).to_list()
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
