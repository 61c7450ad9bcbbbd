"""Checks that every scenario produces the same digest and tables in every process, in every order and on every
thread."""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lopsided as lop
from lopsided.studies.jobs import run_many
from lopsided.worlds.base import Job

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("scenarios", "python/lopsided", "reference")
    for path in (ROOT / folder).rglob("*.toml")
    # Skip symbolic links and files that are not complete scenarios, such as a paper's tables or a suite's base files.
    if not path.is_symlink() and "suite" not in path.parts and "\n[scenario]\n" in f"\n{path.read_text()}"
)

MIXED = [path for path in FILES if "papers" not in path.parts]
"""Scenarios that are also run in another process, in reverse order, and on threads. The scenarios of papers are run on
threads in crates/sim/tests/digests.rs."""


def marks(order: list[Path], workers: int) -> dict[str, str]:
    """Returns, for each file, the digest of the run and a hash of its tables."""
    jobs = [Job(scenario := lop.Scenario.load(path), scenario.seed) for path in order]
    return {str(order[number].relative_to(ROOT)): mark(run) for number, run in run_many(jobs, workers=workers)}


def mark(run: lop.Run) -> str:
    tables = (run.flows, run.links, run.samples, run.queues)
    text = "\n".join(table.to_polars().write_csv() for table in tables)
    return f"{run.digest} {hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture(scope="module")
def serial() -> dict[str, str]:
    return marks(FILES, workers=1)


def test_every_scenario_has_a_digest(serial):
    assert len(serial) == len(FILES) >= 6
    assert len({value.split()[0] for value in serial.values()}) == len(FILES), "different scenarios, different digests"


def test_threads_order_and_process_do_not_change_results(serial):
    program = "import json, test_determinism as t; print(json.dumps(t.marks(t.MIXED[::-1], 7)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {name: serial[name] for name in map(str, (f.relative_to(ROOT) for f in MIXED))}


def test_the_digests_of_this_build_are_the_recorded_ones(serial):
    recorded = tomllib.loads((ROOT / "tests" / "digests.toml").read_text())
    now = {path: serial[path].split()[0] for path in recorded if path in serial}
    assert now == {path: entry["digest"] for path, entry in recorded.items()}, "tools/digests says more"
