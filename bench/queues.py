"""Measures the CPU time and the instructions per packet of each queue discipline, compared with a FIFO.

`--instructions` omits CPU times, which are meaningless on a busy machine. In each simulated microsecond, one packet is
enqueued and one packet is dequeued, while the queue contains one packet of each flow. The cost of creating packets is
subtracted. valgrind counts instructions but no cache misses, so a discipline with many queues takes more time than its
number of instructions suggests.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOWS = (1, 1000)
PACKETS = 400_000
COUNTED = 10_000
ROUNDS = 7
RULES = ("ack_filter", "ack_filter/conservative", "ack_filter/aggressive", "ack_filter/accurate_ecn")
"""Rules of the ACK filter: the rule of Balakrishnan et al. (1999), the two rules of CAKE, and the rule for accurate
ECN."""
TARGETS = (("fq_codel", "datagrams", 1000, 3.0), *((rule, "acks", 1000, 2.0) for rule in RULES))
"""Targets: discipline, traffic, number of flows, and the largest accepted ratio of the discipline's instructions per
packet to a FIFO's."""


@dataclass(frozen=True)
class QueueCost:
    """The cost of a discipline for one number of flows. A cost is `None` if it was not measured."""

    kind: str
    traffic: str
    flows: int
    cpu_ns_per_packet: float | None
    of_fifo: float | None
    instructions_per_packet: float | None
    instructions_of_fifo: float | None


def measure(times: bool = True) -> list[QueueCost]:
    """Measures all disciplines with datagrams, and the ACK filters also with ACKs."""
    program = _build()
    kinds = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    costs = []
    for flows in FLOWS:
        costs += _costs(program, kinds, "datagrams", flows, times)
    return costs + _costs(program, ["fifo", *RULES], "acks", FLOWS[-1], times)


def _costs(program: str, kinds: list[str], traffic: str, flows: int, times: bool) -> list[QueueCost]:
    """Measures the disciplines in turn, so that other load on the machine affects all disciplines equally. Reports the
    minimum of several tries."""
    word = ["acks"] if traffic == "acks" else []

    def command(kind: str, packets: int) -> list[str]:
        return [program, kind, str(flows), str(packets), *word]

    best: dict[str, float] = {}
    for _ in range(ROUNDS if times else 0):
        for kind in ("none", *kinds):
            best[kind] = min(best.get(kind, 1e9), _cpu_s(command(kind, PACKETS)))
    price = {kind: (best[kind] - best["none"]) / PACKETS * 1e9 for kind in kinds if kind in best}
    counted: dict[str, float] = {}
    if shutil.which("valgrind"):
        counted = {kind: _counted(command(kind, COUNTED), command(kind, 0)) for kind in ("none", *kinds)}
    own = {kind: counted[kind] - counted["none"] for kind in kinds if kind in counted}

    def of_fifo(costs: dict[str, float], kind: str) -> float | None:
        return round(costs[kind] / costs["fifo"], 2) if costs else None

    return [
        QueueCost(
            kind,
            traffic,
            flows,
            round(price[kind], 1) if price else None,
            of_fifo(price, kind),
            round(own[kind]) if own else None,
            of_fifo(own, kind),
        )
        for kind in kinds
    ]


HEADER = ("queue discipline", "packets", "flows", "ns/packet", "x fifo", "instructions", "x fifo")


def rows(costs: list[QueueCost]) -> list[tuple[str, ...]]:

    def shown(value: float | None, digits: int) -> str:
        return "-" if value is None else f"{value:,.{digits}f}"

    return [
        (
            cost.kind,
            cost.traffic,
            f"{cost.flows:,}",
            shown(cost.cpu_ns_per_packet, 0),
            shown(cost.of_fifo, 1),
            shown(cost.instructions_per_packet, 0),
            shown(cost.instructions_of_fifo, 2),
        )
        for cost in costs
    ]


def verdict(costs: list[QueueCost]) -> str:
    """Returns one sentence per target, with the measured ratio."""
    said = []
    for kind, traffic, flows, most in TARGETS:
        found = next(cost for cost in costs if (cost.kind, cost.traffic, cost.flows) == (kind, traffic, flows))
        ratio = found.of_fifo if found.instructions_of_fifo is None else found.instructions_of_fifo
        if ratio is not None:
            met = "met" if ratio <= most else "missed"
            said.append(f"Target of {most:g} times a FIFO for {kind} with {flows:,} flows: {ratio:.2f}, {met}.")
    return " ".join(said)


def _build() -> str:
    command = ["cargo", "build", "--release", "-p", "lopsided-queue", "--example", "cost", "--message-format=json"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return next(found for line in told.splitlines() if (found := json.loads(line).get("executable")))


def _cpu_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _counted(command: list[str], starting: list[str]) -> float:
    """Returns the instructions per packet of `command`, without the instructions of `starting`, which handles no
    packets."""

    def instructions(command: list[str]) -> int:
        counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
        said = subprocess.run(counting, capture_output=True, text=True, check=True).stderr
        found = re.search(r"Collected : (\d+)", said)
        assert found, said
        return int(found[1])

    return (instructions(command) - instructions(starting)) / COUNTED


if __name__ == "__main__":
    measured = measure(times="--instructions" not in sys.argv[1:])
    for row in (HEADER, *rows(measured)):
        print("  ".join(cell.rjust(12) for cell in row))
    print(verdict(measured))
