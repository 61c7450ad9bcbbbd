"""The table of a comparison, for a console of 80 columns: every quantity in each world, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.view import Heading, Styled, View, heading

if TYPE_CHECKING:
    from lopsided.studies.compare import Comparison, Row

_QUIET_PACKETS = 0.5
"""A direction at which on average fewer wait, and none is dropped, is left out."""


def table(found: Comparison) -> View:
    """One row for each quantity; the spread of the paired errors where there is more than one pair."""
    reference, others = found.reference, found.worlds[:-1]
    repeated = any(len(values) > 1 for row in found.rows for values in row.values.values())
    quiet = _quiet(found)
    rows: list[list[str]] = []
    before = None
    for row in found.rows:
        if row.what in quiet:
            continue
        column = row.column
        cells: list[str] = [column.text(row.median(world)) for world in found.worlds]
        for world in others:
            style = "red" if row.exceeds(world, reference) else ""
            cells.append(Styled(_percent(row.error(world, reference)), style))
        if repeated:
            spreads = [row.spread(world, reference) for world in others]
            cells.append(", ".join(f"{_percent(least)} to {_percent(most)}" for least, most in spreads))
        rows.append(["" if row.what == before else row.what, heading(column).text, *cells])
        before = row.what
    names = _short(found.worlds)
    off = ["off by"] if len(others) == 1 else [f"{name} off by" for name in names[:-1]]
    numbers = map(Heading, (*names, *off, *(["spread"] if repeated else [])))
    left_out = f"{len(quiet)} more directions at which next to nothing waited" if quiet else ""
    return View([Heading("", numeric=False), Heading("quantity", numeric=False), *numbers], rows, 2, left_out)


def _quiet(found: Comparison) -> list[str]:
    """The link directions without drops, at which hardly a packet waits in any world."""
    by_place: dict[str, list[Row]] = {}
    for row in found.rows:
        by_place.setdefault(row.what, []).append(row)
    bounds = {"dropped_packets": 0.0, "mean_backlog_packets": _QUIET_PACKETS}
    return [
        place
        for place, rows in by_place.items()
        if all(row.median(world) <= bounds.get(row.quantity, -math.inf) for row in rows for world in found.worlds)
    ]


def _short(names: Sequence[str]) -> list[str]:
    """Of run folders their last names, where these differ."""
    last = [Path(name).name for name in names]
    return last if len(set(last)) == len(last) else list(names)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else units.change(share)
