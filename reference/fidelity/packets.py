"""How many packets of each cell are the same on Linux and in the simulator: the first difference, and where they part.

One run of each cell, aligned at its hosts (`lopsided.studies.packets`). What was found is kept with the digests of both
runs, and is found anew when the simulator's run has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lopsided.papers.framework import claims
from lopsided.studies import packets as aligning
from lopsided.studies.jobs import run_jobs
from lopsided.studies.options import PACKETS_APART_S
from lopsided.worlds.base import Job
from reference import fidelity
from reference.fidelity import promises, variants
from reference.fidelity.kept import FOLDER, Effort, Wanted
from reference.fidelity.kept import runs as runs_on_linux
from reference.fidelity.promises import Promise
from reference.fidelity.records import Ledger, kernel_of
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import section, table

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Measured
    from lopsided.scenario import Run, Scenario

SEED = 1
GROUPS = ("alone", "two-way", "cross")
PLAIN = ("reno", "cubic", "vegas")
"""What the medians are told of by name: controls without a clock of their own or chance."""
MORE_BUFFERS = (5, 15, 30, 50)

SAME = {"alone": 10_000, "two-way": 2_000}
"""So many packets are promised to be the same, in the median over the cells of a kind of traffic."""

COLUMNS = (
    *("cell", "seed", "packets", "first_packets", "first_s", "first_at", "first_fields"),
    *("parted_packets", "parted_s", "parted_at", "parted_fields", "kernel", "scenario_sha256", "sim_digest", "digest"),
)


@dataclass(frozen=True)
class Cell:
    """One scenario whose packets are compared."""

    name: str
    group: str
    control: str
    scenario: Callable[[], Scenario]
    mark: str
    """What a measurement is valid for, beside the simulator's digest."""

    def fingerprint(self) -> str:
        """What the records know it by."""
        return self.mark

    @property
    def wanted(self) -> Wanted:
        """Its run on Linux."""
        return Wanted(self.name, self.mark, SEED, self.scenario)


def cells() -> list[Cell]:
    """All cells of both pages, and two-way traffic of more controls."""
    found = [_of_page(cell) for cell in fidelity.CELLS]
    for control in PLAIN[1:]:
        for buffer in MORE_BUFFERS:
            cell = fidelity.two_way(3000, 1000, buffer)
            changed = {"stack.cc": control}

            def made(cell: fidelity.Cell = cell, changed: dict[str, str] = changed) -> Scenario:
                return cell.scenario(SEED).with_(**changed)

            found.append(Cell(f"{control}, {cell.name}", "two-way", control, made, f"{cell.fingerprint()}-{control}"))
    found += [Cell(cell.name, cell.traffic, cell.control, cell.scenario, cell.fingerprint()) for cell in variants.CELLS]
    return found


def _of_page(cell: fidelity.Cell) -> Cell:
    group = "alone" if cell.file == "alone.toml" else "two-way"
    return Cell(cell.name, group, "reno", lambda: cell.scenario(SEED), cell.fingerprint())


@dataclass(frozen=True)
class Place:
    """Where something differs: packets before it at that host, seconds since the run began, at which host, in what."""

    packets: int
    seconds: float
    at: str
    fields: str

    @staticmethod
    def of(told: aligning.Divergence | None) -> Place | None:
        """As the alignment tells it."""
        return told and Place(told.packets, told.time_s, f"{told.flow} at {told.host}", " ".join(told.fields))


@dataclass(frozen=True)
class Measurement:
    """What one cell came to; a place is None where there is no difference."""

    cell: str
    seed: int
    packets: int
    """Of all flows at the busiest host, in the simulator."""
    first: Place | None
    parted: Place | None
    kernel: str
    fingerprint: str
    sim_digest: str
    digest: str

    def same(self, kind: str) -> int:
        """How many packets are the same before the first difference, or before they part; all where nothing differs."""
        place: Place | None = getattr(self, kind)
        return self.packets if place is None else place.packets


class Records(Ledger[Measurement]):
    """What was found, on disk: one line for each cell."""

    def __init__(self, path: Path, wanted: Sequence[Cell] | None = None) -> None:
        super().__init__(path, COLUMNS, (cell.name for cell in (cells() if wanted is None else wanted)))

    def digest_of(self, name: str) -> str:
        """Of the simulator's run that was aligned; nothing where there is none."""
        found = self._found.get((name, SEED))
        return found.sim_digest if found else ""

    def _rows(self, one: Measurement) -> Iterator[tuple[object, ...]]:
        yield (
            *(one.cell, one.seed, one.packets, *_written(one.first), *_written(one.parted)),
            *(one.kernel, one.fingerprint, one.sim_digest, one.digest),
        )

    def _take(self, row: dict[str, str], begun: Measurement | None) -> Measurement:
        return Measurement(
            cell=row["cell"],
            seed=int(row["seed"]),
            packets=int(row["packets"]),
            first=_read(row, "first"),
            parted=_read(row, "parted"),
            kernel=row["kernel"],
            fingerprint=row["scenario_sha256"],
            sim_digest=row["sim_digest"],
            digest=row["digest"],
        )


def _written(place: Place | None) -> tuple[object, ...]:
    return ("", "", "", "") if place is None else (place.packets, f"{place.seconds:.6f}", place.at, place.fields)


