"""CAKE's ACK filter in whole runs: the same scenario in the simulator and on Linux, cell by cell.

    python -m reference.fidelity.ack_filter            runs both worlds and writes docs/ack-path.md's table
    python -m reference.fidelity.ack_filter --print    the same, and prints the table only

A download and an upload with CUBIC, 30 ms, upwards a `cake` that shapes to the line's rate with the filter around it. A cell is the
median over the seeds. Bounds: goodput within 3 %, the ACKs that are left for each segment within 5 %.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lopsided import Scenario
from lopsided.run import Run

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "ack-path.md"
MADE = re.compile(r"(<!-- made by reference\.fidelity\.ack_filter -->\n).*?(\n<!-- end -->)", re.DOTALL)

LINES = ((10.0, 0.8, 8.0), (50.0, 1.0, 4.0), (1000.0, 35.0, 1.0))
"""Mbit/s down and up, and the seconds of a run."""
RULES = ("conservative", "aggressive")
SEEDS = (1, 2, 3)
WORLDS = {"sim": "simulator", "kernel": "Linux 6.1"}
GOODPUT_WITHIN, RATIO_WITHIN = 0.03, 0.05

SCENARIO = """
[scenario]
title = "{down:g}/{up:g} Mbit/s, {rule}"
duration = "{seconds} s"
[link]
rtt = "30 ms"
down = {{ rate = "{down} Mbit/s", queue = "{room} B" }}
[link.up]
rate = "unlimited"
queue = {{ kind = "ack_filter", rule = "{rule}", queue = {{ kind = "cake", bandwidth = "{up} Mbit/s" }} }}
[stack]
profile = "linux-6.1"
cc = "cubic"
[[flow]]
name = "download"
direction = "down"
[[flow]]
name = "upload"
direction = "up"
"""


@dataclass(frozen=True)
class Cell:
    """A line under a rule, in one world: medians over the seeds."""

    down_mbps: float
    up_kbps: float
    up_range_kbps: tuple[float, float]
    acks_filtered: float
    ack_ratio: float
    """ACKs that the uplink carried, for each segment of the download that arrived."""


def measure(run: Run) -> Mapping[str, float]:
    """One run's numbers."""
    flows = {row["name"]: row for row in run.flows.rows()}
    up = next(row for row in run.links.rows() if row["link"] == "link" and row["direction"] == "up")
    filtered = sum(row["packets"] for row in run.drops.rows() if row["reason"] == "ack_filtered")
    segments = flows["download"]["data_segments_out"] - flows["download"]["retransmits"]
    data = flows["upload"]["data_segments_out"]
    return {
        "down_mbps": flows["download"]["goodput_bps"] / 1e6,
        "up_kbps": flows["upload"]["goodput_bps"] / 1e3,
        "acks_filtered": float(filtered),
        "ack_ratio": (up["sent_packets"] - data) / segments,
    }


def cell(line: tuple[float, float, float], rule: str, world: str) -> Cell:
    """All seeds of a cell."""
    down, up, seconds = line
    text = SCENARIO.format(down=down, up=up, rule=rule, seconds=seconds, room=round(down * 1e6 * 0.1 / 8))
    scenario = Scenario.from_text(text, f"{down:g}-{up:g}-{rule}")
    found = [measure(scenario.run(seed=seed, world=world)) for seed in SEEDS]
    middle = {name: median(row[name] for row in found) for name in found[0]}
    rates = [row["up_kbps"] for row in found]
    return Cell(up_range_kbps=(min(rates), max(rates)), **middle)


def row(line: tuple[float, float, float], rule: str, world: str, found: Cell) -> str:
    """A line of the table."""
    head = f"{line[0]:g}/{line[1]:g}, {rule}" if world == "sim" else ""
    least, most = found.up_range_kbps
    return (
        f"| {head} | {WORLDS[world]} | {found.down_mbps:,.3f} | {found.up_kbps:,.0f} | {least:,.0f} to {most:,.0f} "
        f"| {found.acks_filtered:,.0f} | {found.ack_ratio:.3f} |"
    )


def apart(ours: Cell, theirs: Cell) -> tuple[float, float, float]:
    """By what share ours is more: download, upload, ACKs for each segment."""
    return (
        ours.down_mbps / theirs.down_mbps - 1,
        ours.up_kbps / theirs.up_kbps - 1,
        ours.ack_ratio / theirs.ack_ratio - 1,
    )


HEAD = (
    "| line, rule | world | down Mbit/s | up kbit/s | range | ACKs filtered | ACKs for each segment |",
    "|---|---|---|---|---|---|---|",
)


def main(arguments: Sequence[str]) -> None:
    """Runs, and writes or prints."""
    lines, said = list(HEAD), list[str]()
    for line in LINES:
        for rule in RULES:
            cells = {world: cell(line, rule, world) for world in WORLDS}
            lines += [row(line, rule, world, found) for world, found in cells.items()]
            down, up, ratio = apart(cells["sim"], cells["kernel"])
            within = max(abs(down), abs(up)) <= GOODPUT_WITHIN and abs(ratio) <= RATIO_WITHIN
            said.append(
                f"{line[0]:g}/{line[1]:g} {rule}: down {down:+.1%}, up {up:+.1%}, ACKs for each segment {ratio:+.1%}: "
                f"{'within' if within else 'beyond'} the bounds"
            )
            print(*lines[-2:], said[-1], sep="\n", flush=True)
    if "--print" not in arguments:
        table = "\n".join(lines)
        DOCUMENT.write_text(MADE.sub(lambda made: made[1] + table + made[2], DOCUMENT.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
