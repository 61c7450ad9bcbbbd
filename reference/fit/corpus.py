"""Selects the lines of `reference.analyze` that have a bulk flow. Each line is run with CUBIC, and several times with
BBR."""

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
SEEDS = (1, 2, 3)
"""Seeds of the runs with `ASKED`. On some lines with flows in both directions, chance changes the delay by a factor of
two."""


def lines(part: str, count: int) -> list[Case]:
    """Returns the first `count` cases of a part that have a bulk flow. Their congestion control is `SEEN`."""
    found: list[Case] = []
    number = 0
    while len(found) < count:
        number += 12
        found = [with_control(case, SEEN) for case in corpus.cases(part, number) if case.pattern in BULK]
    return found[:count]


def with_control(case: Case, control: str, seed: int = 1) -> Case:
    """Returns a copy of the case with the given congestion control and seed."""
    scenario = {**case.tables["scenario"], "seed": seed}
    tables = {**case.tables, "scenario": scenario, "stack": {**case.tables["stack"], "cc": control}}
    name = f"{case.name.removesuffix(f'-{case.control}')}-{control}{f'-{seed}' if seed > 1 else ''}"
    return replace(case, name=name, control=control, tables=tables)


def runs(cases: list[Case]) -> Iterator[Case]:
    """Yields each case with its own congestion control, and with `ASKED` and each of the `SEEDS`."""
    for case in cases:
        yield case
        yield from (with_control(case, ASKED, seed) for seed in SEEDS)
