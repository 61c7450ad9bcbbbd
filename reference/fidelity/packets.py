"""Counts the packets that are identical on Linux and in the simulator before the first difference.

One run of each cell (scenario) is aligned (`lopsided.studies.packets`). The result is stored with the digests of both
runs. It is computed again if the digest of the simulated run changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.papers.framework import claims
from lopsided.studies import packets as aligning
from lopsided.studies.jobs import run_jobs
from lopsided.studies.options import PACKETS_APART_S
from lopsided.worlds.base import Job
from reference import fidelity
from reference.fidelity import promises, variants
from reference.fidelity.cells import Runnable
from reference.fidelity.kept import FOLDER, Effort, Wanted
from reference.fidelity.kept import runs as runs_on_linux
from reference.fidelity.promises import Promise
from reference.fidelity.records import Measurement, Records, kernel_of, world_of
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import paragraph, section, table

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Measured
    from lopsided.scenario import Run, Scenario

SEED = 1
GROUPS = ("alone", "two-way", "cross")
TRAFFIC = {"alone": "a single download", "two-way": "two flows", "cross": "a download with other traffic"}
"""The phrase with which the pages describe each kind of traffic."""
PLAIN = ("reno", "cubic", "vegas")
"""Congestion controls that use neither random numbers nor a separate clock. The page shows the median of each
separately."""
MORE_BUFFERS = (5, 15, 30, 50)

SAME = {"alone": 10_000, "two-way": 2_000}
"""For each kind of traffic, the target for the median number of packets before the first difference."""


@dataclass(frozen=True)
class Cell:
    """One scenario whose packets are compared."""

    name: str
    group: str
    control: str
    of: Runnable
    instead: str = ""
    """The congestion control to use instead of the one in `of`. If empty, the scenario of `of` is used unchanged."""

    def scenario(self, seed: int = SEED) -> Scenario:
        """Returns the scenario to run on Linux and in the simulator."""
        scenario = self.of.scenario(seed)
        return scenario.with_(**{"stack.cc": self.instead}) if self.instead else scenario

    def fingerprint(self) -> str:
        """Returns a hash that identifies the scenario of the run on Linux. The simulated run is identified by its
        digest."""
        return f"{self.of.fingerprint()}-{self.instead}" if self.instead else self.of.fingerprint()

    @property
    def wanted(self) -> Wanted:
        """The run on Linux that is aligned with the simulated run."""
        return Wanted(self.name, self.fingerprint(), SEED, self.scenario)


def cells() -> list[Cell]:
    """Returns the cells on the pages `fidelity.md` and `variants.md`, and additional two-way cells with CUBIC and
    Vegas."""
    found = [
        Cell(cell.name, "alone" if cell.file == "alone.toml" else "two-way", "reno", cell) for cell in fidelity.CELLS
    ]
    for control in PLAIN[1:]:
        for cell in (fidelity.two_way(3000, 1000, buffer) for buffer in MORE_BUFFERS):
            found.append(Cell(f"{control}, {cell.name}", "two-way", control, cell, control))
    return found + [Cell(cell.name, cell.traffic, cell.control, cell) for cell in variants.CELLS]


def records(path: Path, names: Iterable[str] | None = None) -> Records:
    """Returns the stored results: the number of all packets, and the number of packets before each of two positions.

    `first` is the position of the first difference. `parted` is the position of the first packet whose content differs.
    """
    return Records(path, (cell.name for cell in cells()) if names is None else names, ("sim_digest", "at", "fields"))


def same(one: Measurement, kind: str) -> int:
    """Returns the number of packets before the first difference (`first`), or before the first packet whose content
    differs (`parted`).

    If there is no difference, returns the number of all packets. Packets are counted in the simulator, at the busiest
    host.
    """
    return round(one.values.get((kind, "packets"), one.values["all", "packets"]))


def is_same(one: Measurement) -> bool:
    """Returns true if the contents of all packets are equal in both runs."""
    return ("parted", "packets") not in one.values


def sim_digest(one: Measurement | None) -> str:
    """Returns the digest of the aligned simulated run; empty if there is no result."""
    return one.texts["all", "sim_digest"] if one else ""


def measure(
    records: Records,
    wanted: Sequence[Cell],
    effort: Effort,
    progress: Callable[[float], object] | None = None,
    kept: Path = FOLDER,
) -> Iterator[Measurement]:
    """Aligns the cells whose results are outdated. Stores and yields each result immediately.

    Cells with a Linux run in `kept` are always aligned again, because the alignment compares fields that are not part
    of the digests.
    """
    jobs = [Job(aligning.finely_sampled(cell.scenario()), SEED) for cell in wanted]
    digests = run_jobs(jobs, lambda _, run: run.digest)
    stale = [
        cell
        for cell, digest in zip(wanted, digests, strict=True)
        if cell.wanted.is_kept(kept) or not _is_known(records, cell, digest) or _is_old(records, cell)
    ]
    stale.sort(key=lambda cell: not cell.wanted.is_kept(kept))
    for number, run in runs_on_linux([cell.wanted for cell in stale], effort, progress, kept):
        one = aligned(stale[number], run)
        records.add(one)
        yield one


def _is_known(records: Records, cell: Cell, digest: str) -> bool:
    return sim_digest(records.get(cell, SEED)) == digest


def _is_old(records: Records, cell: Cell) -> bool:
    return records.needs(cell, SEED, cell.scenario())


def aligned(cell: Cell, on_linux: Run) -> Measurement:
    """Aligns a run on Linux with the simulator's run of the same cell."""
    found = aligning.against(on_linux)
    sim, kernel = (side.run for side in found.sides)
    first, parted = found.first, found.parted
    differences = {"first": first.first if first else None, "parted": parted.parted if parted else None}
    busiest = max(counts[0] for counts in found.totals.values())
    return measurement(cell, busiest, differences, sim.digest, kernel_of(kernel), kernel.digest, world_of(kernel))


