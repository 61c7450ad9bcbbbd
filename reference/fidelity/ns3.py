"""ns-3 on the two-way cells, where it is installed: what its users would get in Linux' place."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lopsided.errors import RunError
from reference.fidelity import BUFFERS, LINES

MIN_RTO_S = (0.2, 1.0)
"""Linux' minimum RTO, and ns-3's own default."""
LIBRARIES = ("applications", "bridge", "core", "internet", "network", "point-to-point", "traffic-control")
UPLOAD_AT_S, END_S = 20, 110
COLUMNS = ("down_kbps", "up_kbps", "buffer", "min_rto_s", "goodput_down_kbps", "goodput_up_kbps", "rtt_down_ms")

Row = dict[str, float]


def installed() -> bool:
    """Whether ns-3's headers and a compiler are there."""
    return shutil.which("g++") is not None and Path("/usr/include/ns3").is_dir()


def measure(source: Path) -> list[Row]:
    """Compiles the program and runs it on every cell."""
    with tempfile.TemporaryDirectory(prefix="lopsided-ns3-") as folder:
        program = Path(folder) / "twoway"
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        built = subprocess.run(
            ["g++", "-O2", "-std=c++17", str(source), "-o", str(program), *libraries], capture_output=True, text=True
        )
        if built.returncode != 0:
            raise RunError(f"{source} does not compile:\n{built.stderr[-2000:]}")
        cells = [(line, buffer, rto) for line in LINES for buffer in BUFFERS for rto in MIN_RTO_S]
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda cell: _run(program, *cell), cells))


def _run(program: Path, line: tuple[int, int], buffer: int, min_rto_s: float) -> Row:
    arguments = [f"--cd={line[0] * 1000}", f"--cu={line[1] * 1000}", f"--bu={buffer}", f"--minRto={min_rto_s}"]
    arguments += [f"--t0={UPLOAD_AT_S}", f"--stop={END_S}"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    fields = [float(field) for field in done.stdout.split(",")]
    down, up, rtt = fields[4], fields[5], fields[8]
    return dict(zip(COLUMNS, (*line, buffer, min_rto_s, down, up, rtt), strict=True))


def save(rows: list[Row], path: Path) -> None:
    """Writes the rows as CSV."""
    with path.open("w", newline="") as file:
        writer: csv.DictWriter[str] = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([{name: f"{value:g}" for name, value in row.items()} for row in rows])


def load(path: Path) -> list[Row]:
    """Reads what `save` wrote; nothing where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
