"""Writes commands that set an uplink buffer or a queue discipline on real equipment, and commands that remove it.

The commands must not interrupt the user's network access. On Linux, they run in a shell that stops at the first error.
Only the last command redirects traffic, and its target is a device that is up. This device is not `ifb0`, because the
ifb module creates `ifb0` on every machine. `tests/python/test_device_configs.py` runs the commands on user-mode Linux.
The commands for OpenWrt and Cisco IOS are untested.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lopsided.errors import UsageError

SHAPED_SHARE = 0.95
"""Rate of the shaper as a fraction of the line's rate, so that the queue forms in the shaper and not in the modem."""

_IP_PACKET_BYTES = 1500
_ETHERNET_BYTES = 14
"""Number of bytes that Linux's shapers add to an IP packet: the Ethernet header."""
_FRAME_BYTES = _IP_PACKET_BYTES + _ETHERNET_BYTES
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
_LONGEST_NAME = 15


@dataclass(frozen=True)
class DeviceConfig:
    """Commands for one kind of device, and the commands that undo them."""

    device: str
    note: str
    lines: str
    undo: str


@dataclass(frozen=True)
class Shaped:
    """Rate and framing of one direction of the line. The framing is a table of a resolved scenario."""

    line_bps: int
    framing: Mapping[str, Any]

    @property
    def frames_bps(self) -> int:
        """Rate in bit/s for a shaper that counts Ethernet frames. The rate is exact if all packets are full-sized."""
        # The rate of a line without framing counts IP packets.
        return math.floor(SHAPED_SHARE * self.line_bps * _FRAME_BYTES / self.wire_bytes)

    @property
    def wire_bps(self) -> int:
        """Rate in bit/s for a shaper that counts every byte on the wire, including framing."""
        return math.floor(SHAPED_SHARE * self.line_bps)

    @property
    def wire_bytes(self) -> float:
        """Number of bytes that a full-sized packet occupies on the line, including framing."""
        bare = max(_IP_PACKET_BYTES + self.framing["overhead_bytes"], self.framing["minimum_bytes"])
        if self.framing["cell_format"] == "atm":
            return math.ceil(bare / 48) * 53
        return bare * 65 / 64 if self.framing["cell_format"] == "ptm" else bare

    @property
    def cake_words(self) -> str:
        """The line's framing as CAKE keywords."""
        cells = {"atm": "atm", "ptm": "ptm"}.get(self.framing["cell_format"], "noatm")
        least = f" mpu {self.framing['minimum_bytes']}" if self.framing["minimum_bytes"] else ""
        return f"overhead {self.framing['overhead_bytes']} {cells}{least}"

    @property
    def sqm_options(self) -> Mapping[str, str]:
        """The line's framing as options of sqm-scripts. Like CAKE's keywords, these options add overhead to the IP
        packet."""
        layer = "atm" if self.framing["cell_format"] == "atm" else "ethernet"
        options = {"linklayer": layer, "overhead": str(self.framing["overhead_bytes"])}
        if self.framing["minimum_bytes"]:
            options |= {"linklayer_advanced": "1", "tcMPU": str(self.framing["minimum_bytes"])}
        return options


def checked_interface(name: str) -> str:
    """Returns the name. Raises UsageError if Linux does not accept the name, or if a shell would need quotes around
    it."""
    if not _INTERFACE.fullmatch(name):
        raise UsageError(
            f"{name!r} is not the name of a network interface: up to {_LONGEST_NAME} letters, digits, dots, dashes and "
            "underscores, such as eth0 or pppoe-wan"
        )
    return name


def ifb_name(interface: str) -> str:
    """Returns the device that shapes an interface's incoming traffic."""
    return f"ifb4{interface}"[:_LONGEST_NAME]


def configs(up: Shaped, packets: int, interface: str) -> tuple[DeviceConfig, ...]:
    """Returns the commands that set an uplink buffer of `packets` on Linux, Cisco IOS and OpenWrt."""
    return (_linux(up, packets, interface), _cisco(up.frames_bps, [f"queue-limit {packets}"]), _openwrt(up, packets))


