"""Draws figures from specifications. A plot can be derived from another plot:

    THROUGHPUT = Plot("Throughput", "2400/196 kbit/s", "time (s)", (Panel("kbit/s", lines=rates),), ("sweep",))
    WINDOWS = THROUGHPUT.but(title="Windows", panels=(Panel("kB", lines=windows),))

A plot is a function of the measurements, so it can be the `make` of a `Figure`. Each line with a `column` is also a
column of the figure's data.
"""

# matplotlib's stubs do not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from lopsided.papers.framework.measurements import Array, Curve, Measurements, Spread
from lopsided.papers.framework.model import Artifact, Comparison
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CAPTION_IN = 0.17

Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
"""A dash pattern in matplotlib's notation: "-", ":", `(0, (4, 3))`."""

Text: TypeAlias = str | Callable[[Measurements], str]


@dataclass(frozen=True)
class Line:
    """One curve, step curve, series of bars or series of points.

    Attributes
    ----------
    label
        Name in the legend.
    end
        Name at the right end of the curve.
    column
        Column name in the figure's data.
    low, high
        Edges of the band around a curve, or of a bar's range.
    mark
        Marker of the points.
    style
        Dash pattern.
    width
        Width of the line in points, or of a bar in units of the axis.
    """

    x: ArrayLike
    y: ArrayLike
    ink: str
    look: Literal["line", "step", "bar", "points"] = "line"
    label: str = ""
    end: str = ""
    column: str = ""
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    base: ArrayLike = 0.0
    mark: str = ""
    size: float = 4.5
    style: Dashes = "-"
    width: float = 1.2
    hollow: bool = False

    @classmethod
    def of(cls, curve: Curve, ink: str, scale: float = 1.0, **more: Any) -> Self:
        """Returns a line that shows a measured curve. A band shows the range of the values over the repetitions."""
        more = {"mark": "o", "width": 1.5, **more}
        return cls(curve.x, curve.median * scale, ink, low=curve.low * scale, high=curve.high * scale, **more)


def printed_mark(x: float, y: float, ink: str) -> Line:
    """Returns a hollow diamond at `(x, y)` that marks a published value."""
    return Line([x], [y], ink, look="points", mark="D", size=8, hollow=True)


def side_by_side(
    places: Sequence[float], groups: Sequence[tuple[str, str, Sequence[Spread]]], scale: float = 1.0, width: float = 0.8
) -> Iterable[Line]:
    """Yields bars with their ranges: at each place, one bar per group `(title, ink, values)`.

    The bars at a place are drawn next to each other. Their total width is `width`.
    """
    each = width / len(groups)
    for number, (title, ink, values) in enumerate(groups):
        at = np.array(places) + (number - (len(groups) - 1) / 2) * each
        median, low, high = np.array(values).T * scale
        yield Line(at, median, ink, look="bar", width=each * 0.9, label=title, low=low, high=high)


Lines: TypeAlias = Callable[[Measurements], Iterable[Line]]


def _none(_m: Measurements) -> Iterable[Line]:
    return ()


@dataclass(frozen=True)
class Panel:
    """One panel: its axis, lines and limits.

    By default, the y axis starts at 0 (or at the smallest value, if negative) and ends just above the largest value.
    `levels` are horizontal lines `(y, ink)`. `uprights` are the positions of vertical lines. `legend` is the legend's
    position and number of columns.
    """

    y: str
    lines: Lines = _none
    caption: Text = ""
    height: float = 2.6
    limits: tuple[float, float] | Callable[[Measurements], tuple[float, float]] | None = None
    levels: Callable[[Measurements], Iterable[tuple[float, str]]] | None = None
    uprights: Callable[[Measurements], Iterable[float]] | None = None
    legend: tuple[Literal["best", "upper left"], int] | None = None
    finish: Callable[[Axes, Measurements], object] | None = None


@dataclass(frozen=True)
class Plot:
    """The specification of a figure. The text below the figure lists the number of runs and the digest of each
    experiment."""

    title: Text
    subtitle: Text
    x: str
    panels: tuple[Panel, ...]
    experiments: tuple[str, ...] = ()
    small_print: tuple[Text, ...] = ()
    x_limits: tuple[float, float] | Callable[[Measurements], tuple[float, float]] | None = None
    ticks: Sequence[float] | None = None
    tick_names: Sequence[str] | None = None
    log_x: bool = False
    notes: tuple[str, ...] = ()
    comparisons: Callable[[Measurements], Iterable[Comparison]] | None = None
    data: Callable[[Measurements], pl.DataFrame] | None = None
    axis: str = field(default="x")
    """Name of the column in the figure's data that contains the x values."""

    def but(self, **changes: Any) -> Plot:
        return replace(self, **changes)

    def __call__(self, m: Measurements) -> Artifact:
        heights = tuple(panel.height for panel in self.panels)
        sheet = style.sheet(_text(self.title, m), _text(self.subtitle, m), heights, self.x)
        drawn = [tuple(panel.lines(m)) for panel in self.panels]
        for axes, panel, lines in zip(sheet.panels, self.panels, drawn, strict=True):
            _draw(axes, panel, lines, m)
        self._finish_axis(sheet.panels, m)
        for axes, panel, lines in zip(sheet.panels, self.panels, drawn, strict=True):
            ends = [(float(np.asarray(line.y)[-1]), line.end, line.ink) for line in lines if line.end]
            style.end_labels(axes, [each for each in ends if np.isfinite(each[0])])
            if panel.legend:
                axes.legend(loc=panel.legend[0], fontsize=8.5, ncols=panel.legend[1], frameon=False)
        bands = any(line.low is not None for lines in drawn for line in lines)
        provenance = [provenance_of(m, each, bands=bands) for each in self.experiments]
        style.small_print(sheet.figure, *(_text(each, m) for each in self.small_print), *provenance)
        data = self.data(m) if self.data else _data(self.axis, [line for lines in drawn for line in lines])
        compared = tuple(self.comparisons(m)) if self.comparisons else ()
        return Artifact(data, sheet.figure, compared, self.notes)

    def _finish_axis(self, panels: Sequence[Axes], m: Measurements) -> None:
        for axes in panels:
            if self.log_x:
                axes.set_xscale("log", base=2)
            if self.ticks is not None:
                axes.minorticks_off()
                axes.set_xticks(list(self.ticks), self.tick_names or [f"{each:g}" for each in self.ticks])
            if self.x_limits is not None:
                axes.set_xlim(*(self.x_limits(m) if callable(self.x_limits) else self.x_limits))


