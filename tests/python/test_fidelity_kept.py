"""Checks that each run on Linux is executed only once, and that no run starts after the time limit."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from lines import DOWNLOAD, line_of
from lopsided.scenario import Scenario
from lopsided.studies import packets as aligning
from reference.fidelity import kept

LINE = line_of("2 s", "2 Mbit/s", "1 Mbit/s") + DOWNLOAD + 'start_jitter = "1 s"\n'


def wanted(name: str, seed: int = 1) -> kept.Wanted:
    scenario = partial(Scenario.from_text, LINE, name)
    return kept.Wanted(name, "0123456789abcdef", seed, scenario)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces Linux by the simulator. The returned list collects the names of the folders of all runs."""
    folders: list[str] = []
    keep = aligning.keep

    def in_place_of_linux(scenario: Scenario, folder: Path, *, seed: int, kernel: str):
        assert kernel == "timetravel", "a run in real time is not a record"
        folders.append(folder.name)
        return keep(scenario, folder, seed=seed, world="sim")

    monkeypatch.setattr(kept.aligning, "keep", in_place_of_linux)
    return folders


def test_a_run_is_made_once_per_seed(made, tmp_path):
    asked = [wanted("A, 1 BDP"), wanted("A, 1 BDP", 2)]
    first = {number: run.digest for number, run in kept.runs(asked, kept.Effort(), kept=tmp_path)}
    # Remove the six digits of the kernel world's version from the folder names.
    names = sorted(re.sub(r"-[0-9a-f]{6}(?=$|-seed)", "", name) for name in made)
    assert names == ["a-1-bdp-0123456789ab", "a-1-bdp-0123456789ab-seed-2"] and len(set(first.values())) == 2
    again = {number: run.digest for number, run in kept.runs(asked, kept.Effort(), kept=tmp_path)}
    assert (again, len(made)) == (first, 2)


def test_no_run_starts_after_the_time_limit(made, tmp_path):
    assert list(kept.runs([wanted("A")], kept.Effort.of(-1.0), kept=tmp_path)) == [] and made == []
    assert not kept.Effort.of(None).is_spent and not kept.Effort.of(1.0).is_spent
