"""Draws the figures of a sweep: curves with 95 % confidence intervals, distributions over the seeds, or a heat map."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from lopsided.data.table import Table, number
from lopsided.errors import UsageError
from lopsided.metrics import mean_interval
from lopsided.studies import sweep as sweeps
from lopsided.studies.options import METRIC_COLUMNS, SWEEP_METRIC
from lopsided.studies.sweep.metrics import OF_RUN, goodput_column, measured_by
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
"""Axis label of each metric, and the factor that converts its values to the label's unit."""


def draw(
    table: Table,
    scenario: Scenario,
    metric: str = SWEEP_METRIC,
    *,
    cdf: bool = False,
    heat_map: bool = False,
    column: str | None = None,
) -> Figure:
    """Draws one metric of a sweep over the values of one or two axes.

    For goodput, the default, a figure over one axis also shows the performance if the sweep measured it. With two axes,
    the second axis is the x axis if it is numeric, otherwise the first. Each value of the other axis has a line. If
    `heat_map` is true, the figure has one cell per combination instead. If `cdf` is true, the figure shows the
    distribution over the seeds for each combination. `column`, `single` or `double`, selects a journal-column style.

    Raises UsageError for more than two axes, unless `cdf` is true.
    """
    if column is not None:
        with style.for_column(column):
            return draw(table, scenario, metric, cdf=cdf, heat_map=heat_map)
    axes = sweeps.axis_columns(table)
    if metric != "goodput":
        table, _ = measured_by(table, metric)
    if len(axes) == 1 and metric == "goodput" and not cdf:
        return _curves(table, scenario, axes[0])
    measured = _Measured(table, axes, metric)
    if cdf:
        return _distribution(measured, scenario.heading, axes)
    if len(axes) == 1:
        return _metric(measured, scenario.heading, axes[0])
    if len(axes) == 2:
        return (_heat_map if heat_map else _lines)(measured, scenario.heading, axes)
    raise UsageError(f"a sweep of {len(axes)} axes has no single figure; draw from its table, or use --cdf")


class _Measured:
    """A sweep's values of one metric, in the unit of the axis label. `frame` has one row per run and flow, or one row
    per run if the metric describes the whole run."""

    def __init__(self, table: Table, axes: Sequence[str], metric: str) -> None:
        frame = table.to_polars()
        self.metric, self.of_run = metric, metric in OF_RUN
        if metric == "goodput":
            self.column = goodput_column(table)
            self._per_unit, unit = style.rate_unit(number(frame[self.column].max(), 0.0))
            self.label, scale = f"goodput ({unit})", 1 / self._per_unit
        else:
            self.column = METRIC_COLUMNS.get(metric, metric)
            self.label, scale = _AXES.get(metric, (metric.replace("_", " "), 1.0))
        self.title = self.label[:1].upper() + self.label[1:]
        if self.of_run:
            frame = frame.unique([*axes, "repetition"], maintain_order=True)
        self.frame = frame.with_columns(pl.col(self.column) * scale)
        self.names: list[str] = [""] if self.of_run else frame["name"].unique(maintain_order=True).to_list()

    def rows(self, name: str) -> pl.DataFrame:
        """Returns the rows of a flow, or all rows if the metric describes the whole run."""
        return self.frame if self.of_run else self.frame.filter(pl.col("name") == name)

    def panel(self, name: str) -> tuple[pl.DataFrame, str]:
        """Returns the rows of a flow that has a panel of its own, and the panel's label. Goodput is in a unit that
        suits the flow."""
        rows = self.rows(name)
        if self.metric != "goodput":
            return rows, self.label
        per_unit, unit = style.rate_unit(number(rows[self.column].max(), 0.0) * self._per_unit)
        return rows.with_columns(pl.col(self.column) * (self._per_unit / per_unit)), f"goodput ({unit})"


_MOST_PANELS = 4
_MOST_LINES = 10


def _lines(measured: _Measured, subtitle: str, axes: list[str]) -> Figure:
    """Draws a metric along one axis, with one line per value of the other axis. Each flow has a panel; a metric of the
    whole run has one panel."""
    frame, names = measured.frame, measured.names
    x, other = axes[::-1] if frame[axes[1]].dtype.is_numeric() else axes
    drawn = names[:_MOST_PANELS]
    title = "Goodput" if measured.metric == "goodput" else measured.title
    sheet = style.sheet(title, subtitle, (2.3,) * len(drawn), sweeps.axis_words(x), end_labels=False)
    values = frame[other].unique(maintain_order=True).to_list()
    for panel, name in zip(sheet.panels, drawn, strict=True):
        rows, label = measured.panel(name)
        for place, value in enumerate(values[:_MOST_LINES]):
            arm = rows.filter(pl.col(other) == value)
            shift = (place - (len(values) - 1) / 2) * 0.12
            _band(
                panel, arm, x, measured.column, _INKS[place], label=str(value), marker=_MARKERS[place % 5], shift=shift
            )
        panel.set_ylim(0, 1.02 if measured.of_run else None)
        panel.margins(x=0.03)
        panel.set_ylabel(f"{name}: {label}" if name else label)
    panel = sheet.panels[0]
    small = style.legend_size()
    panel.legend(title=sweeps.axis_words(other), fontsize=small, title_fontsize=small, ncols=min(3, len(values)))
    _set_ticks(sheet.panels[-1], frame[x])
    left = f"{len(names) - len(drawn)} more flows are not drawn; " if len(names) > len(drawn) else ""
    left += f"{len(values) - _MOST_LINES} more lines are not drawn; " if len(values) > _MOST_LINES else ""
    when = _when(measured.column) if measured.metric == "goodput" else ""
    return _signed(sheet, frame, f"{left}{_spread(frame)}", when)


