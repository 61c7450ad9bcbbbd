"""What each queue discipline costs: CPU time for a packet that goes in and comes out, as a ratio to a FIFO's.

`python bench/queues.py` prints the table by itself. A packet a microsecond comes and one goes, with one of each flow
waiting; the time to make the packets is taken off, and start-up with it.
"""

from __future__ import annotations

import json
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOWS = (1, 1000)
PACKETS = 400_000
ROUNDS = 7
TARGET = ("fq_codel", 1000, 3.0)
"""A discipline, with so many flows, and the most that it may cost in a FIFO's."""


@dataclass(frozen=True)
class QueueCost:
    """A discipline's cost with a number of flows."""

    kind: str
    flows: int
    cpu_ns_per_packet: float
    of_fifo: float


def measure() -> list[QueueCost]:
    """All disciplines in turns, so that what else the machine does meets them alike; the least of several tries."""
    program = _build()
    kinds = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    costs = []
    for flows in FLOWS:
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for kind in ("none", *kinds):
                best[kind] = min(best.get(kind, 1e9), _cpu_s([program, kind, str(flows), str(PACKETS)]))
        price = {kind: (best[kind] - best["none"]) / PACKETS * 1e9 for kind in kinds}
        costs += [
            QueueCost(kind, flows, round(price[kind], 1), round(price[kind] / price["fifo"], 2)) for kind in kinds
        ]
    return costs


HEADER = ("queue discipline", *(title for flows in FLOWS for title in (f"{flows:,} flows: ns/packet", "x fifo")))


def rows(costs: list[QueueCost]) -> list[tuple[str, ...]]:
    """One row for each discipline."""
    cells: dict[str, list[str]] = {}
    for cost in costs:
        cells.setdefault(cost.kind, []).extend((f"{cost.cpu_ns_per_packet:.0f}", f"{cost.of_fifo:.1f}"))
    return [(kind, *shown) for kind, shown in cells.items()]


def verdict(costs: list[QueueCost]) -> str:
    """The target beside what was measured."""
    kind, flows, most = TARGET
    found = next(cost for cost in costs if (cost.kind, cost.flows) == (kind, flows))
    met = "met" if found.of_fifo <= most else "missed"
    return f"Target of {most:g} times a FIFO for {kind} with {flows:,} flows: {found.of_fifo:.2f}, {met}."


def _build() -> str:
    command = ["cargo", "build", "--release", "-p", "lopsided-queue", "--example", "cost", "--message-format=json"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return next(found for line in told.splitlines() if (found := json.loads(line).get("executable")))


def _cpu_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    measured = measure()
    for row in (HEADER, *rows(measured)):
        print("  ".join(cell.rjust(12) for cell in row))
    print(verdict(measured))
