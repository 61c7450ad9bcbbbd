"""Compares the simulator with the ns-2 code by the authors of Balakrishnan et al. (1999), in the paper's cases with one
flow.

`python -m reference.fidelity.authors` runs missing cells (scenarios) on ns-2 and all cells in the simulator, and writes
`docs/fidelity/authors.md`. With `--recorded`, the command does not run ns-2. If a cell uses no random numbers, its runs
use return lines with slightly different delays (up to 0.4 ms) instead of different seeds.

Debian's ns-2.35 runs Reno, ACK filtering and reconstruction as the authors intended. ACC/SA and AF/SA need an ns-2 with
two repairs (`--ns`). In `queue/red.cc`, RED must also mark packets without ECN capability. In `tcp/tcp.cc`,
`TcpAgent::timeout_nonrtx` must also send when the burst timer expires. Without such an ns-2, the recorded values of
ACC/SA and AF/SA are not measured again.

ACC's receiver never initializes `highest_ts_echo_` (`tcp/tcp-asym-sink.cc`), so `ns2.ZEROED` fills new memory with
zeros. With other contents, the sender gets 14 % more ACKs in case B. Its throughput is then 5 % higher with bursts of
two packets, and 13 % lower without a limit.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import lopsided as lop
from lopsided import papers
from lopsided.cli.terminal import print_line
from lopsided.data import units
from lopsided.papers.balakrishnan1999 import measure, ns2
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA_CODE,
    AF_ALONE,
    AF_AR,
    AF_SA,
    CASE_B,
    DIALUP,
    LINES,
    RENO,
    RETURN_DELAYS_MS,
    Line,
    Scheme,
)
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.model import Case
from lopsided.studies.jobs import run_jobs
from reference.fidelity import kept, promises, stamps
from reference.fidelity.cells import hash_of
from reference.fidelity.chance import Both, Value
from reference.fidelity.records import DOCS, Measurement, Records, Values
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import percent, table
from reference.fidelity.texts import page_text

RECORDS, PAGE = DOCS / "authors.csv", DOCS / "authors.md"
SCENARIO = Path(ns2.__file__).parent / "scenarios" / "hybrid.toml"
BOUNDS = {"throughput_mbps": 0.05, "window": 0.05, "rtt_ms": 0.05, "acks_delivered": 0.10, "acks_filtered": 0.10}
"""Largest accepted relative deviation of the simulator's median from ns-2's median. A median within the range of
ns-2's runs always passes."""
REPAIRED = 3.0
"""A throughput in Mbit/s that identifies a working burst timer. With bursts of one packet, sender adaptation exceeds
this throughput only if the timer works. In Debian's ns-2, the timer does not work."""


