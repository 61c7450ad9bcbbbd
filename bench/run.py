"""Measures the CPU time per delivered packet of the simulator, and of ns-2 and ns-3 if they are installed.

A value is the CPU time of a process, minus the CPU time of a run of 0 s, divided by the number of data packets that
were delivered in order. It is the minimum of several tries. All programs run the same workloads: TCP Reno with SACK,
delayed ACKs and timestamps, and a base RTT of 40 ms.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import flatness
import instructions
import queues
import user_path
from bench_program import ROOT, build_bench, target_folder
from rich.console import Console
from rich.table import Table

PEER_PROGRAMS = ROOT / "bench" / "peers"
TARGET_US = 0.33
"""Largest accepted CPU time per data packet in µs, for each workload."""
TARGET_RATIO = 2.0
"""Largest accepted ratio of a congestion control's CPU time per packet to Reno's."""
TARGET_SPREAD = 1.3
"""Largest accepted ratio of the highest to the lowest CPU time per packet, over workloads with different windows,
losses or numbers of flows."""


@dataclass(frozen=True)
class Workload:
    """A network, and the number and settings of the TCP flows in this network."""

    shown: str
    name: str
    """Name of the network: `m`, `d100` or `d1g`."""
    stop_s: int
    flows: int = 20
    loss: float = 0.0
    cc: str = "reno"

    @property
    def rate_bps(self) -> float:
        """Rate of the bottleneck in `d100` and `d1g`; 0 for `m`, whose rates are fixed."""
        return {"m": 0, "d100": 100e6, "d1g": 1e9}[self.name]


COMPARED = (Workload("M", "m", 240, flows=1), Workload("D 100M", "d100", 30), Workload("D 1G", "d1g", 30))
LEGEND = """\
M: 2.4 Mbit/s down, 196 kbit/s up, buffers of 50 packets; a download, joined by an upload at 120 s.
D: 20 downloads over 100 Mbit/s or 1 Gbit/s with a buffer of one bandwidth-delay product."""
VARIED = (
    Workload("2 flows, windows to 3,300 packets", "d1g", 10, flows=2),
    Workload("20 flows, windows to 330", "d1g", 10),
    Workload("200 flows, windows to 33", "d1g", 10, flows=200),
    Workload("2,000 flows", "d1g", 10, flows=2000),
    Workload("20 flows, losses of 0.01 %", "d1g", 10, loss=0.0001),
    Workload("20 flows, losses of 0.1 %", "d1g", 10, loss=0.001),
    Workload("20 flows, losses of 1 %", "d1g", 10, loss=0.01),
)
CONTROLLED = (Workload("M", "m", 240, flows=1), Workload("D 100M", "d100", 10))
CONTROL_ROUNDS = 12

Command = Callable[[Workload, float], list[str]]
"""A function that returns the command to simulate a workload for a number of seconds."""


@dataclass(frozen=True)
class Simulator:
    name: str
    prepare: Callable[[Path], Command | None]
    """A function that builds the program in a folder and returns its command. Returns `None` if the simulator is not
    installed."""
    package: str = ""
    """Name of the simulator's Debian package."""
    at_once: float = 0.001
    """Shortest duration in seconds that the program can simulate. Used to measure the cost of starting the program."""
    trying_s: float = 3.0
    """A workload is run repeatedly for this time in seconds, and at least once."""
    stop_s: dict[str, int] = field(default_factory=dict)
    """Simulated time in seconds for workloads that would take minutes with their usual simulated time."""


def prepare_lopsided(built: Path) -> Command | None:
    """Builds lopsided's benchmark program, and returns its command."""
    program = build_bench(built)
    return lambda work, stop: [
        program,
        work.name,
        f"flows={work.flows}",
        f"loss={work.loss}",
        f"cc={work.cc}",
        f"seconds={stop:.0f}",
    ]


def prepare_ns2(_built: Path) -> Command | None:
    """Returns the command of ns-2, or `None` if ns-2 is not installed. Its script needs no build."""
    ns = shutil.which("ns")
    if ns is None:
        return None
    program = str(PEER_PROGRAMS / "ns2.tcl")
    return lambda work, stop: [ns, program, work.name[0], str(work.rate_bps), str(work.flows), str(stop)]


