"""Compares the simulator's managed queues with Linux's in whole runs.

`python -m reference.fidelity.disciplines` writes docs/fidelity/disciplines.md. Each discipline runs with the same seeds
at several RTTs, with and without ECN. The values of Linux are stored after each run. The command measures missing runs
for at most `--minutes`. With `--recorded`, the command measures no run.

The medians over the seeds are compared. If the medians of Linux and of the simulator differ by more than a bound, the
simulator runs more seeds to show whether chance explains the difference (`reference/fidelity/chance.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean
from typing import TYPE_CHECKING

import lopsided as lop
from lopsided.cli.terminal import print_line
from lopsided.data import units
from lopsided.settings import Tables, scenario_text, setting_text
from lopsided.studies.aqm.disciplines import Discipline
from lopsided.worlds import kernel
from lopsided.worlds.kernel import build
from reference.fidelity import kept, promises, stamps
from reference.fidelity.cells import hash_of
from reference.fidelity.chance import STANDARD_ERRORS, Both, Value
from reference.fidelity.promises import Promise
from reference.fidelity.records import DOCS, Measurement, Records, Values
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import percent, table
from reference.fidelity.texts import page_text

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

RECORDS = DOCS / "disciplines.csv"
_RED = {"kind": "red", "limit": "150 kB", "min": "15 kB", "max": "45 kB", "probability": 0.1, "avpkt": "1000 B"}
_CHOKE = {"kind": "choke", "limit": "200 packets", "min": "20 packets", "max": "60 packets", "probability": 0.1}
QUEUES: Mapping[str, str | Tables] = {
    **{name: name for name in ("codel", "fq_codel", "pie", "cake", "fq_pie")},
    "red": _RED,
    "choke": _CHOKE,
    "sfq": "sfq",
    "fq": "fq",
    "fifo": "100 packets",
}
"""The settings of each discipline. A setting differs from its default only if the default would not limit the traffic,
or if Linux uses another unit."""
HERE: Mapping[str, str | Tables] = {
    **QUEUES,
    "pie": {"kind": "pie", "tupdate": "20 ms"},
    "fq_pie": {"kind": "fq_pie", "tupdate": "20 ms"},
    "red": {**_RED, "idle_decay": False},
    "choke": {**_CHOKE, "idle_decay": False},
}
"""The settings of the same disciplines for the simulator.

Linux's timer stretches PIE's update interval from 15 ms to 20 ms (docs/fidelity/queues.md). The kernel world's htb
never dequeues from an empty RED or CHOKe, so `idle_decay` is off.
"""
WITHOUT_ECN = ("sfq", "fq", "fifo")
GRID = ((100, False), (20, False), (500, False), (100, True), (20, True), (500, True), (200, False), (200, True))
"""Pairs of an RTT in ms and true if ECN is on. The most informative pairs are measured first."""
SEEDS = (1, 2, 3, 4)
"""Seeds of the runs on Linux. The simulator runs with `SIM_SEEDS`, which include these seeds."""
SIM_SEEDS = tuple(range(1, 13))
"""Seeds of the simulator's runs. The error by chance is computed from these runs."""
DRAWN = ("pie", "fq_pie", "red", "choke")
"""Disciplines that use random numbers."""
BOUNDS = {"goodput_bps": 0.03, "sojourn_mean_ms": 0.10, "sojourn_p95_ms": 0.10, "signals": 0.15}
"""Largest accepted relative error of the simulator's median. `signals` is the number of drops plus, with ECN, the
number of marks."""


def line(rtt: int, duration: int) -> Tables:
    """Returns the TOML tables of a scenario with two CUBIC downloads over one line. `rtt` is in ms, `duration` in
    seconds."""
    return {
        "scenario": {"title": "Two CUBIC downloads", "duration": f"{duration} s"},
        "link": {
            "rtt": f"{rtt} ms",
            "framing": "ethernet",
            "down": {"rate": "20 Mbit/s"},
            "up": {"rate": "2 Mbit/s"},
        },
        "stack": {"cc": "cubic"},
        "flow": [{"name": "download", "direction": "down", "count": 2, "start_jitter": "1 s"}],
    }


