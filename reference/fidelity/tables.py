"""Formats tables and percentages of the fidelity pages as Markdown."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

WIDTH = 160
"""Maximum line length in a paragraph, in characters."""
_BULLET = re.compile(r"( *(?:- |\d+\. )|)(.*)", re.DOTALL)


def table(heads: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """Returns the lines of a table, followed by an empty line.

    In `heads`, the string ` | ` separates the column heads. A cell of a row may contain ` | ` to fill several columns.
    """
    return [f"| {heads} |", "|---" * (1 + heads.count("|")) + "|", *map(row, rows), ""]


def row(cells: Sequence[object]) -> str:
    """Returns the Markdown line of one table row."""
    return f"| {' | '.join(map(str, cells))} |"


def section(title: str, *parts: str | Sequence[str]) -> list[str]:
    """Returns a heading, followed by paragraphs (strings) and tables (lists of lines)."""
    lines = [f"## {title}", ""]
    for part in parts:
        lines += [part, ""] if isinstance(part, str) else part
    return lines


def paragraph(*texts: str) -> str:
    """Returns the joined texts as one paragraph. `reflowed` divides it into lines."""
    return " ".join(texts)


def write_page(page: Path, text: str) -> None:
    """Writes a page. All writers of pages use this function, so that a changed word changes only its own paragraph."""
    page.write_text(reflowed(text), encoding="utf-8")


def reflowed(text: str) -> str:
    """Returns a page whose paragraphs and list items have lines of at most `WIDTH` characters. Headings, tables,
    pictures and code blocks are unchanged."""
    lines: list[str] = []
    paragraph: list[str] = []

    def end() -> None:
        match = _BULLET.fullmatch(" ".join(paragraph))
        paragraph.clear()
        if match and match[2]:
            indents = {"initial_indent": match[1], "subsequent_indent": " " * len(match[1])}
            lines.extend(textwrap.wrap(match[2], WIDTH, break_long_words=False, break_on_hyphens=False, **indents))

    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        # A list item may contain a table, whose rows are indented.
        if code or not line or line.lstrip().startswith(("```", "|", "#", "!", "<")):
            end()
            lines.append(line)
            continue
        bullet = _BULLET.fullmatch(line)
        if bullet and bullet[1]:
            end()
        paragraph.append(line.strip() if paragraph else line)
    end()
    return "\n".join(lines)


def percent(share: float, *, signed: bool = False, bold: bool = False, unknown: str = "–") -> str:
    """Returns a fraction as a percentage with one decimal, or `unknown` if the fraction is NaN."""
    if math.isnan(share):
        return unknown
    text = f"{100 * share:{'+' if signed else ''}.1f} %"
    return f"**{text}**" if bold else text
