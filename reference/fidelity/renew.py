"""Updates the kernel world's version in recorded runs, if a sample shows that the values have not changed.

Each change of the kernel world's code outdates every recorded run, though few changes matter, and measuring all takes a
night. Instead, `python -m reference.fidelity.state --renew` runs a random sample. If every sampled run of a group is
equal to the last recorded digit, the whole group gets today's version. Otherwise it stays outdated. A group is the runs
of one file with the same kinds of queues, with one flow or with several. The sample is stored in
`docs/fidelity/renewed.csv`.
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
"""Seed of the sample."""


@dataclass(frozen=True)
class Old:
    """A recorded run of an older kernel world."""

    file: str
    cell: Runnable
    seed: int
    scenario: Scenario
    recorded: Measurement

    @property
    def group(self) -> str:
        """The group of runs for which a sampled run is evidence."""
        # A change to how the agent serves flows often changes only runs with several flows.
        flows = "one flow" if len(self.scenario.resolved["flows"]) == 1 else "several flows"
        return f"{self.file}, {' and '.join(sorted(_queues(self.scenario)))}, {flows}"

    def renewed(self, source: str) -> Measurement:
        """Returns the recorded values with today's version and kernel."""
        return replace(self.recorded, source=source, world=kernel.version_of(self.scenario, self.seed))


def _queues(scenario: Scenario) -> set[str]:
    """Returns a scenario's kinds of queues; FIFOs count only without others."""
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
    """Returns a reproducible random sample: one run of each group first, then any."""
    draws = random.Random(DRAW)
    mixed = draws.sample(old, len(old))
    first = {one.group: one for one in reversed(mixed)}
    chosen = draws.sample(sorted(first.values(), key=lambda one: one.group), len(first))
    rest = [one for one in mixed if one is not first[one.group]]
    return [*chosen, *rest][:count]


def differing(recorded: Measurement, again: Measurement) -> list[str]:
    """Returns what differs in the recorded digits. A missing value equals NaN."""
    digits = max((_digits(value) for value in recorded.values.values()), default=0)
    keys = dict.fromkeys((*recorded.values, *again.values))
    return [
        f"{what} {quantity}"
        for what, quantity in keys
        if len({f"{one.values.get((what, quantity), math.nan):.{digits}g}" for one in (recorded, again)}) > 1
    ]


def _digits(value: float) -> int:
    """Returns a recorded value's significant digits."""
    return len(f"{value:.9g}".partition("e")[0].replace(".", "").lstrip("-0").rstrip("0"))


@dataclass(frozen=True)
class Evidence:
    """A sampled run: its new version, and what differs from the record."""

    file: str
    group: str
    cell: str
    seed: int
    world: str
    source: str
    differs: str

    @staticmethod
    def of(old: Old, again: Measurement) -> Evidence:
        """Compares the record of a run with the same run made again."""
        told = "; ".join(differing(old.recorded, again))
        return Evidence(old.file, old.group, old.cell.name, old.seed, again.world, again.source, told)


def read(data: Path) -> list[Evidence]:
    """Returns the sampled runs that are stored next to the records."""
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
    """Returns today's stored evidence about these runs."""
    worlds = {(one.file, one.cell.name, one.seed): kernel.version_of(one.scenario, one.seed) for one in old}
    return [one for one in read(data) if worlds.get((one.file, one.cell, one.seed)) == one.world]


def is_sampled(data: Path, old: Old) -> bool:
    """True if today's kernel world has repeated this run."""
    return bool(of_today(data, [old]))


Again = Callable[[Old], Measurement]
"""A function that makes a recorded run again on Linux."""


def run_again(data: Path, old: Old, again: Again, records: Callable[[str], Records]) -> Evidence:
    """Repeats a sampled run, stores the evidence, and updates the record's version if nothing differs.

    Otherwise the record and its page stay until they are measured again.
    """
    one = Evidence.of(old, again(old))
    kept = [each for each in read(data) if (each.file, each.cell, each.seed) != (one.file, one.cell, one.seed)]
    write(data, [*kept, one])
    if not one.differs:
        records(old.file).add(old.renewed(one.source))
    return one


def apply(old: Iterable[Old], evidence: Sequence[Evidence], records: Callable[[str], Records]) -> dict[str, int]:
    """Updates each group whose sampled runs are unchanged. Returns updated runs by group.

    All evidence must be today's.
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