_INKS = (style.DOWN[0], style.UP[0], *style.OTHER, style.INK, *style.DOWN[1:], *style.UP[1:], style.MUTED)
"""Line colours. Neighbouring colours differ in hue."""
_MARKERS = "osD^v"


def _metric(measured: _Measured, subtitle: str, axis: str) -> Figure:
    """Draws the means of a metric over the values of one axis, with 95 % confidence intervals."""
    frame = measured.frame
    sheet = style.sheet(measured.title, subtitle, (2.7,), sweeps.axis_words(axis))
    (panel,) = sheet.panels
    labels: list[style.EndLabel] = []
    for index, name in enumerate(measured.names[:_MOST_FLOWS]):
        rows = measured.rows(name)
        ink = style.INK if measured.of_run else style.colour(rows["direction"][0], index)
        last = _band(panel, rows, axis, measured.column, ink)
        if name and last == last:
            labels.append((last, name, ink))
    panel.set_ylim(0, 1.02 if measured.of_run else None)
    panel.set_ylabel(measured.label)
    _set_ticks(panel, frame[axis])
    style.end_labels(panel, labels)
    return _signed(sheet, frame, _spread(frame))


def _distribution(measured: _Measured, subtitle: str, axes: list[str]) -> Figure:
    """Draws the distribution of a metric over the seeds. Each flow has a panel; a metric of the whole run has one
    panel."""
    frame, names = measured.frame, measured.names
    drawn = names[:_MOST_PANELS]
    title, heights = f"Distribution of {measured.label.partition(' (')[0]}", (2.2,) * len(drawn)
    sheet = style.sheet(title, subtitle, heights, measured.label, end_labels=False, own_x=True)
    arms = frame.partition_by(axes, maintain_order=True, as_dict=True)
    inks = dict(zip(arms, _INKS, strict=False))
    for panel, name in zip(sheet.panels, drawn, strict=True):
        rows, label = measured.panel(name)
        of_flow = rows.partition_by(axes, as_dict=True)
        for key, ink in inks.items():
            if key not in of_flow:
                continue
            values = np.sort(of_flow[key][measured.column].drop_nulls().to_numpy())
            share = np.arange(1, len(values) + 1) / max(1, len(values))
            x, y = np.append(values[:1], values), np.append(0.0, share)
            panel.step(x, y, where="post", color=ink, label=", ".join(map(str, key)))
            # With few seeds, the curve alone would be misleading, so each seed is also drawn as a point.
            panel.plot(values, share, ".", color=ink, markersize=4)
        panel.set_ylim(0, 1.03)
        panel.margins(x=0.03)
        panel.set_ylabel(f"{name}: share of seeds" if name else "share of seeds")
        panel.set_xlabel(label)
    sheet.panels[0].legend(
        loc="best",
        fontsize=style.legend_size(),
        title=" / ".join(map(sweeps.axis_words, axes)),
        title_fontsize=style.legend_size(),
        handlelength=1.2,
        labelspacing=0.25,
        ncols=2 if len(arms) > 6 else 1,
    )
    left = f"; {len(arms) - len(_INKS)} more combinations are not drawn" if len(arms) > len(_INKS) else ""
    left += f"; {len(names) - len(drawn)} more flows are not drawn" if len(names) > len(drawn) else ""
    seeds = frame["repetition"].n_unique()
    return _signed(sheet, frame, f"{seeds} seeds, one point for each{left}")


def data(table: Table, metric: str = SWEEP_METRIC) -> pl.DataFrame:
    """Returns the values that the curves show, per combination and flow: the mean, its 95 % confidence interval, and
    the number of runs."""
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
            # Identical runs have no confidence interval.
            known |= {"low_95": None, "high_95": None}
        rows.append({**dict(zip(keys, key, strict=True)), "column": column, **known})
    return pl.DataFrame(rows).fill_nan(None)


