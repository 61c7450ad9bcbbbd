"""Counts the instructions per delivered packet and the memory per flow. Fails if a value exceeds its bound in
instructions.toml.

Unlike CPU time, the number of instructions does not depend on the machine's load, so a test can enforce a bound.

`--record` adds a line to history.csv: the date, the commit's subject, and each value. The subject identifies the
commit, because a rebase changes the hash.
"""

import argparse
import csv
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from bench_program import build_bench, target_folder

BOUNDS = Path(__file__).with_name("instructions.toml")
HISTORY = Path(__file__).with_name("history.csv")
MEMORY_FLOWS = (100, 1_100)
"""Numbers of flows in the two runs that are compared to compute the memory per flow."""


def count(program: str, arguments: list[str]) -> tuple[int, int]:
    """Returns the number of instructions of a run, and the number of data packets that the run delivered."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.search(r"packets=(\d+)", done.stdout)
    if instructions is None or packets is None:
        sys.exit(f"{' '.join(command)} printed no counts")
    return int(instructions[1]), int(packets[1])


def per_packet(program: str, arguments: list[str]) -> float:
    """Returns the instructions per data packet. Instructions for starting the program are excluded."""
    starting, _ = count(program, [*arguments, "seconds=0"])
    whole, packets = count(program, arguments)
    return (whole - starting) / packets


def memory_per_flow(program: str, arguments: list[str]) -> float:
    """Returns the peak memory in bytes for each additional flow."""
    few, many = (_peak(program, [*arguments, f"flows={flows}"]) for flows in MEMORY_FLOWS)
    return (many - few) * 1e6 / (MEMORY_FLOWS[1] - MEMORY_FLOWS[0])


def _peak(program: str, arguments: list[str]) -> float:
    printed = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    peak = re.search(r"peak_rss_mb=(\S+)", printed)
    if peak is None:
        sys.exit(f"{program} printed no memory")
    return float(peak[1])


MEASURES = {"instructions a packet": per_packet, "octets a flow": memory_per_flow}


def measure() -> list[tuple[str, float, int, str]]:
    """Returns the name, the measured value, the bound and the unit of each workload."""
    program = build_bench(target_folder())
    bounds = tomllib.loads(BOUNDS.read_text())
    return [
        (name, MEASURES[unit](program, bound["arguments"]), bound["most"], unit)
        for name, bound in bounds.items()
        for unit in [bound.get("unit", "instructions a packet")]
    ]


def record(measured: dict[str, float]) -> None:
    """Appends a line with the measured values and the subject of the last commit to history.csv."""
    subject = subprocess.run(["git", "log", "-1", "--format=%s"], capture_output=True, text=True, check=True)
    with HISTORY.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figures = {name: f"{figure:.0f}" for name, figure in measured.items()}
    rows.append({"day": f"{datetime.now(UTC):%Y-%m-%d}", "commit": subject.stdout.strip(), **figures})
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with HISTORY.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Measures each workload. Prints the measured values and the number of values within their bounds."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--record", action="store_true", help="add a line to history.csv")
    asked = arguments.parse_args()
    failed = 0
    measured = measure()
    for name, figure, most, unit in measured:
        over = figure > most
        failed += over
        print(f"{name}: {figure:,.0f} {unit}, at most {most:,}{' FAILED' if over else ''}")
    print(f"{len(measured) - failed} passed, {failed} failed")
    if asked.record:
        record({name: figure for name, figure, *_ in measured})
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
