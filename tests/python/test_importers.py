"""Tests that `make check` checks all changed files, and all files that import a changed file."""

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "importers"))


def importers(*files: str) -> set[str]:
    return {str(file) for file in TOOL["importers"](files)}


def test_a_file_and_all_that_import_it_are_found():
    found = importers("python/lopsided/worlds/kernel/errors.py", "python/lopsided/studies/jobs.py")
    assert {"python/lopsided/worlds/kernel/errors.py", "python/lopsided/studies/jobs.py"} <= found
    assert "python/lopsided/worlds/kernel/backend.py" in found, "from .errors import"
    assert "python/lopsided/worlds/live/__init__.py" in found, "an absolute import"
    assert "python/lopsided/worlds/sim.py" not in found


def test_a_stub_and_a_package_are_modules_too():
    assert "python/lopsided/worlds/sim.py" in importers("python/lopsided/_native.pyi")
    assert "python/lopsided/papers/orosz2010/measure.py" in importers("python/lopsided/metrics/__init__.py")