def _curves(table: Table, scenario: Scenario, axis: str) -> Figure:
    frame = table.to_polars()
    goodput = goodput_column(Table(frame))
    directions = [name for name in ("down", "up", "") if name in frame["direction"]]
    performance = "performance" in frame.columns and frame["performance"].null_count() < len(table)
    heights = (1.9,) * (len(directions) + performance)
    sheet = style.sheet(
        "Goodput" + (" and performance" if performance else ""), scenario.heading, heights, sweeps.axis_words(axis)
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
    return _signed(sheet, frame, f"{meaning}{_spread(frame)}", _when(goodput))


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


def _band(
    panel: Axes,
    rows: pl.DataFrame,
    axis: str,
    column: str,
    ink: str,
    *,
    label: str = "",
    marker: str = "o",
    shift: float = 0.0,
) -> float:
    """Draws the means over an axis, with their 95 % confidence intervals. Returns the mean at the right end."""
    arms = rows.group_by(axis, maintain_order=True).agg(pl.col(column))
    if arms[axis].dtype.is_numeric():
        arms = arms.sort(axis)
    found = [mean_interval(values) for values in arms[column].to_list()]
    middle = np.array([each.mean for each in found])
    # A single seed has no confidence interval.
    reach = np.nan_to_num(np.array([each.half_width for each in found]))
    least, greatest = middle - reach, middle + reach
    if arms[axis].dtype.is_numeric():
        x = arms[axis].to_numpy()
        panel.fill_between(x, least, greatest, color=ink, alpha=0.15, linewidth=0)
        # Clipping would cut off half of a marker on the frame.
        panel.plot(x, middle, color=ink, marker=marker, markersize=3, clip_on=False, label=label or None)
    else:
        # If the values of the axis are not numbers, no line connects the means.
        spread = np.array([middle - least, greatest - middle])
        places = np.arange(len(arms)) + shift
        panel.errorbar(places, middle, spread, color=ink, fmt=marker, markersize=5, capsize=4, label=label or None)
    return float(middle[-1])


_MEANINGS = {"goodput": "sum over the flows; ", "performance": "the smaller of both directions' goodput / rate; "}


def _heat_map(measured: _Measured, subtitle: str, axes: list[str]) -> Figure:
    metric, value = measured.metric, pl.col(measured.column)
    title = measured.title if metric in _MEANINGS else measured.label
    meaning = _MEANINGS.get(metric, "" if measured.of_run else "mean over the flows; ")
    runs = measured.frame.group_by(*axes, "repetition", maintain_order=True)
    cells = runs.agg(value.sum() if metric == "goodput" else value.mean())
    cells = cells.group_by(axes, maintain_order=True).agg(value.mean())
    x_axis, y_axis = axes
    xs, ys = (cells[axis].unique(maintain_order=True) for axis in (x_axis, y_axis))
    grid = np.full((len(ys), len(xs)), np.nan)
    for x, y, value in cells.iter_rows():
        grid[ys.to_list().index(y), xs.to_list().index(x)] = value
    sheet = style.sheet(title, subtitle, (3.2,), sweeps.axis_words(x_axis), end_labels=False)
    (panel,) = sheet.panels
    with mpl.rc_context({"axes.grid": False}):
        image = panel.imshow(grid, origin="lower", aspect="auto", cmap="cividis")
    panel.grid(False)
    panel.set_xticks(range(len(xs)), [f"{x}" for x in xs])
    panel.set_yticks(range(len(ys)), [f"{y}" for y in ys])
    panel.set_ylabel(sweeps.axis_words(y_axis))
    if grid.size <= 240:
        for (row, place), value in np.ndenumerate(grid):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = style.PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else style.INK
            panel.text(place, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    # The colour bar has a label, because figures in the journal-column style have no title.
    bar = sheet.figure.colorbar(image, ax=panel, fraction=0.04)
    bar.set_label(title, fontsize=style.legend_size() + 1)
    bar.ax.tick_params(labelsize=style.legend_size())
    return _signed(sheet, measured.frame, f"{meaning}{_means(measured.frame)}")


def _when(goodput: str) -> str:
    return "while all flows are active" if goodput == "goodput_overlap_bps" else "over each flow's life"


def _set_ticks(panel: Axes, values: pl.Series) -> None:
    if not values.dtype.is_numeric():
        names = values.unique(maintain_order=True).to_list()
        panel.set_xticks(range(len(names)), names)
        panel.set_xlim(-0.3, len(names) - 0.7)


def _spread(frame: pl.DataFrame) -> str:
    means = _means(frame)
    return f"{means}, with 95 % intervals" if means.startswith("means") else means


def _means(frame: pl.DataFrame) -> str:
    repeats = frame["repetition"].n_unique()
    return f"means of {repeats} seeds" if repeats > 1 else "one seed"


def _signed(sheet: style.Sheet, frame: pl.DataFrame, *notes: str) -> Figure:
    """Adds the notes and the digest of all runs as a footnote."""
    digests = frame["digest"].unique(maintain_order=True).to_list()
    digest = hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
    style.small_print(sheet.figure, *notes, f"digest of all runs {digest}")
    return sheet.figure