def measurement(
    cell: Cell,
    packets: int,
    differences: Mapping[str, aligning.Divergence | None],
    sim_digest: str,
    source: str,
    digest: str,
    world: str = "",
) -> Measurement:
    """Returns the result of an alignment as a measurement: the number of packets at the busiest host, and the positions
    of the differences."""
    found = {kind: told for kind, told in differences.items() if told}
    return Measurement(
        cell.name,
        SEED,
        {("all", "packets"): packets}
        | {(kind, "packets"): told.packets for kind, told in found.items()}
        | {(kind, "seconds"): round(told.time_s, 6) for kind, told in found.items()},
        source,
        cell.fingerprint(),
        digest,
        {("all", "sim_digest"): sim_digest}
        | {(kind, "at"): f"{told.flow} at {told.host}" for kind, told in found.items()}
        | {(kind, "fields"): " ".join(told.fields) for kind, told in found.items()},
        world,
    )


def render(records: Records) -> str:
    """Returns the page as Markdown: medians for each kind of traffic and congestion control, then the result of each
    cell."""
    wanted = cells()
    found = {one.cell: one for one in records.current((cell, SEED) for cell in wanted)}
    groups = {
        (group, control or "all"): [
            found[cell.name]
            for cell in wanted
            if cell.group == group and cell.control == (control or cell.control) and cell.name in found
        ]
        for group in GROUPS
        for control in (*PLAIN, None)
    }
    differing = [one for one in found.values() if ("first", "packets") in one.values]
    heads = (
        "traffic | control | cells | packets | packets before the first difference"
        " | packets before the first different packet | seconds"
    )
    lines = [
        "# Fidelity, packet by packet",
        "",
        paragraph(
            "Generated by `make fidelity`; do not edit. Each cell runs once on Linux and once in the simulator, and",
            "the packets at both hosts are compared ([what is compared](../packets.md)). The tables show the number",
            "of equal packets before the first difference in any field, and the number before the first different",
            "packet: different data, a different ACK, an extra packet or a missing packet. Times count as equal if",
            f"they differ by at most {PACKETS_APART_S * 1e6:.0f} µs. So far, {len(found)} of {len(wanted)} cells have",
            "been measured.",
        ),
        "",
        *promises.rows(promised(groups)),
        *section("Medians", table(heads, _median_rows(groups))),
        *section(
            "Cells with a difference",
            paragraph(
                f"In {len(found) - len(differing)} cells, all fields of all packets are equal until the end. The table",
                "lists the other cells. The results of all cells are in [packets.csv](packets.csv).",
            ),
            rows(differing),
        ),
    ]
    return "\n".join(lines)


def promised(groups: Mapping[tuple[str, str], Sequence[Measurement]]) -> list[Promise]:
    """Returns the accuracy targets: minimum medians of the number of packets before the first difference."""
    kinds = {"first": "the first difference in any field", "parted": "the first different packet"}

    def medians(group: str, kind: str) -> list[Measured]:
        found = ((control, groups[group, control]) for control in PLAIN)
        return [claims.number(control, median([same(one, kind) for one in here])) for control, here in found if here]

    return [
        Promise(f"Median number of packets before {words}, with {TRAFFIC[group]}.", claims.at_least(bound, found))
        for group, bound in SAME.items()
        for kind, words in kinds.items()
        if (found := medians(group, kind))
    ]


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date. The sampling interval is the
    same as for the alignment."""
    wanted = ("3000/1000 u5", "2400/196 u15", "cubic, 3000/1000 u15")
    return [Probe(cell.name, aligning.finely_sampled(cell.scenario())) for cell in cells() if cell.name in wanted]


def rows(found: Sequence[Measurement]) -> list[str]:
    """Returns a Markdown table with one row per cell."""
    heads = (
        "cell | packets | packets before the first difference | s | fields | flow | host"
        " | packets before the first different packet | s | fields | flow | host"
    )
    return table(
        heads,
        ((name_of(one), units.count(_packets(one)), _place(one, "first"), _place(one, "parted")) for one in found),
    )


def name_of(one: Measurement) -> str:
    """Returns a cell's name for a page. A phrase replaces the keyword of the traffic."""
    name, _, group = one.cell.rpartition(", ")
    return f"{name}, {TRAFFIC[group]}" if group in TRAFFIC else one.cell


def _packets(one: Measurement) -> int:
    return round(one.values["all", "packets"])


def _median_rows(groups: Mapping[tuple[str, str], Sequence[Measurement]]) -> Iterator[list[object]]:
    """Yields one table row for each kind of traffic and each congestion control that were measured."""
    for (group, control), here in groups.items():
        if here:
            yield [TRAFFIC[group], control, *_medians(here)]


def _medians(here: Sequence[Measurement]) -> list[object]:
    alike = [median([same(one, kind) for one in here]) for kind in ("first", "parted")]
    counts = [f"{count:,.0f}" for count in (median(map(_packets, here)), *alike)]
    seconds = median([one.values.get(("parted", "seconds"), math.inf) for one in here])
    return [len(here), *counts, "to the end" if math.isinf(seconds) else f"{seconds:.2f}"]


def _place(one: Measurement, kind: str) -> str:
    if (kind, "packets") not in one.values:
        return "– | – | – | – | –"
    at, fields = one.texts[kind, "at"], one.texts[kind, "fields"]
    names = ", ".join(f"`{field}`" for field in fields.split())
    flow, _, host = at.rpartition(" at ")
    return f"{same(one, kind):,} | {one.values[kind, 'seconds']:.3f} | {names} | {flow} | {host}"
