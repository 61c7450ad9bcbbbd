"""Selects the lines of `reference.analyze` that have a bulk flow. Each line is run with CUBIC and with BBR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reference.analyze import corpus
from reference.analyze.corpus import Case

BULK = ("download", "two-way", "upload")
"""Traffic patterns with a bulk flow that fills the line."""
SEEN, ASKED = "cubic", "bbr"
"""The congestion control in the fitted captures, and the congestion control for which the fitted scenarios predict
results."""


def lines(part: str, count: int) -> list[Case]:
    """Returns the first `count` cases of a part that have a bulk flow. Their congestion control is `SEEN`."""
    found: list[Case] = []
    number = 0
    while len(found) < count:
        number += 12
        found = [with_control(case, SEEN) for case in corpus.cases(part, number) if case.pattern in BULK]
    return found[:count]


def with_control(case: Case, control: str) -> Case:
    """Returns a copy of the case with the given congestion control."""
    tables = {**case.tables, "stack": {**case.tables["stack"], "cc": control}}
    return replace(case, name=f"{case.name.removesuffix(f'-{case.control}')}-{control}", control=control, tables=tables)


def runs(cases: list[Case]) -> Iterator[Case]:
    """Yields each case twice: with its own congestion control, and with `ASKED`."""
    for case in cases:
        yield case
        yield with_control(case, ASKED)
