"""Draws heat maps of a fairness matrix. A cell shows how the flows of its row compete with the flows of its column.

There is one map per RTT for pairs with equal RTTs, and one map per congestion control for pairs with unequal RTTs. With
`--pairs full`, one map shows all pairs.
"""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.patches import Rectangle

from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

    from lopsided.studies.fairness import Contender, Matrix
    from lopsided.studies.fairness.plan import HeatMapGrid

_DARK, _LIGHT, _EMPTY = "#1d242c", "#fdfdfd", "#c9cfd6"
_SHARE = LinearSegmentedColormap.from_list("share", ["#b3520f", "#f0a35c", "#f7f4ef", "#7fb3d9", "#1d5fa8"])
_HARM = LinearSegmentedColormap.from_list("harm", ["#f7f4ef", "#f3b8a4", "#d64545", "#8f1d2c"])
_GOOD = LinearSegmentedColormap.from_list("good", ["#8f1d2c", "#f0a35c", "#f7f4ef", "#8cc9b0", "#2e9e77"])
_TIME = LinearSegmentedColormap.from_list("time", ["#f7f4ef", "#c4b3e3", "#8a5fc7", "#4a2d80"])


@dataclass(frozen=True)
class Map:
    """The meaning of a metric, and the colours and the range of its heat map."""

    meaning: str
    colours: Colormap
    lowest: float
    highest: float | None
    """The value at the upper end of the colour scale. `None` selects the metric's largest value."""
    text: Callable[[float], str]
    empty: str = ""
    """The footnote's explanation of cells without a value."""


def _percent(value: float) -> str:
    return f"{100 * value:.0f}"


MAPS: dict[str, Map] = {
    "share": Map(
        "the row's share of both sides' goodput against the column, in percent",
        _SHARE,
        0.0,
        1.0,
        _percent,
    ),
    "harm_rate": Map(
        "goodput that the row loses to the column, in percent of its goodput alone; framed: more than to its own kind",
        _HARM,
        0.0,
        1.0,
        _percent,
    ),
    "harm_rtt": Map(
        "the part of the row's round-trip time that the column adds, in percent",
        _HARM,
        0.0,
        1.0,
        _percent,
    ),
    "harm_retransmits": Map(
        "the part of the row's retransmissions that the column causes, in percent",
        _HARM,
        0.0,
        1.0,
        _percent,
    ),
    "jain": Map("of all flows of both sides, in percent", _GOOD, 0.5, 1.0, _percent),
    "utilisation": Map("goodput of both sides, percent of the rate", _GOOD, 0.5, 1.0, _percent),
    "converged_s": Map(
        "seconds from the row's start next to the column until both shares stay near one half",
        _TIME,
        0.0,
        None,
        lambda value: f"{value:.0f}",
        "not within the run",
    ),
}
"""Maps each metric to the description of its heat map."""

_OWN_KIND_MARGIN = 0.05
"""A cell is framed if the row's harm from the column exceeds its harm from flows with its own congestion control by
more than this value. A smaller excess is considered noise."""

_LEFT_IN, _RIGHT_IN, _TOP_IN, _BOTTOM_IN = 0.24, 0.24, 0.78, 0.66
_GAP_IN, _SMALLEST_CELL_IN, _LARGEST_CELL_IN, _WIDTH_IN, _LEAST_WIDTH_IN = 0.3, 0.30, 0.46, 8.4, 4.4
_LINE_IN = 0.16
_BARE_IN = 0.08
"""Top margin in inches of a figure that has no title."""
_SIDE_OF_FEW_IN, _LARGEST_CELL_OF_FEW_IN = 3.2, 0.9
"""Width in inches of a heat map with few cells, and the largest width of its cells. These cells are larger than the
cells of other maps, so that the figure is not mostly empty."""
_CHARACTER_IN, _BOLD_CHARACTER_IN = 0.068, 0.082


