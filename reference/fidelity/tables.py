"""Tables and shares of the pages, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(heads: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table and an empty line.

    ` | ` separates the heads, and also the texts of a cell that spans several columns.
    """
    return [f"| {heads} |", "|---" * (1 + heads.count("|")) + "|", *map(row, rows), ""]


def row(cells: Sequence[object]) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def section(title: str, *parts: str | Sequence[str]) -> list[str]:
    """A heading of the second level, followed by paragraphs (one text each) and tables (a list of lines each)."""
    lines = [f"## {title}", ""]
    for part in parts:
        lines += [part, ""] if isinstance(part, str) else part
    return lines


def percent(share: float, *, signed: bool = False, bold: bool = False, unknown: str = "–") -> str:
    """Formats a share in per cent with one decimal."""
    if math.isnan(share):
        return unknown
    text = f"{100 * share:{'+' if signed else ''}.1f} %"
    return f"**{text}**" if bold else text
