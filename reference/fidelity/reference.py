"""Reads an independent measurement of Linux with ten buffer sizes on a 2400/196 kbit/s line. The measurement was never
used to adjust the simulator.

Each buffer size has four runs. Their start times differ from those in the simulator, so only means can be compared. Two
flows at drop-tail queues are chaotic, so the spread between runs limits the precision of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

from lopsided.data.table import number
from lopsided.studies import compare
from reference.fidelity import kept
from reference.fidelity.chance import Both, Value
from reference.fidelity.records import Records, Values
from reference.fidelity.tables import percent, section, table

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

SCENARIO = Path(__file__).parent / "reference.toml"
SEEDS = range(1, 17)
BUFFERS = range(5, 51, 5)
"""Uplink buffer sizes, in packets, with which Linux was measured."""
TOGETHER_S = 90.0
"""Time during which both flows are active in each run, in seconds."""

QUANTITIES = {
    "download_goodput_kbps": ("download", "goodput_bps", 1e-3),
    "upload_goodput_kbps": ("upload", "goodput_bps", 1e-3),
    "download_rtt_mean_ms": ("download", "rtt_mean_ms", 1.0),
    "download_rtt_std_ms": ("download", "rtt_std_ms", 1.0),
}


@dataclass(frozen=True)
class Cell:
    """The scenario with one size of the uplink's buffer, in packets."""

    buffer: int

    @property
    def name(self) -> str:
        """The name that identifies the buffer size in the records."""
        return f"{self.buffer} packets"

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario with this buffer size. The scenario is the same for all seeds."""
        from lopsided.scenario import Scenario

        return Scenario.load(SCENARIO, **{"link.up.queue.limit": self.name})

    def values_of(self, run: Run) -> Values:
        """Returns the values of a run, measured while both flows are active."""
        found = compare.measure(run, _both_active(run))
        return {("run", quantity): found[flow, name] * scale for quantity, (flow, name, scale) in QUANTITIES.items()}


def values(recorded: Path, seeds: range = SEEDS) -> dict[int, dict[str, Value]]:
    """Returns Linux's and the simulator's values for each buffer size and each quantity."""
    cells = [Cell(buffer) for buffer in BUFFERS]
    records = Records(recorded, (cell.name for cell in cells))
    simulated = kept.simulate([(cell, seed) for cell in cells for seed in seeds])
    both = Both((one for cell in cells for one in records.of(cell.name)), simulated)
    return {
        cell.buffer: {name: both.value(cell.name, ("run", name), all_seeds=True) for name in QUANTITIES}
        for cell in cells
    }


def _both_active(run: Run) -> tuple[float, float]:
    start = number(run.flows["start_s"].max())
    return start, start + TOGETHER_S


def shown(found: Mapping[int, Mapping[str, Value]]) -> str:
    """Returns the comparison of Linux and the simulator as a Markdown table with one row per buffer size."""

    def columns(buffer: int) -> Iterator[object]:
        yield buffer
        for quantity in ("download_goodput_kbps", "upload_goodput_kbps", "download_rtt_mean_ms"):
            value = found[buffer][quantity]
            yield from (_spread(value.linux), _spread(value.sim), percent(value.error, signed=True))

    heads = "download Linux | sim | error | upload Linux | sim | error | RTT Linux | sim | error"
    lines = section(
        "An independent measurement: 2400/196 kbit/s",
        "A download uses the line alone for 60 s; then an upload joins. The table shows the means over the following\n"
        f"{TOGETHER_S:.0f} s for four runs on Linux 6.1 and for {len(SEEDS)} simulator seeds. Brackets contain the\n"
        "standard deviation between runs. Goodput is in kbit/s (rates include the Ethernet header), and round-trip\n"
        "times are in ms. The results of Linux are in `docs/fidelity/reference.csv`.",
        table(f"buffer | {heads}", map(tuple, map(columns, found))),
    )
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> str:
    digits = 0 if mean(values) >= 1000 else 1
    return f"{mean(values):,.{digits}f} ({stdev(values):.{digits}f})"
