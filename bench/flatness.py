"""Measures the CPU time per packet with 2 to 100,000 flows, and the extra cost of features.

The cost is CPU time per sent packet, including retransmissions. The bottleneck has a rate of 5 Mbit/s per flow, an RTT
of 40 ms and a buffer of one bandwidth-delay product. All flows begin with slow start.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

SHARE_MBPS = 5
FLOWS = (2, 25, 200, 1_000, 3_000, 10_000, 100_000)
FLOW_SECONDS = 20_000
"""Simulated seconds times number of flows. The simulated time is at least `SHORTEST_S` and at most `LONGEST_S`."""
SHORTEST_S, LONGEST_S = 5, 600
MOST_FLAT = 10_000
WINDOW = (25, 3_000)
TARGETS = {"from 2 to 10,000 flows": 1.5, "from 25 to 3,000 flows": 1.25}
TARGET_MEMORY_MB = 200
LOSS = 0.001
ROUNDS = 3
ASIDES = {
    "plain": (),
    "queue discipline codel": ("queue=codel",),
    "queue discipline fq_codel": ("queue=fq_codel",),
    "loss rate 0.01 %": ("loss=0.0001",),
    "a stage that forwards every packet": ("stage=1",),
    "an observer of every packet": ("watch=1",),
}
TARGET_ASIDE = 2.0


@dataclass(frozen=True)
class CountCost:
    """The cost of a run with a given number of flows."""

    flows: int
    simulated_s: int
    sent: int
    cpu_us_per_packet: float
    lossy_us_per_packet: float
    """CPU time per packet in µs, in a run with losses."""
    memory_mb: float


@dataclass(frozen=True)
class AsideCost:
    """The CPU time per packet with a feature, and its ratio to the CPU time without the feature."""

    what: str
    cpu_us_per_packet: float
    of_plain: float


@dataclass(frozen=True)
class _Told:
    sent: int
    cpu_s: float
    memory_mb: float


def counts(program: str) -> list[CountCost]:
    """Measures the cost for each number of flows, with and without losses. Repeats short runs and takes the minimum."""
    costs = []
    for flows in FLOWS:
        stop_s = min(max(FLOW_SECONDS // flows, SHORTEST_S), LONGEST_S) if flows <= MOST_FLAT else 1
        command = [program, "shared", f"share={SHARE_MBPS}", f"flows={flows}", f"seconds={stop_s}"]
        rounds = ROUNDS if flows * stop_s <= FLOW_SECONDS else 1
        plain, lossy = (_least([*command, *more], rounds) for more in ((), (f"loss={LOSS}",)))
        costs.append(
            CountCost(
                flows,
                stop_s,
                plain.sent,
                round(plain.cpu_s * 1e6 / plain.sent, 3),
                round(lossy.cpu_s * 1e6 / lossy.sent, 3),
                plain.memory_mb,
            )
        )
    return costs


def asides(program: str) -> list[AsideCost]:
    """Measures the cost of each feature. The features are measured in turn, so that other load on the machine affects
    all features equally."""
    command = [program, "d100", "seconds=10"]
    best: dict[str, float] = {}
    for _ in range(2 * ROUNDS):
        for what, more in ASIDES.items():
            told = _run([*command, *more])
            best[what] = min(best.get(what, 1e9), told.cpu_s * 1e6 / told.sent)
    plain = next(iter(best.values()))
    return [AsideCost(what, round(cost, 3), round(cost / plain, 2)) for what, cost in best.items()]


HEADER = ("flows of 5 Mbit/s", "us/packet sent", "at 0.1 % loss", "MB", "kB per flow", "run", "packets sent")
ASIDES_HEADER = ("feature, on D 100M", "us/packet sent", "x plain")


def rows(costs: list[CountCost]) -> list[tuple[str, ...]]:
    return [
        (
            f"{cost.flows:,}",
            f"{cost.cpu_us_per_packet:.2f}",
            f"{cost.lossy_us_per_packet:.2f}",
            f"{cost.memory_mb:.0f}",
            f"{cost.memory_mb * 1000 / cost.flows:.0f}",
            f"{cost.simulated_s} s",
            f"{cost.sent:,}",
        )
        for cost in costs
    ]


def aside_rows(costs: list[AsideCost]) -> list[tuple[str, ...]]:
    """Returns one table row per feature. The row contains `!` if the feature costs more than its target."""
    return [
        (
            cost.what,
            f"{cost.cpu_us_per_packet:.2f}",
            f"{cost.of_plain:.2f}{' !' if cost.of_plain > TARGET_ASIDE else ''}",
        )
        for cost in costs
    ]


def verdicts(costs: list[CountCost], beside: list[AsideCost]) -> list[str]:
    """Returns one sentence per target, with the measured value."""
    said = []
    all_of = [cost for cost in costs if cost.flows <= MOST_FLAT]
    within = [cost for cost in costs if WINDOW[0] <= cost.flows <= WINDOW[1]]
    for (what, most), measured in zip(TARGETS.items(), (all_of, within), strict=True):
        for kind, prices in (
            ("without", [cost.cpu_us_per_packet for cost in measured]),
            ("with", [cost.lossy_us_per_packet for cost in measured]),
        ):
            spread = max(prices) / min(prices)
            said.append(f"Target of {most:g} {what}, {kind} losses: {spread:.2f}, {_met(spread <= most)}.")
    memory = next(cost.memory_mb for cost in costs if cost.flows == MOST_FLAT)
    said.append(
        f"Target of {TARGET_MEMORY_MB} MB for {MOST_FLAT:,} flows: {memory:.0f}, {_met(memory <= TARGET_MEMORY_MB)}."
    )
    dearest = max(beside, key=lambda cost: cost.of_plain)
    holds = _met(dearest.of_plain <= TARGET_ASIDE)
    said.append(
        f"Target of {TARGET_ASIDE:g} times the plain cost for each feature: at most {dearest.of_plain:.2f} "
        f"({dearest.what}), {holds}."
    )
    return said


def _met(holds: bool) -> str:
    return "met" if holds else "missed"


def _least(command: list[str], rounds: int) -> _Told:
    return min((_run(command) for _ in range(rounds)), key=lambda told: told.cpu_s)


def _run(command: list[str]) -> _Told:
    """Runs the benchmark program. The CPU time that the program prints excludes the time for building the network."""
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = dict(re.findall(r"(\w+)=(\S+)", printed))
    return _Told(int(told["sent"]), float(told["cpu_s"]), float(told["peak_rss_mb"]))
