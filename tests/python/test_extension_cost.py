"""Checks the costs of an extension that CONTRIBUTING.md states: a new part needs its own file and three lines in other
files, and a new key or column needs one line."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # The test is slow, because it loads every paper.
def test_the_cost_of_a_part_equals_contributing():
    done = subprocess.run([sys.executable, ROOT / "tools" / "extension-cost"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
