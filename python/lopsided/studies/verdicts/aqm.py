"""What a comparison of queue disciplines says: who keeps delay low and at what cost, what users get, what calls lose.

The first discipline named is the one that the others are held against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.studies.starts import varies

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
    ways = _ways(found)
    users = {row["queue"]: row for row in found.users.rows() if row["world"] == world}
    if len(names) == 1:
        return [f"{names[0]} was run alone: name others in --queues to compare it with."]
    said = [*_delay(ways), *_felt(users), *_datagrams(ways)]
    if said and len(found.worlds) > 1:
        said[0] = f"In {world}: {said[0]}"
    return said + varies(found.start_jitter_s)


def suite_verdict(sections: Sequence[Aqm]) -> list[str]:
    """Of many comparisons: in how many of them who keeps round trips shortest, and who gets the most through."""
    shortest, fullest = Counter[str](), Counter[str]()
    for found in sections:
        ways = _ways(found)
        if timed := _slowest(ways):
            shortest[min(timed, key=lambda name: timed[name])] += 1
        rates = _rates(ways)
        fullest[max(rates, key=lambda name: rates[name])] += 1
    if len(fullest) + len(shortest) == 0 or any(len(found.disciplines) < 2 for found in sections):
        return []
    many = f"{len(sections)} section{'' if len(sections) == 1 else 's'}"
    return [
        f"Of {many} round trips are shortest with {_in_how_many(shortest)}.",
        f"Most goodput comes with {_in_how_many(fullest)}.",
    ]


def _in_how_many(counts: Counter[str]) -> str:
    return ", ".join(f"{name} in {number}" for name, number in counts.most_common())


def _ways(found: Aqm) -> dict[str, dict[str, Row]]:
    """By discipline and direction the cells of the first world."""
    return {
        each.label: {
            row["direction"]: row
            for row in found.cells.rows()
            if (row["queue"], row["world"]) == (each.label, found.worlds[0])
        }
        for each in found.disciplines
    }


def _slowest(ways: Mapping[str, Mapping[str, Row]]) -> dict[str, float]:
    """By discipline the slowest twentieth of round trips, of the slower direction."""
    slow = {name: [row["rtt_p95_ms"] for row in rows.values() if row["rtt_p95_ms"]] for name, rows in ways.items()}
    return {name: max(values) for name, values in slow.items() if values}


def _rates(ways: Mapping[str, Mapping[str, Row]]) -> dict[str, float]:
    """By discipline the goodput of both directions together."""
    return {name: sum(row["goodput_bps"] or 0.0 for row in rows.values()) for name, rows in ways.items()}


def _delay(ways: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Who keeps the slowest twentieth of round trips shortest, and what that takes of the goodput."""
    timed = _slowest(ways)
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
    rates = _rates(ways)
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
