"""Measures the CPU time of the steps that a user waits for: the program's start, `check`, a run with its report, and
one run of a sweep.

Each value is the CPU time of the command in a separate process, as the minimum of several tries.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ACCESS_LINE = str(ROOT / "scenarios" / "adsl.toml")
TWO_MINUTES = ("--set", "scenario.duration=120 s")
TRIES = 5
SWEPT = 100
"""Difference in the number of seeds between two sweeps. The cost of one run is computed from the difference between the
CPU times of the two sweeps."""
SIMULATE = """\
import sys, time
import lopsided as lop
from lopsided.worlds import sim
scenario = lop.Scenario.load(sys.argv[1]).with_(**{"scenario.duration": "120 s", "record.interval": "0 s"})
sim.run_raw(scenario, 1)
begun = time.process_time()
for seed in range(20):
    sim.run_raw(scenario, seed + 1)
print((time.process_time() - begun) / 20)
"""


@dataclass(frozen=True)
class Step:
    """The CPU time of a step in seconds, or a ratio of CPU times, and the project's target."""

    what: str
    cost: float
    most: float | None = None

    @property
    def holds(self) -> bool:
        return self.most is None or self.cost <= self.most


HEADER = ("what a user waits for", "CPU", "at most")


def measure() -> list[Step]:
    """Measures all steps with the `lopsided` package of this Python interpreter."""
    simulation = min(float(_python("-c", SIMULATE, ACCESS_LINE)) for _ in range(TRIES))
    with tempfile.TemporaryDirectory() as folder:
        whole = _least("run", ACCESS_LINE, *TWO_MINUTES, "--out", f"{folder}/run", "--overwrite")
        many, few = (_sweep(runs, Path(folder)) for runs in (SWEPT + 1, 1))
    swept = (many - few) / (2 * SWEPT)
    return [
        Step("lopsided --help", _least("--help"), 0.15),
        Step("lopsided check", _least("check", ACCESS_LINE), 0.15),
        Step("lopsided run of two minutes, with its report", whole, 0.7),
        Step("of that the simulation, without samples", simulation),
        Step("a run more in a sweep", swept),
        Step("a run more in a sweep, beside its simulation", swept / simulation, 1.3),
    ]


def rows(steps: list[Step]) -> list[tuple[str, ...]]:
    """Returns one table row per step. The target is followed by `!` if the step misses it."""
    return [
        (
            step.what,
            f"x {step.cost:.2f}" if "beside" in step.what else f"{step.cost:.4f} s",
            "" if step.most is None else f"{step.most:g}{'' if step.holds else ' !'}",
        )
        for step in steps
    ]


def _sweep(runs: int, folder: Path) -> float:
    """Measures the CPU time of a sweep over two settings, on one thread."""
    settings = (*TWO_MINUTES, "--set", "record.interval=0 s", "--set", "link.up.queue.limit=20,50 packets")
    table = str(folder / f"{runs}.csv")
    return _least(
        "sweep", ACCESS_LINE, *settings, "--repeat", str(runs), "--workers", "1", "--out", table, "--overwrite"
    )


def _least(*arguments: str) -> float:
    return min(_cpu_s([sys.executable, "-m", "lopsided", *arguments]) for _ in range(TRIES))


def _cpu_s(command: list[str]) -> float:
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout
