"""Tests `tools/digests`. It checks the recorded digests, and does not write a digest unless a reason is given."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCENARIO = "scenarios/ecn.toml"


@pytest.fixture
def house(tmp_path):
    """Creates a repository in which one recorded digest is wrong, and another belongs to a deleted scenario."""
    for path in ("tools/digests", SCENARIO):
        (tmp_path / path).parent.mkdir()
        shutil.copy(ROOT / path, tmp_path / path)
    ledger = tmp_path / "tests" / "digests.toml"
    ledger.parent.mkdir()
    entry = 'digest = "0123456789abcdef"\nreason = "first recorded"\n'
    ledger.write_text(f'# Why\n\n["{SCENARIO}"]\n{entry}\n["scenarios/gone.toml"]\n{entry}')
    return tmp_path


def digests(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, house / "tools" / "digests", *arguments]
    return subprocess.run(command, cwd=house, capture_output=True, text=True)


def test_differing_digests_are_named(house):
    done = digests(house)
    assert done.returncode == 1
    assert f"{SCENARIO}: recorded 0123456789abcdef, now " in done.stdout
    assert "scenarios/gone.toml: recorded, but the file no longer exists" in done.stdout


def test_a_new_digest_is_written_with_its_reason_and_never_without(house):
    ledger = house / "tests" / "digests.toml"
    before = ledger.read_text()
    for reason in ([], ["--reason", " "]):
        refused = digests(house, "record", *reason, SCENARIO)
        assert refused.returncode == 2 and "needs --reason" in refused.stderr
    assert ledger.read_text() == before

    assert digests(house, "record", "--reason", 'the "queue" counts\noctets', SCENARIO).returncode == 0
    [(path, entry)] = tomllib.loads(ledger.read_text()).items()
    assert (path, entry["reason"]) == (SCENARIO, 'the "queue" counts octets')
    assert ledger.read_text().startswith("# Why\n\n[")
    assert digests(house, "check").returncode == 0
