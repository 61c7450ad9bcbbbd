"""`python -m reference.fidelity.state`: lists the promises that the pages do not keep, the pages of an older simulator,
and the recorded runs of an older kernel world.

It always exits with 0: writing a page again takes minutes or hours, some with Linux, and a change of TCP need not wait
for that. It prints the command that writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.cli.terminal import print_line
from reference import fidelity
from reference.fidelity import (
    ack_filter,
    authors,
    disciplines,
    draw,
    freebsd,
    kernels,
    mechanisms,
    packets,
    promises,
    stamps,
    variants,
)
from reference.fidelity.records import Named, Records, is_old
from reference.fidelity.stamps import Probe

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

DATA = Path(__file__).resolve().parents[2] / "docs" / "fidelity"


@dataclass(frozen=True)
class Page:
    """The command that writes a page, and the runs that show whether it is up to date."""

    command: str
    probes: Callable[[], Sequence[Probe]]


_ALL = "reference.fidelity --recorded"
_DRAWS = {
    2211: "--count 18 --sim-seeds 8",
    7193: "--seeds 2 --sim-seeds 12",
    60917: "--seeds 2",
    161803: "--seeds 4",
    271828: "--seeds 4",
}
"""The draws, with the options of each."""
PAGES: Mapping[str, Page] = {
    "../fidelity.md": Page(_ALL, fidelity.probes),
    "values.md": Page(_ALL, fidelity.probes),
    "variants.md": Page(_ALL, variants.probes),
    "packets.md": Page("reference.fidelity --packets ''", packets.probes),
    "ack-filter.md": Page("reference.fidelity.ack_filter --recorded", ack_filter.probes),
    "authors.md": Page("reference.fidelity.authors --recorded", authors.probes),
    "disciplines.md": Page("reference.fidelity.disciplines --recorded", disciplines.probes),
    "freebsd.md": Page("reference.fidelity.freebsd", freebsd.probes),
    "mechanisms.md": Page("reference.fidelity.mechanisms", mechanisms.probes),
    **{
        f"draw-{seed}.md": Page(
            f"reference.fidelity.draw --recorded --draw {seed} {options}", partial(draw.probes, seed)
        )
        for seed, options in _DRAWS.items()
    },
}
"""Pages by name, relative to the folder of the pages.

Left out: `queues.md`, because a test checks all its contents, and `packetdrill.md`, because its scripts are not
a part of the project.
"""


def pages(data: Path = DATA) -> list[Path]:
    """All pages, sorted by name."""
    return sorted(path for path in (*data.glob("*.md"), data.parent / "fidelity.md") if path.exists())


def stale(data: Path = DATA) -> Iterator[str]:
    """Yields the pages that were written with an older or unknown version of the simulator."""
    aligned = packets.records(data / "packets.csv")
    for name, page in PAGES.items():
        known = stamps.read(data).get(name)
        probes = page.probes()
        if name == "packets.md":
            # Each row has the digest of its own run.
            known = {probe.name: packets.sim_digest(next(iter(aligned.of(probe.name)), None)) for probe in probes}
        if known != stamps.digests(probes):
            yield name


Runs = Callable[[int], "Scenario"]
"""The scenario of a cell by seed."""


@dataclass(frozen=True)
class Recorded:
    """A file of runs on Linux: the command that measures it, its records, and its cells with their scenarios."""

    command: str
    records: Callable[[Path], Records]
    cells: Callable[[], Iterable[tuple[Named, Runs]]]


def _same(scenario: Callable[[], Scenario]) -> Runs:
    """A cell whose scenario is the same for every seed."""
    return lambda _: scenario()


def _in_packets(path: Path) -> Records:
    return packets.records(path)


def _plain(path: Path) -> Records:
    return Records(path, ())


RECORDED: Mapping[str, Recorded] = {
    "linux.csv": Recorded("reference.fidelity", _plain, lambda: [(cell, cell.scenario) for cell in fidelity.CELLS]),
    "variants.csv": Recorded(
        "reference.fidelity --variants ''", _plain, lambda: [(cell, _same(cell.scenario)) for cell in variants.CELLS]
    ),
    "packets.csv": Recorded(
        "reference.fidelity --packets ''",
        _in_packets,
        lambda: [(cell, _same(cell.scenario)) for cell in packets.cells()],
    ),
    "ack-filter.csv": Recorded(
        "reference.fidelity.ack_filter",
        _plain,
        lambda: [(cell, _same(partial(getattr, cell, "scenario"))) for cell in ack_filter.CELLS],
    ),
    "disciplines.csv": Recorded(
        "reference.fidelity.disciplines", _plain, lambda: [(cell, _same(cell.on_linux)) for cell in disciplines.CELLS]
    ),
    "kernels.csv": Recorded(
        "reference.fidelity.kernels", _plain, lambda: [(cell, _same(cell.scenario)) for cell in kernels.CELLS]
    ),
    **{
        f"draw-{seed}.csv": Recorded(
            f"reference.fidelity.draw --draw {seed} {options}",
            _plain,
            partial(lambda seed: [(one, _same(one.scenario)) for one in draw.draw(seed)], seed),
        )
        for seed, options in _DRAWS.items()
    },
}
"""The files of runs on Linux, relative to the folder of the pages."""


def old(data: Path = DATA) -> Iterator[tuple[str, int, int]]:
    """Yields each file with runs of an older kernel world, the number of these runs, and the number of all its runs.

    Runs of a scenario that has changed since do not count, because no page shows them.
    """
    for name, recorded in RECORDED.items():
        found = recorded.records(data / name)
        cells = {cell.name: (cell, scenario) for cell, scenario in recorded.cells()}
        known = [
            (one, cells[cell][1](seed))
            for cell, seed in found.measured()
            if cell in cells and (one := found.get(cells[cell][0], seed)) is not None
        ]
        if count := sum(is_old(one, scenario) for one, scenario in known):
            yield name, count, len(known)


def broken(data: Path = DATA) -> Iterator[tuple[str, str]]:
    """Yields the promises that each page does not keep."""
    for path in pages(data):
        for statement, kept in promises.read(path):
            if not kept:
                yield path.name, statement


def main() -> int:
    """Prints the three lists."""
    for name in stale():
        print_line(f"{name} is of an older simulator: python -m {PAGES[name].command}")
    for name, count, runs in old():
        command = RECORDED[name].command
        print_line(f"{name}: {count} of {runs} runs are of an older kernel world: python -m {command}")
    told = [each for path in pages() for each in promises.read(path)]
    print_line(f"{sum(kept for _, kept in told)} of {len(told)} promises are kept; not:")
    for page, statement in broken():
        print_line(f"  {page}: {statement}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
