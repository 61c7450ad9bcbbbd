"""Counts the instructions that a delivered data packet costs, and fails where a bound of instructions.toml is passed.

Instructions, unlike time, are the same on a busy machine, so a test can hold the hot path to them.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from run import build_bench, target_folder

BOUNDS = Path(__file__).with_name("instructions.toml")


def count(program: str, arguments: list[str]) -> tuple[int, int]:
    """The instructions of a run, and the data packets that it delivered."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.search(r"packets=(\d+)", done.stdout)
    if instructions is None or packets is None:
        sys.exit(f"{' '.join(command)} printed no counts")
    return int(instructions[1]), int(packets[1])


def per_packet(program: str, arguments: list[str]) -> float:
    """Without what starting up costs."""
    starting, _ = count(program, [*arguments, "seconds=0"])
    whole, packets = count(program, arguments)
    return (whole - starting) / packets


def main() -> None:
    """Measures each workload; one closing line says how many kept their bound."""
    program = build_bench(target_folder())
    failed = 0
    bounds = tomllib.loads(BOUNDS.read_text())
    for name, bound in bounds.items():
        measured = per_packet(program, bound["arguments"])
        over = measured > bound["most"]
        failed += over
        print(f"{name}: {measured:,.0f} instructions a packet, at most {bound['most']:,}{' FAILED' if over else ''}")
    print(f"{len(bounds) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
