"""One look for every figure: direction has a colour, axes have units, and the small print says what was drawn.

Figures are made without pyplot, so nothing global is touched and a notebook's own settings stay as they are.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lopsided.data import output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

INK, MUTED, GRID, PAPER = "#1c2530", "#66727f", "#dfe4e9", "#ffffff"
RED = "#d64545"
DOWN = ("#2471c8", "#5b9be6", "#123f77", "#7fb3d9", "#3557a5")
UP = ("#e0761a", "#f0a35c", "#9a4a06", "#f2b880", "#c25a2a")
OTHER = ("#2e9e77", "#8a5fc7", "#c0578f", "#7a8b2d", "#4c9aa8")

# A page may give these inks another value, above all on dark paper.
_INKS = {INK: "--ink", MUTED: "--muted", GRID: "--grid", DOWN[2]: "--down-deep", UP[2]: "--up-deep"}

_RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.xmargin": 0.0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "svg.fonttype": "none",
    # Titles are the user's words: a dollar in them is no formula.
    "text.parse_math": False,
}

_WIDTH_IN = 8.4
_NOTE_CHARACTERS = 130
_TOP_IN, _BOTTOM_IN, _GAP_IN = 0.74, 0.86, 0.34


class LabFigure(Figure):
    """A matplotlib figure that notebooks show without pyplot."""

    def _repr_png_(self) -> bytes:
        return png(self)


@dataclass(frozen=True)
class Sheet:
    """A figure being drawn: its panels from the top down, sharing the x axis."""

    figure: LabFigure
    panels: tuple[Axes, ...]


def sheet(title: str, subtitle: str, heights: tuple[float, ...], x_label: str) -> Sheet:
    """A titled figure with one panel for each height (inches); margins are fixed, so all figures line up."""
    with mpl.rc_context(_RC):
        total = _TOP_IN + sum(heights) + _GAP_IN * (len(heights) - 1) + _BOTTOM_IN
        figure = LabFigure(figsize=(_WIDTH_IN, total), dpi=110)
        figure.text(0.012, 1 - 0.24 / total, title, fontsize=13, fontweight="bold", va="center")
        figure.text(0.012, 1 - 0.49 / total, subtitle, fontsize=9, color=MUTED, va="center")
        panels: list[Axes] = []
        top = total - _TOP_IN
        for height in heights:
            box = (0.088, (top - height) / total, 0.772, height / total)
            panel = figure.add_axes(box, sharex=panels[0] if panels else None)
            panel.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
            panel.yaxis.set_label_coords(-0.062, 0.5)
            panels.append(panel)
            top -= height + _GAP_IN
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=False)
        panels[-1].set_xlabel(x_label)
    return Sheet(figure, tuple(panels))


def small_panels(
    title: str, subtitle: str, names: Sequence[str], columns: int, height: float = 1.25
) -> tuple[LabFigure, tuple[Axes, ...]]:
    """A titled figure of many small panels side by side, each with a name and axes of its own."""
    side_in, gap_in, title_in = 0.45, 0.36, 0.18
    rows = -(-len(names) // columns)
    with mpl.rc_context(_RC):
        total = _TOP_IN + rows * (height + gap_in + title_in) + 0.6 - gap_in
        width = (_WIDTH_IN - 0.15 - columns * side_in) / columns
        figure = LabFigure(figsize=(_WIDTH_IN, total), dpi=110)
        figure.text(0.012, 1 - 0.24 / total, title, fontsize=13, fontweight="bold", va="center")
        figure.text(0.012, 1 - 0.49 / total, subtitle, fontsize=9, color=MUTED, va="center")
        panels: list[Axes] = []
        for number, name in enumerate(names):
            row, column = divmod(number, columns)
            left = side_in + column * (width + side_in)
            bottom = total - _TOP_IN - (row + 1) * (height + title_in) - row * gap_in
            panel = figure.add_axes((left / _WIDTH_IN, bottom / total, width / _WIDTH_IN, height / total))
            panel.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
            panel.set_title(name, loc="left", fontsize=9.5, pad=3)
            panels.append(panel)
    return figure, tuple(panels)


def small_print(figure: Figure, *notes: str) -> None:
    """What was drawn and how, at the foot of the figure."""
    with mpl.rc_context(_RC):
        height = figure.get_size_inches()[1]
        lines: list[str] = []
        for note in filter(None, notes):
            if lines and len(lines[-1]) + len(note) < _NOTE_CHARACTERS:
                lines[-1] += f"  ·  {note}"
            else:
                lines.append(note)
        figure.text(0.012, 0.1 / height, "\n".join(lines), fontsize=7, color=MUTED, va="bottom")


def colour(direction: str, index: int) -> str:
    """The colour of the `index`-th flow or queue of a direction."""
    family = {"down": DOWN, "up": UP}.get(direction, OTHER)
    return family[index % len(family)]


def rate_unit(top_bps: float) -> tuple[float, str]:
    """Bit/s per unit, and the unit, that suit rates up to this."""
    units = ((1e9, "Gbit/s"), (1e6, "Mbit/s"))
    return next(((scale, unit) for scale, unit in units if top_bps >= scale), (1e3, "kbit/s"))


def end_labels(panel: Axes, labels: list[tuple[float, str, str]]) -> None:
    """Names the curves at their right ends, `(y, text, colour)`, moved apart where they would overlap."""
    if not labels:
        return
    low, high = panel.get_ylim()
    height_in = panel.get_position().height * panel.figure.get_size_inches()[1]  # type: ignore[union-attr]
    step = (high - low) * 0.17 / height_in
    taken = float("-inf")
    with mpl.rc_context(_RC):
        for y, text, ink in sorted(labels, key=lambda label: label[0]):
            half = step * (1 + text.count("\n")) / 2
            at = max(min(max(y, low), high), taken + half)
            taken = at + half
            panel.annotate(
                text,
                (1.0, at),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                color=ink,
                fontsize=8.5,
                va="center",
                annotation_clip=False,
            )


def thin_out(time: NDArray[np.float64], value: NDArray[np.float64], points: int = 1600) -> tuple[Any, Any]:
    """At most about `points` points that keep every bucket's lowest and highest value, so no peak is lost."""
    if len(time) <= points:
        return time, value
    buckets = np.array_split(np.arange(len(time)), points // 2)
    keep: list[int] = []
    for bucket in buckets:
        present = bucket[~np.isnan(value[bucket])]
        if len(present):
            keep.extend(sorted({int(present[np.argmin(value[present])]), int(present[np.argmax(value[present])])}))
        else:
            keep.append(int(bucket[0]))
    return time[keep], value[keep]


def png(figure: Figure, dpi: int = 150) -> bytes:
    """The figure as PNG."""
    with mpl.rc_context(_RC):
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Writes the figure as `.png`, `.svg` or `.pdf`, with a mark by which we know it again."""
    keys = {".png": "Software", ".svg": "Description", ".pdf": "Creator"}
    with mpl.rc_context(_RC), output.whole_file(path) as temporary:
        figure.savefig(temporary, dpi=150, metadata={keys.get(path.suffix, "Creator"): output.MARK})


def svg(figure: Figure, salt: str) -> str:
    """The figure as an `<svg>` element for a page: no XML header, ids unique to `salt`, inks as CSS variables."""
    with mpl.rc_context({**_RC, "svg.hashsalt": salt, "figure.facecolor": "none"}):
        out = io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for ink, variable in _INKS.items():
        text = text.replace(ink, f"var({variable}, {ink})")
    return text
