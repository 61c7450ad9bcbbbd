"""What a comparison of remedies for the way of the ACKs says: what the best gains, what limits it, what does harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.studies.starts import varies

if TYPE_CHECKING:
    from lopsided.studies.ackpath import AckPath

_ALIKE = 0.02
"""Arms whose scores differ by less than this share are called alike."""

Row = Mapping[str, Any]
_WAYS = ("down_goodput_bps", "up_goodput_bps")


def verdict(found: AckPath) -> list[str]:
    """The sentences."""
    rows = list(found.cells.rows())
    best = rows[0]
    none = next((row for row in rows if row["remedies"] == "none"), None)
    if len(rows) == 1:
        return [f"With {best['remedies']} the downloads are limited by {found.limits[best['remedies']]}."]
    if none is None:
        said = [
            f"Best of them is {best['remedies']}: {_rates(best)}; last is {rows[-1]['remedies']}: {_rates(rows[-1])}."
        ]
    elif none["rank_score"] >= (1 - _ALIKE) * best["rank_score"]:
        said = [f"No remedy gains anything here: without one {_rates(none)}, with the best ({_named(rows)}) as much."]
    else:
        said = [f"{best['remedies']} gains most: {_rates(best)}, where without a remedy it is {_rates(none)}."]
    held = best if none is None else none
    which = "Without a remedy" if none is not None else f"With {held['remedies']}"
    said.append(f"{which} the downloads are limited by {found.limits[held['remedies']]}.")
    if none is not None:
        worse = [row["remedies"] for row in rows if row["rank_score"] < (1 - _ALIKE) * none["rank_score"]]
        if worse:
            said.append(f"Worse than none: {', '.join(worse)}.")
    said.append(_how_sure(found))
    said += varies(found.start_jitter_s)
    if none is not None:
        said.append(_what_can_be_set(rows, none))
    return said


def _how_sure(found: AckPath) -> str:
    """In how many of the runs the best was the best."""
    if found.repeat == 1:
        return "Each remedy has one run, so small differences may be chance; --repeat 5 shows which are not."
    best = found.cells["remedies"][0]
    runs = list(found.runs.rows())
    # Each direction counts alike, as in the ranking.
    most = {way: max(row[way] or 0.0 for row in runs) or 1.0 for way in _WAYS}
    scores = [sum((row[way] or 0.0) / most[way] for way in _WAYS) for row in runs]
    tops = [max(scores[number :: found.repeat]) for number in range(found.repeat)]
    mine = [score for score, row in zip(scores, runs, strict=True) if row["remedies"] == best]
    won = sum(score >= (1 - _ALIKE) * top for score, top in zip(mine, tops, strict=True))
    return f"{best} was best, or within {units.percent(_ALIKE)} of it, with {won} of {found.repeat} seeds."


_ON_ROUTERS = {"cake_filter": "`tc qdisc replace dev eth0 root cake bandwidth RATE ack-filter`"}
"""Remedies that Linux and OpenWrt have, and how they are set."""


def _what_can_be_set(rows: Sequence[Row], none: Row) -> str:
    """Which of the remedies a real router has, and whether it is worth it here."""
    said: list[str] = []
    for row in rows:
        if (command := _ON_ROUTERS.get(row["remedies"])) is not None:
            gain = row["rank_score"] - none["rank_score"]
            worth = "of no use here" if abs(gain) <= _ALIKE else "which gains" if gain > 0 else "which does harm here"
            said.append(f"{row['remedies']} ({command}), {worth}")
    if not said:
        return "None of them is a setting of a router that you can buy; they are for those who build modems."
    return (
        f"On a Linux or OpenWrt router you can set only {'; '.join(said)}. The others are for those who build modems."
    )


def _named(rows: Sequence[Row]) -> str:
    return next(row["remedies"] for row in rows if row["remedies"] != "none")


def _rates(row: Row) -> str:
    ways = (("down", row["down_goodput_bps"]), ("up", row["up_goodput_bps"]))
    return " and ".join(f"{units.rate(rate)} {way}" for way, rate in ways if rate is not None)