def prepare_ns3(built: Path) -> Command | None:
    """Builds a program with ns-3, and returns its command. Returns `None` if ns-3 is not installed."""
    if shutil.which("g++") is None or not Path("/usr/include/ns3").is_dir():
        return None
    source, program = PEER_PROGRAMS / "ns3.cc", built / "bench" / "ns3"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in ("applications", "core", "internet", "network", "point-to-point")]
        subprocess.run(["g++", "-O2", "-std=c++17", str(source), "-o", str(program), *libraries], check=True)
    return lambda work, stop: [
        str(program),
        f"--kind={work.name[0]}",
        f"--rate={work.rate_bps}",
        f"--flows={work.flows}",
        f"--stop={stop}",
    ]


LOPSIDED = Simulator("lopsided", prepare_lopsided, at_once=0)
PEERS = (
    Simulator("ns-2", prepare_ns2, "ns2"),
    Simulator("ns-3", prepare_ns3, "libns3-dev", trying_s=0, stop_s={"d1g": 3}),
)


@dataclass(frozen=True)
class Cost:
    """The CPU time and the memory that one simulator needs for a workload."""

    simulator: str
    workload: str
    simulated_s: int
    packets: int
    """Number of data packets that were delivered in order."""
    cpu_us_per_packet: float
    memory_mb: float | None
    """Peak resident memory in MB; `None` if the program does not print it."""


@dataclass(frozen=True)
class Process:
    """The resources and the packet counts of a finished process."""

    cpu_s: float
    packets: int
    memory_mb: float | None
    retransmits: int


