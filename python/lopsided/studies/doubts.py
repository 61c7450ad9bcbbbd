"""Finds valid settings that are probably mistakes, such as a rate of 196 bit/s.

The functions return one sentence to print for each such setting. No setting is rejected.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from lopsided.data import units
from lopsided.errors import ScenarioError

if TYPE_CHECKING:
    from lopsided.data.scenario_types import Direction, Flow
    from lopsided.scenario import Scenario

_SLOWEST_BPS = 1000
_MOST_LOSS = 0.2
_LONGEST_RTT_S = 5.0
_LONGEST_QUEUE_S = 60.0
_PACKET_BYTES = 1500


def doubts(scenario: Scenario) -> list[str]:
    """Returns sentences about the scenario's unusual settings."""
    resolved = scenario.resolved
    found: list[str] = []
    for link in resolved["links"]:
        for name in ("down", "up"):
            found += _of_direction(f"{link['name']} {name}", link[name])
        found += rtt_doubt(link["name"], link["down"]["delay_s"] + link["up"]["delay_s"])
    return (
        found
        + _blind_parts(scenario)
        + _half_compaction(scenario)
        + _idle_part_settings(scenario)
        + _idle_rates(scenario)
        + _idle_stack_settings(scenario)
        + _idle_receiver_controls(scenario)
    )


class _Condition(NamedTuple):
    """A setting of a queue, stage, line or transport that has no effect under certain values of another setting."""

    part: str
    setting: str
    default: object
    """Value of the setting if the scenario does not set it."""
    other: str
    disabled_at: tuple[object, ...]
    remedy: str
    unless: str = ""
    """Name of a third setting. `setting` always has an effect if the value of this third setting is not in `_OFF`."""


def _key(setting: str) -> str:
    """Returns the scenario key of a resolved setting, which is the setting's name without its unit."""
    return setting.removesuffix("_bytes").removesuffix("_bps").removesuffix("_s")


_OFF = (False, None, 0)
_CONDITIONS = (
    _Condition("ack_filter", "pick", "even", "share", (1,), "set share below 1"),
    _Condition(
        "ack_filter",
        "segment_bytes",
        1448,
        "rule",
        ("cumulative", "window", "conservative", "aggressive"),
        "set rule to accurate_ecn",
    ),
    _Condition("ack_filter", "prefix_most", 1, "prefix", ("none",), "set a prefix"),
    _Condition("red", "marks", "capable", "ecn", _OFF, "set ecn"),
    _Condition("pie", "mark_threshold", 0.1, "ecn", _OFF, "set ecn"),
    _Condition("fq_pie", "mark_threshold", 0.1, "ecn", _OFF, "set ecn"),
    _Condition("tbf", "mtu_bytes", 1514, "peakrate_bps", _OFF, "set a peakrate"),
    _Condition("docsis-pie", "burst_bytes", 3044, "peak_rate_bps", _OFF, "set a peak_rate"),
    _Condition("fq", "low_rate_threshold_bps", 550_000, "maxrate_bps", _OFF, "set a maxrate"),
    _Condition("polled", "retries", 7, "loss", _OFF, "set a loss"),
    _Condition("grants", "request_interval_s", 0.002, "proactive", (True,), "set proactive = false"),
    _Condition("grants", "grant_delay_s", 0.004, "proactive", (True,), "set proactive = false"),
    _Condition("grants", "retransmit_delay_s", 0.008, "error", _OFF, "set an error"),
    _Condition("grants", "retransmissions", 3, "error", _OFF, "set an error"),
    _Condition("jitter", "reorder", False, "spread_s", _OFF, "set a spread"),
    _Condition("header_compression", "slots", 16, "scheme", ("none", "fixed"), "choose a scheme with slots"),
    _Condition("header_compression", "compress_slot", True, "scheme", ("none", "fixed"), "set scheme to cslip"),
    _Condition("header_compression", "twice", True, "scheme", ("none", "fixed"), "set scheme to iphc"),
    _Condition("header_compression", "feedback", True, "scheme", ("none", "fixed"), "set scheme to iphc or rohc"),
    _Condition("header_compression", "octets", 6, "scheme", ("none", "cslip", "iphc", "rohc"), "set scheme to fixed"),
    _Condition("quic", "ack_packets_most", 32, "ack_window_share", _OFF, "set ack_window_share"),
    _Condition("quic", "ack_start", 0, "ack_packets", (2,), "set ack_packets", unless="ack_window_share"),
    _Condition("quic", "max_datagram_bytes", 1452, "mtu_discovery", _OFF, "leave mtu_discovery on"),
)


