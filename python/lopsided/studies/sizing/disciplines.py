"""Compares queue disciplines under the traffic of a household. Each discipline is configured for the line.

The settings follow the manual pages of the disciplines. CoDel's target is at least the transmission time of 1.5 full
packets, and its interval is at least the RTT. PIE's target is at least the transmission time of 2 full packets. CAKE
derives its settings from the rate of its shaper, which is the line's rate. Each discipline uses its default DSCP
priorities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided import metrics
from lopsided.data import units
from lopsided.data.study_tables import CANDIDATES
from lopsided.data.suggestions import choices
from lopsided.data.table import Table
from lopsided.data.units import QueueLimit
from lopsided.errors import UsageError
from lopsided.settings import setting_text
from lopsided.studies.aqm import Discipline, aqm

if TYPE_CHECKING:
    from lopsided.scenario import Scenario
    from lopsided.studies.jobs import Progress

UNMANAGED_PACKETS = 1000
"""Limit of an unmanaged queue in packets. Linux's FIFO has the same default limit."""
KEPT_GOODPUT = 0.8
"""A candidate is acceptable if its utilisation is at least this fraction of the best candidate's utilisation."""

_FRAME_BYTES = 1514
_LONGEST_FRAME_MS = 10_000.0
"""If sending a full packet takes at least this number of ms, no discipline can be configured, because a scenario limits
times to one minute."""
_SETTLED = ("codel", "fq_codel", "pie", "fq_pie", "cake")
"""Disciplines whose settings depend on the line."""


@dataclass(frozen=True)
class Advice:
    """The recommended discipline, the settings of each candidate, and the results of all candidates."""

    recommended: str
    settings: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
    """The queue settings of each candidate: for the downlink, and for the uplink."""
    candidates: Table
    digest: str


def check(names: Sequence[str], rates_bps: tuple[int, int], rtt_s: float) -> None:
    """Raises UsageError if a discipline is unknown, or if the line is too slow for a discipline. Call this function
    before the first run."""
    packet = QueueLimit(1, "packets")
    for name in names:
        _settings(name, rates_bps, rtt_s, (packet, packet))


def advise(
    scenario: Scenario,
    rates_bps: tuple[int, int],
    rtt_s: float,
    buffers: tuple[QueueLimit, QueueLimit],
    names: Sequence[str],
    *,
    repeat: int,
    seed: int,
    workers: int | None,
    progress: Progress | None,
) -> Advice:
    """Simulates all candidates under a household's traffic, and recommends one. `buffers` are the FIFO limits for
    downlink and uplink."""
    settings = {name: _settings(name, rates_bps, rtt_s, buffers) for name in dict.fromkeys(names)}
    arms = [Discipline(name, setting_text(down), setting_text(up)) for name, (down, up) in settings.items()]
    found = aqm(scenario, arms, workload="home", repeat=repeat, seed=seed, workers=workers, progress=progress)
    cells = {(row["queue"], row["direction"]): row for row in found.cells.rows()}
    users = {row["queue"]: row for row in found.users.rows()}
    rows: list[dict[str, Any]] = []
    for name in settings:
        down, up = cells[name, "down"], cells[name, "up"]
        rows.append(
            {
                "queue": name,
                "goodput_down_bps": down["goodput_bps"],
                "goodput_up_bps": up["goodput_bps"],
                "use": (down["goodput_bps"] / rates_bps[0] + up["goodput_bps"] / rates_bps[1]) / 2,
                "loaded_rtt_ms": users[name]["load_ms"],
                "rpm": users[name]["rpm"],
                "page_s": users[name]["page_p50_s"],
                "transfer_s": users[name]["transfer_p50_s"],
                "call_p95_ms": _worst(down["datagram_p95_ms"], up["datagram_p95_ms"]),
            }
        )
    return Advice(_best(rows), settings, Table.of(rows, CANDIDATES), found.digest)


def _worst(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _best(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the discipline with the shortest page load time among the disciplines with an acceptable utilisation."""
    most = max(row["use"] for row in rows)
    worth = [row for row in rows if row["use"] >= KEPT_GOODPUT * most]
    return min(worth, key=lambda row: row["page_s"] if row["page_s"] is not None else float("inf"))["queue"]


def _settings(
    name: str, rates_bps: tuple[int, int], rtt_s: float, buffers: tuple[QueueLimit, QueueLimit]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if name == "unmanaged":
        queue = {"kind": "fifo", "limit": f"{UNMANAGED_PACKETS} packets"}
        return queue, queue
    if name == "fifo":
        down, up = ({"kind": "fifo", "limit": str(limit)} for limit in buffers)
        return down, up
    if name not in _SETTLED:
        known = ("unmanaged", "fifo", *_SETTLED)
        raise UsageError(f"`size` has no settings for the queue {name!r}; {choices(name, known)}")
    down, up = (managed(name, rate, rtt_s) for rate in rates_bps)
    return down, up


def managed(name: str, rate_bps: int, rtt_s: float) -> Mapping[str, Any]:
    """Returns a discipline's settings for one direction. Raises UsageError if the line is too slow."""
    frame_ms = metrics.drain_time_s(1, rate_bps) * 1e3 * _FRAME_BYTES / metrics.FULL_PACKET_BYTES
    rtt_ms = max(100.0, rtt_s * 1e3)
    if frame_ms > _LONGEST_FRAME_MS:
        raise UsageError(
            f"{units.rate(rate_bps)}: a full packet takes {units.millis(frame_ms)}, and no queue discipline can be set "
            'for that; leave them out with --queues ""'
        )
    if name == "cake":
        return {"kind": name, "bandwidth": f"{rate_bps} bit/s", "rtt": _ms(rtt_ms)}
    if name in ("pie", "fq_pie"):
        return {"kind": name, "target": _ms(max(15.0, 2 * frame_ms))}
    target_ms = max(5.0, 1.5 * frame_ms)
    return {"kind": name, "target": _ms(target_ms), "interval": _ms(rtt_ms + target_ms - 5.0)}


def _ms(value: float) -> str:
    return f"{value:.4g} ms"
