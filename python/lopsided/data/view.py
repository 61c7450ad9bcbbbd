"""A table for readers: headings and cells as text, for HTML, Markdown and LaTeX. `lopsided.views.grid` prints such
tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided.accessors import filled_in
from lopsided.data.catalogue import Column

if TYPE_CHECKING:
    from lopsided.data.table import Table


class Styled(str):
    """A cell with a console style, such as `bold red`."""

    style: str

    def __new__(cls, text: str, style: str) -> Styled:
        found = super().__new__(cls, text)
        found.style = style
        return found


@dataclass(frozen=True)
class Heading:
    """A column's heading and meaning."""

    text: str
    meaning: str = ""
    numeric: bool = True
    spare: bool = False
    """True if a narrow console may omit the column."""


def words(*texts: str) -> list[Heading]:
    """Returns one heading per text, each for a column of text."""
    return [Heading(text, numeric=False) for text in texts]


def numbers(*texts: str) -> list[Heading]:
    """Returns one heading per text, each for a column of numbers."""
    return [Heading(text) for text in texts]


@dataclass(frozen=True)
class View:
    """Headings and cells as text. The first `keys` columns identify a row."""

    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.headings), f"{len(row)} cells below {len(self.headings)} headings: {row}"

    def html(self) -> str:
        """Returns an HTML `<table>` with each heading's meaning as `title`."""
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
        head = "| " + " | ".join(heading.text for heading in self.headings) + " |"
        rule = "|" + "|".join("---:" if heading.numeric else "---" for heading in self.headings) + "|"
        body = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join([head, rule, *body])

    def latex(self) -> str:
        """Returns a LaTeX `tabular` with the rules of booktabs."""
        columns = "".join("r" if heading.numeric else "l" for heading in self.headings)
        rows = [[heading.text for heading in self.headings], *([str(cell) for cell in row] for row in self.rows)]
        head, *body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]) + "\n"

    def __rich__(self) -> Any:
        return filled_in("View.grid")(self)


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
    """Formats a table for readers.

    Parameters
    ----------
    columns
        The columns to show; names that are not in the table are ignored. Default: all.
    rows
        The rows to show; default: all.
    keys
        Number of leading columns that identify a row.
    most
        Maximum number of rows to show. The caption states the number of omitted rows, followed by `where`.
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
    """Returns the heading of a column from its declaration."""
    return Heading(column.heading, column.meaning, column.numeric)


_LATEX = str.maketrans(
    {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}", "–": "--", "µ": r"\textmu{}", "±": r"$\pm$", "↓": r"$\downarrow$", "↑": r"$\uparrow$"}
)


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _kept_together(text: str) -> str:
    """Keeps a number and its percent sign on the same line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _class(heading: Heading) -> str:
    return ' class="n"' if heading.numeric else ""


def _title(heading: Heading) -> str:
    return f' title="{html.escape(heading.meaning)}"' if heading.meaning else ""
