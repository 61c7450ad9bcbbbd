"""Defines the letter's network, load and experiments (sections III and IV; ORO-E01, ORO-M03).

For each TCP variant, a download runs on a 512/128 kbit/s ADSL line: alone (phase 1), with one upload (phase 2) and with
two uploads (phase 3). Settings that the letter does not state are assumed. The sweeps are our own. They vary the
settings with the largest effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lopsided.papers.framework.model import Case, Experiment, Overrides
from lopsided.papers.orosz2010.measure import bunching, three_phases
from lopsided.views.plot import style

DOWN_BPS, UP_BPS = 512e3, 128e3
PHASES = (1, 2, 3)

BUFFERS = (5, 10, 20, 30, 50, 100, 200)
"""Sizes of the uplink's buffer, in packets."""

ASSUMED_BUFFER = 50

DEEP_BUFFER = 200
"""A deep uplink buffer in packets. Uploads fill this buffer only if their windows exceed 250 kB."""

WINDOWS = (16, 20, 24, 28, 32, 48, 64)
"""Send buffers in KiB per upload connection. The send buffer limits the window."""

UPLINKS = (512, 256, 128, 64)
"""Uplink rates in kbit/s. The ratios of downlink rate to uplink rate are 1, 2, 4 and 8."""


@dataclass(frozen=True)
class Flavour:
    """One of the letter's TCP variants, with its colour and marker in figures."""

    key: str
    cc: str
    title: str
    ink: str
    mark: str
    high_speed: bool = True


CUBIC = Flavour("cubic", "cubic-0.8", "CUBIC", style.DOWN[0], "o")
VEGAS = Flavour("vegas", "vegas", "Vegas", style.RED, "s", high_speed=False)
BIC = Flavour("bic", "bic", "BIC", style.OTHER[0], "D")
HIGHSPEED = Flavour("highspeed", "highspeed", "HighSpeed", style.OTHER[1], "^")
HTCP = Flavour("htcp", "htcp", "H-TCP", style.OTHER[3], "v")
RENO = Flavour("reno", "reno", "Reno", style.UP[0], "P", high_speed=False)

FLAVOURS = (CUBIC, VEGAS, BIC, HIGHSPEED, HTCP, RENO)
"""The variants. The last variants occur only in the letter's text (ORO-A03). CUBIC uses the constants of Linux up to
2.6.25."""

HIGH_SPEED = tuple(flavour for flavour in FLAVOURS if flavour.high_speed)
OTHERS = tuple(each for each in FLAVOURS if each is not VEGAS)
"""Variants that reduce their window after losses. Vegas, which also reacts to delay, is excluded."""


def _case(each: Flavour, overrides: Overrides, **labels: int) -> Case:
    return Case("512_128.toml", {"stack.cc": each.cc, **overrides}, {"variant": each.key, **labels})


def _sweep(
    key: str, summary: str, label: str, values: Sequence[int], settings: Callable[[int], Overrides], usual: int = 1
) -> Experiment:
    """Returns an experiment that runs every variant with each of `values`."""
    cases = tuple(_case(each, settings(value), **{label: value}) for each in FLAVOURS for value in values)
    return Experiment(key, summary, cases, three_phases, usual=usual, full_repetitions=max(usual, 3))


PHASED = Experiment(
    key="phases",
    summary="six variants through three phases of two minutes each, under the assumptions",
    cases=tuple(_case(each, {}) for each in FLAVOURS),
    measure=three_phases,
    keep=True,
)

BUFFERED = _sweep(
    "buffers",
    "the same with seven uplink buffers",
    "uplink_buffer_packets",
    BUFFERS,
    lambda packets: {"link.up.queue.limit": f"{packets} packets"},
)

WINDOWED = _sweep(
    "windows",
    f"the same with an uplink buffer of {DEEP_BUFFER} packets and the uploads' windows bounded",
    "upload_window_kib",
    WINDOWS,
    lambda window: {
        "link.up.queue.limit": f"{DEEP_BUFFER} packets",
        **{f"flow.{name}.sender_stack.send_buffer": f"{window} KiB" for name in ("upload", "more")},
    },
    usual=4,
)

RATIOS = _sweep(
    "ratios", "the same with four uplink rates", "uplink_kbps", UPLINKS, lambda rate: {"link.up.rate": f"{rate} kbit/s"}
)

MODERN = Experiment(
    key="modern",
    summary="the first experiment under the profile linux-6.1 and current CUBIC, which the kernel world runs too",
    cases=tuple(
        _case(each, {"stack.profile": "linux-6.1", "stack.cc": "cubic" if each is CUBIC else each.cc})
        for each in FLAVOURS
    ),
    measure=three_phases,
    usual=1,
)

ACKS = Experiment(
    key="acks",
    summary="the first experiment sampled every 10 ms, to resolve the arrival of ACKs",
    cases=tuple(_case(each, {"record.interval": "10 ms"}) for each in FLAVOURS),
    measure=bunching,
    usual=1,
)
