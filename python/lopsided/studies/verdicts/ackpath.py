"""What a comparison of remedies for the way of the ACKs says: what the best gains, what limits it, what does harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data import units

if TYPE_CHECKING:
    from lopsided.studies.ackpath import AckPath

_ALIKE = 0.02
"""Arms whose scores differ by less than this share are called alike."""

Row = Mapping[str, Any]


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
    return said


def _named(rows: Sequence[Row]) -> str:
    return next(row["remedies"] for row in rows if row["remedies"] != "none")


def _rates(row: Row) -> str:
    ways = (("down", row["down_goodput_bps"]), ("up", row["up_goodput_bps"]))
    return " and ".join(f"{units.rate(rate)} {way}" for way, rate in ways if rate is not None)