def _idle_part_settings(scenario: Scenario) -> list[str]:
    """Returns warnings about settings of a queue, stage, line or transport that have no effect."""
    resolved = scenario.resolved
    transports = [{"quic": flow["transport"]} for flow in resolved["flows"] if flow["transport"]["kind"] == "quic"]
    found = [
        f"`{_key(condition.setting)}` has no effect in this `{name}`: {condition.remedy}"
        for name, part in _named_tables([resolved["links"], resolved["media"], transports])
        for condition in _CONDITIONS
        if condition.part == name
        and part[condition.setting] != condition.default
        and part[condition.other] in condition.disabled_at
        and part.get(condition.unless) in _OFF
    ]
    return list(dict.fromkeys(found))


_OWN_RATES = {"trace", "rates", "reallocation"}
"""Kinds of access that determine the line's rate themselves."""


def _idle_rates(scenario: Scenario) -> list[str]:
    """Returns a warning for each stated `rate` of a line whose access has rates of its own."""
    found: list[str] = []
    for link in scenario.resolved["links"]:
        for name in ("down", "up"):
            direction = cast("Mapping[str, Any]", link[name])
            kind = direction["access"] and direction["access"]["kind"]
            if kind not in _OWN_RATES or direction["rate_bps"] is None:
                continue
            # Only `[link]` can have a preset, so the rate of any other link was stated.
            key = _stated_rate(scenario, name) if link["name"] == "link" else "rate"
            if key:
                found.append(
                    f"`{key}` does not limit {link['name']} {name}: its access `{kind}` determines when packets leave"
                )
    return found


def _stated_rate(scenario: Scenario, direction: str) -> str:
    """Returns the key with which the file or a setting, not a preset, sets the rate of `[link]`; empty if none does."""
    tables, changes = _stated(scenario)
    link: dict[str, Any] = tables.get("link", {})
    keys = {f"link.{key}" for key in link} | {f"link.{direction}.{key}" for key in link.get(direction, {})}
    for key, value in changes:
        keys.add(key)
        if value.startswith("{"):
            keys |= {f"{key}.{name}" for name in tomllib.loads(f"value = {value}")["value"]}
    return next((key for key in (f"link.{direction}.rate", "link.rate") if key in keys), "")


def _stated(scenario: Scenario) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Returns the tables of the scenario's file, and the settings that change them."""
    text, _, changes = scenario.source
    # A text with all defaults sets every key, so it does not show which keys the user set.
    return {} if text == scenario.to_toml() else tomllib.loads(text), changes


_READERS = {"ack_filter", "ack_thinning", "ack_reconstruct", "ack_expand", "ack_pacing", "afvq"}
"""Kinds of stages and queues that read TCP's ACKs."""


def _blind_parts(scenario: Scenario) -> list[str]:
    """Returns a warning for each queue, stage and header compression that reads TCP headers, if all connections use
    QUIC, whose ACKs are encrypted."""
    flows = [flow for flow in scenario.resolved["flows"] if flow["app"]["kind"] != "udp"]
    if not flows or any(flow["transport"]["kind"] == "tcp" for flow in flows):
        return []
    found: list[str] = []
    for link in scenario.resolved["links"]:
        for name in ("down", "up"):
            direction = cast("Mapping[str, Any]", link[name])
            parts = sorted({*_readers(direction["queue"]), *_readers(direction["stages"])})
            if direction["header_compression"]["scheme"] not in ("none", "fixed"):
                parts.append("header_compression")
            found += [
                f"{link['name']} {name}: `{part}` reads TCP headers and has no effect here: every flow is QUIC, whose "
                "ACKs are encrypted; set ack_packets or ack_frequency of the flows' transport instead"
                for part in parts
            ]
    return found


def _half_compaction(scenario: Scenario) -> list[str]:
    """Returns a warning if ACK compaction lacks its filter or its expander (RFC 3449, section 5.3.2)."""
    parts = list(_tables(scenario.resolved["links"]))
    filters = [part for part in parts if part.get("kind") == "ack_filter"]
    describes = any(part["prefix"] != "none" for part in filters)
    expands = any(part.get("kind") == "ack_expand" for part in parts)
    if describes and not expands:
        return ["`prefix` only lengthens ACKs: no stage `ack_expand` restores the removed ACKs"]
    if expands and not describes:
        return ["`ack_expand` has no effect here: no `ack_filter` has a `prefix` that describes the removed ACKs"]
    return []


