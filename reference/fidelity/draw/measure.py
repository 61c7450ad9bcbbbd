"""What is measured of a drawn scenario, on Linux once and kept, and in the simulator whenever asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from reference.fidelity.chance import Value
from reference.fidelity.draw import Drawn
from reference.fidelity.kept import Effort, Wanted, runs
from reference.fidelity.records import Ledger

if TYPE_CHECKING:
    from lopsided.scenario import Run

JUDGED = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "completion_s", "utilisation")
"""What has a bound."""
COUNTED = ("retransmits", "timeouts")
"""What has a column of its own: small counts, whose share of error says little."""
FLOW = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", *COUNTED)
COLUMNS = ("cell", "seed", "what", "quantity", "value", "kernel", "scenario_sha256", "digest")

Key = tuple[str, str, str]
"""The scenario, the flow or link direction, and the quantity."""


@dataclass(frozen=True)
class Measurement:
    """What one run of a drawn scenario gave on Linux."""

    cell: str
    seed: int
    values: dict[tuple[str, str], float]
    kernel: str
    fingerprint: str
    digest: str


class Records(Ledger[Measurement]):
    """Linux' values of a draw on disk: one line for each value."""

    def __init__(self, path: Path, drawn: Sequence[Drawn]) -> None:
        super().__init__(path, COLUMNS, (one.name for one in drawn))

    def _rows(self, one: Measurement) -> Iterator[tuple[object, ...]]:
        for (what, quantity), value in one.values.items():
            yield (one.cell, one.seed, what, quantity, f"{value:.6g}", one.kernel, one.fingerprint, one.digest)

    def _take(self, row: dict[str, str], begun: Measurement | None) -> Measurement:
        provenance = (row["kernel"], row["scenario_sha256"], row["digest"])
        one = begun or Measurement(row["cell"], int(row["seed"]), {}, *provenance)
        one.values[row["what"], row["quantity"]] = float(row["value"])
        return one


def measure_linux(
    records: Records,
    drawn: Sequence[Drawn],
    seeds: range,
    effort: Effort,
    progress: Callable[[float], object] | None = None,
) -> Iterator[Measurement]:
    """Measures what the records lack, first seeds first, keeps what Linux sent, and adds the values as they come."""
    missing = [(one, seed) for seed in seeds for one in drawn if records.get(one, seed) is None]
    wanted = [Wanted(one.name, one.fingerprint(), seed, one.scenario) for one, seed in missing]
    for number, run in runs(wanted, effort, progress):
        one, seed = missing[number]
        kernel = f"{run.facts['kernel']} ({run.facts['kernel_kind']})"
        measurement = Measurement(one.name, seed, values_of(run), kernel, one.fingerprint(), run.digest)
        records.add(measurement)
        yield measurement


def simulate(
    drawn: Sequence[Drawn], seeds: range, progress: Callable[[float], object] | None = None
) -> dict[tuple[str, int], dict[tuple[str, str], float]]:
    """The same values of the simulator, by scenario and seed."""
    wanted = [(one, seed) for one in drawn for seed in seeds]
    jobs = [Job(one.scenario(), seed) for one, seed in wanted]
    found = run_jobs(jobs, lambda _, run: values_of(run), progress=progress)
    return {(one.name, seed): values for (one, seed), values in zip(wanted, found, strict=True)}


def values_of(run: Run) -> dict[tuple[str, str], float]:
    """What is compared: of every flow, and of every link direction, over the whole run. NaN where there is nothing."""
    found = {(flow["name"], quantity): _number(flow[quantity]) for flow in run.flows.rows() for quantity in FLOW}
    times: dict[int, list[float]] = {}
    for transfer in run.transfers.rows():
        times.setdefault(transfer["flow"], []).append(transfer["completion_s"])
    names = dict(zip(run.flows["flow"], run.flows["name"], strict=True))
    found |= {(names[flow], "completion_s"): fmean(took) for flow, took in times.items()}
    for link in run.links.rows():
        found[link["direction"], "utilisation"] = _number(link["utilisation"])
    return found


def values(
    records: Records,
    drawn: Sequence[Drawn],
    linux_seeds: range,
    simulated: dict[tuple[str, int], dict[tuple[str, str], float]],
) -> dict[Key, Value]:
    """Both worlds' values side by side, of the scenarios that Linux has run."""
    found: dict[Key, Value] = {}
    for one in drawn:
        linux = [told.values for seed in linux_seeds if (told := records.get(one, seed)) is not None]
        sim = [told for (name, _), told in simulated.items() if name == one.name]
        for what, quantity in dict.fromkeys(key for told in (*linux, *sim) for key in told):
            here = Value(_present(linux, (what, quantity)), _present(sim, (what, quantity)))
            if here.linux and here.sim:
                found[one.name, what, quantity] = here
    return found


def _present(runs: Sequence[dict[tuple[str, str], float]], key: tuple[str, str]) -> tuple[float, ...]:
    return tuple(told[key] for told in runs if not math.isnan(told.get(key, math.nan)))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
