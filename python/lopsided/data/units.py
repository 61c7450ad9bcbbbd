"""Parses short forms of quantities (`2.4M`, `200ms`, `50p`), and formats quantities.

k and M are decimal (1 kbit/s = 1,000 bit/s, 1 kB = 1,000 B); KiB and MiB are binary.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lopsided import _native
from lopsided.errors import UsageError

_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ/]*)\s*")

_RATES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_RATE_SUFFIXES = ("bit/s", "bits/s", "bps", "bit", "b/s", "b")
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZES = {"b": 1, "kb": 1000, "mb": 1000_000, "kib": 1024, "mib": 1024**2}


@dataclass(frozen=True)
class QueueLimit:
    """A queue's limit: a number of packets or of bytes."""

    count: int
    unit: str

    def __str__(self) -> str:
        return f"{self.count} {self.unit}"


def parse_rate(text: str | int) -> int:
    """Parses a rate such as `2.4M`, `196k`, `2400 kbit/s`, `1Gbps`, or a number, and returns bit/s.

    Raises UsageError if the text is not a rate, or if the rate is below 1 bit/s or above 1 Pbit/s.
    """
    if not isinstance(text, str):
        return int(text)
    number, unit = _split(text, "a rate such as 2.4M, 196k or '2400 kbit/s'")
    prefix = unit.lower()
    for suffix in _RATE_SUFFIXES:
        if prefix.endswith(suffix):
            prefix = prefix.removesuffix(suffix)
            break
    if prefix not in _RATES or "B" in unit:
        raise UsageError(f"{text!r} is not a rate: write 2.4M, 196k or '2400 kbit/s' (bits per second)")
    bits = number * _RATES[prefix]
    if not 1 <= bits <= 1e15:
        raise UsageError(f"{text!r} is not a usable rate: it must be between 1 bit/s and 1 Pbit/s")
    return round(bits)


def parse_time(text: str | float) -> float:
    """Parses a time such as `200ms`, `1.5 s`, `2min`, or a number, and returns seconds. A text needs a unit.

    Raises UsageError if the text is not a time.
    """
    if not isinstance(text, str):
        return float(text)
    number, unit = _split(text, "a time such as 200ms or 1.5s")
    if unit not in _TIMES:
        lack = "needs its unit" if not unit else f"has an unknown unit {unit!r}"
        raise UsageError(f"{text!r} {lack}: write 200ms, 1.5s or 2min")
    return number * _TIMES[unit]


def parse_share(text: str | float) -> float:
    """Parses a fraction such as `20%`, `0.2`, or a number. Raises UsageError if the text is not a fraction."""
    if not isinstance(text, str):
        return float(text)
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        raise UsageError(f"{text!r} is not a share: write 20% or 0.2") from None


def parse_limit(text: str) -> QueueLimit:
    """Parses a queue limit such as `50`, `50p`, `50 packets`, or `64kB`. The default unit is packets.

    Raises UsageError if the text is not a limit, or if the limit is below one packet.
    """
    number, unit = _split(text, "a queue limit such as 50p or 64kB")
    if unit.lower() in ("", "p", "pkt", "pkts", "packet", "packets"):
        if number != int(number) or number < 1:
            raise UsageError(f"{text!r}: a queue holds a whole number of packets, at least 1")
        return QueueLimit(int(number), "packets")
    if unit.lower() in _SIZES:
        return QueueLimit(round(number * _SIZES[unit.lower()]), "B")
    raise UsageError(f"{text!r} is not a queue limit: write 50p (packets) or 64kB")


def _split(text: str, wanted: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not {wanted}")
    if not math.isfinite(number := float(match[1])):
        raise UsageError(f"{text!r} is too large")
    return number, match[2]


def rate(bits_per_second: float | None) -> str:
    """Formats a rate with three significant digits: `2.07 Mbit/s`, `132 kbit/s`."""
    return _native.rate_text(_number(bits_per_second))


def size(octets: float | None) -> str:
    """Formats a size with three significant digits: `74.3 kB`, `1.50 MB`."""
    return _native.size_text(_number(octets))


def millis(milliseconds: float | None) -> str:
    """Formats a time with three significant digits: `206 ms`, `1.53 s`, `42.0 µs`."""
    return _native.millis_text(_number(milliseconds))


def seconds(value: float | None) -> str:
    """Formats a duration: `240 s`, `90 min`, `20 ms`."""
    if value is None or not math.isfinite(value):
        return "–"
    if value < 1:
        return millis(value * 1e3)
    return f"{value:.4g} s" if value < 1000 else f"{value:.0f} s"


def change(share: float) -> str:
    """Formats a relative change: `+1.2 %`. Zero has no sign: `0.0 %`."""
    text = f"{100 * share:+.1f}"
    return f"{text[1:] if float(text) == 0 else text} %"


def percent(share: float | None) -> str:
    """Formats a percentage with two significant digits: `93 %`, `4.2 %`, `0.31 %`."""
    return _native.percent_text(_number(share))


def count(number: float | None) -> str:
    """Formats a number with thousands separators: `12,345`."""
    return "–" if number is None else f"{number:,.0f}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def counted(number: int, noun: str) -> str:
    """Formats a number with its noun: `1 seed`, `3 seeds`."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
