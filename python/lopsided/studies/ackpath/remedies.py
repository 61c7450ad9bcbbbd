"""Defines the remedies for a slow ACK path: each remedy sets some keys of the scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.settings import dotted_key

Settings = dict[str, Any]
Change = Callable[["Place"], Settings]

_ENDS = ("sender_stack", "receiver_stack")
"""Keys of a flow that contain the TCP settings of its sender and of its receiver."""
_ALSO_OF_ACKS = ("max_ack_delay", "reordering_threshold")
"""QUIC keys of an `acks` preset that do not begin with `ack_`."""


@dataclass
class Place:
    """Settings of a link's uplink direction. Each remedy that is applied changes these settings."""

    link: str
    queue: Mapping[str, Any]
    stages: list[Mapping[str, Any]]
    down_rate: str | None
    """Rate of the opposite direction; `None` if that direction has no rate."""

    @property
    def key(self) -> str:
        """The prefix of the scenario keys of this direction."""
        return dotted_key("topology", "link", self.link, "up")


def _filter(rule: str) -> Change:
    def change(place: Place) -> Settings:
        place.queue = {"kind": "ack_filter", "rule": rule, "queue": place.queue}
        return {f"{place.key}.queue": place.queue}

    return change


def _acks_first(place: Place) -> Settings:
    acks = {"class": 0, "packet": "ack"}
    place.queue = {"kind": "prio", "bands": [place.queue, place.queue], "classify": [acks]}
    return {f"{place.key}.queue": place.queue}


def _acc(place: Place) -> Settings:
    # These thresholds come from the scripts of the ACC authors, and count packets of any size.
    red = {"kind": "red", "limit": place.queue.get("limit", "100 packets"), "min": "3 packets", "max": "12 packets"}
    place.queue = {**red, "weight": 0.01, "probability": 0.1, "ecn": True, "marks": "all", "victim": "random"}
    return {
        f"{place.key}.queue": place.queue,
        **{"stack.ack_policy": "acc", "stack.max_delack": 25, "stack.min_acks_per_window": 2},
    }


def _afvq(place: Place) -> Settings:
    place.queue = {"kind": "afvq", "queue": place.queue}
    return {f"{place.key}.queue": place.queue}


def _pace(place: Place) -> Settings:
    if place.down_rate is None:
        raise UsageError(f"`ack_pacing` paces ACKs by the downlink's rate, but link {place.link!r} has none")
    place.stages = [*place.stages, {"kind": "ack_pacing", "rate": place.down_rate}]
    return {f"{place.key}.stages": place.stages}


def _policy(name: str, **settings: int) -> Change:
    values = {f"stack.{key}": value for key, value in settings.items()}
    return lambda _: {"stack.ack_policy": name, **values}


def _compress(place: Place) -> Settings:
    # RFC 1144 cannot compress headers with timestamps, because timestamps change in nearly every packet.
    return {f"{place.key}.header_compression": "cslip", "stack.timestamps": False}


def _compress_by(scheme: str) -> Change:
    return lambda place: {f"{place.key}.header_compression": scheme}


def _reconstruct(place: Place) -> Settings:
    place.stages = [*place.stages, {"kind": "ack_reconstruct"}]
    return {f"{place.key}.stages": place.stages}


def _quic(**settings: Any) -> Change:
    return lambda _: {f"transport.{key}": value for key, value in settings.items()}


