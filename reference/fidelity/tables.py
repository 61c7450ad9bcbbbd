"""Formats tables and percentages of the fidelity pages as Markdown."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 140
"""Maximum line length in a paragraph, in characters."""


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
    """Returns the joined texts as one paragraph, in lines of at most `WIDTH` characters."""
    return textwrap.fill(" ".join(texts), WIDTH, break_long_words=False, break_on_hyphens=False)


def percent(share: float, *, signed: bool = False, bold: bool = False, unknown: str = "–") -> str:
    """Returns a fraction as a percentage with one decimal, or `unknown` if the fraction is NaN."""
    if math.isnan(share):
        return unknown
    text = f"{100 * share:{'+' if signed else ''}.1f} %"
    return f"**{text}**" if bold else text