@dataclass(frozen=True)
class Cell:
    """One scenario: the paper's case (A or B), a return line, and a scheme for ACKs on this line."""

    case: str
    line: Line
    scheme: Scheme

    @property
    def name(self) -> str:
        return f"{self.case} {self.line.key} {self.key}"

    @property
    def key(self) -> str:
        """The name of the scheme in the authors' code, which contains only one form of RED."""
        return self.scheme.key.removesuffix("_code")

    @property
    def draws(self) -> bool:
        return self.scheme.marked

    @property
    def duration_s(self) -> int:
        """Duration of a run in seconds. Runs with ACK reconstruction are shorter, because ns-2 then becomes slower with
        every ACK."""
        return 25 if self.scheme.reconstructed else 50

    @property
    def numbers(self) -> range:
        """The numbers of the runs, from 1. The number of a run is its seed. If a cell uses no random numbers, the
        number selects the return line's delay."""
        return range(1, 11 if self.draws else 4 if self.scheme.reconstructed or self.case == "A" else 6)

    def delay_ms(self, number: int) -> float:
        """Returns the delay of the return line in ms. In cells without random numbers, lower numbers select delays
        closer to 50 ms."""
        return 50.0 if self.draws else sorted(RETURN_DELAYS_MS, key=lambda delay: abs(delay - 50))[number - 1]

    def settings(self, number: int) -> Mapping[str, object]:
        """Returns the arguments of the ns-2 script for a run."""
        found: dict[str, object] = {
            "scheme": self.key,
            "rate": self.line.rate_bps,
            "ack": self.line.ack_bytes,
            "delay": self.delay_ms(number),
            "seed": number,
            "stop": self.duration_s,
        }
        return found | ({"window": 120, "edge": 10, "down": 10} if self.case == "B" else {})

    def scenario(self, seed: int = 1) -> lop.Scenario:
        """Returns the scenario that corresponds to a run of ns-2."""
        changed = {
            **(CASE_B if self.case == "B" else {}),
            **self.line.overrides,
            **self.scheme.overrides(acks_alone=True),
        }
        delay = {"link.up.delay": f"{self.delay_ms(seed)} ms", "scenario.duration": f"{self.duration_s} s"}
        return lop.Scenario.load(SCENARIO).with_(**changed, **delay)

    def fingerprint(self) -> str:
        """Returns a hash of the arguments and of ns-2's script without its comments."""
        lines = (line for line in ns2.SCRIPT.read_text().splitlines() if line.strip() and not line.startswith("#"))
        said = "\n".join(lines) + repr([self.settings(number) for number in self.numbers])
        return hash_of(said)

    def values_of(self, run: lop.Run) -> Values:
        """Returns the values of a simulated run."""
        found = measure.one_way(run, Case(SCENARIO.name, {}, {}))
        rates = (found["throughput_bps"] / 1e6, found["cwnd_packets"], found["rtt_ms"])
        return _values(*rates, found["acks_delivered"], found["acks_filtered"])


CELLS = (
    *(Cell("A", line, scheme) for line in LINES for scheme in (RENO, ACC_SA_CODE, AF_SA, AF_ALONE)),
    *(Cell("B", DIALUP, scheme) for scheme in (RENO, ACC_SA_CODE, AF_SA, AF_ALONE, AF_AR)),
)


QUANTITIES = ("throughput_mbps", "window", "rtt_ms", "acks_delivered", "acks_filtered")
"""The download's quantities that are compared between ns-2 and the simulator. `window` is in packets."""


def records() -> Records:
    """Returns the stored runs of ns-2."""
    return Records(RECORDS, (cell.name for cell in CELLS))


def _values(*numbers: float) -> Values:
    return {("download", quantity): number for quantity, number in zip(QUANTITIES, numbers, strict=True)}


def theirs(program: str, cell: Cell, number: int) -> Measurement:
    """Runs ns-2 once and returns the measured values."""
    with tempfile.TemporaryDirectory(prefix="lopsided-") as folder:
        trace = Path(folder) / "server"
        found = ns2.printed(program, {**cell.settings(number), "trace": trace})
        trips = list(round_trips(trace))
    values = _values(
        round(found["down_bps"] / 1e6, 4),
        round(found["window"], 3),
        round(fmean(trips) * 1e3, 3),
        found["delivered"],
        ns2.filtered(found, cell.key),
    )
    return Measurement(cell.name, number, values, "ns-2", cell.fingerprint())


def round_trips(trace: Path) -> Iterator[float]:
    """Yields RTT samples in seconds: the time from the departure of a packet to its first ACK. Skips retransmitted
    packets."""
    sent: dict[int, float | None] = {}
    highest = -1
    with trace.open() as lines:
        for line in lines:
            what, at, origin, to, kind, *_, number, _ = line.split()
            packet = int(number)
            if (what, origin, to, kind) == ("+", "0", "1", "tcp"):
                sent[packet] = None if packet in sent else float(at)
            elif (what, to, kind) == ("r", "0", "ack") and packet > highest:
                highest = packet
                if (since := sent.get(packet)) is not None:
                    yield float(at) - since


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    return [Probe(cell.name, cell.scenario(1)) for cell in CELLS if cell.case == "B" and not cell.draws]


