"""The result of a fairness study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lopsided.data import units
from lopsided.data.table import Row, Table
from lopsided.data.view import Heading, Styled, View, numbers, view, words
from lopsided.errors import UsageError
from lopsided.studies.fairness.pairs import Contender
from lopsided.studies.fairness.plan import HeatMapGrid, Plan
from lopsided.studies.study import Block, Drawing, Headline, Source, Study

KEYS = ("cc", "rtt_ms", "against_cc", "against_rtt_ms")
"""Columns that identify a cell: its side, and the competing side."""
_MOST_ROWS, _MOST_PAIRS, _MOST_COLUMNS = 400, 30, 14
_CELLS = (
    "Medians over both starting orders and all seeds, then means (both orders have equal weight) and half the width "
    "of their 95 % intervals. The convergence time covers the runs in which the side of the row joins the other side; "
    "the time is missing if most runs did not converge."
)
_MEANING = (
    "The two sides of a pair share one queue; each side starts first in half of the runs. **Share** is a side's part "
    "of the goodput of both sides. **Harm** compares a side's results next to the other side with its results alone: "
    "(alone - shared) / alone for goodput, (shared - alone) / shared for delay and loss (Ware et al. 2019). Harm has a "
    "frame if it exceeds the harm by a side with the same control. **Fair after** is the time until both shares stay "
    "near half, **settled after** the time until they stay near the final shares. **RTT exponent** is the exponent a "
    "in goodput ∝ 1 / RTT\N{MODIFIER LETTER SMALL A}; the RTT includes queueing."
)
_EVEN = (0.4, 0.6)
"""Range of goodput shares that count as near 50 %."""


@dataclass(frozen=True)
class Matrix(Study):
    """The result of a fairness study; `docs/fairness.md` explains the columns.

    `cells` has one row per side and competing side: medians, means and 95 % intervals. `runs` has one row per side and
    run, and `alone` has one row per run of a side alone.
    """

    kind: ClassVar[str] = "fairness"
    figures: ClassVar[Mapping[str, str]] = {
        "share": "Shares of the line",
        "harm_rate": "Harm to goodput",
        "harm_rtt": "Harm to delay",
        "harm_retransmits": "Harm by loss",
        "jain": "Jain's index",
        "utilisation": "Use of the link",
        "converged_s": "Time to a fair share",
    }
    footer: ClassVar[str] = (
        "The tables next to this page (`cells`, `runs`, `alone`) contain all numbers of the page. Column names end "
        "with the unit."
    )

    study: Plan
    cells: Table
    runs: Table
    alone: Table
    digest: str
    world: str

    def values(self, metric: str) -> dict[tuple[Contender, Contender], float | None]:
        """Returns a metric for each pair (side, competing side). Raises UsageError if the metric is unknown."""
        if metric not in self.cells.columns:
            raise UsageError(f"no metric called {metric!r}; there are {', '.join(self.cells.columns[len(KEYS) :])}")
        return {
            (Contender(row["cc"], row["rtt_ms"]), Contender(row["against_cc"], row["against_rtt_ms"])): row[metric]
            for row in self.cells.rows()
        }

    @property
    def title(self) -> str:
        line = self.study.bottleneck
        rtts = ", ".join(f"{rtt:g}" for rtt in self.study.rtts_ms)
        return f"Fairness of {', '.join(self.study.ccs)} at {units.rate(line.rate_bps)} and {rtts} ms"

    @property
    def details(self) -> str:
        return f"{self.world} · {self.study.runs} · digest of all {self.digest}"

    def conclusions(self) -> list[str]:
        return verdict(self)

    def conditions(self) -> list[tuple[str, str]]:
        study, line = self.study, self.study.bottleneck
        start, stop = line.window_s
        return [
            ("world", self.world),
            ("downlink", units.rate(line.down_bps)),
            ("uplink", units.rate(line.up_bps)),
            ("data goes", line.direction),
            ("buffer", line.buffer),
            ("flows on each side", str(line.flows)),
            ("stack", line.stack),
            ("socket buffers", line.socket_buffer or "large enough never to limit a flow"),
            ("first alone for", units.seconds(line.lead_s)),
            ("both for", units.seconds(line.both_s)),
            ("measured", f"the last {units.seconds(stop - start)}"),
            ("seeds", str(study.repeat)),
            ("runs", units.count(len(study))),
            ("near a share", f"within {units.percent(study.within)} for {units.seconds(study.hold_s)}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        study = self.study
        return {
            "world": self.world,
            "cc": study.ccs,
            "rtt_ms": study.rtts_ms,
            "pairs": study.options.pairs,
            "bottleneck": vars(study.bottleneck),
            "within": study.within,
            "hold_s": study.hold_s,
            "repeat": study.repeat,
            "seed": study.options.seed,
            "runs": len(study),
            "digest": self.digest,
        }

    def results(self) -> dict[str, Any]:
        return {"cells": list(self.cells.rows()), "alone": list(self.alone.rows())}

    def files(self) -> Mapping[str, Table | str]:
        tables = {"cells": self.cells, "runs": self.runs, "alone": self.alone}
        return {"cells.csv": self.cells, **{f"{name}.parquet": table for name, table in tables.items()}}

    def shown(self) -> Iterable[Block]:
        for squares in self.study.squares():
            yield from (_square(self, square) for square in squares if len(square.sides) <= _MOST_COLUMNS)
        yield _pairs(self)
        yield f"{_caption(self.study)}\n"

    def page(self) -> Iterable[Block]:
        yield from (Drawing(metric, title) for metric, title in self.figures.items())
        yield Headline("Every cell", _CELLS)
        yield view(self.cells, keys=4, most=_MOST_ROWS, where=" in the table files")
        yield Headline("What the numbers mean")
        yield _MEANING
        yield Headline("Scenario")
        yield "The scenario of one pair, with all defaults."
        yield Source("scenario.toml", _example(self))


def verdict(matrix: Matrix) -> list[str]:
    """Returns sentences about the least and most even pairs, and about the effect of a longer RTT."""
    cells = [row for row in matrix.cells.rows() if row["share"] is not None]
    between = [row for row in cells if row["cc"] != row["against_cc"]]
    return [*_taken(between, len(matrix.study.rtts_ms) > 1), *_own_kind(cells), *_far(cells)]


def _taken(cells: Sequence[Row], several: bool) -> Iterator[str]:
    """Yields sentences about the most uneven and the most even pair of different congestion controls."""
    if not cells:
        return
    worst = max(cells, key=lambda row: row["share"])
    if worst["share"] <= _EVEN[1]:
        yield f"No control takes more than {units.percent(worst['share'])} next to another: all pairs share evenly."
        return
    taker, giver = worst["cc"], worst["against_cc"]
    loser = next((row for row in cells if _key(row) == _key(worst, turned=True)), None)
    harm = ""
    if loser is not None and loser["harm_rate"] is not None:
        harm = f", and {giver} loses {units.percent(loser['harm_rate'])} of the goodput that it gets alone"
    where = f" ({'both ' if worst['rtt_ms'] == worst['against_rtt_ms'] else ''}at {_rtts(worst)})" if several else ""
    share = units.percent(worst["share"])
    yield f"{taker} is the most dominant: against {giver}{where}, it gets {share} of the goodput{harm}."
    if len(cells) > 2:
        best = min(cells, key=lambda row: abs(row["share"] - 0.5))
        if max(best["share"], 1 - best["share"]) <= _EVEN[1]:
            where = f" at {_rtts(best)}" if several else ""
            share = units.percent(max(best["share"], 1 - best["share"]))
            larger, other = (best["cc"], best["against_cc"])[:: 1 if best["share"] >= 0.5 else -1]
            yield f"{larger} and {other}{where} are closest to equal shares: {share} for {larger}."
        else:
            yield "No two controls share nearly equally."


def _own_kind(cells: Sequence[Row]) -> Iterator[str]:
    """Yields sentences about congestion controls whose own flows share unevenly at equal RTTs (Jain's index)."""
    uneven = [
        row
        for row in cells
        if (row["cc"], row["rtt_ms"]) == (row["against_cc"], row["against_rtt_ms"])
        and row["share_least"] is not None
        and row["share_least"] < _EVEN[0]
    ]
    if uneven:
        least = {row["cc"]: row for row in sorted(uneven, key=lambda row: -row["share_least"])}
        told = [f"{cc} ({_span(row)})" for cc, row in least.items()]
        yield f"Two flows of {' or of '.join(told)} with the same RTT do not share evenly in every run."


def _span(row: Row) -> str:
    return f"{units.percent(row['share_least'])} to {units.percent(row['share_most'])}"


def _far(cells: Sequence[Row]) -> Iterator[str]:
    """Yields sentences about the share of the flow with the shorter RTT, if both flows use the same congestion
    control."""
    unequal = [row for row in cells if row["cc"] == row["against_cc"] and row["rtt_ms"] < row["against_rtt_ms"]]
    if not unequal:
        return
    most = max(unequal, key=lambda row: row["share"])
    least = min(unequal, key=lambda row: row["share"])
    told = f"{units.percent(most['share'])} with {most['cc']} at {_rtts(most)}"
    if least is not most:
        told += f", {units.percent(least['share'])} with {least['cc']} at {_rtts(least)}"
    yield f"With unequal round trips, the flow with the shorter round trip gets {told}."


def _key(row: Row, *, turned: bool = False) -> tuple[Any, ...]:
    sides = ((row["cc"], row["rtt_ms"]), (row["against_cc"], row["against_rtt_ms"]))
    return sides[::-1] if turned else sides


def _rtts(row: Row) -> str:
    one, other = row["rtt_ms"], row["against_rtt_ms"]
    return f"{one:g} ms" if one == other else f"{one:g} against {other:g} ms"


def _square(matrix: Matrix, square: HeatMapGrid) -> View:
    values, share = matrix.values("share"), matrix.cells.column("share")
    against = [Heading(f"vs {label}") for label in square.labels]
    rows = [
        [label, *(Styled(share.text(part), _style(part)) for part in (values.get((side, o)) for o in square.sides))]
        for side, label in zip(square.sides, square.labels, strict=True)
    ]
    return View([Heading(f"{square.heading}: share", numeric=False), *against], rows)


def _style(share: float | None) -> str:
    if share is None or 0.4 <= share <= 0.6:
        return ""
    return "yellow" if share < 0.4 else "blue"


def _pairs(matrix: Matrix) -> View:
    """Returns a table with one row per pair. If there are many pairs, only the least fair pairs are shown."""
    cells = {
        (Contender(row["cc"], row["rtt_ms"]), Contender(row["against_cc"], row["against_rtt_ms"])): row
        for row in matrix.cells.rows()
    }
    pairs = list(matrix.study.pairs)
    least_fair = sorted(pairs, key=lambda pair: cells[pair]["jain"] or 0.0)[:_MOST_PAIRS]

    def text(name: str, row: dict[str, Any]) -> str:
        return matrix.cells.column(name).text(row[name])

    rows: list[list[str]] = []
    for one, other in [pair for pair in pairs if pair in least_fair]:
        mine, theirs = cells[one, other], cells[other, one]
        rows.append(
            [
                *(f"{side.cc} {side.rtt_ms:g} ms" for side in (one, other)),
                *(text("goodput_bps", cell) for cell in (mine, theirs)),
                f"{text('share_least', mine)} to {text('share_most', mine)}",
                text("share_mean", mine),
                "–" if mine["share_ci95"] is None else f"± {text('share_ci95', mine)}",
                text("jain", mine),
                " / ".join(units.seconds(_whole(cell["converged_s"])) for cell in _once(mine, theirs)),
                *(text("harm_rate", cell) for cell in (mine, theirs)),
            ]
        )
    headings = ("goodput", "other's", "share", "mean", "95 %", "Jain", "fair after", "harm", "to other")
    many = f"the {_MOST_PAIRS} least fair of {len(pairs)} pairs; the tables in the folder contain all pairs"
    return View(
        [*words("one", "other"), *numbers(*headings)], rows, keys=2, caption=many if len(pairs) > _MOST_PAIRS else ""
    )


def _whole(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds)


def _once(mine: dict[str, Any], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    return [mine] if mine is theirs else [mine, theirs]


def _caption(study: Plan) -> str:
    seeds = units.counted(study.repeat, "seed")
    return (
        f"medians over both starting orders and {seeds}; share: of the side `one`, least to most, then the mean over "
        "both orders and its 95 % interval; fair after: if `one` joins `other` / if `other` joins; harm: part of its "
        "goodput alone that `one` loses next to `other`"
    )


def _example(matrix: Matrix) -> str:
    first, second = next((pair for pair in matrix.study.pairs if pair[0] != pair[1]), matrix.study.pairs[0])
    return matrix.study.scenario(first, second).to_toml()
