"""Defines the experiments of figures 3, 5 and 6, the experiments of the authors' data set, and an experiment on
overhead compensation.

Flows, DSCP marks and rates are from a replication (see `__init__`) and from the authors' data set. Comments in the
scenario files mark assumed settings.
"""

from __future__ import annotations

from lopsided.papers.cake2018.measure import filtered, overhead, real_time, shares, tins
from lopsided.papers.framework.model import Case, Experiment

ISOLATIONS = ("flows", "dual-srchost", "dual-dsthost", "triple-isolate")
"""CAKE's host isolation modes in figure 3."""

QUEUES = ("fq_codel", "cake", "cake_diff3", "cake_diff4")
"""Queues, named as in the authors' data; `cake` is CAKE with `besteffort`."""

TINS = {"cake": "besteffort", "cake_diff3": "diffserv3", "cake_diff4": "diffserv4"}

FILTERS = ("none", "conservative", "aggressive")
UPLINKS = (0.3, 0.5, 1.0, 2.0, 3.0)
"""Uplink rates to simulate, in Mbit/s. The downlink's rate is 30 Mbit/s."""


def _both(name: str) -> dict[str, str]:
    """Returns scenario keys for the queue discipline `name` in both directions. CAKE shapes each direction to 10
    Mbit/s."""
    if name == "fq_codel":
        return {}
    queue = f'{{ kind = "cake", bandwidth = "10 Mbit/s", tins = "{TINS[name]}", framing = "ethernet" }}'
    return {"link.queue": queue, "link.rate": "1 Gbit/s"}


def _filter(rule: str, uplink: float) -> dict[str, str]:
    cake = f'{{ kind = "cake", bandwidth = "{uplink:g} Mbit/s", framing = "ethernet" }}'
    queue = cake if rule == "none" else f'{{ kind = "ack_filter", rule = "{rule}", queue = {cake} }}'
    return {"link.up.queue": queue}


HOSTS = Experiment(
    key="hosts",
    summary="six flows of two hosts to four hosts, under four isolations",
    cases=tuple(
        Case("hosts.toml", {"topology.link.line.down.queue.isolation": mode}, {"mode": mode}) for mode in ISOLATIONS
    ),
    measure=shares,
    usual=1,
    full_repetitions=3,
)

MARKED = Experiment(
    key="tins",
    summary="four flows each way with four code points on 10/10 Mbit/s, under four queues",
    cases=tuple(Case("tins.toml", _both(name), {"queue": name}) for name in QUEUES),
    measure=tins,
    usual=1,
    full_repetitions=3,
)

REAL_TIME = Experiment(
    key="real-time",
    summary="2 Mbit/s marked EF next to 32 bulk flows on 10 Mbit/s, under three queues",
    cases=tuple(Case("real-time.toml", _both(name), {"queue": name}) for name in ("fq_codel", "cake", "cake_diff4")),
    measure=real_time,
    keep=True,
    usual=1,
    full_repetitions=3,
)

FILTERED = Experiment(
    key="filters",
    summary="four downloads and four uploads on 30/1 Mbit/s, with and without an ACK filter",
    cases=tuple(Case("ack-filter.toml", _filter(rule, 1.0), {"filter": rule}) for rule in FILTERS),
    measure=filtered,
    usual=1,
    full_repetitions=3,
)

UPLINK = Experiment(
    key="uplinks",
    summary="the same with five uplink rates",
    cases=tuple(
        Case("ack-filter.toml", _filter(rule, rate), {"filter": rule, "uplink_mbps": rate})
        for rule in FILTERS
        for rate in UPLINKS
    ),
    measure=filtered,
    usual=1,
)

OVERHEAD = Experiment(
    key="overhead",
    summary="CAKE at 950 kbit/s before a modem of 1 Mbit/s that sends cells, with and without the cells counted",
    cases=tuple(
        Case("overhead.toml", {"topology.link.shaped.down.queue.framing": framing}, {"framing": framing})
        for framing in ("none", "pppoe-llcsnap")
    ),
    measure=overhead,
)
