"""Records, for each page, digests of a few runs by the simulator that wrote the page, in `docs/fidelity/simulator.csv`.

Writing all pages takes minutes to hours. A few runs per page show within seconds which pages are outdated.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.cli.terminal import print_line
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from reference.fidelity.tables import write_page

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

FILE = "simulator.csv"


@dataclass(frozen=True)
class Probe:
    """A short simulated run. If its digest changes, the page that it belongs to is out of date."""

    name: str
    scenario: Scenario
    seed: int = 1


def digests(probes: Sequence[Probe]) -> dict[str, str]:
    """Simulates the probes, and returns the digest of each by its name."""
    found = run_jobs([Job(probe.scenario, probe.seed) for probe in probes], lambda _, run: run.digest)
    return {probe.name: digest for probe, digest in zip(probes, found, strict=True)}


def read(data: Path) -> dict[str, dict[str, str]]:
    """Reads the recorded digests of each page's probes from the folder `data`."""
    found: dict[str, dict[str, str]] = {}
    if (data / FILE).exists():
        with (data / FILE).open(newline="") as text:
            for row in csv.DictReader(text):
                found.setdefault(row["page"], {})[row["run"]] = row["digest"]
    return found


def write(data: Path, page: str, probes: Sequence[Probe]) -> None:
    """Records the digests of the page's probes in the present simulator."""
    found = {**read(data), page: digests(probes)}
    with (data / FILE).open("w", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("page", "run", "digest"))
        writer.writerows((page, *each) for page in sorted(found) for each in found[page].items())


def publish(page: Path, text: str, probes: Sequence[Probe]) -> None:
    """Writes a page of `docs/fidelity`, and the digests of its probes."""
    write_page(page, text)
    write(page.parent, page.name, probes)
    print_line(str(page))
