"""Reads the files that the folder of every paper contains."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from lopsided.papers.framework import assumptions, failing
from lopsided.papers.framework.failing import Causes
from lopsided.papers.framework.model import Assumption


class Files(TypedDict):
    """The fields of a `Paper` that are read from files in the paper's folder."""

    folder: Path
    assumptions: tuple[Assumption, ...]
    causes: Causes
    hindsight: tuple[str, ...]
    terms: Mapping[str, str]
    reversed_in_full: Mapping[str, str]


def files_beside(module: str) -> Files:
    """Returns a paper's folder and the contents of its files: assumptions, causes of failures, choices made after the
    first results, terms, and verdicts that change with `--full`. `module` is the `__file__` of a module in this
    folder."""
    folder = Path(module).parent
    choices: list[str] = []
    if (path := folder / "hindsight.toml").exists():
        choices = tomllib.loads(path.read_text(encoding="utf-8"))["choices"]
    terms = tomllib.loads((folder / "terms.toml").read_text(encoding="utf-8"))
    in_full: dict[str, str] = {}
    if (path := folder / "full.toml").exists():
        in_full = tomllib.loads(path.read_text(encoding="utf-8"))
    return Files(
        folder=folder,
        assumptions=assumptions.load(folder),
        causes=failing.load(folder),
        hindsight=tuple(" ".join(choice.split()) for choice in choices),
        terms=terms,
        reversed_in_full=in_full,
    )
