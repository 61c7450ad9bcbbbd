"""Reads the reasons why statements fail. If a paper has failing statements, `failing.toml` contains the reasons:

    [causes]
    print = "the printed 86 % exceed what the line carries next to all ACKs"

    [claims.taking-turns]
    cause = "ours"
    needs = "the upload's retransmissions found room in the queue as often as its first packets do"

The table `causes` explains each cause that a claim names. `needs` is the condition under which the statement would
hold.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CAUSES: Mapping[str, str] = {
    "print": "the paper contradicts itself",
    "metric": "the paper measures something else",
    "setting": "the paper leaves out a setting that decides the outcome",
    "ours": "the set-up follows the paper and the result still differs",
}
"""The causes for which a paper's statement is not reproduced, by key, in the order of the report."""


@dataclass(frozen=True)
class Failing:
    """The cause of a failing statement (a key of `CAUSES`), and the condition under which the statement would hold."""

    cause: str
    needs: str


@dataclass(frozen=True)
class Causes:
    """The contents of `failing.toml`: one sentence per cause of failure, and one entry per failing statement."""

    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    claims: Mapping[str, Failing] = field(default_factory=dict[str, Failing])


def load(paper: Path) -> Causes:
    """Reads `failing.toml` from the paper's folder. Returns no causes if the file does not exist.

    Raises
    ------
    ValueError
        If a table has an unknown cause or no `needs`. The message names the table.
    """
    path = paper / "failing.toml"
    if not path.exists():
        return Causes()
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    claims: dict[str, Failing] = {}
    for key, table in tables.get("claims", {}).items():
        if table.get("cause") not in CAUSES or not table.get("needs"):
            raise ValueError(f"{path}: [claims.{key}] needs a `cause` ({', '.join(CAUSES)}) and `needs`")
        claims[key] = Failing(table["cause"], " ".join(table["needs"].split()))
    summary = {cause: " ".join(text.split()) for cause, text in tables.get("causes", {}).items()}
    if unknown := set(summary) - set(CAUSES):
        raise ValueError(f"{path}: [causes] has no {', '.join(sorted(unknown))}; there are {', '.join(CAUSES)}")
    return Causes(summary, claims)
