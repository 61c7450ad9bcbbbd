"""A comparison of remedies for the way of the ACKs, as people see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.view import View, view
from lopsided.studies.ackpath import REMEDIES

if TYPE_CHECKING:
    from lopsided.studies.ackpath import AckPath

_GOODPUT = ("rank_score", "down_goodput_bps", "up_goodput_bps", "down_rtt_p50_ms", "up_wait_p95_ms")
_ACKS = ("ack_ratio", "stretch_p50_bytes", "stretch_p95_bytes", "ack_compression", "ack_share")
_SENDERS = ("burst_p95", "burst_max", "reductions", "down_utilisation", "jain")

CAPTION = (
    "of best: the sum of both directions' goodput over their rates; up wait: in the uplink's queue, 95th percentile; "
    "ACK ratio: ACKs that arrive over segments sent; stretch: octets that one newly acknowledges; compressed: those "
    "that come less than half as far apart as they were sent; burst: segments sent at one instant, 95th percentile and "
    "most; Jain: of the directions' shares of their rates"
)


def goodput(found: AckPath) -> View:
    """What each remedy does to goodput and delay, the best first."""
    return view(found.cells, ("remedies", *_measured(found, _GOODPUT)), keys=1)


def acks(found: AckPath) -> View:
    """What each does to the ACKs."""
    return view(found.cells, ("remedies", *_measured(found, _ACKS)), keys=1)


def senders(found: AckPath) -> View:
    """What each does to the downloads' senders: bursts, losses, the use of the line."""
    return view(found.cells, ("remedies", *_measured(found, _SENDERS)), keys=1)


def limits(found: AckPath) -> list[tuple[str, str]]:
    """For each arm, in the order of the table, what limits the downloads."""
    return [(row["remedies"], found.limits[row["remedies"]]) for row in found.cells.rows()]


def meanings(found: AckPath) -> list[tuple[str, str]]:
    """The remedies that occur, and what each does."""
    used = {name for arm in found.arms for name in arm.split("+")}
    return [(name, text) for name, (text, _) in REMEDIES.items() if name in used]


def title(found: AckPath) -> str:
    """What was compared, in a line."""
    return f"The way of the ACKs: {found.scenario.title or found.scenario.name}"


def details(found: AckPath) -> str:
    """How it came about."""
    seeds = f"{units.count(found.repeat)} seed{'s' if found.repeat > 1 else ''}"
    return f"uplink of {found.link} \u00b7 {seeds} \u00b7 digest of all {found.digest}"


def _measured(found: AckPath, columns: tuple[str, ...]) -> list[str]:
    return [name for name in columns if found.cells[name].null_count() < len(found.cells)]