def run(command: list[str]) -> Process:
    """Runs a simulator's program. The program must print the number of delivered data packets as `packets=N`."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read()
    packets = re.search(rb"packets=(\d+)", printed)
    if child.returncode != 0 or packets is None:
        sys.exit(f"{' '.join(command)} failed")
    memory = re.search(rb"peak_rss_mb=([\d.]+)", printed)
    again = re.search(rb"retransmits=(\d+)", printed)
    return Process(
        usage.ru_utime + usage.ru_stime,
        int(packets[1]),
        float(memory[1]) if memory else None,
        int(again[1]) if again else 0,
    )


def least(command: list[str], trying_s: float) -> Process:
    """Runs the command repeatedly, and returns the run with the lowest CPU time. Other load on the machine can only add
    CPU time."""
    end = time.monotonic() + trying_s
    best = run(command)
    while time.monotonic() < end:
        best = min(best, run(command), key=lambda process: process.cpu_s)
    return best


def measure(simulator: Simulator, command: Command, work: Workload) -> Cost:
    """Measures the cost of a workload. The cost of starting the program is excluded."""
    stop_s = simulator.stop_s.get(work.name, work.stop_s)
    start = least(command(work, simulator.at_once), simulator.trying_s / 2)
    whole = least(command(work, stop_s), simulator.trying_s)
    cost_us = (whole.cpu_s - start.cpu_s) * 1e6 / max(whole.packets, 1)
    return Cost(simulator.name, work.shown, stop_s, whole.packets, round(cost_us, 3), whole.memory_mb)


def compare(built: Path, console: Console) -> list[Cost]:
    """Measures all installed simulators with `COMPARED`, the workloads that all simulators can run."""
    costs = []
    for simulator in (LOPSIDED, *PEERS):
        command = simulator.prepare(built)
        if command is None:
            console.print(
                f"{simulator.name} is not installed: skipped. To compare with it: apt-get install {simulator.package}"
            )
            continue
        for work in COMPARED:
            with console.status(f"{simulator.name}: {work.shown}"):
                costs.append(measure(simulator, command, work))
    return costs


def vary(built: Path, console: Console) -> list[Cost]:
    """Measures lopsided with different windows, losses and numbers of flows."""
    command = prepare_lopsided(built)
    assert command is not None, "our own simulator is here"
    costs = []
    for work in VARIED:
        with console.status(work.shown):
            costs.append(measure(LOPSIDED, command, work))
    return costs


@dataclass(frozen=True)
class ControlCost:
    """The CPU time of a congestion control on a workload."""

    control: str
    workload: str
    cpu_us_per_packet: float
    of_reno: float
    packets: int
    sent_again: float
    """Number of retransmissions per delivered packet. A retransmission costs as much CPU time as any other packet."""


def control(built: Path, console: Console) -> list[ControlCost]:
    """Measures every congestion control, relative to Reno. The congestion controls are measured in turn, so that other
    load on the machine affects all of them equally."""
    command = prepare_lopsided(built)
    assert command is not None, "our own simulator is here"
    listed = subprocess.run([build_bench(built), "controls"], capture_output=True, text=True, check=True)
    controls = listed.stdout.split()
    costs = []
    for work in CONTROLLED:
        start_s = least(command(work, LOPSIDED.at_once), 1.0).cpu_s
        best: dict[str, Process] = {}
        for turn in range(CONTROL_ROUNDS):
            for name in controls:
                with console.status(f"{work.shown}: {name}, {turn + 1} of {CONTROL_ROUNDS}"):
                    tried = run(command(replace(work, cc=name), work.stop_s))
                best[name] = min(best.get(name, tried), tried, key=lambda process: process.cpu_s)
        cost_us = {name: (tried.cpu_s - start_s) * 1e6 / max(tried.packets, 1) for name, tried in best.items()}
        for name, tried in best.items():
            costs.append(
                ControlCost(
                    name,
                    work.shown,
                    round(cost_us[name], 3),
                    round(cost_us[name] / cost_us["reno"], 2),
                    tried.packets,
                    round(tried.retransmits / max(tried.packets, 1), 4),
                )
            )
    return costs


COMPARED_HEADER = ("workload", "simulator", "us/packet", "M packets/s", "x ours", "run", "packets")
VARIED_HEADER = ("lopsided on D 1G", "us/packet", "MB", "run", "packets")
CONTROLS_HEADER = (
    "congestion control",
    *(title for work in CONTROLLED for title in (f"{work.shown}: us/packet", "x reno", "sent again")),
)


def compared_rows(costs: list[Cost]) -> list[tuple[str, ...]]:
    ours = {cost.workload: cost.cpu_us_per_packet for cost in costs if cost.simulator == LOPSIDED.name}
    return [
        (
            cost.workload,
            cost.simulator,
            f"{cost.cpu_us_per_packet:.2f}",
            f"{1 / cost.cpu_us_per_packet:.2f}",
            f"{cost.cpu_us_per_packet / ours[cost.workload]:.1f}",
            f"{cost.simulated_s} s",
            f"{cost.packets:,}",
        )
        for cost in sorted(costs, key=lambda cost: list(ours).index(cost.workload))
    ]


def varied_rows(costs: list[Cost]) -> list[tuple[str, ...]]:
    return [
        (
            cost.workload,
            f"{cost.cpu_us_per_packet:.2f}",
            f"{cost.memory_mb:.1f}",
            f"{cost.simulated_s} s",
            f"{cost.packets:,}",
        )
        for cost in costs
    ]


def control_rows(costs: list[ControlCost]) -> list[tuple[str, ...]]:
    """Returns one table row per congestion control. A value above the target is followed by `!`."""
    cells: dict[str, list[str]] = {}
    for cost in costs:
        mark = " !" if cost.of_reno > TARGET_RATIO else ""
        shown = (f"{cost.cpu_us_per_packet:.2f}", f"{cost.of_reno:.2f}{mark}", f"{cost.sent_again:.1%}")
        cells.setdefault(cost.control, []).extend(shown)
    return [(name, *shown) for name, shown in cells.items()]


INSTRUCTIONS_HEADER = ("lopsided", "measured", "at most", "in")


def instruction_rows(console: Console) -> list[tuple[str, ...]]:
    """Returns the values that instructions.py measures; empty if valgrind is not installed."""
    if shutil.which("valgrind") is None:
        console.print("valgrind is not installed: no instructions are counted")
        return []
    with console.status("counting instructions"):
        return [(name, f"{figure:,.0f}", f"{most:,}", unit) for name, figure, most, unit in instructions.measure()]


def verdicts(compared: list[Cost], varied: list[Cost], controls: list[ControlCost]) -> list[str]:
    """Returns one sentence per target of the project, with the measured value."""
    worst = max(cost.cpu_us_per_packet for cost in compared if cost.simulator == LOPSIDED.name)
    said = [f"Target of {TARGET_US} us a packet on every workload: {worst:.2f}, {met(worst <= TARGET_US)}."]
    if varied:
        prices = [cost.cpu_us_per_packet for cost in varied]
        spread = max(prices) / min(prices)
        holds = met(spread <= TARGET_SPREAD)
        said.append(f"Target of {TARGET_SPREAD} from the cheapest variation to the dearest: {spread:.2f}, {holds}.")
    if controls:
        dearest = max(controls, key=lambda cost: cost.of_reno)
        holds = met(dearest.of_reno <= TARGET_RATIO)
        said.append(
            f"Target of {TARGET_RATIO:g} times Reno for every congestion control: at most {dearest.of_reno:.2f} "
            f"({dearest.control} on {dearest.workload}), {holds}."
        )
    return said


def met(holds: bool) -> str:
    return "met" if holds else "missed"


def as_markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Returns a table as Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(console: Console, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Prints a table to the terminal."""
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    console.print(table)