def draw(matrix: Matrix, metric: str = "share") -> Figure:
    """Draws all heat maps of a metric. Raises UsageError if the metric is unknown or has no values."""
    if metric not in MAPS:
        raise UsageError(f"no map of {metric!r}; there are {', '.join(MAPS)}")
    shown, values = MAPS[metric], matrix.values(metric)
    known = [value for value in values.values() if value is not None]
    if not known and not shown.empty:
        raise UsageError(f"{metric!r} has no values to draw: no side ran alone")
    highest = shown.highest if shown.highest is not None else max(known, default=1.0)
    norm = Normalize(shown.lowest, max(highest, shown.lowest + 1e-9), clip=True)
    own = matrix.values("harm_rate_own") if metric == "harm_rate" else {}
    rows = [_fit(squares) for squares in matrix.study.squares()]
    with mpl.rc_context(style.LOOK):
        # In a journal, the figure's caption replaces the title and the explanation.
        bare = style.in_column()
        top_in, bottom_in = (_BARE_IN, 0.0) if bare else (_TOP_IN, _BOTTOM_IN)
        # The figure is as wide as the heat maps, but at least as wide as the title.
        width = max(style.column_width_in() or _LEAST_WIDTH_IN, *(row.width for row in rows))
        meaning = textwrap.wrap(shown.meaning, int((width - 0.2) / _CHARACTER_IN))
        top_in += 0 if bare else _LINE_IN * (len(meaning) - 1)
        height = top_in + bottom_in + sum(row.height for row in rows)
        figure = style.LabFigure(figsize=(width, height), dpi=110)
        if not bare:
            figure.text(0.012, 1 - 0.24 / height, matrix.figures[metric], fontsize=13, fontweight="bold", va="center")
            figure.text(0.012, 1 - 0.42 / height, "\n".join(meaning), fontsize=9, color=style.MUTED, va="top")
        top = height - top_in
        for row in rows:
            for place, panel in enumerate(row.panels):
                line, column = divmod(place, row.across)
                left = _LEFT_IN + row.label_in + column * (row.side_in(row.largest) + row.gap_in)
                size = row.side_in(len(panel.sides))
                upper = top - line * row.line_in - row.head_in
                axes = figure.add_axes((left / width, (upper - size) / height, size / width, size / height))
                _draw_panel(axes, panel, row, values, shown, norm, own, name_rows=column == 0)
            top -= row.height
    style.small_print(figure, *_notes(matrix, shown, known, len(values)))
    return figure


@dataclass(frozen=True)
class _Row:
    """The layout of a group of heat maps, with at most `across` maps side by side. Sizes are in inches."""

    panels: list[HeatMapGrid]
    across: int
    cell_in: float
    label_in: float
    head_in: float
    gap_in: float

    @property
    def largest(self) -> int:
        return max(len(panel.sides) for panel in self.panels)

    @property
    def line_in(self) -> float:
        return self.head_in + self.side_in(self.largest) + 0.22

    @property
    def height(self) -> float:
        return self.line_in * math.ceil(len(self.panels) / self.across)

    @property
    def width(self) -> float:
        columns = min(self.across, len(self.panels))
        return _LEFT_IN + self.label_in + columns * (self.side_in(self.largest) + self.gap_in) + _RIGHT_IN

    def side_in(self, sides: int) -> float:
        return self.cell_in * sides


def _fit(panels: list[HeatMapGrid]) -> _Row:
    """Returns the layout with the most maps side by side in which the numbers still fit into the cells."""
    largest = max(len(panel.sides) for panel in panels)
    longest = max(len(label) for panel in panels for label in panel.labels)
    label_in = max(0.4, 0.14 + _CHARACTER_IN * longest)
    heading_in = _BOLD_CHARACTER_IN * max(len(panel.heading) for panel in panels) + 0.1
    room = (style.column_width_in() or _WIDTH_IN) - _LEFT_IN - _RIGHT_IN - label_in

    def cell_in(across: int) -> float:
        most = (
            max(_LARGEST_CELL_IN, min(_LARGEST_CELL_OF_FEW_IN, _SIDE_OF_FEW_IN / largest))
            if across == 1
            else _LARGEST_CELL_IN
        )
        return min(most, (room - _GAP_IN * (across - 1)) / across / largest)

    def fits(across: int) -> bool:
        side = cell_in(across) * largest
        wide = max(side + _GAP_IN, heading_in) * (across - 1) + side
        return cell_in(across) >= _SMALLEST_CELL_IN and wide <= room + 1e-9

    across = next(filter(fits, range(min(len(panels), 6), 0, -1)), 1)
    cell = cell_in(across)
    # Labels above the cells are horizontal if they fit the width of a cell, otherwise vertical.
    standing = _CHARACTER_IN * longest > cell
    head_in = 0.34 + (0.06 + _CHARACTER_IN * longest if standing else 0.16)
    return _Row(panels, across, cell, label_in, head_in, max(_GAP_IN, heading_in - cell * largest))


