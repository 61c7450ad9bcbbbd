"""Tables and shares of the pages, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(heads: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table, and an empty one behind it; the heads, and what a cell holds for several columns, are
    written with ` | ` between them."""
    return [f"| {heads} |", "|---" * (1 + heads.count("|")) + "|", *map(row, rows), ""]


def row(cells: Sequence[object]) -> str:
    """One line of it."""
    return f"| {' | '.join(map(str, cells))} |"


def section(title: str, *parts: str | Sequence[str]) -> list[str]:
    """A heading of the second rank, and below it paragraphs (a text each) and tables (lines each)."""
    lines = [f"## {title}", ""]
    for part in parts:
        lines += [part, ""] if isinstance(part, str) else part
    return lines


def percent(share: float, *, signed: bool = False, bold: bool = False, unknown: str = "–") -> str:
    """A share in per cent with one decimal."""
    if math.isnan(share):
        return unknown
    text = f"{100 * share:{'+' if signed else ''}.1f} %"
    return f"**{text}**" if bold else text
