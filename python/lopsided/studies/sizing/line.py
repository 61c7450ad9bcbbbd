"""Describes the access line whose buffer is sized, and chooses the buffer sizes to test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lopsided import metrics
from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.studies import device_configs
from lopsided.studies.inventory import check_preset
from lopsided.studies.options import SizeOptions

USUAL = SizeOptions()
PACKET_BYTES = int(metrics.FULL_PACKET_BYTES)


@dataclass(frozen=True)
class Line:
    """The access line whose buffer is sized. `rtt_s` does not include queueing delay."""

    down_bps: int
    up_bps: int
    rtt_s: float
    queue_down: units.QueueLimit
    cc: str
    stack: str
    preset: str | None
    """The preset that defines the line's medium and framing."""
    framing: str | None = None
    """The name of the line's framing."""

    @cached_property
    def framings(self) -> tuple[Any, Any]:
        """The framing of downlink and uplink."""
        link = self.scenario(0.0, 1.0).resolved["links"][0]
        return link["down"]["framing"], link["up"]["framing"]

    @property
    def wire_s(self) -> float:
        """Transmission time of a full packet on the uplink, in seconds."""
        return device_configs.Shaped(self.up_bps, self.framings[1]).wire_bytes * 8 / self.up_bps

    def packets_within(self, delay_s: float) -> int:
        """Returns the largest buffer in full packets that drains within `delay_s`, at least one packet."""
        return max(1, math.floor(delay_s / self.wire_s + 1e-9))

    def scenario(self, alone_s: float, both_s: float) -> Scenario:
        """Returns a scenario with a download and an upload. The upload starts after `alone_s`, delayed at random by up
        to 1 s."""
        jitter_s = min(1.0, (alone_s + both_s) / 10)
        down, up = (
            {"rate": f"{rate} bit/s", "queue": {"kind": "fifo", "limit": limit}}
            for rate, limit in ((self.down_bps, str(self.queue_down)), (self.up_bps, "50 packets"))
        )
        line = {"preset": self.preset, "framing": self.framing, "rtt": f"{self.rtt_s * 1e3:g} ms"}
        upload = {"start": f"{alone_s:g} s", "start_jitter": f"{jitter_s:g} s"}
        return Scenario.build(
            {
                "scenario": {"name": "size", "duration": f"{alone_s + both_s + jitter_s:g} s"},
                "link": {**line, "down": down, "up": up},
                "stack": {"profile": self.stack, "cc": self.cc},
                "flow": [
                    {"name": "download", "direction": "down"},
                    {"name": "upload", "direction": "up", **upload},
                ],
                "record": {"interval": "100 ms"},
            },
            name="size",
        )


def line_of(
    down: str | int | None,
    up: str | int | None,
    rtt: str | float | None,
    asked: SizeOptions = USUAL,
) -> Line:
    """Returns the line that these options describe. Raises UsageError if an option is invalid or missing."""
    if asked.preset is not None:
        usual = _preset_rates(asked.preset)
        if usual[0] is None or usual[1] is None:
            raise UsageError(f"the rate of {asked.preset} changes all the time, so no single buffer size fits it")
        down, up = down or usual[0], up or usual[1]
        rtt = usual[2] if rtt is None else rtt
    if down is None or up is None or rtt is None:
        raise UsageError("give the rates down and up and the round trip of the line, or the name of a preset")
    down_bps, up_bps, rtt_s = units.parse_rate(down), units.parse_rate(up), units.parse_time(rtt)
    if not 0 <= rtt_s <= 100:
        raise UsageError(f"an RTT of {rtt_s:g} s is impossible for a line on Earth")
    one_bdp = math.ceil(metrics.one_bdp_buffer_packets(down_bps, rtt_s))
    limit = units.parse_limit(asked.queue_down) if asked.queue_down else units.QueueLimit(max(50, one_bdp), "packets")
    return Line(down_bps, up_bps, rtt_s, limit, asked.cc, asked.stack, asked.preset, asked.framing)


def _preset_rates(name: str) -> tuple[int | None, int | None, float]:
    """Returns the rates of a preset, or `None` for a rate that varies, and the RTT in seconds."""
    link = _preset_link(name)
    return link["down"]["rate_bps"], link["up"]["rate_bps"], link["down"]["delay_s"] + link["up"]["delay_s"]


def _preset_link(name: str) -> Any:
    check_preset(name)
    tables = {"scenario": {"duration": "1 s"}, "link": {"preset": name}, "flow": [{"direction": "up"}]}
    return Scenario.build(tables, name="preset").resolved["links"][0]


def default_sizes(line: Line) -> list[int]:
    """Returns the buffer sizes to test, in packets, with smaller steps between small sizes. The largest size is twice
    the bound for the uplink's buffer, but at least 50 and at most 2,000 packets.

    The bound follows from inequality 6.6 of merritt2010. The download's congestion window is at most the downlink's BDP
    plus its buffer, and the bound is half of this window.
    """
    pipe = metrics.bandwidth_delay_product_bytes(line.down_bps, line.rtt_s)
    queue = line.queue_down.count * (PACKET_BYTES if line.queue_down.unit == "packets" else 1)
    bound = (pipe + queue) / 2 / PACKET_BYTES
    largest = max(50, min(2 * bound, 2000))
    steps = [3 * (largest / 3) ** (step / 13) for step in range(14)]
    return sorted({round_size(step) for step in steps})


def round_size(size: float) -> int:
    """Rounds a size below 20 to an integer, and a larger size to a multiple of 5, 10, ..."""
    if size < 20:
        return round(size)
    grain = 5 * 10 ** max(0, math.floor(math.log10(size)) - 1)
    return round(size / grain) * grain
