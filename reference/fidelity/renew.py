"""Updates the kernel world's version in recorded runs, if a sample shows that the values have not changed.

Each change of the kernel world's code makes every recorded run outdated, although few changes affect results. Measuring
all runs again takes a night. Instead, `python -m reference.fidelity.state --renew` repeats a random sample. If all
recorded digits of all sampled runs of a group are unchanged, the whole group gets the current version. Otherwise, the
group stays outdated. A group consists of the runs in one file that have the same kinds of queues, and either one flow
or several flows. The sample is stored in `docs/fidelity/renewed.csv`.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.worlds import kernel
from reference.fidelity.cells import Runnable
from reference.fidelity.records import Measurement, Records

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

FILE = "renewed.csv"
DRAW = 31
"""Seed of the random sample."""


@dataclass(frozen=True)
class Old:
    """A run that was recorded with an older version of the kernel world."""

    file: str
    cell: Runnable
    seed: int
    scenario: Scenario
    recorded: Measurement

    @property
    def group(self) -> str:
        """The name of the run's group. A sampled run is evidence for all runs of its group."""
        # Separate runs with one flow, because a change of the agent often affects only runs with several flows.
        flows = "one flow" if len(self.scenario.resolved["flows"]) == 1 else "several flows"
        return f"{self.file}, {' and '.join(sorted(_queues(self.scenario)))}, {flows}"

    def renewed(self, source: str) -> Measurement:
        """Returns the recorded values with the current version of the kernel world. `source` names the kernel that
        repeated the run."""
        return replace(self.recorded, source=source, world=kernel.version_of(self.scenario, self.seed))


def _queues(scenario: Scenario) -> set[str]:
    """Returns the kinds of queues in a scenario. `fifo` is included only if there is no other kind."""
    found: set[str] = set()

    def look(queue: Mapping[str, Any]) -> None:
        found.add(queue["kind"])
        for inner in queue.values():
            if isinstance(inner, dict) and "kind" in inner:
                look(inner)

    for link in scenario.resolved["links"]:
        look(link["down"]["queue"])
        look(link["up"]["queue"])
    return found - {"fifo"} or {"fifo"}


def sample(old: Sequence[Old], count: int) -> list[Old]:
    """Returns a random sample of the runs: first one run of each group, then runs of any group. The sample is the same
    for the same arguments."""
    draws = random.Random(DRAW)
    mixed = draws.sample(old, len(old))
    first = {one.group: one for one in reversed(mixed)}
    chosen = draws.sample(sorted(first.values(), key=lambda one: one.group), len(first))
    rest = [one for one in mixed if one is not first[one.group]]
    return [*chosen, *rest][:count]


def differing(recorded: Measurement, again: Measurement) -> list[str]:
    """Returns the names of the values that differ between the recorded run and its repetition, after rounding to the
    recorded number of digits. A missing value equals NaN."""
    digits = max((_digits(value) for value in recorded.values.values()), default=0)
    keys = dict.fromkeys((*recorded.values, *again.values))
    return [
        f"{what} {quantity}"
        for what, quantity in keys
        if len({f"{one.values.get((what, quantity), math.nan):.{digits}g}" for one in (recorded, again)}) > 1
    ]


def _digits(value: float) -> int:
    """Returns the number of significant digits of a recorded value."""
    return len(f"{value:.9g}".partition("e")[0].replace(".", "").lstrip("-0").rstrip("0"))


@dataclass(frozen=True)
class Evidence:
    """The result of repeating a sampled run: the kernel world's version, and the values that differ from the record."""

    file: str
    group: str
    cell: str
    seed: int
    world: str
    source: str
    differs: str

    @staticmethod
    def of(old: Old, again: Measurement) -> Evidence:
        """Compares the record of a run with a repetition of the same run."""
        told = "; ".join(differing(old.recorded, again))
        return Evidence(old.file, old.group, old.cell.name, old.seed, again.world, again.source, told)


def read(data: Path) -> list[Evidence]:
    """Reads the results of the sampled runs from the file `FILE` in the folder of the records."""
    if not (data / FILE).exists():
        return []
    with (data / FILE).open(newline="") as text:
        return [Evidence(**{**row, "seed": int(row["seed"])}) for row in csv.DictReader(text)]


def write(data: Path, evidence: Iterable[Evidence]) -> None:
    """Writes the results of the sampled runs."""
    with (data / FILE).open("w", newline="") as text:
        writer = csv.DictWriter(text, Evidence.__dataclass_fields__, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(one) for one in evidence)


def of_today(data: Path, old: Iterable[Old]) -> list[Evidence]:
    """Returns the stored results of these runs that were produced with the current version of the kernel world."""
    worlds = {(one.file, one.cell.name, one.seed): kernel.version_of(one.scenario, one.seed) for one in old}
    return [one for one in read(data) if worlds.get((one.file, one.cell, one.seed)) == one.world]


def is_sampled(data: Path, old: Old) -> bool:
    """Returns true if this run was already repeated with the current kernel world."""
    return bool(of_today(data, [old]))


Again = Callable[[Old], Measurement]
"""A function that repeats a recorded run on Linux."""


def run_again(data: Path, old: Old, again: Again, records: Callable[[str], Records]) -> Evidence:
    """Repeats a sampled run and stores the result. Updates the record's version if no value differs.

    Otherwise, the record and its page stay unchanged until the run is measured again.
    """
    one = Evidence.of(old, again(old))
    kept = [each for each in read(data) if (each.file, each.cell, each.seed) != (one.file, one.cell, one.seed)]
    write(data, [*kept, one])
    if not one.differs:
        records(old.file).add(old.renewed(one.source))
    return one


def apply(old: Iterable[Old], evidence: Sequence[Evidence], records: Callable[[str], Records]) -> dict[str, int]:
    """Updates the recorded version in each group whose sampled runs have no changed values. Returns the number of
    updated runs for each group.

    All evidence must have been produced with the current kernel world.
    """
    by_group: dict[str, list[Evidence]] = {}
    for one in evidence:
        by_group.setdefault(one.group, []).append(one)
    renewed: dict[str, list[Measurement]] = {}
    counts: dict[str, int] = {}
    for one in old:
        told = by_group.get(one.group, ())
        if told and not any(each.differs for each in told):
            renewed.setdefault(one.file, []).append(one.renewed(told[0].source))
            counts[one.group] = counts.get(one.group, 0) + 1
    for file, found in renewed.items():
        records(file).add(*found)
    return counts
