"""`python -m reference.fidelity.state`: lists missed accuracy targets, outdated pages, and outdated recorded runs.

The output names the command for each page. The exit code is always 0, because writing pages again takes minutes or
hours. `--record` repeats all outdated runs and writes all outdated pages. Each finished run is stored, so you can stop
the command and start it again. `--renew` repeats a sample of outdated runs, and updates the version of records whose
values have not changed (`reference.fidelity.renew`).
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
    renew,
    stamps,
    variants,
)
from reference.fidelity.cells import Cell, Runnable
from reference.fidelity.kept import IN_VIRTUAL_TIME, SIDE_BY_SIDE, Wanted
from reference.fidelity.records import DOCS, Measurement, Records, is_old
from reference.fidelity.renew import Old
from reference.fidelity.stamps import Probe


@dataclass(frozen=True)
class Page:
    """A page: the command that writes the page, and the runs whose digests show whether the page is up to date."""

    command: str
    probes: Callable[[], Sequence[Probe]]


_ALL = "reference.fidelity --recorded"
_DRAWS = (20261202,)
"""The seeds of the draws that have a page."""
PAGES: Mapping[str, Page] = {
    "../fidelity.md": Page(_ALL, fidelity.probes),
    "values.md": Page(_ALL, fidelity.probes),
    "variants.md": Page(_ALL, variants.probes),
    "packets.md": Page("reference.fidelity --packets ''", packets.probes),
    "ack-filter.md": Page("reference.fidelity.ack_filter --recorded", ack_filter.probes),
    "authors.md": Page("reference.fidelity.authors --recorded", authors.probes),
    "disciplines.md": Page("reference.fidelity.disciplines --recorded", disciplines.probes),
    "freebsd.md": Page("reference.fidelity.freebsd", freebsd.probes),
    "kernels.md": Page("reference.fidelity.kernels --recorded", kernels.probes),
    "mechanisms.md": Page("reference.fidelity.mechanisms", mechanisms.probes),
    **{
        f"draw-{seed}.md": Page(f"reference.fidelity.draw --recorded --draw {seed}", partial(draw.probes, seed))
        for seed in _DRAWS
    },
}
"""The pages, by file name relative to the folder `docs/fidelity`.