@dataclass(frozen=True)
class Cell:
    """A scenario with a discipline and an RTT in ms, with or without ECN."""

    queue: str
    rtt: int
    ecn: bool

    @property
    def name(self) -> str:
        """The name that identifies the cell in the records."""
        return f"{self.queue}, {self.rtt} ms" + (", ECN" if self.ecn else "")

    @property
    def line(self) -> Tables:
        """The scenario's TOML tables, without the queue discipline."""
        return line(self.rtt, 20 if self.rtt < 200 else 30)

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario with the settings for Linux."""
        ecn = {"stack.ecn": "on"} if self.ecn else {}
        queue = setting_text(QUEUES[self.queue])
        return lop.Scenario.build(self.line, f"{self.rtt}-ms").with_(**{"link.down.queue": queue}, **ecn)

    def fingerprint(self) -> str:
        """Returns a hash of the scenario. A recorded run with a different hash is outdated."""
        return hash_of(f"{scenario_text(self.line)}{QUEUES[self.queue]}{self.ecn}")


CELLS = tuple(Cell(queue, rtt, ecn) for rtt, ecn in GRID for queue in QUEUES if not (ecn and queue in WITHOUT_ECN))


def records() -> Records:
    """Returns the stored runs on Linux."""
    return Records(RECORDS, (cell.name for cell in CELLS))


def measured(world: str, cell: Cell, seed: int) -> Measurement:
    """Runs a cell once, on Linux or in the simulator, and returns its values."""
    queue = (QUEUES if world == "kernel" else HERE)[cell.queue]
    found = lop.aqm(
        lop.Scenario.build(cell.line, f"{cell.rtt}-ms"),
        [Discipline(cell.queue, setting_text(queue))],
        direction="down",
        probe=False,
        ecn=cell.ecn,
        repeat=1,
        seed=seed,
        world=world,
        kernel=kept.IN_VIRTUAL_TIME if world == "kernel" else None,
        workers=1,
    )
    row = next(iter(found.runs.rows()))
    values = {
        "goodput_bps": round(row["goodput_bps"]),
        "sojourn_mean_ms": round(row["sojourn_mean_ms"], 4),
        "sojourn_p95_ms": round(row["sojourn_p95_ms"], 4),
        "drops": round(row["dropped_packets"]),
        "marks": round(row["marked_packets"]),
        "signals": round(row["dropped_packets"] + row["marked_packets"]),
    }
    values_of_run: Values = {("run", name): value for name, value in values.items()}
    if world != "kernel":
        return Measurement(cell.name, seed, values_of_run)
    built = build.find_built()
    source = f"{built.version} (timetravel)" if built else ""
    version = kernel.version_of(cell.scenario(), seed)
    return Measurement(cell.name, seed, values_of_run, source, cell.fingerprint(), world=version)


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    wanted = ("codel", "red", "cake")
    plain = lop.Scenario.build(line(20, 20), "20-ms")
    return [Probe(name, plain.with_(**{"link.down.queue": HERE[name]})) for name in wanted]


def simulated(run: tuple[Cell, int]) -> tuple[tuple[str, int], Values]:
    """Simulates a run and returns its values. Processes of a pool call this function."""
    one = measured("sim", *run)
    return (one.cell, one.seed), one.values


def to_measure(known: Records) -> Iterator[tuple[Cell, int]]:
    """Yields missing and outdated runs, the most informative first."""
    for rtt, ecn in GRID:
        for seed in SEEDS:
            for cell in CELLS:
                if (cell.rtt, cell.ecn) == (rtt, ecn) and known.needs(cell, seed, cell.scenario()):
                    yield cell, seed


def measure(known: Records, effort: kept.Effort) -> None:
    """Executes missing and outdated runs on Linux, and adds their values to the records."""
    due = list(to_measure(known))
    names = [f"{cell.name}, seed {seed}" for cell, seed in due]
    with kept.on_linux("measuring on Linux") as report:
        for number, one in kept.each(names, lambda number: measured("kernel", *due[number]), effort, report):
            known.add(one)
            print_line(names[number])


def beyond(both: Both, cell: Cell) -> list[str]:
    """Returns the quantities of a cell whose medians on Linux and in the simulator differ by more than their bounds."""
    return [name for name, bound in BOUNDS.items() if abs(_off(both.value(cell.name, ("run", name)))) > bound]


def page(both: Both) -> str:
    """Returns the page as Markdown. Each row contains the values of Linux and of the simulator."""
    known = both.cells
    place = list(QUEUES).index
    cells = sorted(
        (cell for cell in CELLS if cell.name in known), key=lambda cell: (place(cell.queue), cell.rtt, cell.ecn)
    )
    off = {cell: beyond(both, cell) for cell in cells}
    values = {
        cell: {name: both.value(cell.name, ("run", name), all_seeds=True) for name in off[cell]} for cell in cells
    }
    rows: list[list[str]] = []
    for cell in cells:
        texts = [cell.queue, str(cell.rtt), "on" if cell.ecn else "off", str(both.seeds(cell.name))]
        for name in BOUNDS:
            value = both.value(cell.name, ("run", name))
            texts += [_text(name, median) for median in value.medians]
            texts.append(percent(_off(value), signed=True, bold=name in off[cell]))
        rows.append([*texts, _chance(values[cell])])
    within = ", ".join(f"{label} {sum(name not in off[cell] for cell in cells)}" for name, label in _LABELS.items())
    chance = [cell for cell in cells if off[cell] and all(value.by_chance for value in values[cell].values())]
    head = _HEAD.format(
        seeds=max(both.seeds(cell.name) for cell in cells),
        sim_seeds=len(SIM_SEEDS),
        cells=len(cells),
        within=within,
        whole=sum(not off[cell] for cell in cells),
        chance=len(chance),
        apart=(apart := sum(map(bool, off.values())) - len(chance)),
        errors=f"{STANDARD_ERRORS:g}",
        promised="\n".join(promises.rows([promised(apart)])),
    )
    together = table("queue | goodput | wait | p95 | signals", _together(cells, both))
    return head + "\n".join([*table(_COLUMNS, rows), _TOGETHER, *together])


def promised(apart: int) -> Promise:
    """Returns the accuracy target: every value is within its bound, or chance explains its error."""
    return promises.none(
        "Every cell is within its bounds, or chance explains the error.", "cells that chance does not explain", apart
    )


def _together(cells: Sequence[Cell], both: Both) -> Iterator[list[str]]:
    """Yields a table row for each discipline that uses random numbers. A table cell contains the mean error over the
    discipline's scenarios, and the error combined by Stouffer's method, in standard errors."""
    for queue in DRAWN:
        texts: list[str] = []
        for name, bound in BOUNDS.items():
            keys = [cell.name for cell in cells if cell.queue == queue]
            values = [both.value(key, ("run", name), all_seeds=True) for key in keys]
            error = fmean(value.error for value in values)
            errors = sum(value.in_standard_errors for value in values) / math.sqrt(len(values))
            text = f"{percent(error, signed=True)} ({errors:+.1f})"
            texts.append(f"**{text}**" if abs(error) > bound and abs(errors) > STANDARD_ERRORS else text)
        yield [queue, *texts]


def _chance(values: Mapping[str, Value]) -> str:
    """Returns a text with the errors in standard errors. An error is bold if the spread between seeds does not explain
    it."""
    texts = [f"{_SHORT[name]} {value.in_standard_errors:+.1f}" for name, value in values.items()]
    return ", ".join(
        text if value.by_chance else f"**{text}**" for text, value in zip(texts, values.values(), strict=True)
    )


def _off(value: Value) -> float:
    return value.median_error if value.medians[0] else 0.0


_LABELS = {
    "goodput_bps": "goodput",
    "sojourn_mean_ms": "mean wait",
    "sojourn_p95_ms": "95th percentile of the wait",
    "signals": "drops and marks",
}


_SHORT = {"goodput_bps": "goodput", "sojourn_mean_ms": "wait", "sojourn_p95_ms": "p95", "signals": "signals"}


def _text(name: str, value: float) -> str:
    if name == "goodput_bps":
        return f"{value / 1e6:.2f}"
    return units.count(value) if name == "signals" else f"{value:.2f}"


_TOGETHER = page_text("disciplines-together")
_COLUMNS = (
    "queue | RTT | ECN | seeds | goodput Linux | sim | off | wait | sim | off | p95 | sim | off | signals | sim | off"
    " | by chance?"
)
_HEAD = page_text("disciplines-head")


def main() -> None:
    arguments = kept.parser("reference.fidelity.disciplines", __doc__, 60).parse_args()
    linux = records()
    if not arguments.recorded:
        measure(linux, kept.Effort.of(arguments.minutes, arguments.workers))
    known = [one for cell in CELLS for one in linux.of(cell.name)]
    # Spawn processes. A forked process would copy locks that the threads that run Linux have acquired.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        wanted = [(cell, seed) for cell in CELLS if linux.of(cell.name) for seed in SIM_SEEDS]
        sim = dict(pool.map(simulated, wanted, chunksize=4))
    notes = DOCS / "disciplines-causes.md"
    text = page(Both(known, sim)) + ("\n" + notes.read_text() if notes.exists() else "")
    stamps.publish(DOCS / "disciplines.md", text, probes())


if __name__ == "__main__":
    main()
