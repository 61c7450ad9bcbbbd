"""Congestion controls of the user's own: the crate and the classes that docs/own-congestion-control.md shows."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "examples" / "own-congestion-control"
GUIDE = (ROOT / "docs" / "own-congestion-control.md").read_text()


def cargo(*arguments: str) -> str:
    """Runs cargo on the crate with what the workspace has built and downloaded."""
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    command = ["cargo", *arguments, "--quiet", "--offline", "--manifest-path", CRATE / "Cargo.toml"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "CARGO_TARGET_DIR": str(target)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_crate_of_the_guide_does_what_the_guide_says():
    # Without a lock file of its own cargo would ask the registry for the newest versions.
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    cargo("test")
    assert cargo("run") in GUIDE
    source = "\n".join(path.read_text() for path in sorted((CRATE / "src").glob("*.rs")))
    shown = "\n".join(re.findall(r"```rust\n(.*?)```", GUIDE, re.DOTALL))
    assert [line for line in shown.splitlines() if line.strip() not in source] == []
