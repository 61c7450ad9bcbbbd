"""Prints a table on a console.

Numbers are never truncated. If the columns do not fit, decorative columns are dropped first. Then headings wrap and
the space between columns is removed. Finally the table is split into parts, with the key columns in each part. Parts
after the first omit rows in which all other columns are empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from lopsided.data.view import Styled, View

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_WIDEST_KEY = 28
_ANY_WIDTH = 100_000


@dataclass(frozen=True)
class _Layout:
    wrapped: bool
    """True if headings may wrap."""
    padding: int


_LAYOUTS = (_Layout(wrapped=False, padding=1), _Layout(wrapped=True, padding=1), _Layout(wrapped=True, padding=0))
"""Layouts from wide to narrow. The first layout that fits is used."""


@dataclass(frozen=True)
class Grid:
    """A `View` that rich can print."""

    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first, *others = self._parts(console, options, list(range(len(self.view.headings))))
        yield self._grid(first, self._layout(console, options, first) or _LAYOUTS[-1], self.view.rows)
        for part in others:
            rows = [row for row in self.view.rows if any(row[column] for column in part[self.view.keys :])]
            yield self._grid(part, self._layout(console, options, part) or _LAYOUTS[-1], rows)
        if self.view.caption:
            yield Text(self.view.caption, style="dim italic")

    def _parts(self, console: Console, options: ConsoleOptions, columns: list[int]) -> list[list[int]]:
        """Returns the columns of each part of the table. A table that fits the console is a single part."""
        if self._fits(console, options, columns, _LAYOUTS[0]):
            return [columns]
        columns = [column for column in columns if not self.view.headings[column].spare]
        if self._layout(console, options, columns) is not None:
            return [columns]
        keys, rest = columns[: self.view.keys], columns[self.view.keys :]
        parts: list[list[int]] = []
        part = list(keys)
        for column in rest:
            if len(part) > len(keys) and self._layout(console, options, [*part, column]) is None:
                parts.append(part)
                part = list(keys)
            part = [*part, column]
        return [*parts, part]

    def _layout(self, console: Console, options: ConsoleOptions, columns: list[int]) -> _Layout | None:
        """Returns the widest layout in which the given columns fit."""
        return next((each for each in _LAYOUTS if self._fits(console, options, columns, each)), None)

    def _fits(self, console: Console, options: ConsoleOptions, columns: list[int], layout: _Layout) -> bool:
        unbounded = options.update(width=_ANY_WIDTH)
        grid = self._grid(columns, layout, self.view.rows)
        return Measurement.get(console, unbounded, grid).maximum <= options.max_width

    def _grid(self, columns: list[int], layout: _Layout, rows: Sequence[Sequence[str]]) -> Table:
        grid = Table(
            box=box.SIMPLE_HEAD,
            header_style="dim",
            pad_edge=False,
            padding=(0, layout.padding),
            collapse_padding=layout.wrapped,
        )
        for column in columns:
            heading = self.view.headings[column]
            justify = "right" if heading.numeric else "left"
            if not layout.wrapped:
                grid.add_column(heading.text, justify=justify, no_wrap=True)
                continue
            words = _words(heading.text)
            width = max([*(len(str(row[column])) for row in rows), *map(len, words)], default=0)
            width = width if heading.numeric else min(width, _WIDEST_KEY)
            grid.add_column(_filled(words, width), justify=justify, width=width, overflow="fold")
        for row in rows:
            grid.add_row(*(_cell(row[column]) for column in columns))
        return grid


def _cell(cell: str) -> str | Text:
    return Text(cell, style=cell.style) if isinstance(cell, Styled) else cell


def _words(text: str) -> list[str]:
    """Returns the words of a heading. A number and its percent sign count as one word."""
    return re.split(r" (?!%)", text)


def _filled(words: Sequence[str], width: int) -> str:
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)
