"""Locates the benchmark program, and builds it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def target_folder() -> Path:
    """Returns the folder of cargo's build results."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build_bench(built: Path) -> str:
    """Builds lopsided's benchmark program with the settings of a release, and returns its path."""
    build = ["cargo", "build", "--quiet", "--release", "--package", "lopsided-sim", "--example", "bench"]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(built / "release" / "examples" / "bench")
