"""The benchmark program: where it is, and how it is built."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def target_folder() -> Path:
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build_bench(built: Path) -> str:
    """Our own benchmark program, built as the simulator is built for use."""
    build = ["cargo", "build", "--quiet", "--release", "--package", "lopsided-sim", "--example", "bench"]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(built / "release" / "examples" / "bench")
