"""Measurements of Linux on disk: a CSV file that is added to run by run, so that nothing measured is lost."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from lopsided.scenario import Run

Values = dict[tuple[str, str], float]
"""By flow or link direction, and quantity."""


class Recorded(Protocol):
    """What every measurement says of itself."""

    @property
    def cell(self) -> str:
        """The cell's name."""
        ...

    @property
    def seed(self) -> int:
        """The run's seed."""
        ...

    @property
    def fingerprint(self) -> str:
        """What the measurement is valid for."""
        ...


class Named(Protocol):
    """A cell, as far as records know it."""

    @property
    def name(self) -> str:
        """What it is called in the records."""
        ...

    def fingerprint(self) -> str:
        """What a measurement of it is valid for."""
        ...


M = TypeVar("M", bound=Recorded)


class Ledger(ABC, Generic[M]):
    """Measurements by cell and seed, in the order of the cells; how one becomes rows is the subclass's."""

    def __init__(self, path: Path, columns: Sequence[str], cells: Iterable[str]) -> None:
        self._path = path
        self._columns = columns
        self._order = {name: number for number, name in enumerate(cells)}
        self._found: dict[tuple[str, int], M] = {}
        if path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    key = (row["cell"], int(row["seed"]))
                    self._found[key] = self._take(row, self._found.get(key))

    def get(self, cell: Named, seed: int) -> M | None:
        """The measurement, if there is one of the scenario as it is now."""
        found = self._found.get((cell.name, seed))
        return found if found is not None and found.fingerprint == cell.fingerprint() else None

    def measured(self) -> list[tuple[str, int]]:
        """Name and seed of all that is recorded, of whatever scenario."""
        return list(self._found)

    def add(self, measurement: M) -> None:
        """Adds it, and writes all down."""
        self._found[measurement.cell, measurement.seed] = measurement
        last = len(self._order)
        kept = sorted(self._found.values(), key=lambda one: (self._order.get(one.cell, last), one.seed))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        with temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self._columns)
            for one in kept:
                writer.writerows(self._rows(one))
        temporary.replace(self._path)

    @abstractmethod
    def _rows(self, one: M) -> Iterable[Sequence[object]]:
        """The lines of a measurement, in the order of the columns."""

    @abstractmethod
    def _take(self, row: dict[str, str], begun: M | None) -> M:
        """The measurement with one line more; `begun` is None at its first."""


@dataclass(frozen=True)
class Measurement:
    """What one run of a cell gave on Linux."""

    cell: str
    seed: int
    values: Values
    kernel: str
    fingerprint: str
    digest: str

    @staticmethod
    def of(cell: Named, seed: int, run: Run, values: Values) -> Measurement:
        """With the kernel that made the run."""
        return Measurement(cell.name, seed, values, kernel_of(run), cell.fingerprint(), run.digest)


def kernel_of(run: Run) -> str:
    """Which Linux it was, and how it ran."""
    return f"{run.facts['kernel']} ({run.facts['kernel_kind']})"


class Records(Ledger[Measurement]):
    """Values on disk: a line for each, or, with the quantities named in `wide`, one for each flow."""

    def __init__(self, path: Path, cells: Iterable[str], *, of: str = "what", wide: Sequence[str] = ()) -> None:
        self._of, self._wide = of, tuple(wide)
        values = self._wide or ("quantity", "value")
        super().__init__(path, ("cell", "seed", of, *values, "kernel", "scenario_sha256", "digest"), cells)

    def _rows(self, one: Measurement) -> Iterator[tuple[object, ...]]:
        origin = (one.kernel, one.fingerprint, one.digest)
        if self._wide:
            for what in dict.fromkeys(what for what, _ in one.values):
                numbers = [f"{one.values[what, quantity]:.6g}" for quantity in self._wide]
                yield (one.cell, one.seed, what, *numbers, *origin)
            return
        for (what, quantity), value in one.values.items():
            yield (one.cell, one.seed, what, quantity, f"{value:.6g}", *origin)

    def _take(self, row: dict[str, str], begun: Measurement | None) -> Measurement:
        origin = (row["kernel"], row["scenario_sha256"], row["digest"])
        one = begun or Measurement(row["cell"], int(row["seed"]), {}, *origin)
        numbers = {quantity: row[quantity] for quantity in self._wide} or {row["quantity"]: row["value"]}
        one.values.update({(row[self._of], quantity): float(number) for quantity, number in numbers.items()})
        return one


class OneRow(Ledger[M]):
    """Measurements of one row each: a dataclass of a cell's name, a seed, a fingerprint, and numbers."""

    def __init__(self, path: Path, kind: type[M], cells: Iterable[str]) -> None:
        self._kind: Any = kind
        super().__init__(path, [field.name for field in fields(self._kind)], cells)

    def _rows(self, one: M) -> Iterable[Sequence[object]]:
        yield [getattr(one, name) for name in self._columns]

    def _take(self, row: dict[str, str], begun: M | None) -> M:
        numbers = {name: float(row[name]) for name in self._columns if name not in ("cell", "seed", "fingerprint")}
        return self._kind(cell=row["cell"], seed=int(row["seed"]), fingerprint=row["fingerprint"], **numbers)
