"""Which simulator a page is of: digests of a few of its runs, kept in `docs/fidelity/simulator.csv` as it is written.

Whoever changes TCP, a queue or a link changes what the pages would say. To run them all anew takes minutes to hours; a
few runs of each tell in seconds which are older than the simulator.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

FILE = "simulator.csv"


@dataclass(frozen=True)
class Probe:
    """One short run of a page's, by a name that lasts."""

    name: str
    scenario: Scenario
    seed: int = 1


def digests(probes: Sequence[Probe]) -> dict[str, str]:
    """What the simulator of today gives, by the probe's name."""
    found = run_jobs([Job(probe.scenario, probe.seed) for probe in probes], lambda _, run: run.digest)
    return {probe.name: digest for probe, digest in zip(probes, found, strict=True)}


def read(data: Path) -> dict[str, dict[str, str]]:
    """The recorded digests, by page and probe; `data` is the folder of the pages."""
    found: dict[str, dict[str, str]] = {}
    if (data / FILE).exists():
        with (data / FILE).open(newline="") as text:
            for row in csv.DictReader(text):
                found.setdefault(row["page"], {})[row["run"]] = row["digest"]
    return found


def write(data: Path, page: str, probes: Sequence[Probe]) -> None:
    """Says that this page has just been made by the simulator of today."""
    found = {**read(data), page: digests(probes)}
    with (data / FILE).open("w", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("page", "run", "digest"))
        writer.writerows((page, *each) for page in sorted(found) for each in found[page].items())


def is_stale(data: Path, page: str, probes: Sequence[Probe]) -> bool:
    """Whether the simulator has changed since the page was made, or nobody knows when that was."""
    return read(data).get(page) != digests(probes)
