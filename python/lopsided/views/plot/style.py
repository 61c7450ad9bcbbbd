"""The style of all figures.

Each direction has its own colour, axes have units, and a footnote describes the data. Figures are created without
pyplot, so that no global state changes.
"""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import path as paths
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.ticker import MaxNLocator

from lopsided.data import output
from lopsided.errors import UsageError
from lopsided.views.inks import (
    BOTTOM_IN,
    DOWN,
    GAP_IN,
    GRID,
    INK,
    LEFT,
    MUTED,
    NOTE_CHARACTERS,
    OTHER,
    PAPER,
    RED,
    SUBTITLE_CHARACTERS,
    TITLE_CHARACTERS,
    TOP_IN,
    UP,
    VARIABLES,
    WIDTH,
    WIDTH_IN,
    EndLabel,
    colour,
    cut,
    joined_notes,
    moved_apart,
    rate_unit,
    thin_out,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

__all__ = [
    "DOWN", "GRID", "INK", "LOOK", "MUTED", "OTHER", "PAPER", "RED", "UP", "EndLabel", "LabFigure", "Sheet", "colour",
    "end_labels", "figure_of", "png", "rate_unit", "save", "sheet", "small_panels", "small_print", "svg",
    "svg_and_file", "thin_out", "write", "y_label",
]  # fmt: skip

_METADATA = re.compile(r" <metadata>.*?</metadata>\n", re.DOTALL)
_NO_INK = re.compile(r'(<text style="(?:(?!fill:)[^"])*)(?=")')

LOOK: dict[Any, Any] = {  # matplotlib's stubs require the names of its settings as literal keys
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
    # In the user's titles, a dollar sign does not start a formula.
    "text.parse_math": False,
}


class LabFigure(Figure):
    """A matplotlib figure that notebooks display without pyplot."""

    aligned: tuple[Axes, ...] = ()
    """Panels whose y labels are placed beside the widest tick label of all panels."""
    ends: tuple[tuple[str, str], ...] = ()
    """Texts and colours of the labels at the curves' right ends."""

    def _repr_png_(self) -> bytes:
        return png(self)


@dataclass(frozen=True)
class Column:
    """The style for a journal's column: its width, a smaller font, no title, and no footnote."""

    width_in: float
    font_size: float = 8.0


COLUMNS = {"single": Column(3.5), "double": Column(7.16)}
"""The styles for figures across one column and across two columns of IEEE and ACM journals."""

_column: ContextVar[Column | None] = ContextVar("_column", default=None)
_TOP_COLUMN_IN, _BOTTOM_COLUMN_IN, _LEFT_COLUMN_IN, _RIGHT_COLUMN_IN = 0.12, 0.42, 0.52, 0.98
_BARE_COLUMN_IN = 0.12
"""Right margin in inches in the journal-column style if no labels are drawn at the ends of the curves."""


def in_column() -> bool:
    """Returns true while figures are drawn in the journal-column style."""
    return _column.get() is not None


def column_width_in() -> float | None:
    """Returns the width of the journal column in inches; `None` in the page style."""
    return None if (column := _column.get()) is None else column.width_in


@contextmanager
def for_column(name: str | None) -> Generator[None]:
    """Selects the style of the figures that the `with` block draws: `single` or `double` for a journal's columns, or
    `None` for the page style.

    Raises UsageError for another name.
    """
    if name is not None and name not in COLUMNS:
        raise UsageError(f"no column {name!r}; there are {', '.join(COLUMNS)}")
    before = _column.set(None if name is None else COLUMNS[name])
    try:
        yield
    finally:
        _column.reset(before)


@dataclass(frozen=True)
class Sheet:
    """A figure that is being drawn, and its panels from top to bottom."""

    figure: LabFigure
    panels: tuple[Axes, ...]


def sheet(
    title: str, subtitle: str, heights: tuple[float, ...], x_label: str, *, end_labels: bool = True, own_x: bool = False
) -> Sheet:
    """Creates a figure with a title and one panel for each height (in inches). The margins are fixed, so that all
    figures align.

    If `end_labels` is false, the panels in the journal-column style extend into the space for labels at the ends of the
    curves. If `own_x` is true, each panel has its own x range, and space for an x label.
    """
    look = LOOK
    if (column := _column.get()) is None:
        dpi, width_in, gap, top_in, bottom_in = 110, WIDTH_IN, GAP_IN, TOP_IN, BOTTOM_IN
        left, width, label_at = LEFT, WIDTH, -0.062
    else:
        sizes = dict.fromkeys(("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), column.font_size)
        look, dpi, width_in, gap = look | sizes, 300, column.width_in, GAP_IN / 2
        top_in, bottom_in = _TOP_COLUMN_IN, _BOTTOM_COLUMN_IN
        heights = tuple(height * (0.75 if width_in < 5 else 1.0) for height in heights)
        panel_in = width_in - _LEFT_COLUMN_IN - (_RIGHT_COLUMN_IN if end_labels else _BARE_COLUMN_IN)
        left, width, label_at = _LEFT_COLUMN_IN / width_in, panel_in / width_in, -0.36 / panel_in
    gap += _X_LABELS_IN if own_x else 0.0
    with mpl.rc_context(look):
        total = top_in + sum(heights) + gap * (len(heights) - 1) + bottom_in
        figure = LabFigure(figsize=(width_in, total), dpi=dpi)
        if column is None:
            _head(figure, total, title, subtitle)
        panels: list[Axes] = []
        top = total - top_in
        for height in heights:
            box = (left, (top - height) / total, width, height / total)
            panel = figure.add_axes(box, sharex=panels[0] if panels and not own_x else None)
            panel.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
            panel.yaxis.set_label_coords(label_at, 0.5)
            panels.append(panel)
            top -= height + gap
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=own_x)
        panels[-1].set_xlabel(x_label)
        figure.aligned = tuple(panels) if column else ()
    return Sheet(figure, tuple(panels))


_X_LABELS_IN = 0.3
"""Height in inches of the tick labels and the x label of a panel that has another panel below it."""


def _head(figure: Figure, height_in: float, title: str, subtitle: str) -> None:
    title, subtitle = cut(title, TITLE_CHARACTERS), cut(subtitle, SUBTITLE_CHARACTERS)
    figure.text(0.012, 1 - 0.24 / height_in, title, fontsize=13, fontweight="bold", va="center")
    figure.text(0.012, 1 - 0.49 / height_in, subtitle, fontsize=9, color=MUTED, va="center")


def legend_size() -> float:
    return 7.5 if (column := _column.get()) is None else column.font_size - 1.5


_BOTTOM_SMALL_IN = 0.3
"""Bottom margin in inches of a figure with small panels in the journal-column style, which omits the footnote."""


def small_panels(
    title: str,
    subtitle: str,
    names: Sequence[str],
    columns: int,
    height: float = 1.25,
    label: float = 0.0,
    side: float = 0.45,
) -> tuple[LabFigure, tuple[Axes, ...]]:
    """Creates a figure with a title and small panels. Each panel has its own name and axes.

    `label` is additional space below each panel, and `side` is the space to the left of each panel, both in inches. In
    a single journal column, the panels are stacked.
    """
    side_in, gap_in, title_in = side, 0.36 + label, 0.18
    journal = _column.get()
    width_in, top_in, bottom_in = (
        (WIDTH_IN, TOP_IN, 0.6) if journal is None else (journal.width_in, _TOP_COLUMN_IN, _BOTTOM_SMALL_IN)
    )
    if width_in < 5:
        columns = 1
    rows = -(-len(names) // columns)
    look: dict[Any, Any] = LOOK if journal is None else {**LOOK, "font.size": journal.font_size}
    with mpl.rc_context(look):
        total = top_in + rows * (height + gap_in + title_in) + bottom_in + label - gap_in
        width = (width_in - 0.15 - columns * side_in) / columns
        figure = LabFigure(figsize=(width_in, total), dpi=110)
        if journal is None:
            _head(figure, total, title, subtitle)
        panels: list[Axes] = []
        for number, name in enumerate(names):
            row, column = divmod(number, columns)
            left = side_in + column * (width + side_in)
            bottom = total - top_in - (row + 1) * (height + title_in) - row * gap_in
            panel = figure.add_axes((left / width_in, bottom / total, width / width_in, height / total))
            panel.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
            panel.set_title(name, loc="left", fontsize=9.5, pad=3, color=INK)
            panels.append(panel)
    return figure, tuple(panels)


def bars(panel: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, color: str, linewidth: float) -> None:
    """Draws vertical bars as one path. `Axes.vlines` draws one path per bar, which makes an SVG slow and large."""
    ends = np.column_stack([x, low, x, high]).reshape(-1, 2).astype(float)
    if not len(ends):
        return
    path = paths.Path(ends, np.tile([paths.Path.MOVETO, paths.Path.LINETO], len(ends) // 2))
    # Simplification would remove bars that are shorter than a pixel.
    path.should_simplify = False
    panel.add_artist(PathPatch(path, fill=False, edgecolor=color, linewidth=linewidth, capstyle="butt", snap=True))
    panel.update_datalim(ends)
    panel.autoscale_view()


def small_print(figure: Figure, *notes: str) -> None:
    """Completes a figure: writes the footnote. The journal-column style omits it and makes room for the y labels."""
    if _column.get() is not None:
        if isinstance(figure, LabFigure):
            _make_room(figure)
        return
    with mpl.rc_context(LOOK):
        width, height = figure.get_size_inches()
        lines = joined_notes(notes, int(NOTE_CHARACTERS * width / WIDTH_IN))
        figure.text(0.012, 0.1 / height, "\n".join(lines), fontsize=7, color=MUTED, va="bottom")


_LABEL_GAP_IN = 0.04


def _make_room(figure: LabFigure) -> None:
    """Places the y labels in a journal column beside the widest tick label, and moves the panels if they need room."""
    panels = [panel for panel in figure.aligned if panel.get_ylabel()]
    if not panels:
        return
    renderer = FigureCanvasAgg(figure).get_renderer()
    width_in, dots = figure.get_figwidth(), figure.dpi
    # In inches, to the left of the panel: the tick labels, and the lines of the label.
    ticks = max(
        (panel.get_window_extent().x0 - text.get_window_extent(renderer).x0) / dots
        for panel in panels
        for text in panel.get_yticklabels()
    )
    label = max(panel.yaxis.label.get_window_extent(renderer).width / dots for panel in panels)
    left = max(_LEFT_COLUMN_IN, ticks + 2 * _LABEL_GAP_IN + label) / width_in
    for panel in figure.aligned:
        box = panel.get_position()
        panel.set_position((left, box.y0, box.x1 - left, box.height))
        panel.yaxis.set_label_coords(-(ticks + _LABEL_GAP_IN) / width_in / (box.x1 - left), 0.5)


def figure_of(panel: Axes) -> Figure:
    """Returns a panel's figure. The result is never a subfigure, because this package creates none."""
    figure = panel.figure
    assert isinstance(figure, Figure)
    return figure


def end_labels(panel: Axes, labels: list[EndLabel]) -> None:
    """Writes labels `(y, text, colour)` at the curves' right ends, without overlap."""
    low, high = panel.get_ylim()
    figure = figure_of(panel)
    height_in = panel.get_position().height * figure.get_figheight()
    if isinstance(figure, LabFigure):
        figure.ends = tuple(dict.fromkeys((*figure.ends, *((text, ink) for _, text, ink in labels))))
    with mpl.rc_context(LOOK):
        for at, text, ink in moved_apart(labels, low, high, height_in):
            panel.annotate(
                text,
                (1.0, at),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                color=ink,
                fontsize=8.5 if (column := _column.get()) is None else column.font_size - 1,
                va="center",
                annotation_clip=False,
            )


def y_label(panel: Axes, text: str) -> None:
    """Labels the y axis. In the journal-column style, the label is a single line."""
    panel.set_ylabel(text.replace("\n", " ") if in_column() else text)


def png(figure: Figure, dpi: int = 150) -> bytes:
    """Returns the figure as PNG."""
    with mpl.rc_context(LOOK):
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Writes the figure atomically, with lopsided as its creator in the metadata."""
    with output.whole_file(path) as temporary:
        write(figure, temporary)


_files: ContextVar[str | None] = ContextVar("_files", default=None)


@contextmanager
def files_for_column(name: str | None) -> Generator[None]:
    """Within the `with` block, studies write figure files in the journal-column style `name`; `None` selects the page
    style. HTML pages always use the page style."""
    before = _files.set(name)
    try:
        yield
    finally:
        _files.reset(before)


def save_all(drawn: Mapping[str, Figure], draw: Callable[[], Mapping[str, Figure]], folder: Path) -> None:
    """Writes figures as .png and .pdf. If `files_for_column` selected a journal-column style, `draw` first draws them
    again in this style."""
    if (name := _files.get()) is not None:
        with for_column(name):
            drawn = draw()
    for each, figure in drawn.items():
        for suffix in (".png", ".pdf"):
            save(figure, folder / f"{each}{suffix}")


def write(figure: Figure, path: Path) -> None:
    """Writes the figure as `.png`, `.svg` or `.pdf`. The same figure always results in the same bytes."""
    keys = {".png": "Software", ".svg": "Description", ".pdf": "Creator"}
    dates: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix, {})
    # Journals require embedded fonts of type 42; matplotlib's default is type 3.
    with mpl.rc_context({**LOOK, "svg.hashsalt": "lopsided", "pdf.fonttype": 42, "ps.fonttype": 42}):
        figure.savefig(path, dpi=150, metadata={keys.get(path.suffix, "Creator"): output.MARK, **dates})


def svg(figure: Figure, salt: str) -> str:
    """Returns the figure as an `<svg>` element for an HTML page, and the labels of its curves as a paragraph for narrow
    screens. Colours are CSS variables, and `salt` makes the ids unique within the page."""
    return _for_page(figure, _transparent(figure, salt, None))


def svg_and_file(figure: Figure, salt: str, path: Path) -> str:
    """Draws the figure once. Writes the figure with a white background to the file, and returns the element that `svg`
    would return."""
    text = _transparent(figure, salt, output.MARK)
    ground = f'<rect width="100%" height="100%" style="fill: {PAPER}"/>'
    path.write_text(text.replace('<g id="figure_1">', f'{ground}\n <g id="figure_1">', 1), encoding="utf-8")
    return _for_page(figure, _METADATA.sub("", text, count=1))


def _transparent(figure: Figure, salt: str, mark: str | None) -> str:
    metadata: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    metadata |= {"Description": mark} if mark else {}
    with mpl.rc_context({**LOOK, "svg.hashsalt": salt, "figure.facecolor": "none"}):
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    return out.getvalue()


def _for_page(figure: Figure, text: str) -> str:
    # The page scales all figures alike, so that their letters have the same size.
    width = f'<svg style="--width: {figure.get_figwidth():g}"'
    text = width + text[text.index("<svg") + len("<svg") :]
    if isinstance(figure, LabFigure) and figure.ends:
        # On a narrow screen, the figure scrolls, and its right end is not visible.
        names = (f'<span style="color: {ink}">{html.escape(name)}</span>' for name, ink in figure.ends)
        text += f'<p class="ends">{" · ".join(names)}</p>\n'
    # matplotlib omits the fill attribute for black, which is invisible on a dark page.
    text = _NO_INK.sub(rf"\1; fill: {INK}", text)
    for ink, variable in VARIABLES.items():
        text = text.replace(ink, f"var({variable}, {ink})")
    return text