def _text(text: Text, m: Measurements) -> str:
    return text(m) if callable(text) else text


def _draw(axes: Axes, panel: Panel, lines: Sequence[Line], m: Measurements) -> None:
    for line in lines:
        _draw_line(axes, line)
    for level, ink in panel.levels(m) if panel.levels else ():
        axes.axhline(level, color=ink, linewidth=0.9, linestyle=(0, (4, 3)))
    for place in panel.uprights(m) if panel.uprights else ():
        axes.axvline(place, color=style.MUTED, linewidth=0.9, linestyle=":")
    limits = panel.limits(m) if callable(panel.limits) else panel.limits
    axes.set_ylim(*(limits or _around(lines)))
    axes.set_ylabel(panel.y)
    if panel.finish:
        panel.finish(axes, m)
    if panel.caption:
        _caption(axes, _text(panel.caption, m))


def _around(lines: Sequence[Line]) -> tuple[float, float]:
    values = [value for line in lines for value in (line.y, line.low, line.high) if value is not None]
    known = np.concatenate([np.asarray(value, dtype=float).ravel() for value in values]) if values else np.zeros(1)
    known = known[np.isfinite(known)]
    low, high = (min(float(known.min()), 0.0), float(known.max())) if known.size else (0.0, 1.0)
    room = ((high - low) or 1.0) * 0.08
    return (low - room if low < 0 else low), high + room


def _draw_line(axes: Axes, line: Line) -> None:
    x, y, low, high = (_numbers(values) for values in (line.x, line.y, line.low, line.high))
    look: dict[str, Any] = {"color": line.ink, "label": line.label or None}
    if line.look == "bar":
        axes.bar(x, y, width=line.width, bottom=_numbers(line.base), **look)
        if line.low is not None:
            axes.vlines(x, low, high, color=style.INK, linewidth=1)
        return
    if line.low is not None:
        axes.fill_between(x, low, high, color=line.ink, alpha=0.14, linewidth=0)
    if line.mark:
        look |= {"marker": line.mark, "markersize": line.size}
    if line.hollow:
        look |= {"markerfacecolor": "none", "markeredgewidth": 1.6}
    elif line.mark in "_x+" and line.mark:
        # The markers are not filled. A wide edge keeps them visible.
        look |= {"markeredgewidth": 2.2}
    look |= {"linestyle": ""} if line.look == "points" else {"linestyle": line.style, "linewidth": line.width}
    if line.look == "step":
        look |= {"drawstyle": "steps-post"}
    axes.plot(x, y, **look)


def _numbers(values: ArrayLike | None) -> Array:
    return np.asarray([] if values is None else values, dtype=np.float64)


def _caption(axes: Axes, text: str) -> None:
    """Writes a line of text above a panel. The panel shrinks by the height of the text."""
    box = axes.get_position()
    room = _CAPTION_IN / style.figure_of(axes).get_figheight()
    axes.set_position((box.x0, box.y0, box.width, box.height - room))
    axes.annotate(
        text, (0.0, 1.0), (0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=9, va="bottom"
    )


def _data(axis: str, lines: Sequence[Line]) -> pl.DataFrame:
    """Joins all lines that have a column name into one table. Rows are matched by their x values."""
    frames: list[pl.DataFrame] = []
    for line in lines:
        if not line.column:
            continue
        parts = {line.column: line.y, f"{line.column}_low": line.low, f"{line.column}_high": line.high}
        known = {name: np.asarray(value, dtype=float) for name, value in parts.items() if value is not None}
        frames.append(pl.DataFrame({axis: np.asarray(line.x, dtype=float), **known}).fill_nan(None))
    return pl.concat(frames, how="align").sort(axis) if frames else pl.DataFrame()


def provenance_of(m: Measurements, experiment: str, *, bands: bool) -> str:
    """Returns the text below a figure about one experiment: the number of runs per point, and the digest."""
    runs = max(m.table(experiment)["runs"].to_list(), default=0)
    range_of = ", band: their range" if bands else ""
    spread = f"median of {runs} runs per point{range_of}" if runs > 1 else "one run per point"
    return f"{spread}  ·  digest {m.digest(experiment)}"