REMEDIES: Mapping[str, tuple[str, Change]] = {
    "filter": ("remove earlier ACKs from the queue, by ACK number only (balakrishnan1999)", _filter("cumulative")),
    "cake_filter": ("as CAKE's ack-filter: remove only ACKs that a later ACK covers fully", _filter("conservative")),
    "acks_first": ("ACKs before data, by strict priority", _acks_first),
    "acc": ("RED marks ACKs, and receivers send fewer ACKs in response (balakrishnan1999)", _acc),
    "afvq": ("ACKs before data, with a short ACK queue and at most 50 % of the line (AFVQ, RFC 3449 5.4.1)", _afvq),
    "few_acks": ("receivers send four ACKs per round trip (after TACK)", _policy("tack", acks_per_rtt=4)),
    "rfc5690": (
        "senders request fewer ACKs if ACKs are lost (RFC 5690)",
        _policy("rfc5690", max_delack=25),
    ),
    "tarr": (
        "senders request four ACKs per window (the TARR option)",
        _policy("tarr", acks_per_rtt=4, max_delack=25),
    ),
    "ace": (
        "receivers estimate the window and send four ACKs per window (RFC 3449 4.5)",
        _policy("ace", min_acks_per_window=4, max_delack=25),
    ),
    "growing": ("an ACK for one segment, then two, up to eight (delayed ACK 1 to N)", _policy("growing", max_delack=8)),
    "bursts": ("senders send at most four segments back to back", lambda _: {"stack.max_burst": 4}),
    "cslip": ("header compression on the line (RFC 1144), without timestamps", _compress),
    "iphc": ("header compression on the line (RFC 2507), including timestamps", _compress_by("iphc")),
    "rohc": ("header compression on the line (RFC 6846), robust against loss", _compress_by("rohc")),
    "reconstruct": ("removed ACKs are generated again and spaced after the line", _reconstruct),
    "ack_pacing": ("ACKs are paced after the line, at the rate of the data they release (RFC 2760 3.3.3)", _pace),
    "quic_10": ("QUIC receivers acknowledge every tenth packet", _quic(ack_packets=10)),
    "quic_ask_10": (
        "QUIC senders request one ACK for ten packets, even if reordered (ACK_FREQUENCY)",
        _quic(ack_packets=10, ack_frequency=True, reordering_threshold=0),
    ),
    "quic_chrome": (
        "QUIC receivers acknowledge as in Chrome: every tenth packet after the first 100",
        _quic(acks="chrome"),
    ),
    "quic_picoquic": ("QUIC receivers send four ACKs per round trip, as in picoquic", _quic(acks="picoquic")),
}
"""Description and scenario keys of each remedy."""

QUIC_REMEDIES = "none,filter,cake_filter,acks_first,afvq,reconstruct,quic_10,quic_ask_10,quic_chrome,quic_picoquic"
"""Default remedies for scenarios without TCP flows. Remedies in the network come first, although they cannot read
QUIC's ACKs; remedies at the endpoints follow.
"""


def link_of(scenario: Scenario, name: str) -> dict[str, Any]:
    """Returns the scenario's table of the named link. Raises UsageError if there is no such link."""
    links = scenario.to_tables()["topology"]["link"]
    found: dict[str, Any] | None = next((each for each in links if each["name"] == name), None)
    if found is None:
        raise UsageError(f"no link is called {name!r}: there are {', '.join(each['name'] for each in links)}")
    return found


def remedied(scenario: Scenario, link: str, arm: str) -> Scenario:
    """Returns the scenario with a combination of remedies, such as `filter+acks_first`, at a link's uplink.

    Raises UsageError if a remedy is unknown.
    """
    if arm == "none":
        return scenario
    ways = link_of(scenario, link)
    up = ways["up"]
    place = Place(link, up["queue"], list(up.get("stages", [])), ways["down"].get("rate"))
    settings: Settings = {}
    for name in arm.split("+"):
        if name not in REMEDIES:
            raise UsageError(f"no remedy is called {name!r}; {choices(name, REMEDIES, ', and `none`')}")
        settings |= REMEDIES[name][1](place)
    # In resolved tables, every link and every flow has a name.
    tables = scenario.to_tables()
    settings = _at_every_flow(settings, tables["flow"])
    return Scenario.build(tables, scenario.name, controllers=scenario.controllers).with_(**settings)


def _at_every_flow(settings: Settings, flows: Sequence[dict[str, Any]]) -> Settings:
    """Expands settings of `stack` to both ends of every TCP flow, and of `transport` to every QUIC flow.

    These settings override the scenario's own. Resolved tables contain every key of an `acks` preset. The function
    removes these keys, because they would override a new preset.
    """
    found: Settings = {}
    for key, value in settings.items():
        root, _, rest = key.partition(".")
        if root == "stack":
            for flow in (each for each in flows if each["transport"]["kind"] == "tcp"):
                found |= {dotted_key("flow", flow["name"], end, rest): value for end in _ENDS if end in flow}
        elif root == "transport":
            quic = {each["name"]: each["transport"] for each in flows if each["transport"]["kind"] == "quic"}
            if not quic:
                raise UsageError('this remedy is for QUIC, but no flow has transport = "quic"')
            found |= {dotted_key("flow", name, "transport", rest): value for name in quic}
            if rest == "acks":
                for transport in quic.values():
                    for key in [key for key in transport if key.startswith("ack_") or key in _ALSO_OF_ACKS]:
                        del transport[key]
        else:
            found[key] = value
    return found