_ACK_POLICIES = {
    "max_delack": ("acc", "acc_peerwin", "ace", "growing", "rfc5690", "tarr"),
    "min_acks_per_window": ("acc", "acc_peerwin", "ace"),
    "mark_duplicates": ("acc", "acc_peerwin"),
    "acks_per_rtt": ("tack", "tarr"),
}
"""For each of these stack settings, the ACK policies that use it. Other policies ignore the setting."""


def _idle_stack_settings(scenario: Scenario) -> list[str]:
    """Returns warnings about stack settings that have no effect."""
    stacks = [stack for flow in scenario.resolved["flows"] for stack in _ends(flow)]
    found = [
        f"`{setting}` has no effect here: set ack_policy to {' or '.join(policies)}"
        for stack in stacks
        for setting, policies in _ACK_POLICIES.items()
        if stack[setting] is not None and stack["ack_policy"] not in policies
    ]
    accurate = ("accurate", "accept_accurate")
    found += [
        f"`{_key(setting)}` has no effect here: {remedy}"
        for stack in stacks
        for setting, applies, remedy in (
            ("ecn_option", stack["ecn"] in accurate or stack["cc"] == "prague", "set ecn to accurate"),
            ("ecn_expects_thinning", stack["ecn"] in accurate or stack["cc"] == "prague", "set ecn to accurate"),
            ("placeholder_margin", stack["placeholders"], "set placeholders"),
            ("burst_tick_s", stack["max_burst"], "set max_burst"),
        )
        if stack[setting] is not None and not applies
    ]
    found += [
        "`fast_recovery` has no effect here: set sack = false"
        for flow in scenario.resolved["flows"]
        for end in ("sender_stack", "receiver_stack")
        if flow[end]["fast_recovery"] is not None
        and all(
            stack["sack"] or (stack["sack"] is None and stack["profile"] not in _WITHOUT_SACK) for stack in _ends(flow)
        )
    ]
    found += [
        f"`range_connections` has no effect in {flow['name']}: set placeholders"
        for flow in scenario.resolved["flows"]
        if flow["app"]["kind"] == "repair"
        and cast("Mapping[str, Any]", flow["app"])["range_connections"] is not None
        and not flow["receiver_stack"]["placeholders"]
    ]
    # Marks on duplicate ACKs need a receiver or ACK filter that sets the mark, and a sender that reads the mark.
    filters = [part for part in _tables(scenario.resolved["links"]) if part.get("kind") == "ack_filter"]
    setters = {
        "mark_duplicates": any(stack["mark_duplicates"] for stack in stacks),
        "fast_retransmit": any(part["fast_retransmit"] for part in filters),
    }
    if not any(stack["marked_retransmit"] for stack in stacks):
        useless = "marks ACKs without effect: no sender has marked_retransmit"
        found += [f"`{name}` {useless}" for name in setters if setters[name]]
    elif not any(setters.values()):
        found.append("`marked_retransmit` has no effect: nothing marks ACKs (mark_duplicates, fast_retransmit)")
    # Many stacks have the same settings, so each sentence is reported once.
    return list(dict.fromkeys(found))


_WITHOUT_SACK = ("bsdi-3", "ns2-reno")
"""Profiles that do not use SACK."""


def _ends(flow: Flow) -> list[Mapping[str, Any]]:
    """Returns the stack settings of both ends of the flow."""
    return [cast("Mapping[str, Any]", flow["sender_stack"]), cast("Mapping[str, Any]", flow["receiver_stack"])]


_ONE_WAY = ("bulk", "transfer", "on_off")
"""Applications whose receiver sends no data."""
_CHANGE_ECN = {"dctcp", "prague"}
"""Congestion controls that use ECN differently from RFC 3168. They have an effect even at a receiver that sends no
data."""


def _idle_receiver_controls(scenario: Scenario) -> list[str]:
    """Returns a warning for each flow that sets `receiver_stack.cc` although its receiver sends no data."""
    named = _named_receiver_controls(scenario)
    return [
        f"`receiver_stack.cc` has no effect in {flow['name']}: its receiver sends no data; set cc of the flow or of "
        "its sender_stack"
        for flow in scenario.resolved["flows"]
        if (flow["name"] in named or flow["name"].removesuffix(".1") in named)
        and flow["transport"]["kind"] == "tcp"
        and flow["app"]["kind"] in _ONE_WAY
        and (controls := {flow[end]["cc"] for end in ("sender_stack", "receiver_stack")})
        and len(controls) > 1
        and not controls & {*_CHANGE_ECN, *scenario.controllers}
    ]


