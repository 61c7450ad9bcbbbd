"""Every scenario of the repository gives the same digest and tables again, in any process, order or thread."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lopsided as lop
from lopsided.studies.jobs import run_many
from lopsided.worlds.base import Job

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [*ROOT.glob("scenarios/*.toml"), *ROOT.glob("python/lopsided/**/*.toml"), *ROOT.glob("reference/**/*.toml")]
)


def marks(order: list[Path], workers: int) -> dict[str, str]:
    """For each file the digest of its run and a hash of what the tables say."""
    jobs = [Job(scenario := lop.Scenario.load(path), scenario.seed) for path in order]
    return {str(order[number].relative_to(ROOT)): mark(run) for number, run in run_many(jobs, workers=workers)}


def mark(run: lop.Run) -> str:
    tables = (run.flows, run.links, run.samples, run.queues)
    text = "\n".join(table.to_polars().write_csv() for table in tables)
    return f"{run.digest} {hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture(scope="module")
def serial() -> dict[str, str]:
    return marks(FILES, workers=1)


def test_no_scenario_is_left_out(serial):
    assert len(serial) == len(FILES) >= 6
    assert len({value.split()[0] for value in serial.values()}) == len(FILES), "different scenarios, different digests"


def test_threads_and_order_change_nothing(serial):
    for workers in (2, 7):
        assert marks(FILES[::-1], workers) == serial


def test_another_process_finds_the_same(serial):
    program = "import json, test_determinism as t; print(json.dumps(t.marks(t.FILES, 2)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == serial
