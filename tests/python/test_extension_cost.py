"""A new part needs its own file and three lines elsewhere, a key or a column one line. CONTRIBUTING states this."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # Slow, because it loads every paper.
def test_the_cost_of_a_part_equals_contributing():
    done = subprocess.run([sys.executable, ROOT / "tools" / "extension-cost"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
