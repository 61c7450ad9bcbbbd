"""Compares a page's numbers with its accuracy targets. Each target gets a verdict, as the claims of a paper do.

The functions of `lopsided.papers.framework.claims` compute the verdicts. The page also lists the targets that it
misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lopsided.data import units
from lopsided.papers.framework import claims, text
from lopsided.papers.framework.model import Measured, Verdict
from reference.fidelity.tables import section, table

TITLE = "Accuracy targets"
KEPT, BROKEN = "yes", "**no**"


@dataclass(frozen=True)
class Promise:
    """An accuracy target for a page's numbers, and its verdict."""

    statement: str
    verdict: Verdict

    @property
    def row(self) -> tuple[str, ...]:
        """The target's row in the page's table: statement, limit, measured numbers, and whether the target is met."""
        found = "; ".join((*map(_told, self.verdict.measured), *self.verdict.notes))
        names = text.names(self.verdict.measured)
        limit = self.verdict.criterion.replace(f"{names} ", f"{names}: ", 1)
        sign = " %" if any(one.unit == "percent" for one in self.verdict.measured) else ""
        return self.statement, limit + sign, found, KEPT if self.verdict.holds else BROKEN


def none(statement: str, what: str, count: int) -> Promise:
    """Returns a target that is met if `count` is 0."""
    return Promise(statement, claims.at_most(0, [claims.number(what, count)]))


def all_of(total: int, statement: str, what: str, count: int) -> Promise:
    """Returns a target that is met if `count` is `total`."""
    return Promise(statement, claims.at_least(total, [claims.number(what, count)]))


def _told(one: Measured) -> str:
    """Returns a number as text for a page: a count with all digits, and any other number with three significant
    digits."""
    whole = not one.unit and one.value.is_integer()
    return f"{one.name}: {units.count(round(one.value)) if whole else text.value(one)}"


def rows(promises: Sequence[Promise]) -> list[str]:
    """Returns the section of a page that lists its accuracy targets."""
    return section(TITLE, table("target | limit | measured | met", (one.row for one in promises)))


def read(page: Path) -> list[tuple[str, bool]]:
    """Reads a page's accuracy targets: each statement, and true if the target is met."""
    _, _, below = page.read_text().partition(f"## {TITLE}\n")
    lines = below.strip().partition("\n\n")[0].splitlines()
    told = [line.strip("| ").split(" | ") for line in lines[2:]]
    return [(cells[0], cells[-1] == KEPT) for cells in told]