def _read(row: dict[str, str], kind: str) -> Place | None:
    if not row[f"{kind}_packets"]:
        return None
    told = (row[f"{kind}_at"], row[f"{kind}_fields"])
    return Place(int(row[f"{kind}_packets"]), float(row[f"{kind}_s"]), *told)


def measure(
    records: Records,
    wanted: Sequence[Cell],
    effort: Effort,
    progress: Callable[[float], object] | None = None,
    kept: Path = FOLDER,
) -> Iterator[Measurement]:
    """Aligns what is not known of the simulator as it is now, and adds it as it comes.

    Where what Linux did is kept below `kept` only the simulator runs, and always does, since its digest does not cover
    all that is compared.
    """
    jobs = [Job(aligning.finely_sampled(cell.scenario()), SEED) for cell in wanted]
    digests = run_jobs(jobs, lambda _, run: run.digest)
    stale = [
        cell
        for cell, digest in zip(wanted, digests, strict=True)
        if cell.wanted.is_kept(kept) or not _is_known(records, cell, digest)
    ]
    stale.sort(key=lambda cell: not cell.wanted.is_kept(kept))
    for number, run in runs_on_linux([cell.wanted for cell in stale], effort, progress, kept):
        one = aligned(stale[number], run)
        records.add(one)
        yield one


def _is_known(records: Records, cell: Cell, digest: str) -> bool:
    found = records.get(cell, SEED)
    return found is not None and found.sim_digest == digest


def aligned(cell: Cell, on_linux: Run) -> Measurement:
    """One cell's run on Linux beside the simulator's."""
    found = aligning.against(on_linux)
    sim, kernel = (side.run for side in found.sides)
    first, parted = found.first, found.parted
    return Measurement(
        cell=cell.name,
        seed=SEED,
        packets=max(counts[0] for counts in found.totals.values()),
        first=Place.of(first.first if first else None),
        parted=Place.of(parted.parted if parted else None),
        kernel=kernel_of(kernel),
        fingerprint=cell.fingerprint(),
        sim_digest=sim.digest,
        digest=kernel.digest,
    )


def render(records: Records) -> str:
    """The page: medians by kind of traffic and control, then every cell."""
    wanted = cells()
    found = {cell.name: one for cell in wanted if (one := records.get(cell, SEED)) is not None}
    groups = {
        (group, control or "all"): [
            found[cell.name]
            for cell in wanted
            if cell.group == group and cell.control == (control or cell.control) and cell.name in found
        ]
        for group in GROUPS
        for control in (*PLAIN, None)
    }
    heads = "traffic | control | cells | packets | the same before a difference | before another packet | seconds"
    lines = [
        "# Fidelity, packet by packet",
        "",
        "Made by `make fidelity`; do not edit. One run of each cell on Linux and in the simulator, aligned at both",
        "hosts ([what is compared](../packets.md)): how many packets come before the first difference of any field,",
        "and before the first packet that is another one.",
        f"{len(found)} of {len(wanted)} cells; times within {PACKETS_APART_S * 1e6:.0f} µs are the same.",
        "",
        *promises.rows(promised(groups)),
        *section("Medians", table(heads, ((*names, *_medians(here)) for names, here in groups.items() if here))),
        *section("Every cell", rows(list(found.values()))),
    ]
    return "\n".join(lines)


def promised(groups: Mapping[tuple[str, str], Sequence[Measurement]]) -> list[Promise]:
    """That long runs of packets are the same, by control: before any difference, and before another packet."""
    kinds = {"first": "before any field differs", "parted": "before another packet"}

    def medians(group: str, kind: str) -> list[Measured]:
        found = ((control, groups[group, control]) for control in PLAIN)
        return [claims.number(control, median([one.same(kind) for one in here])) for control, here in found if here]

    return [
        Promise(f"The same packets {words}, {group}.", claims.at_least(bound, found))
        for group, bound in SAME.items()
        for kind, words in kinds.items()
        if (found := medians(group, kind))
    ]


def probes() -> list[Probe]:
    """A few of the cells, as they are aligned."""
    wanted = ("3000/1000 u5", "2400/196 u15", "cubic, 3000/1000 u15")
    return [Probe(cell.name, aligning.finely_sampled(cell.scenario())) for cell in cells() if cell.name in wanted]


def rows(found: Sequence[Measurement]) -> list[str]:
    """A table of cells, one line each."""
    heads = "cell | packets | differ after | s | in | part after | s | in"
    return table(heads, ((one.cell, f"{one.packets:,}", _place(one.first), _place(one.parted)) for one in found))


def _medians(here: Sequence[Measurement]) -> list[object]:
    same = [median([one.same(kind) for one in here]) for kind in ("first", "parted")]
    counts = [f"{count:,.0f}" for count in (median([one.packets for one in here]), *same)]
    seconds = median([one.parted.seconds if one.parted else math.inf for one in here])
    return [len(here), *counts, "to the end" if math.isinf(seconds) else f"{seconds:.2f}"]


def _place(place: Place | None) -> str:
    if place is None:
        return "– | – | –"
    return f"{place.packets:,} | {place.seconds:.3f} | {place.fields.replace('_', ' ')} ({place.at})"
