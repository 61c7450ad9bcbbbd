"""Reads the files that every paper's folder has."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from lopsided.papers.framework import assumptions, failing
from lopsided.papers.framework.failing import Causes
from lopsided.papers.framework.model import Assumption


class Files(TypedDict):
    """The fields of a `Paper` that come from its folder."""

    folder: Path
    assumptions: tuple[Assumption, ...]
    causes: Causes


def files_beside(module: str) -> Files:
    """Returns the folder of a module (its `__file__`), with the assumptions and causes in it."""
    folder = Path(module).parent
    return Files(folder=folder, assumptions=assumptions.load(folder), causes=failing.load(folder))
