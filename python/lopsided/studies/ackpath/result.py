"""The result of a comparison of remedies for the ACK path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lopsided.data import units
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import View, view
from lopsided.studies.ackpath.remedies import REMEDIES
from lopsided.studies.starts import varies
from lopsided.studies.study import Block, Drawing, Headline, Source, Study, Terms

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

_GOODPUT = ("rank_score", "down_goodput_bps", "up_goodput_bps", "down_rtt_p50_ms", "up_wait_p95_ms")
_ACKS = ("ack_ratio", "stretch_p50_bytes", "stretch_p95_bytes", "ack_compression", "ack_share")
_SENDERS = ("burst_p95", "burst_max", "reductions", "down_utilisation", "jain")

CAPTION = (
    "of best: sum of both directions' goodput over their rates, relative to the best remedy; up wait: delay in the "
    "uplink's queue, 95th percentile; ACK ratio: ACKs received per segment sent; stretch: bytes newly acknowledged by "
    "an ACK; compressed: share of ACKs that arrive less than half as far apart as they were sent; burst: segments sent "
    "at one instant, 95th percentile and maximum; Jain: Jain's index of the directions' shares of their rates"
)

_ALIKE = 0.02
"""Largest relative difference at which two scores count as equal."""
_WAYS = ("down_goodput_bps", "up_goodput_bps")


@dataclass(frozen=True)
class AckPath(Study):
    """The result of a comparison.

    `cells` has one row per combination of remedies, best first, with medians over the seeds. `runs` has one row per
    run.
    """

    kind: ClassVar[str] = "ackpath"
    figures: ClassVar[Mapping[str, str]] = {"goodput": "Goodput with each remedy"}
    footer: ClassVar[str] = (
        "Numbers are medians over the seeds, each of a whole run. `cells.csv` and `runs.csv` next to this page hold "
        "all numbers; a column's name ends in its unit."
    )

    scenario: Scenario
    link: str
    arms: tuple[str, ...]
    repeat: int
    seed: int
    cells: Table
    runs: Table
    limits: Mapping[str, str]
    """For each combination of remedies, a sentence that states what limits the downloads."""
    digest: str
    start_jitter_s: float | None = None
    """Default range, in seconds, of the random offset of the flows' start times; `None` if the user set the range."""

    @property
    def title(self) -> str:
        return f"ACK path: {self.scenario.heading}"

    @property
    def details(self) -> str:
        return f"uplink of {self.link} \u00b7 {counted(self.repeat, 'seed')} \u00b7 digest of all {self.digest}"

    def conclusions(self) -> list[str]:
        return verdict(self)

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("simulated", units.seconds(self.scenario.duration_s)),
            ("remedies at the uplink of", self.link),
            ("seeds", f"{self.repeat} from {self.seed}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {
            "name": self.scenario.name,
            "link": self.link,
            "arms": list(self.arms),
            "repeat": self.repeat,
            "seed": self.seed,
            "start_jitter_s": self.start_jitter_s,
            "digest": self.digest,
        }

    def results(self) -> dict[str, Any]:
        return {"cells": list(self.cells.rows()), "limits": dict(self.limits)}

    def files(self) -> Mapping[str, Table | str]:
        return {"scenario.toml": self.scenario.to_toml(), "cells.csv": self.cells, "runs.csv": self.runs}

    def drawn(self) -> Iterable[str]:
        return ()

    def shown(self) -> Iterable[Block]:
        yield from (self._view(columns) for columns in (_GOODPUT, _ACKS, _SENDERS))
        yield f"{CAPTION}\n"
        yield Terms([(arm, f"limited by {self.limits[arm]}") for arm in self._ranked])

    def page(self) -> Iterable[Block]:
        yield Drawing("goodput", "Goodput with each remedy, in both directions")
        yield Headline("Goodput and delay")
        yield self._view(_GOODPUT)
        yield Headline("ACKs and senders")
        yield self._view(_ACKS)
        yield self._view(_SENDERS)
        yield f"{CAPTION}."
        yield Headline("Limits of the downloads")
        yield Terms([(arm, self.limits[arm]) for arm in self._ranked])
        yield Headline("Remedies")
        used = {name for arm in self.arms for name in arm.split("+")}
        yield Terms([(name, text) for name, (text, _) in REMEDIES.items() if name in used])
        yield Headline("All measurements")
        yield view(self.cells, keys=1, most=400, where=" in the table files")
        yield Source("scenario.toml with all defaults", self.scenario.to_toml())

    @property
    def _ranked(self) -> list[str]:
        return self.cells.values("remedies")

    def _view(self, columns: tuple[str, ...]) -> View:
        """Returns the table of the remedies with the given columns. Columns without a value are omitted."""
        known = [name for name in columns if any(value is not None for value in self.cells.values(name))]
        return view(self.cells, ("remedies", *known), keys=1)