def is_repaired(program: str) -> bool:
    """Returns true if the burst timer works in the ns-2 at the path `program`."""
    probe = {"scheme": AF_SA.key, "window": 120, "edge": 10, "down": 10, "burst": 1, "stop": 10}
    return ns2.printed(program, probe)["down_bps"] > REPAIRED * 1e6


def holds(value: Value, bound: float) -> bool:
    """Returns true if the simulator's median differs from ns-2's by at most `bound`, or is within the range of ns-2's
    runs."""
    return abs(_off(value)) <= bound or min(value.linux) <= value.medians[1] <= max(value.linux)


def _off(value: Value) -> float:
    return value.median_error if value.medians[0] else 0.0


HEAD = page_text("authors-head")
COLUMNS = (
    "case",
    "return line",
    "scheme",
    *(
        cell
        for name in ("Mbit/s", "window", "RTT, ms", "ACKs delivered", "filtered")
        for cell in (f"{name}, ns-2", "here", "off")
    ),
)


def _said(values: Sequence[float]) -> str:
    def one(value: float) -> str:
        return units.count(round(value)) if value >= 1000 or value == 0 else f"{value:.3g}"

    low, high = min(values), max(values)
    spread = f" ({one(low)} to {one(high)})" if high > 1.02 * low else ""
    return one(median(values)) + spread


def page(both: Both) -> str:
    """Returns the page docs/fidelity/authors.md as Markdown."""
    rows, within = list[list[str]](), 0
    known = both.cells
    for cell in (cell for cell in CELLS if cell.name in known):
        cells, all_hold = [cell.case, cell.line.title, cell.scheme.title], True
        for name, bound in BOUNDS.items():
            if name == "acks_filtered" and not cell.scheme.filtered:
                cells += ["", "", ""]
                continue
            found = both.value(cell.name, ("download", name))
            is_kept = holds(found, bound)
            all_hold &= is_kept
            cells += [_said(found.linux), _said(found.sim), percent(_off(found), signed=True, bold=not is_kept)]
        within += all_hold
        rows.append(cells)
    promised = promises.all_of(
        len(rows),
        "Every cell is within the bounds, or within the range of the authors' runs.",
        "cells within the bounds or the range",
        within,
    )
    head = HEAD.format(within=within, cells=len(rows), promised="\n".join(promises.rows([promised])))
    return head + "\n".join(table(" | ".join(COLUMNS), rows))


def _measure(recorded: Records, program: str | None, jobs: int) -> None:
    if program is None:
        return print_line("ns-2 is not installed here: apt install ns2")
    repaired = is_repaired(program)
    print_line(f"{program} is " + ("repaired" if repaired else "not repaired: the recorded ACC/SA and AF/SA are kept"))
    missing = [
        (cell, number)
        for cell in CELLS
        if repaired or not cell.scheme.adapted
        for number in cell.numbers
        if recorded.get(cell, number) is None
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(lambda work: theirs(program, *work), missing):
            recorded.add(one)
            print_line(f"{one.cell}, {one.seed}")


def _record_table_n(program: str) -> None:
    paper = papers.load("balakrishnan1999")
    needed = [paper.experiment(key) for key in ns2.EXPERIMENTS]
    ns2.record(program, run_experiments(paper, needed, 1, run_jobs))


def main() -> int:
    """Runs the missing cells on ns-2, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.authors", description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="do not run ns-2")
    parser.add_argument(
        "--ns", metavar="PATH", default=shutil.which("ns"), help="path of ns-2, with or without the repairs"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel runs")
    parser.add_argument("--table-n", action="store_true", help="run and record the cells of table N")
    arguments = parser.parse_args()
    if arguments.table_n and arguments.ns is not None:
        _record_table_n(arguments.ns)
    recorded = records()
    if not arguments.recorded:
        _measure(recorded, arguments.ns, arguments.jobs)
    cells = {cell.name: cell for cell in CELLS}
    theirs = recorded.current((cell, number) for cell in CELLS for number in cell.numbers)
    both = Both(theirs, kept.simulate([(cells[one.cell], one.seed) for one in theirs]))
    stamps.publish(PAGE, page(both), probes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
