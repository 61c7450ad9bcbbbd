"""Renews the version of the kernel world in recorded runs, on the evidence of a sample that is run again.

Each change of the kernel world's code makes every recorded run old, though few changes can alter a run. To run all
again takes a night. `python -m reference.fidelity.state --renew` runs a random sample of the old runs in today's
kernel world instead. A run is the same if all its values are, to the last recorded digit. If all sampled runs of a
group are the same, every run of the group gets today's version. If one of them differs, the group's other runs stay
old, and the file's own command measures them again.

The sample is the evidence, and is stored in `docs/fidelity/renewed.csv`. A group is the runs of one file whose
scenarios have the same kinds of queues, because most changes of the kernel world concern a queue.
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
from reference.fidelity.records import Measurement, Named, Records

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

FILE = "renewed.csv"
DRAW = 31
"""The seed of the sample."""


@dataclass(frozen=True)
class Old:
    """A recorded run that the kernel world of today did not make."""

    file: str
    cell: Named
    seed: int
    scenario: Scenario
    recorded: Measurement

    @property
    def group(self) -> str:
        """The runs that a sampled run is evidence for."""
        return f"{self.file}, {' and '.join(sorted(_queues(self.scenario)))}"

    def renewed(self, source: str) -> Measurement:
        """The recorded values as of today's kernel world, and of this kernel."""
        return replace(self.recorded, source=source, world=kernel.version_of(self.scenario, self.seed))


def _queues(scenario: Scenario) -> set[str]:
    """The kinds of queues of a scenario; a FIFO counts only if there is no other."""
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
    """Draws runs: one of each group first, as far as the count allows, then any. The same runs give the same sample."""
    draws = random.Random(DRAW)
    mixed = draws.sample(old, len(old))
    first = {one.group: one for one in reversed(mixed)}
    chosen = draws.sample(sorted(first.values(), key=lambda one: one.group), len(first))
    rest = [one for one in mixed if one is not first[one.group]]
    return [*chosen, *rest][:count]


def differing(recorded: Measurement, again: Measurement) -> list[str]:
    """The parts and quantities that differ in the digits of the record. A missing value is the same as NaN."""
    digits = max((_digits(value) for value in recorded.values.values()), default=0)
    keys = dict.fromkeys((*recorded.values, *again.values))
    return [
        f"{what} {quantity}"
        for what, quantity in keys
        if len({f"{one.values.get((what, quantity), math.nan):.{digits}g}" for one in (recorded, again)}) > 1
    ]


def _digits(value: float) -> int:
    """Number of significant digits of a recorded value."""
    return len(f"{value:.9g}".partition("e")[0].replace(".", "").lstrip("-0").rstrip("0"))


@dataclass(frozen=True)
class Evidence:
    """A sampled run: the kernel world that it was run in, and what differs from the record."""

    file: str
    group: str
    cell: str
    seed: int
    world: str
    source: str
    differs: str

    @staticmethod
    def of(old: Old, again: Measurement) -> Evidence:
        """Compares a run that was made again with its record."""
        told = "; ".join(differing(old.recorded, again))
        return Evidence(old.file, old.group, old.cell.name, old.seed, again.world, again.source, told)


def read(data: Path) -> list[Evidence]:
    """The sampled runs that are stored next to the records."""
    if not (data / FILE).exists():
        return []
    with (data / FILE).open(newline="") as text:
        return [Evidence(**{**row, "seed": int(row["seed"])}) for row in csv.DictReader(text)]


def write(data: Path, evidence: Iterable[Evidence]) -> None:
    """Stores the sampled runs."""
    with (data / FILE).open("w", newline="") as text:
        writer = csv.DictWriter(text, Evidence.__dataclass_fields__, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(one) for one in evidence)


def of_today(data: Path, old: Iterable[Old]) -> list[Evidence]:
    """The evidence about these runs that was collected in today's kernel world."""
    worlds = {(one.file, one.cell.name, one.seed): kernel.version_of(one.scenario, one.seed) for one in old}
    return [one for one in read(data) if worlds.get((one.file, one.cell, one.seed)) == one.world]


def is_sampled(data: Path, old: Old) -> bool:
    """True if today's kernel world has run this run again."""
    return bool(of_today(data, [old]))


Again = Callable[[Old], Measurement]
"""Makes a recorded run again on Linux."""


def run_again(data: Path, old: Old, again: Again, records: Callable[[str], Records]) -> Evidence:
    """Runs a sampled run, stores it as evidence, and renews its record if the run is the same.

    A record that differs stays: its page shows it until the page is measured again.
    """
    one = Evidence.of(old, again(old))
    kept = [each for each in read(data) if (each.file, each.cell, each.seed) != (one.file, one.cell, one.seed)]
    write(data, [*kept, one])
    if not one.differs:
        records(old.file).add(old.renewed(one.source))
    return one


def apply(old: Iterable[Old], evidence: Sequence[Evidence], records: Callable[[str], Records]) -> dict[str, int]:
    """Renews the runs of each group whose sampled runs are all the same. Returns the number of renewed runs by group.

    The evidence must be of today's kernel world.
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
