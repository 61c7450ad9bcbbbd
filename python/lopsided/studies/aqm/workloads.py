"""Builds the traffic of a comparison: the scenario's own flows, or a standard workload.

A workload replaces the scenario's flows. To measure responsiveness, a probe also requests one byte on a new connection
every 0.5 s. The workloads `rpm`, `rpm_down` and `rpm_up` follow draft-ietf-ippm-responsiveness-08. They add a
connection every 5 s, up to 16 per direction. Their probes use 5 % of the slower direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.settings import Tables

if TYPE_CHECKING:
    from lopsided.studies.aqm.disciplines import Direction

PROBE = "responsiveness-probe"
"""The name of the probe flows."""

INTERVAL_S = 5
MOST_CONNECTIONS = 16
MOST_PROBES_PER_S = 100
PROBES_SHARE = 0.05
PAIR_BYTES = 6000
"""Parameters ID, MNP, MPS and PTC of draft-ietf-ippm-responsiveness, and the number of bytes that the draft assumes
for a pair of probes."""


@dataclass(frozen=True)
class Ends:
    """The server and the client of the workload. The direction `down` is from the server to the client."""

    server: str
    client: str
    duration_s: float
    """Duration of the scenario in seconds. No flow starts after this time."""

    def flow(self, name: str, direction: Direction, app: str | Tables = "bulk", dscp: int = 0) -> Tables:
        """Returns the table of a flow. The flow starts at a random time within 1 s, so that the seeds differ."""
        here, there = (self.server, self.client) if direction == "down" else (self.client, self.server)
        stack = {"cc": "cubic", "dscp": dscp}
        return {"name": name, "from": here, "to": there, "start_jitter": "1 s", "app": app, "stack": stack}


@dataclass(frozen=True)
class Workload:
    text: str
    flows: Callable[[Ends], list[Tables]]
    ramps: bool = False
    """True for draft-ietf-ippm-responsiveness, whose tests end when goodput and responsiveness are stable."""


_PING = {"kind": "udp", "rate": "8 kbit/s", "size": "100 B"}
_PAGES = {"kind": "http", "objects": 20, "object_size": "20 kB", "pages": "forever", "pause": "2 s"}
_SHORT = {"size": "100 kB", "repeat": "forever", "pause": "1 s"}
_CALL = {"kind": "udp", "rate": "80 kbit/s", "size": "200 B"}

# Flent's RRUL has one flow per direction in each of four classes: best effort, background, video and voice.
_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}


def _rrul(ends: Ends, classes: Mapping[str, int]) -> list[Tables]:
    ways: tuple[Direction, ...] = ("down", "up")
    bulk = [ends.flow(f"tcp-{way}-{name}", way, dscp=dscp) for way in ways for name, dscp in classes.items()]
    return bulk + [ends.flow(f"ping-{way}", way, _PING) for way in ways]


def _home(ends: Ends) -> list[Tables]:
    return [
        ends.flow("download", "down"),
        ends.flow("upload", "up"),
        ends.flow("pages", "down", _PAGES),
        ends.flow("short", "down", _SHORT),
        ends.flow("call-down", "down", _CALL),
        ends.flow("call-up", "up", _CALL),
    ]


def _rpm(ends: Ends, *ways: Direction) -> list[Tables]:
    """Returns the load-generating connections of draft-ietf-ippm-responsiveness."""
    return [
        {**ends.flow(f"load-{way}-{number + 1}", way), "start": f"{INTERVAL_S * number} s", "start_jitter": "100 ms"}
        for way in ways
        for number in range(min(MOST_CONNECTIONS, math.ceil(ends.duration_s / INTERVAL_S)))
    ]


WORKLOADS: Mapping[str, Workload] = {
    "rrul": Workload(
        "Flent's realtime response under load: four downloads and four uploads, one of each in the classes BE, BK, "
        "CS5 and EF, and datagrams in both directions",
        lambda ends: _rrul(ends, _CLASSES),
    ),
    "rrul_be": Workload(
        "like rrul, but all flows are best effort", lambda ends: _rrul(ends, dict.fromkeys(("1", "2", "3", "4"), 0))
    ),
    "home": Workload("a download, an upload, web pages, transfers of 100 kB, and a call", _home),
    "rpm": Workload(
        "the load of the responsiveness draft, both ways: one more connection every 5 s, up to 16, until goodput and "
        "responsiveness are stable",
        lambda ends: _rpm(ends, "down", "up"),
        ramps=True,
    ),
    "rpm_down": Workload("as rpm, downloads only", lambda ends: _rpm(ends, "down"), ramps=True),
    "rpm_up": Workload("as rpm, uploads only", lambda ends: _rpm(ends, "up"), ramps=True),
}


def with_workload(scenario: Scenario, workload: str | None, ends: Ends, *, probe: bool) -> Scenario:
    """Returns the scenario with the workload's flows instead of its own, and with a probe if `probe` is true.

    If `workload` is `None`, the scenario's own flows stay.

    Raises UsageError if the workload is unknown.
    """
    if workload is not None and workload not in WORKLOADS:
        raise UsageError(f"no workload is called {workload!r}: there are {', '.join(WORKLOADS)}")
    tables = scenario.to_tables()
    if workload is not None:
        tables["flow"] = WORKLOADS[workload].flows(ends)
    if probe:
        ramps = workload is not None and WORKLOADS[workload].ramps
        tables["flow"].append(_probes(ends, scenario if ramps else None))
    controllers = {name: make for name, make in scenario.controllers.items() if make}
    return Scenario.build(tables, scenario.name, controllers=controllers or None)


def _probes(ends: Ends, ramping: Scenario | None) -> Tables:
    """Returns the probes: one every 0.5 s, or for the workloads of draft-ietf-ippm-responsiveness, at most 5 % of the
    slowest line's rate."""
    count, pause_s = 1, 0.5
    if ramping is not None:
        known = [link[way]["rate_bps"] for link in ramping.resolved["links"] for way in ("down", "up")]
        rates = [float(rate) for rate in known if rate]
        per_s = min([MOST_PROBES_PER_S, *(PROBES_SHARE * rate / 8 / PAIR_BYTES for rate in rates)])
        count, pause_s = max(1, int(per_s / 2)), max(0.5, 1 / per_s)
    page = {"objects": 0, "index_size": "1 B", "request_size": "100 B", "pages": "forever", "pause": f"{pause_s:.3f} s"}
    return {
        "name": PROBE,
        "from": ends.server,
        "to": ends.client,
        "start_jitter": "500 ms",
        "count": count,
        "app": {"kind": "http", **page},
    }