def verdict(found: AckPath) -> list[str]:
    """Returns sentences about the gain of the best remedy, the limit of the downloads, and harmful remedies."""
    rows = list(found.cells.rows())
    best = rows[0]
    none = next((row for row in rows if row["remedies"] == "none"), None)
    if len(rows) == 1:
        return [f"With {best['remedies']} the downloads are limited by {found.limits[best['remedies']]}."]
    if none is None:
        last = rows[-1]
        said = [
            f"{best['remedies']} is the best remedy: {_rates(best)}; {last['remedies']} is the worst: {_rates(last)}."
        ]
    elif none["rank_score"] >= (1 - _ALIKE) * best["rank_score"]:
        said = [
            f"No remedy improves goodput: {_rates(none)} without a remedy, and the same with the best ({_named(rows)})."
        ]
    else:
        said = [f"{best['remedies']} gains most: {_rates(best)}, compared with {_rates(none)} without a remedy."]
    held = best if none is None else none
    which = "Without a remedy" if none is not None else f"With {held['remedies']}"
    said.append(f"{which} the downloads are limited by {found.limits[held['remedies']]}.")
    if none is not None:
        worse = [row["remedies"] for row in rows if row["rank_score"] < (1 - _ALIKE) * none["rank_score"]]
        if worse:
            said.append(f"Worse than no remedy: {', '.join(worse)}.")
    said.append(_how_sure(found))
    said += varies(found.start_jitter_s)
    if none is not None:
        said.append(_what_can_be_set(rows, none))
    return said


def _how_sure(found: AckPath) -> str:
    """Returns a sentence that states for how many seeds the recommended remedy is the best one."""
    if found.repeat == 1:
        return "Each remedy has one run, so small differences may be chance; use --repeat 5 to check."
    best = found.cells.values("remedies")[0]
    runs = list(found.runs.rows())
    # Both directions have the same weight in the score.
    most = {way: max(row[way] or 0.0 for row in runs) or 1.0 for way in _WAYS}
    scores = [sum((row[way] or 0.0) / most[way] for way in _WAYS) for row in runs]
    tops = [max(scores[number :: found.repeat]) for number in range(found.repeat)]
    mine = [score for score, row in zip(scores, runs, strict=True) if row["remedies"] == best]
    won = sum(score >= (1 - _ALIKE) * top for score, top in zip(mine, tops, strict=True))
    within = units.percent(_ALIKE)
    return f"{best} was the best remedy, or within {within} of the best, with {won} of {found.repeat} seeds."


ON_ROUTERS = {"cake_filter": "tc qdisc replace dev eth0 root cake bandwidth RATE ack-filter"}
"""Remedies that Linux and OpenWrt support, each with its command."""
UNDO = "tc qdisc del dev eth0 root"
"""The command that undoes any of these remedies."""


def _what_can_be_set(rows: Sequence[Row], none: Row) -> str:
    """Returns a sentence about the remedies that real routers support."""
    said: list[str] = []
    for row in rows:
        if (command := ON_ROUTERS.get(row["remedies"])) is not None:
            gain = row["rank_score"] - none["rank_score"]
            worth = "helps" if gain > _ALIKE else "is harmful" if gain < -_ALIKE else "does not help"
            worth = f"which {worth} on this line"
            said.append(f"{row['remedies']} (`{command}`, undone by `{UNDO}`), {worth}")
    if not said:
        return "Available routers support none of these remedies; the remedies need changes in modems or in TCP."
    return (
        f"On a Linux or OpenWrt router you can set only {'; '.join(said)}. The other remedies need changes in "
        "modems or in TCP."
    )


def _named(rows: Sequence[Row]) -> str:
    return next(row["remedies"] for row in rows if row["remedies"] != "none")


def _rates(row: Row) -> str:
    ways = (("down", row["down_goodput_bps"]), ("up", row["up_goodput_bps"]))
    return " and ".join(f"{units.rate(rate)} {way}" for way, rate in ways if rate is not None)