def _named_receiver_controls(scenario: Scenario) -> set[str]:
    """Returns the names of the flows whose table sets `receiver_stack.cc`."""
    file, changes = _stated(scenario)
    tables: list[dict[str, Any]] = file.get("flow", [])
    names: dict[int, str] = {number: flow.get("name", f"flow{number}") for number, flow in enumerate(tables, start=1)}
    found = {names[number] for number, flow in enumerate(tables, start=1) if "cc" in flow.get("receiver_stack", {})}
    for key, value in changes:
        flow, _, rest = key.removeprefix("flow.").partition(".receiver_stack")
        if key.startswith("flow.") and (rest == ".cc" or (not rest and "cc" in str(value))):
            found.add(names.get(int(flow), flow) if flow.isdecimal() else flow)
    return found


def _readers(part: Any) -> Iterator[str]:
    """Yields the kinds of all queues and stages inside `part` that act on TCP's ACKs."""
    for table in _tables(part):
        if table.get("kind") in _READERS:
            yield table["kind"]
        if table.get("packet") == "ack":
            yield 'packet = "ack"'


def _tables(part: Any) -> Iterator[dict[str, Any]]:
    """Yields the table and every inner table."""
    for _, table in _named_tables(part):
        yield table


def _named_tables(part: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the table and every inner table, each with its kind, or with its key if it has no kind."""
    if isinstance(part, dict):
        table = cast("dict[str, Any]", part)
        yield table.get("kind", key), table
        for name, value in table.items():
            yield from _named_tables(value, name)
    elif isinstance(part, list):
        for value in cast("list[Any]", part):
            yield from _named_tables(value, key)


def rate_doubt(what: str, rate_bps: float) -> list[str]:
    """Returns a question if the rate seems to lack its unit prefix, such as M."""
    if not 0 < rate_bps < _SLOWEST_BPS:
        return []
    unit = "Mbit/s" if rate_bps <= 100 else "kbit/s"
    return [f"{what}: {rate_bps:g} bit/s: did you mean {rate_bps:g} {unit}?"]


def rtt_doubt(what: str, rtt_s: float) -> list[str]:
    if rtt_s <= _LONGEST_RTT_S:
        return []
    return [f"{what}: a round trip of {units.seconds(rtt_s)} without queueing: is that intended?"]


def direction_doubt(down_bps: float, up_bps: float) -> list[str]:
    if down_bps >= up_bps:
        return []
    return [f"{units.rate(down_bps)} down is slower than {units.rate(up_bps)} up: did you swap them?"]


def loss_doubt(what: str, text: str) -> list[str]:
    """Returns a question if a loss rate without a unit was probably meant as a percentage."""
    try:
        share = float(text)
    except ValueError:
        return []
    return [_loss(what, share)] if _MOST_LOSS < share <= 1 else []


def _loss(what: str, share: float) -> str:
    return f"{what}: {units.percent(share)} of all packets are lost: did you mean {share:g} %?"


def _of_direction(name: str, direction: Direction) -> list[str]:
    rate = direction["rate_bps"]
    found = rate_doubt(name, rate) if rate else []
    lost = direction["loss"]["random"]
    if lost > _MOST_LOSS:
        found.append(_loss(name, lost))
    limit = cast("Mapping[str, Any]", direction["queue"]).get("limit")
    packets = cast("Mapping[str, Any]", limit).get("packets") if isinstance(limit, dict) else None
    if rate and isinstance(packets, int) and (wait := packets * _PACKET_BYTES * 8 / rate) > _LONGEST_QUEUE_S:
        found.append(
            f"{name}: a full queue of {packets:,} packets waits {units.seconds(round(wait))}: is that intended?"
        )
    return found


def idle_settings(scenario: Scenario) -> list[str]:
    """Returns a note for each `--set` option that does not change the scenario."""
    text, name, changes = scenario.source
    whole = scenario.to_toml()
    found: list[str] = []
    for number, (key, value) in enumerate(changes):
        others = [*changes[:number], *changes[number + 1 :]]
        with contextlib.suppress(ScenarioError):
            if scenario.from_source((text, name, others), scenario.controllers).to_toml() == whole:
                found.append(f"--set {key}={value} changes nothing: the scenario is the same without it")
    return found


def unused_controllers(scenario: Scenario) -> list[str]:
    """Returns a note for each congestion control that no flow uses."""
    used = {
        stack["cc"] for flow in scenario.resolved["flows"] for stack in (flow["sender_stack"], flow["receiver_stack"])
    }
    return [
        f"no flow uses the congestion control {name}: name it with --set stack.cc={name}"
        for name in scenario.controllers
        if name not in used
    ]
