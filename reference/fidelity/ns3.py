"""Runs the two-way scenarios of `reference.fidelity` in ns-3, if ns-3 is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lopsided.errors import RunError
from reference.fidelity import BUFFERS, LINES, two_way
from reference.fidelity.records import Measurement, Records, Values

MIN_RTO_S = (0.2, 1.0)
"""Minimum RTOs to simulate, in seconds: Linux's value and ns-3's default."""
LIBRARIES = ("applications", "bridge", "core", "internet", "network", "point-to-point", "traffic-control")
UPLOAD_AT_S, END_S = 20, 110
SOURCE = "ns-3 3.37"


def minimum_rto(seconds: float) -> str:
    """Returns the name by which the records identify runs with this minimum RTO."""
    return f"minimum RTO {seconds:g} s"


def records(path: Path) -> Records:
    """Returns the stored ns-3 results."""
    return Records(path, (two_way(*line, buffer).name for line in LINES for buffer in BUFFERS))


def installed() -> bool:
    """Returns true if ns-3's headers and a compiler are installed."""
    return shutil.which("g++") is not None and Path("/usr/include/ns3").is_dir()


def measure(source: Path) -> list[Measurement]:
    """Compiles the ns-3 program `source` and runs all scenarios with it. Raises RunError if the program does not
    compile."""
    with tempfile.TemporaryDirectory(prefix="lopsided-ns3-") as folder:
        program = Path(folder) / "twoway"
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        built = subprocess.run(
            ["g++", "-O2", "-std=c++17", str(source), "-o", str(program), *libraries], capture_output=True, text=True
        )
        if built.returncode != 0:
            raise RunError(f"{source} does not compile:\n{built.stderr[-2000:]}")
        cells = [(line, buffer) for line in LINES for buffer in BUFFERS]
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda cell: _run(program, *cell), cells))


def _run(program: Path, line: tuple[int, int], buffer: int) -> Measurement:
    values: Values = {}
    for rto in MIN_RTO_S:
        arguments = [f"--cd={line[0] * 1000}", f"--cu={line[1] * 1000}", f"--bu={buffer}", f"--minRto={rto}"]
        arguments += [f"--t0={UPLOAD_AT_S}", f"--stop={END_S}"]
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
        fields = [float(field) for field in done.stdout.split(",")]
        found = {"goodput_down_kbps": fields[4], "goodput_up_kbps": fields[5], "rtt_down_ms": fields[8]}
        values |= {(minimum_rto(rto), quantity): value for quantity, value in found.items()}
    return Measurement(two_way(*line, buffer).name, 1, values, SOURCE)
