"""Selects the notable links of a run.

A link is notable if the 95th percentile of its waiting times is at least 1 ms, if packets were dropped, marked or lost,
or if its utilisation is at least 10 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopsided.scenario import Run

_WAIT_MS = 1.0
_USED = 0.1


def links(run: Run) -> list[dict[str, Any]]:
    """Returns the rows of notable links, or all rows if no link is notable."""
    rows = list(run.links.rows())
    return [row for row in rows if _is_notable(row)] or rows


def _is_notable(row: dict[str, Any]) -> bool:
    waited = (row["sojourn_p95_ms"] or 0) >= _WAIT_MS
    lost = row["dropped_packets"] or row["marked_packets"] or row["lost_packets"]
    return bool(waited or lost or (row["utilisation"] or 0) >= _USED)