Two pages are not listed: a test checks all of `queues.md`, and the scripts of `packetdrill.md` are not part of the
project.
"""


def pages(data: Path = DOCS) -> list[Path]:
    """Returns the paths of all fidelity pages, sorted by name."""
    return sorted(path for path in (*data.glob("*.md"), data.parent / "fidelity.md") if path.exists())


def stale(data: Path = DOCS) -> Iterator[str]:
    """Yields the pages that were written with an older or unknown version of the simulator."""
    aligned = packets.records(data / "packets.csv")
    for name, page in PAGES.items():
        known = stamps.read(data).get(name)
        probes = page.probes()
        if name == "packets.md":
            # All rows of a probe contain the same digest, so read only the first row.
            known = {probe.name: packets.sim_digest(next(iter(aligned.of(probe.name)), None)) for probe in probes}
        if known != stamps.digests(probes):
            yield name


def _again(old: Old, *, captured: bool = False) -> Measurement:
    """Repeats a recorded run on Linux. Set `captured` if captures were taken during the recorded run, because capturing
    takes time in the guest."""
    assert isinstance(old.cell, Cell)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Wanted(old.cell.name, old.cell.fingerprint(), old.seed, lambda: old.scenario)
        plain = partial(old.scenario.run, seed=old.seed, world="kernel", kernel=IN_VIRTUAL_TIME)
        run = wanted.run(Path(folder)) if captured else plain()
        return Measurement.of(old.cell, old.seed, run, old.cell.values_of(run))


def _aligned(old: Old) -> Measurement:
    """Repeats a run on Linux and aligns its packets again."""
    assert isinstance(old.cell, packets.Cell)
    with tempfile.TemporaryDirectory() as folder:
        return packets.aligned(old.cell, old.cell.wanted.run(Path(folder)))


def _discipline(old: Old) -> Measurement:
    assert isinstance(old.cell, disciplines.Cell)
    return disciplines.measured("kernel", old.cell, old.seed)


def _records(path: Path) -> Records:
    return packets.records(path) if path.name == "packets.csv" else Records(path, ())


@dataclass(frozen=True)
class Recorded:
    """A file of recorded runs: the command that records them, their cells, and a function that repeats a run."""

    command: str
    cells: Callable[[], Iterable[Runnable]]
    again: Callable[[Old], Measurement] = _again


_captured = partial(_again, captured=True)
RECORDED: Mapping[str, Recorded] = {
    "linux.csv": Recorded("reference.fidelity", lambda: fidelity.CELLS),
    "variants.csv": Recorded("reference.fidelity --variants ''", lambda: variants.CELLS, _captured),
    "packets.csv": Recorded("reference.fidelity --packets ''", packets.cells, _aligned),
    "disciplines.csv": Recorded("reference.fidelity.disciplines", lambda: disciplines.CELLS, _discipline),
    "kernels.csv": Recorded("reference.fidelity.kernels", lambda: kernels.CELLS),
    "ack-filter.csv": Recorded("reference.fidelity.ack_filter", lambda: ack_filter.CELLS),
    **{
        f"draw-{seed}.csv": Recorded(f"reference.fidelity.draw --draw {seed}", partial(draw.draw, seed), _captured)
        for seed in _DRAWS
    },
}
"""Files of recorded runs in `docs/fidelity`. The files of the most important pages are first."""


def known(name: str, data: Path = DOCS) -> Iterator[Old]:
    """Yields the recorded runs in a file. Skips runs whose scenarios have changed since, because no page shows them."""
    recorded = RECORDED[name]
    found = _records(data / name)
    cells = {cell.name: cell for cell in recorded.cells()}
    for what, seed in found.measured():
        if (cell := cells.get(what)) is not None and (one := found.get(cell, seed)) is not None:
            yield Old(name, cell, seed, cell.scenario(seed), one)


def old(data: Path = DOCS) -> Iterator[tuple[str, int, int]]:
    """Yields each file that has outdated runs: its name, the number of outdated runs, and the number of all runs."""
    for name in RECORDED:
        runs = list(known(name, data))
        if count := sum(is_old(one.recorded, one.scenario) for one in runs):
            yield name, count, len(runs)


def renewed(count: int, minutes: float, part: str = "", data: Path = DOCS) -> Iterator[str]:
    """Repeats a sample of `count` outdated runs, for at most `minutes`, and updates the groups without changed values.

    Only groups with `part` in their names are sampled and updated. Yields one line per run and one line per group.
    """

    def records(file: str) -> Records:
        return _records(data / file)

    until = time.monotonic() + 60 * minutes
    known_runs = (one for name in RECORDED for one in known(name, data) if is_old(one.recorded, one.scenario))
    runs = [one for one in known_runs if part in one.group]
    for one in renew.sample(runs, count):
        if time.monotonic() < until and not renew.is_sampled(data, one):
            told = renew.run_again(data, one, RECORDED[one.file].again, records)
            yield f"{told.group}: {told.cell}, seed {told.seed}: {told.differs or 'the same'}"
    for group, number in renew.apply(runs, renew.of_today(data, runs), records).items():
        yield f"{group}: {number} runs are renewed"


def renewed_pages(minutes: float, workers: int) -> Iterator[str]:
    """Repeats all outdated runs, file by file, and writes all outdated pages. Yields each command before it is run.

    No run on Linux starts after this number of minutes.
    """
    until = time.monotonic() + 60 * minutes
    for name, recorded in RECORDED.items():
        left = (until - time.monotonic()) / 60
        if left > 0 and any(is_old(one.recorded, one.scenario) for one in known(name)):
            command = f"{recorded.command} --minutes {left:.1f} --workers {workers}"
            yield command
            _run(command)
    for command in dict.fromkeys(PAGES[name].command for name in stale()):
        yield command
        _run(command)


def _run(command: str) -> None:
    subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True)


def broken(data: Path = DOCS) -> Iterator[tuple[str, str]]:
    """Yields each accuracy target that is not met, with the file name of its page."""
    for path in pages(data):
        for statement, kept in promises.read(path):
            if not kept:
                yield path.name, statement


def main() -> int:
    """Prints missed targets, outdated pages and outdated runs. With `--record`, first repeats runs and writes pages.
    With `--renew`, only repeats a sample of runs."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.state", description=__doc__)
    parser.add_argument("--record", action="store_true", help="repeat all outdated runs, and write all outdated pages")
    parser.add_argument("--workers", type=int, default=SIDE_BY_SIDE, help="number of parallel runs on Linux")
    parser.add_argument("--renew", action="store_true", help="repeat a sample of the outdated runs")
    parser.add_argument("--sample", type=int, default=12, help="the number of runs in the sample")
    parser.add_argument("--group", metavar="PART", default="", help="sample only groups with this in their names")
    parser.add_argument("--minutes", type=float, default=60, help="start no run on Linux after this number of minutes")
    arguments = parser.parse_args()
    if arguments.record:
        for command in renewed_pages(arguments.minutes, arguments.workers):
            print_line(f"python -m {command}")
    if arguments.renew:
        for line in renewed(arguments.sample, arguments.minutes, arguments.group):
            print_line(line)
        return 0
    for name in stale():
        print_line(f"{name} was written with an older simulator: run python -m {PAGES[name].command}")
    for name, count, runs in old():
        command = RECORDED[name].command
        print_line(f"{name}: {count} of {runs} runs were made with an older kernel world: run python -m {command}")
    told = [each for path in pages() for each in promises.read(path)]
    print_line(f"{sum(kept for _, kept in told)} of {len(told)} accuracy targets are met; not met:")
    for page, statement in broken():
        print_line(f"  {page}: {statement}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
