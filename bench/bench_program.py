"""Builds the benchmark program and returns its path."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def target_folder() -> Path:
    """Returns the folder in which cargo stores build results."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build_bench(built: Path) -> str:
    """Builds lopsided's benchmark program in release mode in the folder `built`. Returns the path of the program."""
    build = ["cargo", "build", "--quiet", "--release", "--package", "lopsided-sim", "--example", "bench"]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(built / "release" / "examples" / "bench")
