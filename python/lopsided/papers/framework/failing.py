"""Why a paper's statements fail, as data: `failing.toml`, which a paper has if any of its statements fails.

    [causes]
    print = "the printed 86 % exceed what the line carries beside all ACKs"

    [claims.taking-turns]
    cause = "ours"
    needs = "the upload's retransmissions find room in the queue as often as its first packets do"

`causes` gives, for each cause that occurs, the sentence that sums it up. `needs` says what would have to be true for
print to be right.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CAUSES: Mapping[str, str] = {
    "print": "print contradicts itself",
    "metric": "print measures something else",
    "setting": "print leaves out a setting that decides it",
    "ours": "the set-up is print's and the result differs",
}
"""Why a statement fails, in the order in which reports list the causes."""


@dataclass(frozen=True)
class Failing:
    """Why one statement fails, and what would have to be true for print to be right."""

    cause: str
    needs: str


@dataclass(frozen=True)
class Causes:
    """What a paper records of its failing statements."""

    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    claims: Mapping[str, Failing] = field(default_factory=dict[str, Failing])


def load(paper: Path) -> Causes:
    """Reads `failing.toml` from the paper's folder; raises ValueError that names the table with an unknown cause."""
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
