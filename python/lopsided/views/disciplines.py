"""The tables of a comparison of queue disciplines, as people see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.view import View, view

if TYPE_CHECKING:
    from lopsided.data.table import Table
    from lopsided.studies.aqm import Aqm

_CELLS = (
    *("goodput_bps", "jain", "rtt_p50_ms", "rtt_p95_ms", "sojourn_p50_ms", "sojourn_p95_ms"),
    *("dropped_packets", "drop_ratio", "marked_packets", "datagram_p95_ms", "datagram_loss"),
)
_USERS = (
    "page_p50_s",
    "page_p95_s",
    "transfer_p50_s",
    "transfer_p95_s",
    "probe_ms",
    "load_ms",
    "rpm",
    "rpm_confidence",
)


def cells(found: Aqm, direction: str) -> View:
    """One direction: a row for each discipline."""
    rows = [row for row in found.cells.rows() if row["direction"] == direction]
    columns = [name for name in _CELLS if any(row[name] for row in rows)]
    return view(found.cells, (*_keys(found), *columns), rows=rows, keys=len(_keys(found)))


def users(found: Aqm) -> View:
    """What users feel: a row for each discipline."""
    return view(found.users, (*_keys(found), *_measured(found.users)), keys=len(_keys(found)))


def feels_anything(found: Aqm) -> bool:
    """Whether anything was measured of what users feel."""
    return bool(_measured(found.users))


def title(found: Aqm) -> str:
    """What was compared, in a line."""
    return f"{len(found.disciplines)} queue disciplines: {found.scenario.title or found.scenario.name}"


def details(found: Aqm) -> str:
    """How it came about."""
    seeds = f"{units.count(found.repeat)} seed{'s' if found.repeat > 1 else ''}"
    load = f" · workload {found.workload}" if found.workload else ""
    marks = " · ECN" if found.ecn else ""
    return f"{', '.join(found.worlds)} · {seeds}{load}{marks} · digest of all {found.digest}"


CAPTION = (
    "medians over the seeds; sojourn: in the queue; RTT: of packets, each at the mean of its interval; RPM: round "
    "trips per minute under load; probe: a request on a connection of its own, per round trip"
)


def _keys(found: Aqm) -> tuple[str, ...]:
    return ("queue", "world") if len(found.worlds) > 1 else ("queue",)


def _measured(table: Table) -> list[str]:
    return [name for name in _USERS if table[name].null_count() < len(table)]
