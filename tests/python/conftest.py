"""Defines fixtures: a short scenario and its run, and a paper's experiments, measured with one seed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import lopsided as lop
from lopsided.cli import terminal
from lopsided.worlds.kernel.errors import Overloaded

if TYPE_CHECKING:
    from lopsided.papers.framework.measurements import Measurements
    from lopsided.papers.framework.model import Artifact, Figure, Paper

# pytest loads the readline library, which sets COLUMNS for the workers of pytest-xdist. Tables would then be 80 columns
# wide.
os.environ.pop("COLUMNS", None)

ADSL = """\
[scenario]
name = "adsl"
title = "A download meets an upload"
duration = "20 s"

[link]
rtt = "20 ms"
down = { rate = "2400 kbit/s", queue = { limit = "50 packets" } }
up = { rate = "196 kbit/s", queue = { limit = "15 packets" } }

[[flow]]
name = "download"
direction = "down"

[[flow]]
name = "upload"
direction = "up"
start = "8 s"
start_jitter = "1 s"

[sweep]
"link.up.queue.limit" = "10..20:10 packets"
repeat = 2
"""


@pytest.fixture(scope="session")
def adsl() -> lop.Scenario:
    return lop.Scenario.from_text(ADSL, "adsl.toml")


@pytest.fixture(scope="session")
def adsl_run(adsl) -> lop.Run:
    return adsl.run()


@pytest.fixture
def adsl_file(tmp_path):
    path = tmp_path / "adsl.toml"
    path.write_text(ADSL)
    return path


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Runs the test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    # Drop the cached console, because it writes to the streams of the test that created it.
    terminal.out.cache_clear()
    terminal.errors.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Skips a test if the machine is too busy for a run in real time."""
    try:
        return (yield)
    except Overloaded as late:
        pytest.skip(f"a busy machine: {late}")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    try:
        return (yield)
    except Overloaded as late:
        pytest.skip(f"a busy machine: {late}")


# --- Fixtures for tests of papers: the test module names its paper in `PAPER`.


@pytest.fixture(scope="module")
def paper(request: pytest.FixtureRequest) -> Paper:
    from lopsided import papers

    return papers.load(request.module.PAPER)


@pytest.fixture(scope="module")
def m(paper: Paper) -> Measurements:
    """Returns the measurements of all experiments of the paper for one seed."""
    from lopsided.papers.framework.experiments import run_experiments
    from lopsided.studies.jobs import run_jobs

    return run_experiments(paper, paper.experiments, 1, run_jobs)


@pytest.fixture(scope="module")
def artifacts(paper: Paper, m: Measurements) -> dict[str, tuple[Figure, Artifact]]:
    return {figure.name: (figure, figure.make(m)) for figure in paper.figures}
