"""The lines that set an uplink buffer, or a queue discipline in both directions, on real equipment.

Rates are in bits per second, of Ethernet frames and below the line's: the shaper must be the bottleneck, or the buffer
that counts is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lopsided.errors import UsageError

_MTU_FRAME_BYTES = 1514


@dataclass(frozen=True)
class DeviceConfig:
    """Configuration for one kind of device."""

    device: str
    note: str
    lines: str


def configs(up_bps: int, packets: int) -> tuple[DeviceConfig, ...]:
    """How to set an uplink buffer of so many packets on Linux, Cisco IOS and OpenWrt."""
    return (_linux(up_bps, packets), _cisco(up_bps, packets), _openwrt(up_bps, packets))


def _linux(up_bps: int, packets: int) -> DeviceConfig:
    # A token bucket must hold what its rate sends between two timer ticks (HZ=250), and at least one frame.
    burst = max(1600, up_bps // 8 // 250)
    limit = packets * _MTU_FRAME_BYTES
    return DeviceConfig(
        "Linux, tc",
        "eth0 is the interface towards the line. "
        f"For a buffer counted in bytes: `bfifo limit {limit}` in place of `pfifo limit {packets}`.",
        f"tc qdisc replace dev eth0 root handle 1: tbf rate {up_bps}bit burst {burst} limit {limit}\n"
        f"tc qdisc replace dev eth0 parent 1:1 handle 10: pfifo limit {packets}",
    )


def _cisco(up_bps: int, packets: int) -> DeviceConfig:
    return DeviceConfig(
        "Cisco IOS",
        "Apply it outbound on the interface towards the line.",
        "policy-map UPLINK\n"
        " class class-default\n"
        f"  shape average {up_bps}\n"
        f"  queue-limit {packets}\n"
        "!\n"
        "interface FastEthernet0/0\n"
        " service-policy output UPLINK",
    )


def _openwrt(up_bps: int, packets: int) -> DeviceConfig:
    return DeviceConfig(
        "OpenWrt, sqm-scripts",
        "eth1 is the interface towards the line; a download of 0 leaves that direction alone.",
        "uci set sqm.uplink=queue\n"
        "uci set sqm.uplink.interface='eth1'\n"
        f"uci set sqm.uplink.upload='{max(1, up_bps // 1000)}'\n"
        "uci set sqm.uplink.download='0'\n"
        "uci set sqm.uplink.script='simplest_tbf.qos'\n"
        "uci set sqm.uplink.qdisc='pfifo'\n"
        "uci set sqm.uplink.qdisc_advanced='1'\n"
        f"uci set sqm.uplink.elimit='{packets}'\n"
        "uci set sqm.uplink.enabled='1'\n"
        "uci commit sqm && service sqm restart",
    )


Settings = Mapping[str, Any]
"""A queue as scenarios write it."""


def discipline_configs(
    name: str, rates_bps: tuple[int, int], settings: tuple[Settings, Settings]
) -> tuple[DeviceConfig, ...]:
    """How to set a queue discipline down and up on Linux, OpenWrt and, as near as it comes, Cisco IOS.

    Raises UsageError for a discipline that they do not have.
    """
    if name not in _TC_WORDS:
        raise UsageError(f"nobody knows the lines for a queue {name!r}: there are {', '.join(_TC_WORDS)}")
    return (_tc(name, rates_bps, settings), _sqm(name, rates_bps, settings), _fair_queue(name, rates_bps[1]))


# The settings of a discipline that tc takes, by the scenario's key.
_TC_WORDS: Mapping[str, tuple[str, ...]] = {
    "codel": ("target", "interval"),
    "fq_codel": ("target", "interval"),
    "pie": ("target",),
    "fq_pie": ("target",),
    "cake": ("rtt",),
}


def _words(name: str, settings: Settings) -> str:
    words = [f"{key} {_time(settings[key])}" for key in _TC_WORDS[name] if key in settings]
    return " ".join([name, *words])


def _time(text: str) -> str:
    """`5 ms` as tc reads it, in whole microseconds."""
    return f"{round(float(text.removesuffix(' ms')) * 1000)}us"


def _tc(name: str, rates_bps: tuple[int, int], settings: tuple[Settings, Settings]) -> DeviceConfig:
    down, up = (_shaped(name, device, *each) for device, each in _directions(rates_bps, settings))
    return DeviceConfig(
        "Linux, tc",
        "eth0 is the interface towards the line; what comes from it is shaped on ifb0. The rates are below the line's, "
        "so that the queue stands here and not in the modem.",
        f"{up}\n"
        "ip link add ifb0 type ifb && ip link set ifb0 up\n"
        "tc qdisc replace dev eth0 handle ffff: ingress\n"
        "tc filter replace dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0\n"
        f"{down}",
    )


def _directions(
    rates_bps: tuple[int, int], settings: tuple[Settings, Settings]
) -> tuple[tuple[str, tuple[int, Settings]], ...]:
    return ("ifb0", (rates_bps[0], settings[0])), ("eth0", (rates_bps[1], settings[1]))


def _shaped(name: str, device: str, rate_bps: int, settings: Settings) -> str:
    if name == "cake":
        return f"tc qdisc replace dev {device} root cake bandwidth {rate_bps}bit {_words(name, settings)[5:]}"
    return (
        f"tc qdisc replace dev {device} root handle 1: htb default 1\n"
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {rate_bps}bit\n"
        f"tc qdisc replace dev {device} parent 1:1 {_words(name, settings)}"
    )


def _sqm(name: str, rates_bps: tuple[int, int], settings: tuple[Settings, Settings]) -> DeviceConfig:
    script = "piece_of_cake.qos" if name == "cake" else "simplest.qos"
    options = [
        f"uci set sqm.line.{way}='{text}'"
        for way, text in zip(
            ("iqdisc_opts", "eqdisc_opts"),
            (_words(name, each).removeprefix(name).strip() for each in settings),
            strict=True,
        )
    ]
    return DeviceConfig(
        "OpenWrt, sqm-scripts",
        "eth1 is the interface towards the line; the rates are below the line's.",
        "uci set sqm.line=queue\n"
        "uci set sqm.line.interface='eth1'\n"
        f"uci set sqm.line.download='{max(1, rates_bps[0] // 1000)}'\n"
        f"uci set sqm.line.upload='{max(1, rates_bps[1] // 1000)}'\n"
        f"uci set sqm.line.script='{script}'\n"
        f"uci set sqm.line.qdisc='{name}'\n"
        "uci set sqm.line.qdisc_advanced='1'\n"
        "uci set sqm.line.qdisc_really_really_advanced='1'\n" + "\n".join(options) + "\n"
        "uci set sqm.line.enabled='1'\n"
        "uci commit sqm && service sqm restart",
    )


def _fair_queue(name: str, up_bps: int) -> DeviceConfig:
    queue = "  random-detect" if name in ("codel", "pie") else "  fair-queue"
    return DeviceConfig(
        "Cisco IOS",
        f"IOS has no {name}; this is the nearest that it has. Apply it outbound on the interface towards the line.",
        "policy-map UPLINK\n"
        " class class-default\n"
        f"  shape average {up_bps}\n"
        f"{queue}\n"
        "!\n"
        "interface FastEthernet0/0\n"
        " service-policy output UPLINK",
    )
