"""The letter's network and load, and the experiments made of it (orosz2010 sections III and IV; ORO-E01, ORO-M03).

A download fills a 512/128 kbit/s ADSL line alone (phase 1), beside one upload (phase 2) and beside two (phase 3), with
each of the TCP variants. The letter made one such measurement a variant and shows its throughput over time. Everything
that it does not give is assumed; the sweeps are ours, of what decides the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lopsided.papers.framework.model import Case, Experiment, Overrides
from lopsided.papers.orosz2010.measure import bunching, three_phases

DOWN_BPS, UP_BPS = 512e3, 128e3
PHASES = (1, 2, 3)

BUFFERS = (5, 10, 20, 30, 50, 100, 200)
"""Uplink buffers in packets."""

ASSUMED_BUFFER = 50

DEEP_BUFFER = 200
"""Packets: deep enough that uploads fill it only with windows above 250 kB."""

WINDOWS = (16, 20, 24, 28, 32, 48, 64)
"""Send buffers of the uploading host, KiB a connection, which bound its windows."""

LINUX_RECORD = Path(__file__).parent / "linux-6.1.csv"
"""What the kernel world measured of the experiment `modern`."""

UPLINKS = (512, 256, 128, 64)
"""Uplink rates in kbit/s: ratios of 1, 2, 4 and 8."""


@dataclass(frozen=True)
class Flavour:
    """One of the letter's TCP variants."""

    key: str
    cc: str
    title: str
    high_speed: bool


FLAVOURS = (
    Flavour("cubic", "cubic-0.8", "CUBIC", high_speed=True),
    Flavour("vegas", "vegas", "Vegas", high_speed=False),
    Flavour("bic", "bic", "BIC", high_speed=True),
    Flavour("highspeed", "highspeed", "HighSpeed", high_speed=True),
    Flavour("htcp", "htcp", "H-TCP", high_speed=True),
    Flavour("reno", "reno", "Reno", high_speed=False),
)
"""In the order of the figures, then those of the text (ORO-A03). CUBIC has the constants of Linux until 2.6.25."""

HIGH_SPEED = tuple(flavour for flavour in FLAVOURS if flavour.high_speed)


def flavour(key: str) -> Flavour:
    """The variant of this key."""
    return next(each for each in FLAVOURS if each.key == key)


def _case(each: Flavour, overrides: Overrides | None = None, **labels: int) -> Case:
    return Case("512_128.toml", {"stack.cc": each.cc, **(overrides or {})}, {"variant": each.key, **labels})


PHASED = Experiment(
    key="phases",
    summary="six variants through the three phases of two minutes each, with what is assumed",
    cases=tuple(_case(each) for each in FLAVOURS),
    measure=three_phases,
    keep=True,
)

BUFFERED = Experiment(
    key="buffers",
    summary="the same with seven uplink buffers",
    cases=tuple(
        _case(each, {"link.up.queue.limit": f"{packets} packets"}, uplink_buffer_packets=packets)
        for each in FLAVOURS
        for packets in BUFFERS
    ),
    measure=three_phases,
    usual=3,
)

WINDOWED = Experiment(
    key="windows",
    summary=f"the same with an uplink buffer of {DEEP_BUFFER} packets and the uploads' windows bounded",
    cases=tuple(
        _case(
            each,
            {
                "link.up.queue.limit": f"{DEEP_BUFFER} packets",
                **{f"flow.{name}.sender_stack.send_buffer": f"{window} KiB" for name in ("upload", "more")},
            },
            upload_window_kib=window,
        )
        for each in FLAVOURS
        for window in WINDOWS
    ),
    measure=three_phases,
    usual=4,
)

RATIOS = Experiment(
    key="ratios",
    summary="the same with four uplink rates",
    cases=tuple(
        _case(each, {"link.up.rate": f"{rate} kbit/s"}, uplink_kbps=rate) for each in FLAVOURS for rate in UPLINKS
    ),
    measure=three_phases,
    usual=3,
)

MODERN = Experiment(
    key="modern",
    summary="the first experiment under the profile linux-6.1 and today's CUBIC, which the kernel world measures too",
    cases=tuple(
        _case(each, {"stack.profile": "linux-6.1", "stack.cc": "cubic" if each.key == "cubic" else each.cc})
        for each in FLAVOURS
    ),
    measure=three_phases,
    usual=1,
)

ACKS = Experiment(
    key="acks",
    summary="the first experiment sampled every 10 ms, to see acknowledgements arrive",
    cases=tuple(_case(each, {"record.interval": "10 ms"}) for each in FLAVOURS),
    measure=bunching,
    usual=1,
)
