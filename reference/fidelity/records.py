"""Stores the measured values of a fidelity page in a CSV file, with one row for each part of a run.

    cell, seed, what, QUANTITY, ..., source, fingerprint, world, digest

`cell` and `seed` identify the run. `what` is a flow, a link direction or another part of the run. `source` is the
program, `fingerprint` the scenario's hash, `world` the kernel world's version, and `digest` the digest of the run. Runs
of an older kernel world are read too; `Records.needs` returns true for them. The file is written after each run, so
that an interruption loses no run.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fidelity"
"""The folder that contains the fidelity pages and the records."""

Key = tuple[str, str]
"""Identifies a value: a part of the run, such as a flow or a link direction, and a quantity."""
Values = dict[Key, float]

_RUN, _ORIGIN = ("cell", "seed", "what"), ("source", "fingerprint", "world", "digest")


class Named(Protocol):
    """A scenario that is measured with several seeds."""

    @property
    def name(self) -> str:
        """The name that identifies the cell in the records."""
        ...

    def fingerprint(self) -> str:
        """Returns a hash of the scenario. A recorded run with a different hash is outdated."""
        ...


@dataclass(frozen=True)
class Measurement:
    """The values that were measured in one run."""

    cell: str
    seed: int
    values: Values
    source: str = ""
    """The program that was measured, with its version."""
    fingerprint: str = ""
    digest: str = ""
    texts: dict[Key, str] = field(default_factory=dict[Key, str])
    """The measured values that are text instead of numbers."""
    world: str = ""
    """The version of the kernel world; empty if it is unknown."""

    @staticmethod
    def of(cell: Named, seed: int, run: Run, values: Values) -> Measurement:
        """Returns the measurement of a run on Linux."""
        return Measurement(cell.name, seed, values, kernel_of(run), cell.fingerprint(), run.digest, world=world_of(run))


def kernel_of(run: Run) -> str:
    """Returns a text with the Linux release, and the kind of machine that ran Linux."""
    return f"{run.facts['kernel']} ({run.facts['kernel_kind']})"


def world_of(run: Run) -> str:
    """Returns the version of the kernel world that executed a run; empty if unknown."""
    return run.facts.get("world_version", "")


def is_old(found: Measurement, scenario: Scenario) -> bool:
    """Returns true if a measurement is outdated: the kernel world has changed for this scenario since the measurement,
    or the kernel now has another release.

    The release is compared only if a kernel of the series is built on this machine.
    """
    from lopsided.worlds import kernel
    from lopsided.worlds.kernel import translate

    if not found.world:
        return True
    built, release = _built(translate.series(scenario.resolved)), found.source.partition(" ")[0]
    return (built is not None and release != built) or found.world != kernel.version_of(scenario, found.seed)


@cache
def _built(series: str | None) -> str | None:
    """Returns the release of the kernel that is built for a series; `None` if there is none. Cached, because it takes 1
    s."""
    from lopsided.worlds.kernel import build

    kernel = build.find_built(series)
    return kernel.version if kernel else None


class Records:
    """The measurements in a file. A cell's name and a seed identify a measurement.

    `cells` sets the order of the rows. `texts` names the columns that are not numbers.
    """

    def __init__(self, path: Path, cells: Iterable[str], texts: Sequence[str] = ()) -> None:
        self._path, self._texts = path, texts
        self._order = {name: number for number, name in enumerate(cells)}
        self._found: dict[tuple[str, int], Measurement] = {}
        if path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    self._take(row)

    def get(self, cell: Named, seed: int) -> Measurement | None:
        """Returns the measurement of a cell and seed; `None` if it is missing, or if the scenario has changed since."""
        found = self._found.get((cell.name, seed))
        return found if found is not None and found.fingerprint == cell.fingerprint() else None

    def needs(self, cell: Named, seed: int, scenario: Scenario) -> bool:
        """Returns true if the run's measurement on Linux is missing or outdated."""
        found = self.get(cell, seed)
        return found is None or is_old(found, scenario)

    def of(self, cell: str) -> list[Measurement]:
        """Returns all measurements of a cell, including outdated measurements, in ascending order of the seed."""
        return [self._found[key] for key in sorted(self._found) if key[0] == cell]

    def current(self, runs: Iterable[tuple[Named, int]]) -> list[Measurement]:
        """Returns the measurements of these runs. Skips runs whose scenario has changed since the measurement."""
        return [found for cell, seed in runs if (found := self.get(cell, seed)) is not None]

    def measured(self) -> list[tuple[str, int]]:
        """Returns the cell name and the seed of every measurement, including outdated measurements."""
        return list(self._found)

    def add(self, *measurements: Measurement) -> None:
        """Adds or replaces measurements, and writes the file."""
        self._found |= {(one.cell, one.seed): one for one in measurements}
        self.write()

    def absorb(self, others: Records) -> None:
        """Adds all measurements from `others`, and writes the file."""
        self._found |= others._found
        self.write()

    def write(self) -> None:
        """Writes the file. Rows are in the order of `cells`, and for each cell in ascending order of the seed."""
        last = len(self._order)
        kept = sorted(self._found.values(), key=lambda one: (self._order.get(one.cell, last), one.seed))
        quantities = list(dict.fromkeys(key[1] for one in kept for key in (*one.values, *one.texts)))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, (*_RUN, *quantities, *_ORIGIN), lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for one in kept for row in _rows(one))
        temporary.replace(self._path)

    def _take(self, row: dict[str, str]) -> None:
        cell, seed, what = row["cell"], int(row["seed"]), row["what"]
        origin = (row["source"], row["fingerprint"], row["digest"])
        begun = Measurement(cell, seed, {}, *origin, world=row.get("world", ""))
        one = self._found.setdefault((cell, seed), begun)
        for quantity, text in row.items():
            if quantity in (*_RUN, *_ORIGIN) or not text:
                continue
            if quantity in self._texts:
                one.texts[what, quantity] = text
            else:
                one.values[what, quantity] = float(text)


def _rows(one: Measurement) -> Iterator[dict[str, object]]:
    run = {"cell": one.cell, "seed": one.seed}
    origin = {"source": one.source, "fingerprint": one.fingerprint, "world": one.world, "digest": one.digest}
    written = {**{key: f"{value:.9g}" for key, value in one.values.items()}, **one.texts}
    for part in dict.fromkeys(what for what, _ in written):
        yield {**run, "what": part, **{name: text for (what, name), text in written.items() if what == part}, **origin}
