"""The promises of a page and whether its numbers keep them, in the form of the papers' statements and verdicts.

A promise is judged by the same functions as the claims of papers (`lopsided.papers.framework.claims`), on numbers that
the page shows. A promise that is not kept stays on the page, with its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lopsided.data import units
from lopsided.papers.framework import text
from lopsided.papers.framework.model import Measured, Verdict
from reference.fidelity.tables import section, table

TITLE = "What this page promises"
KEPT, BROKEN = "kept", "**not kept**"


@dataclass(frozen=True)
class Promise:
    """A statement and the verdict of the page's numbers."""

    statement: str
    verdict: Verdict

    @property
    def row(self) -> tuple[str, ...]:
        """Its row of the table."""
        found = "; ".join((*map(_told, self.verdict.measured), *self.verdict.notes))
        sign = " %" if any(one.unit == "percent" for one in self.verdict.measured) else ""
        return self.statement, self.verdict.criterion + sign, found, KEPT if self.verdict.holds else BROKEN


def _told(one: Measured) -> str:
    """Formats a number of the page: a count in full, any other number with three digits."""
    whole = not one.unit and one.value.is_integer()
    return f"{one.name} {units.count(round(one.value)) if whole else text.value(one)}"


def rows(promises: Sequence[Promise]) -> list[str]:
    """The section of a page that lists its promises."""
    return section(TITLE, table("promise | bound | measured | ", (one.row for one in promises)))


def read(page: Path) -> list[tuple[str, bool]]:
    """Reads the promises of a page from its file, and whether each is kept."""
    _, _, below = page.read_text().partition(f"## {TITLE}\n")
    lines = below.strip().partition("\n\n")[0].splitlines()
    told = [line.strip("| ").split(" | ") for line in lines[2:]]
    return [(cells[0], cells[-1] == KEPT) for cells in told]
