"""A table as people see it, for every place where one is shown: a console, an HTML page, a Markdown document.

On a console nothing that is a number is ever cut. Where the columns do not fit, those that are only for the eye go
first, then headings are wrapped, then columns move together, then the table is split, each part with the first
columns.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rich import box
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from lopsided.data.catalogue import Column

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from lopsided.data.table import Table

Cell: TypeAlias = str | Text

_WIDEST_KEY = 28
_ANY_WIDTH = 100_000


@dataclass(frozen=True)
class Heading:
    """What stands above a column, and what it means."""

    text: str
    meaning: str = ""
    numeric: bool = True
    spare: bool = False
    """Only for the eye: left out where there is no room."""


@dataclass(frozen=True)
class _Layout:
    """How a table is set on a console."""

    wrapped: bool
    """Headings stand in several lines where that is narrower."""
    padding: int


_LAYOUTS = (_Layout(wrapped=False, padding=1), _Layout(wrapped=True, padding=1), _Layout(wrapped=True, padding=0))
"""From wide to narrow; the first that fits is taken."""


@dataclass(frozen=True)
class View:
    """Headings and cells as text; the first `keys` columns say what a row is of."""

    headings: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    keys: int = 1
    caption: str = ""

    def html(self) -> str:
        """A `<table>`; headings tell their meaning when pointed at."""
        head = "".join(
            f"<th{_class(heading)}{_title(heading)}>{_kept_together(html.escape(heading.text))}</th>"
            for heading in self.headings
        )
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{_class(heading)}>{html.escape(str(cell))}</td>"
                for heading, cell in zip(self.headings, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"

    def markdown(self) -> str:
        """A table of Markdown."""
        head = "| " + " | ".join(heading.text for heading in self.headings) + " |"
        rule = "|" + "|".join("---:" if heading.numeric else "---" for heading in self.headings) + "|"
        body = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join([head, rule, *body])

    def latex(self) -> str:
        """A `tabular` with the rules of the package booktabs."""
        columns = "".join("r" if heading.numeric else "l" for heading in self.headings)
        rows = [[heading.text for heading in self.headings], *([str(cell) for cell in row] for row in self.rows)]
        head, *body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]) + "\n"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in self._parts(console, options, list(range(len(self.headings)))):
            yield self._grid(part, self._layout(console, options, part) or _LAYOUTS[-1])
        if self.caption:
            yield Text(self.caption, style="dim italic")

    def _parts(self, console: Console, options: ConsoleOptions, columns: list[int]) -> list[list[int]]:
        """The columns of each table that this one is shown as."""
        if self._fits(console, options, columns, _LAYOUTS[0]):
            return [columns]
        columns = [column for column in columns if not self.headings[column].spare]
        if self._layout(console, options, columns) is not None:
            return [columns]
        keys, rest = columns[: self.keys], columns[self.keys :]
        parts: list[list[int]] = []
        part = list(keys)
        for column in rest:
            if len(part) > len(keys) and self._layout(console, options, [*part, column]) is None:
                parts.append(part)
                part = list(keys)
            part = [*part, column]
        return [*parts, part]

    def _layout(self, console: Console, options: ConsoleOptions, columns: list[int]) -> _Layout | None:
        """The widest in which these columns fit."""
        return next((each for each in _LAYOUTS if self._fits(console, options, columns, each)), None)

    def _fits(self, console: Console, options: ConsoleOptions, columns: list[int], layout: _Layout) -> bool:
        unbounded = options.update(width=_ANY_WIDTH)
        return Measurement.get(console, unbounded, self._grid(columns, layout)).maximum <= options.max_width

    def _grid(self, columns: list[int], layout: _Layout) -> Grid:
        grid = Grid(
            box=box.SIMPLE_HEAD,
            header_style="dim",
            pad_edge=False,
            padding=(0, layout.padding),
            collapse_padding=layout.wrapped,
        )
        for column in columns:
            heading = self.headings[column]
            justify = "right" if heading.numeric else "left"
            if not layout.wrapped:
                grid.add_column(heading.text, justify=justify, no_wrap=True)
                continue
            words = _words(heading.text)
            width = max([*(len(str(row[column])) for row in self.rows), *map(len, words)], default=0)
            width = width if heading.numeric else min(width, _WIDEST_KEY)
            grid.add_column(_filled(words, width), justify=justify, width=width, overflow="fold")
        for row in self.rows:
            grid.add_row(*(row[column] for column in columns))
        return grid


def view(
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    rows: Iterable[dict[str, Any]] | None = None,
    keys: int = 1,
    most: int = 40,
    caption: str = "",
    where: str = "",
) -> View:
    """A table with these of its columns (default: all) that it has, its rows (default: all) written for people.

    No more rows than `most` are shown; the caption says how many more there are, and `where`.
    """
    chosen = [table.column(name) for name in columns or table.columns if name in table.columns]
    shown = list(table.rows() if rows is None else rows)
    hidden = len(shown) - most
    more = f"and {hidden:,} more rows{where}" if hidden > 0 else ""
    return View(
        headings=[heading(column) for column in chosen],
        rows=[[column.text(row[column.name]) for column in chosen] for row in shown[:most]],
        keys=keys,
        caption="; ".join(part for part in (caption, more) if part),
    )


def heading(column: Column) -> Heading:
    """A column's heading as the catalogue has it."""
    return Heading(column.heading, column.meaning, column.numeric)


_LATEX = str.maketrans(
    {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}", "–": "--", "µ": r"\textmu{}", "±": r"$\pm$", "↓": r"$\downarrow$", "↑": r"$\uparrow$"}
)


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _words(text: str) -> list[str]:
    """The words of a heading; a number and its percent sign are one."""
    return re.split(r" (?!%)", text)


def _filled(words: Sequence[str], width: int) -> str:
    """The words in lines of that width."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _kept_together(text: str) -> str:
    """A number and its percent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _class(heading: Heading) -> str:
    return ' class="n"' if heading.numeric else ""


def _title(heading: Heading) -> str:
    return f' title="{html.escape(heading.meaning)}"' if heading.meaning else ""