@dataclass
class Report:
    """Collects measurements. Each measurement is printed and written immediately, because measuring everything takes an
    hour."""

    console: Console
    folder: Path
    measured: dict[str, list[Any]] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def add(self, name: str, header: tuple[str, ...], costs: Sequence[Any], rows: list[tuple[str, ...]]) -> None:
        """Prints a table and writes all results."""
        self.measured[name] = [cost if isinstance(cost, tuple) else asdict(cost) for cost in costs]
        self.tables.append(as_markdown(header, rows))
        show(self.console, header, rows)
        self.write()

    def say(self, sentences: list[str]) -> None:
        """Prints sentences about targets and writes all results."""
        self.said += sentences
        self.console.print("\n".join(sentences))
        self.write()
        self.console.print(f"Written: {self.folder}/results.json and results.md")

    def write(self) -> None:
        """Writes the measurements made so far to `results.json` and `results.md`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        written = {**self.measured, "said": self.said}
        (self.folder / "results.json").write_text(json.dumps(written, indent=2) + "\n")
        (self.folder / "results.md").write_text("\n\n".join([LEGEND, *self.tables, *self.said]) + "\n")


def main() -> None:
    """Measures everything, prints the tables, and writes the tables as JSON and Markdown."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--quick", action="store_true", help="only compare simulators, without varying lopsided's workloads"
    )
    arguments.add_argument(
        "--flat",
        action="store_true",
        help="only measure cost and memory with 2 to 100,000 flows, and the cost of features",
    )
    arguments = arguments.parse_args()
    built = target_folder()
    console = Console(highlight=False)
    if arguments.flat:
        program = build_bench(built)
        counts, asides = flatness.counts(program), flatness.asides(program)
        show(console, flatness.HEADER, flatness.rows(counts))
        show(console, flatness.ASIDES_HEADER, flatness.aside_rows(asides))
        console.print("\n".join(flatness.verdicts(counts, asides)))
        return
    console.print(LEGEND, soft_wrap=True)
    report = Report(console, built / "bench")
    compared = compare(built, console)
    report.add("compared", COMPARED_HEADER, compared, compared_rows(compared))
    counted = instruction_rows(console)
    report.add("instructions", INSTRUCTIONS_HEADER, counted, counted)
    if arguments.quick:
        report.say(verdicts(compared, [], []))
        return
    varied = vary(built, console)
    report.add("varied", VARIED_HEADER, varied, varied_rows(varied))
    controls = control(built, console)
    report.add("controls", CONTROLS_HEADER, controls, control_rows(controls))
    report.say(verdicts(compared, varied, controls))
    disciplines = queues.measure()
    report.add("queues", queues.HEADER, disciplines, queues.rows(disciplines))
    report.say([queues.verdict(disciplines)])
    steps = user_path.measure()
    report.add("user_path", user_path.HEADER, steps, user_path.rows(steps))
    program = build_bench(built)
    asides = flatness.asides(program)
    report.add("asides", flatness.ASIDES_HEADER, asides, flatness.aside_rows(asides))
    counts = flatness.counts(program)
    report.add("flatness", flatness.HEADER, counts, flatness.rows(counts))
    report.say(flatness.verdicts(counts, asides))


if __name__ == "__main__":
    main()
