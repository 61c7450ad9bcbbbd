"""What a comparison of queue disciplines says: who keeps delay low and at what cost, what users get, what calls lose.

The first discipline named is the one that the others are held against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lopsided.data import units

if TYPE_CHECKING:
    from lopsided.studies.aqm import Aqm

_ALIKE = 0.05
"""Values that differ by less than this share are called alike."""
_SAME = 0.01
"""Goodputs that differ by less than this share are called the same."""
_LOST = 0.01
"""The share of lost datagrams that is worth a sentence."""

Row = Mapping[str, Any]


def verdict(found: Aqm) -> list[str]:
    """The sentences; of several worlds it is the first that they speak of."""
    names = [each.label for each in found.disciplines]
    world = found.worlds[0]
    ways: dict[str, dict[str, Row]] = {
        name: {row["direction"]: row for row in found.cells.rows() if (row["queue"], row["world"]) == (name, world)}
        for name in names
    }
    users = {row["queue"]: row for row in found.users.rows() if row["world"] == world}
    if len(names) == 1:
        return [f"{names[0]} was run alone: name others in --queues to compare it with."]
    said = [*_delay(ways), *_felt(users), *_datagrams(ways)]
    if said and len(found.worlds) > 1:
        said[0] = f"In {world}: {said[0]}"
    return said


def _delay(ways: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Who keeps the slowest twentieth of round trips shortest, and what that takes of the goodput."""
    slow = {name: [row["rtt_p95_ms"] for row in rows.values() if row["rtt_p95_ms"]] for name, rows in ways.items()}
    timed = {name: max(values) for name, values in slow.items() if values}
    if len(timed) < 2:
        return
    first = next(iter(timed))
    best, worst = min(timed, key=lambda name: timed[name]), max(timed, key=lambda name: timed[name])
    if timed[worst] < (1 + _ALIKE) * timed[best]:
        yield (
            f"Round trips are much alike under all of them: {units.millis(timed[best])} to "
            f"{units.millis(timed[worst])} at the 95th percentile of the slower direction."
        )
        return
    other = worst if first == best else first
    rates = {name: sum(row["goodput_bps"] or 0.0 for row in rows.values()) for name, rows in ways.items()}
    yield (
        f"Round trips are shortest with {best}: {units.millis(timed[best])} at the 95th percentile of the slower "
        f"direction ({other}: {units.millis(timed[other])})."
    )
    if rates[other]:
        yield f"All flows together get {units.rate(rates[best])} with it, {_change(rates[best], rates[other], other)}."


def _change(rate: float, others: float, other: str) -> str:
    change = rate / others - 1
    if abs(change) < _SAME:
        return f"as much as with {other}"
    return f"{units.percent(abs(change))} {'less' if change < 0 else 'more'} than with {other}"


def _felt(users: Mapping[str, Row]) -> Iterator[str]:
    """Pages or transfers, and responsiveness."""
    if len(users) < 2:
        return
    first = next(iter(users))
    parts: list[str] = []
    for column, what in (("page_p50_s", "pages come soonest"), ("transfer_p50_s", "transfers end soonest")):
        known = {name: row[column] for name, row in users.items() if row[column]}
        if first not in known or len(known) < 2:
            continue
        best = min(known, key=lambda name: known[name])
        held = first if best != first else max(known, key=lambda name: known[name])
        soonest, others = (units.millis(known[name] * 1e3) for name in (best, held))
        parts.append(f"{what} with {best} ({soonest} at the median, {held} {others})")
        break
    rpm = {name: row["rpm"] for name, row in users.items() if row["rpm"]}
    if first in rpm and len(rpm) > 1:
        best = max(rpm, key=lambda name: rpm[name])
        held = first if best != first else min(rpm, key=lambda name: rpm[name])
        parts.append(
            f"the line answers quickest with {best} ({rpm[best]:,.0f} round trips a minute, {held} {rpm[held]:,.0f})"
        )
    if parts:
        yield f"For its users {', and '.join(parts)}."


def _datagrams(ways: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    lost: dict[str, float] = {}
    for name, rows in ways.items():
        shares = [row["datagram_loss"] for row in rows.values() if row["datagram_loss"] is not None]
        if shares:
            lost[name] = max(shares)
    if len(lost) < 2 or max(lost.values()) < _LOST:
        return
    least, most = min(lost, key=lambda name: lost[name]), max(lost, key=lambda name: lost[name])
    yield (
        f"Of datagrams {least} loses fewest ({units.percent(lost[least])}) and {most} most "
        f"({units.percent(lost[most])})."
    )
