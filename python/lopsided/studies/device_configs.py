"""The lines that set an uplink buffer on real equipment.

Rates are in bits per second and are those of the line; the shaper must be the bottleneck, or the buffer that counts
is another one.
"""

from __future__ import annotations

from dataclasses import dataclass

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