def _script(*commands: str) -> str:
    """Returns a script that runs the commands in a new shell. The shell stops at the first error.

    In the user's own shell, `set -e` would end the user's session.
    """
    return "\n".join(["sudo sh -ex <<'END'", *commands, "END"])


def _linux(up: Shaped, packets: int, interface: str) -> DeviceConfig:
    rate, device = up.frames_bps, checked_interface(interface)
    # A token bucket must hold the bytes of one timer tick (HZ=250), and at least one frame.
    burst = max(1600, rate // 8 // 250)
    limit = packets * _FRAME_BYTES
    return DeviceConfig(
        "Linux, tc",
        f"{device} is the interface towards the line. "
        f"For a buffer counted in bytes: `bfifo limit {limit}` instead of `pfifo limit {packets}`.",
        _script(
            f"tc qdisc replace dev {device} root handle 1: tbf rate {rate}bit burst {burst} limit {limit}",
            f"tc qdisc replace dev {device} parent 1:1 handle 10: pfifo limit {packets}",
        ),
        f"sudo tc qdisc del dev {device} root",
    )


def _cisco(up_bps: int, queue: list[str], note: str = "") -> DeviceConfig:
    return DeviceConfig(
        "Cisco IOS",
        f"{note}Apply it outbound on the interface towards the line. Not tested on a device.",
        "policy-map UPLINK\n"
        " class class-default\n"
        f"  shape average {up_bps}\n" + "".join(f"  {line}\n" for line in queue) + "!\n"
        "interface FastEthernet0/0\n"
        " service-policy output UPLINK",
        "interface FastEthernet0/0\n no service-policy output UPLINK\n!\nno policy-map UPLINK",
    )


def _uci(section: str, options: Mapping[str, str]) -> tuple[str, str]:
    """Returns commands that create a section of sqm's configuration, and commands that remove it."""
    lines = [f"uci set sqm.{section}=queue"]
    lines += [f"uci set sqm.{section}.{name}='{value}'" for name, value in options.items()]
    restart = "uci commit sqm && service sqm restart"
    return "\n".join([*lines, restart]), f"uci delete sqm.{section}\n{restart}"


_SQM_NOTE = (
    "eth1 is the interface towards the line; first disable other sections of sqm for it. Not tested on a device."
)


def _openwrt(up: Shaped, packets: int) -> DeviceConfig:
    lines, undo = _uci(
        "uplink",
        {
            "interface": "eth1",
            "upload": str(max(1, up.frames_bps // 1000)),
            "download": "0",
            "script": "simplest_tbf.qos",
            "qdisc": "pfifo",
            "qdisc_advanced": "1",
            "elimit": str(packets),
            "enabled": "1",
        },
    )
    return DeviceConfig(
        "OpenWrt, sqm-scripts", f"A download rate of 0 leaves that direction unchanged. {_SQM_NOTE}", lines, undo
    )


Settings = Mapping[str, Any]
"""The table of a queue in a scenario file."""


def discipline_configs(
    name: str, line: tuple[Shaped, Shaped], settings: tuple[Settings, Settings], interface: str
) -> tuple[DeviceConfig, ...]:
    """Returns commands for a discipline in both directions on Linux, OpenWrt and Cisco IOS (with the nearest
    equivalent).

    Raises UsageError if there are no commands for the discipline.
    """
    if name not in _TC_WORDS:
        raise UsageError(f"no commands for the queue {name!r}; choose one of {', '.join(_TC_WORDS)}")
    queue = "random-detect" if name in ("codel", "pie") else "fair-queue"
    nearest = f"IOS has no {name}; this is its nearest equivalent. "
    return (
        _tc(name, line, settings, interface),
        _sqm(name, line, settings),
        _cisco(line[1].frames_bps, [queue], nearest),
    )


# For each discipline, the scenario keys that `tc` accepts as parameters of the same name.
_TC_WORDS: Mapping[str, tuple[str, ...]] = {
    "codel": ("target", "interval"),
    "fq_codel": ("target", "interval"),
    "pie": ("target",),
    "fq_pie": ("target",),
    "cake": ("rtt",),
}


def is_in_linux(name: str) -> bool:
    """Returns true if Linux supports the discipline and `lopsided size` prints its commands."""
    return name in _TC_WORDS


def _words(name: str, settings: Settings) -> str:
    return " ".join(f"{key} {_time(settings[key])}" for key in _TC_WORDS[name] if key in settings)


def _time(text: str) -> str:
    """Formats a time such as `5 ms` for tc, in whole microseconds."""
    return f"{round(float(text.removesuffix(' ms')) * 1000)}us"


_CAKE_WAYS = ("nat dual-dsthost ingress", "nat dual-srchost")
"""CAKE's keywords for a home router, for downlink and uplink. With these keywords, the hosts behind the router's NAT
share the line fairly. With `ingress`, dropped packets also count, because they have already crossed the line.
"""


def _tc(name: str, line: tuple[Shaped, Shaped], settings: tuple[Settings, Settings], interface: str) -> DeviceConfig:
    device = checked_interface(interface)
    ifb = ifb_name(device)
    incoming, outgoing = (
        _shaper(name, where, *each)
        for where, each in zip((ifb, device), zip(line, settings, _CAKE_WAYS, strict=True), strict=True)
    )
    return DeviceConfig(
        "Linux, tc",
        f"{device} is the interface towards the line; {ifb} shapes its incoming traffic. The rates are below the "
        "line's, so that the queue forms here and not in the modem. The shell stops at the first error; traffic is "
        "redirected last. To change the settings later, run the undo commands first.",
        _script(
            f"ip link add name {ifb} type ifb",
            f"ip link set dev {ifb} up",
            *incoming,
            *outgoing,
            f"tc qdisc add dev {device} handle ffff: ingress",
            # This command fails if the device is down, because redirected traffic would then be lost.
            f"ip -oneline link show dev {ifb} up | grep {ifb}",
            f"tc filter add dev {device} parent ffff: protocol all prio 1 matchall action mirred egress redirect "
            f"dev {ifb}",
        ),
        f"sudo tc qdisc del dev {device} ingress\nsudo tc qdisc del dev {device} root\nsudo ip link del dev {ifb}",
    )


def _shaper(name: str, device: str, shaped: Shaped, settings: Settings, way: str) -> list[str]:
    words = _words(name, settings)
    if name == "cake":
        return [
            f"tc qdisc replace dev {device} root cake bandwidth {shaped.wire_bps}bit {words} {shaped.cake_words} {way}"
        ]
    return [
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        # The quantum has no effect on a single class. With the default quantum, the kernel warns on fast lines.
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {shaped.frames_bps}bit quantum {_FRAME_BYTES}",
        f"tc qdisc replace dev {device} parent 1:1 handle 10: {name} {words}",
    ]


def _sqm(name: str, line: tuple[Shaped, Shaped], settings: tuple[Settings, Settings]) -> DeviceConfig:
    cake = name == "cake"
    rates = [each.wire_bps if cake else each.frames_bps for each in line]
    ways = _CAKE_WAYS if cake else ("", "")
    words = [f"{_words(name, each)} {way}".strip() for each, way in zip(settings, ways, strict=True)]
    options = {
        "interface": "eth1",
        "download": str(max(1, rates[0] // 1000)),
        "upload": str(max(1, rates[1] // 1000)),
        "script": "piece_of_cake.qos" if cake else "simplest.qos",
        "qdisc": name,
        "qdisc_advanced": "1",
        "qdisc_really_really_advanced": "1",
        "iqdisc_opts": words[0],
        "eqdisc_opts": words[1],
        # sqm has one framing for both directions. The uplink's framing is used, because most small packets cross the
        # uplink.
        **(line[1].sqm_options if cake else {}),
        "enabled": "1",
    }
    lines, undo = _uci("line", options)
    return DeviceConfig("OpenWrt, sqm-scripts", f"The rates are below the line's. {_SQM_NOTE}", lines, undo)