def _draw_panel(
    axes: Axes,
    panel: HeatMapGrid,
    row: _Row,
    values: dict[tuple[Contender, Contender], float | None],
    shown: Map,
    norm: Normalize,
    own: dict[tuple[Contender, Contender], float | None],
    *,
    name_rows: bool,
) -> None:
    count = len(panel.sides)
    size = min(8.5, 8.5 * row.cell_in / 0.36)
    axes.set_xlim(0, count)
    axes.set_ylim(count, 0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, pad=3)
    axes.xaxis.tick_top()
    standing = _CHARACTER_IN * max(map(len, panel.labels)) > row.cell_in
    axes.set_xticks(np.arange(count) + 0.5, panel.labels, rotation=90 if standing else 0, fontsize=min(8.5, size + 0.5))
    axes.set_yticks(np.arange(count) + 0.5, panel.labels if name_rows else [""] * count, fontsize=min(8.5, size + 0.5))
    axes.annotate(
        panel.heading,
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, (row.head_in - 0.2) * 72),
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        va="bottom",
    )
    for place in range(1, count):
        # A line separates rows and columns with different congestion controls.
        if panel.sides[place].cc != panel.sides[place - 1].cc and panel.sides[0].cc == panel.sides[1].cc:
            axes.axhline(place, color=style.MUTED, linewidth=0.9)
            axes.axvline(place, color=style.MUTED, linewidth=0.9)
    for y, side in enumerate(panel.sides):
        for x, other in enumerate(panel.sides):
            if (side, other) not in values:
                continue
            value = values[side, other]
            face = _EMPTY if value is None else shown.colours(norm(value))
            axes.add_patch(Rectangle((x + 0.03, y + 0.03), 0.94, 0.94, facecolor=face, linewidth=0))
            text = "–" if value is None else shown.text(value)
            if size >= 4:
                axes.text(x + 0.5, y + 0.52, text, ha="center", va="center", fontsize=size, color=_ink(face))
            mine = own.get((side, other))
            if value is not None and mine is not None and value > mine + _OWN_KIND_MARGIN:
                axes.add_patch(
                    Rectangle((x + 0.06, y + 0.06), 0.88, 0.88, fill=False, edgecolor=_ink(face), linewidth=1.3)
                )


def _ink(face: ColorType) -> str:
    """Returns the text colour, dark or light, that is readable on this background."""
    red, green, blue, _ = to_rgba(face)
    return _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else _LIGHT


def _notes(matrix: Matrix, shown: Map, known: list[float], cells: int) -> list[str]:
    study, line = matrix.study, matrix.study.bottleneck
    rates = (
        units.rate(line.down_bps)
        if line.up_bps == line.down_bps
        else f"{units.rate(line.down_bps)} down, {units.rate(line.up_bps)} up"
    )
    start, stop = line.window_s
    notes = [
        f"{rates}, data {line.direction}, buffer {line.buffer}, {line.stack}",
        f"{units.counted(line.flows, 'flow')} on each side",
        f"medians over both starting orders and {units.counted(study.repeat, 'seed')}",
        f"means of {units.seconds(round(stop - start, 1))}, {units.seconds(round(line.warmup_s, 1))} after both began",
        f"{matrix.world}, {len(study)} runs, digest of all {matrix.digest}",
    ]
    if shown.empty and len(known) < cells:
        notes.append(f"–: {shown.empty}")
    return notes
