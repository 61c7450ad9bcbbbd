"""What a study of fairness says: who takes most from whom, who shares well, what a longer round trip costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data import units

if TYPE_CHECKING:
    from lopsided.studies.fairness import Matrix

_EVEN = (0.4, 0.6)
"""A share between these is near half."""

Row = Mapping[str, Any]


def verdict(matrix: Matrix) -> list[str]:
    """The sentences."""
    cells = [row for row in matrix.cells.rows() if row["share"] is not None]
    between = [row for row in cells if row["cc"] != row["against_cc"]]
    return [*_taken(between, len(matrix.study.rtts_ms) > 1), *_own_kind(cells), *_far(cells)]


def _taken(cells: Sequence[Row], several: bool) -> Iterator[str]:
    """The pair of two controls that shares worst, and the one that shares best."""
    if not cells:
        return
    worst = max(cells, key=lambda row: row["share"])
    if worst["share"] <= _EVEN[1]:
        yield f"No control takes more than {units.percent(worst['share'])} from another: all of them share evenly."
        return
    taker, giver = worst["cc"], worst["against_cc"]
    loser = next((row for row in cells if _key(row) == _key(worst, turned=True)), None)
    harm = ""
    if loser is not None and loser["harm_rate"] is not None:
        harm = f", and {giver} loses {units.percent(loser['harm_rate'])} of what it has alone"
    where = f" ({'both ' if worst['rtt_ms'] == worst['against_rtt_ms'] else ''}at {_rtts(worst)})" if several else ""
    yield f"{taker} takes most: beside {giver}{where} it gets {units.percent(worst['share'])} of the goodput{harm}."
    if len(cells) > 2:
        best = min(cells, key=lambda row: abs(row["share"] - 0.5))
        if max(best["share"], 1 - best["share"]) <= _EVEN[1]:
            where = f" at {_rtts(best)}" if several else ""
            share = units.percent(max(best["share"], 1 - best["share"]))
            larger, other = (best["cc"], best["against_cc"])[:: 1 if best["share"] >= 0.5 else -1]
            yield f"{larger} and {other}{where} come nearest to halves: {share} for {larger}."
        else:
            yield "No two controls come near to halves."


def _own_kind(cells: Sequence[Row]) -> Iterator[str]:
    """Controls that do not share with themselves at one round trip, by Jain's index of a run."""
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
        yield f"Two flows of {' or of '.join(told)} with the same round trip do not share evenly in every run."


def _span(row: Row) -> str:
    return f"{units.percent(row['share_least'])} to {units.percent(row['share_most'])}"


def _far(cells: Sequence[Row]) -> Iterator[str]:
    """What the shorter round trip takes within one control."""
    unequal = [row for row in cells if row["cc"] == row["against_cc"] and row["rtt_ms"] < row["against_rtt_ms"]]
    if not unequal:
        return
    most = max(unequal, key=lambda row: row["share"])
    least = min(unequal, key=lambda row: row["share"])
    told = f"{units.percent(most['share'])} with {most['cc']} at {_rtts(most)}"
    if least is not most:
        told += f", {units.percent(least['share'])} with {least['cc']} at {_rtts(least)}"
    yield f"Of two unequal round trips the shorter takes {told}."


def _key(row: Row, *, turned: bool = False) -> tuple[Any, ...]:
    sides = ((row["cc"], row["rtt_ms"]), (row["against_cc"], row["against_rtt_ms"]))
    return sides[::-1] if turned else sides


def _rtts(row: Row) -> str:
    one, other = row["rtt_ms"], row["against_rtt_ms"]
    return f"{one:g} ms" if one == other else f"{one:g} against {other:g} ms"
