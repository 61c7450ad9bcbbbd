"""An independent measurement of Linux that was never used to adjust the simulator: ten buffer sizes on a 2400/196
kbit/s line.

Each buffer size has four runs. Their start times differ from the simulator's, so only means can be compared. With two
flows and drop-tail queues each run is chaotic, and the spread between the runs limits the precision of the comparison.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

from lopsided.data.table import number
from lopsided.studies import compare
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from reference.fidelity.records import Records
from reference.fidelity.tables import percent, section, table

if TYPE_CHECKING:
    from lopsided.scenario import Run

SCENARIO = Path(__file__).parent / "reference.toml"
SEEDS = range(1, 17)
BUFFERS = range(5, 51, 5)
"""Sizes of the uplink's buffer, in packets."""
TOGETHER_S = 90.0
"""Duration in seconds for which both flows are active in each run."""

QUANTITIES = {
    "download_goodput_kbps": ("download", "goodput_bps", 1e-3),
    "upload_goodput_kbps": ("upload", "goodput_bps", 1e-3),
    "download_rtt_mean_ms": ("download", "rtt_mean_ms", 1.0),
    "download_rtt_std_ms": ("download", "rtt_std_ms", 1.0),
}


@dataclass(frozen=True)
class Cell:
    """One buffer size: the values of all runs of Linux and of the simulator."""

    buffer: int
    linux: dict[str, list[float]]
    simulated: dict[str, list[float]]

    def error(self, quantity: str) -> float:
        """Relative error of the simulator's mean against Linux's mean, as a fraction."""
        return mean(self.simulated[quantity]) / mean(self.linux[quantity]) - 1


def cell_name(buffer: int) -> str:
    """The name of a cell in the records."""
    return f"{buffer} packets"


def cells(recorded: Path, seeds: range = SEEDS) -> list[Cell]:
    """Returns the recorded values of Linux and the simulator's values for the same buffer sizes."""
    from lopsided.scenario import Scenario

    records = Records(recorded, map(cell_name, BUFFERS))
    linux = {
        buffer: {quantity: [one.values["run", quantity] for one in runs] for quantity in QUANTITIES}
        for buffer in BUFFERS
        if (runs := records.of(cell_name(buffer)))
    }
    wanted = [(buffer, seed) for buffer in linux for seed in seeds]
    scenarios = {buffer: Scenario.load(SCENARIO, **{"link.up.queue.limit": f"{buffer} packets"}) for buffer in linux}
    jobs = [Job(scenarios[buffer], seed) for buffer, seed in wanted]
    found = run_jobs(jobs, lambda _, run: compare.measure(run, _both_active(run)))
    simulated: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (buffer, _), values in zip(wanted, found, strict=True):
        for quantity, (flow, name, scale) in QUANTITIES.items():
            simulated[buffer][quantity].append(values[flow, name] * scale)
    return [Cell(buffer, linux[buffer], simulated[buffer]) for buffer in sorted(linux)]


def _both_active(run: Run) -> tuple[float, float]:
    start = number(run.flows["start_s"].max())
    return start, start + TOGETHER_S


def shown(found: list[Cell]) -> str:
    """Returns the comparison as Markdown."""

    def columns(cell: Cell) -> Iterator[object]:
        yield cell.buffer
        for quantity in ("download_goodput_kbps", "upload_goodput_kbps", "download_rtt_mean_ms"):
            yield _spread(cell.linux[quantity])
            yield _spread(cell.simulated[quantity])
            yield percent(cell.error(quantity), signed=True)

    heads = "download Linux | sim | off by | upload Linux | sim | off by | RTT Linux | sim | off by"
    lines = section(
        "An independent measurement: 2400/196 kbit/s",
        "A download has the line to itself for 60 s; then an upload joins. The table shows the means over the\n"
        f"following {TOGETHER_S:.0f} s for four runs on Linux 6.1 and for {len(SEEDS)} simulator seeds, with the\n"
        "standard deviation between runs in brackets. Goodput is in kbit/s (here rates include the Ethernet header),\n"
        "and round-trip times are in ms. The results of Linux are in `docs/fidelity/reference.csv`.",
        table(f"buffer | {heads}", (tuple(columns(cell)) for cell in found)),
    )
    return "\n".join(lines)


def _spread(values: list[float]) -> str:
    digits = 0 if mean(values) >= 1000 else 1
    return f"{mean(values):,.{digits}f} ({stdev(values):.{digits}f})"
