"""The statements of the abstract and the functions that judge them.

The abstract contains no numbers. All thresholds are our own and were fixed before the first run:

- "almost never" means at most 5 % of the time, and "alternately" means at least 10 % of the time on each side;
- "little impact" means less than 20 % of the throughput;
- an expression is confirmed if the measurements are within 25 % in 75 % of the settings, and within a factor of 2 in
  all settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    MORE,
    SHARE,
    Listed,
    agree_within,
    all_of,
    at_least,
    at_most,
    claims_of,
    largest_at_most,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.heusse2011 import model
from lopsided.papers.heusse2011.setup import (
    ASYMMETRIC,
    BUFFERS,
    DOWNLINK_BUFFER,
    LINES,
    RTT_S,
    STEEP,
    SYMMETRIC,
    UNITS,
    AccessLine,
)

ALMOST_NEVER = 5.0
ALTERNATELY = 10.0
LITTLE = 0.2
CLOSE, FACTOR, MOST = 1.25, 2.0, 75.0
COMPRESSED = 100 / 3
GOOD = 60.0
MUCH = 1.5
POINTS = 15.0

listed = Listed.beside(__file__)


def value(m: Measurements, line: AccessLine, column: str, packets: int, unit: str = "bytes") -> Spread:
    """Returns the measured values of one column of the sweep, for one buffer setting."""
    return m.value("sweep", column, line=line.name, unit=unit, uplink_packets=packets)


def predicted(line: AccessLine, packets: float, unit: str) -> model.Windows:
    """Returns the windows that the model predicts for one buffer setting."""
    down, up = (
        model.room(size, rate, RTT_S) for size, rate in ((DOWNLINK_BUFFER, line.down_bps), (packets, line.up_bps))
    )
    return model.windows(unit, down, up)


def _mechanism(m: Measurements, line: AccessLine, kind: str, column: str = "performance") -> float:
    return m.value("mechanisms", column, line=line.name, mechanism=kind).median


@listed
def compression_needs_symmetry(m: Measurements) -> Verdict:
    """In the symmetric setup, the ACKs of at least 33 % of the download's bytes are compressed.

    In every other setup, this fraction is at most half of the fraction in the symmetric setup.
    """

    def share(line: AccessLine, packets: int) -> Measured:
        found = m.value("acks", "compressed_down", line=line.name, unit="bytes", uplink_packets=packets)
        return percent(f"compressed on {line.name} with {packets} packets", found)

    symmetric = share(SYMMETRIC, DOWNLINK_BUFFER)
    others = [
        share(SYMMETRIC, 25),
        *(share(line, size) for line in ASYMMETRIC for size in (DOWNLINK_BUFFER, line.matched)),
    ]
    return all_of(at_least(COMPRESSED, [symmetric]), at_most(symmetric.value / 2, others)).but(
        criterion="a third in the symmetric setup, and at most half of its share in each other setup"
    )


@listed
def compression_costs_little(m: Measurements) -> Verdict:
    """On the symmetric line, sending ACKs first raises the total throughput by at most 20 %."""

    def total(kind: str) -> float:
        return sum(_mechanism(m, SYMMETRIC, kind, f"{way}_share") for way in ("down", "up")) / 2

    both = [
        percent(f"mean share of both lines with {name}", total(kind))
        for name, kind in (("one FIFO", "fifo"), ("ACKs first", "acks_first"))
    ]
    return agree_within(LITTLE, both)


@listed
def never_both(m: Measurements) -> Verdict:
    """With byte buffers on every line, both buffers are at least half full for at most 5 % of the time.

    The note applies the same criterion to buffers that are at least 90 % full. The note was added after the verdict was
    known.
    """

    def both(column: str, words: str) -> list[Measured]:
        return [
            percent(f"both {words} on {line.name} with {size} packets", value(m, line, column, size))
            for line in LINES
            for size in BUFFERS
        ]

    full = both("both_full", "at 90 % of their limits")
    most = max(full, key=lambda each: each.value)
    note = f"Both hold 90 % of their limits for at most {text.value(most)} of the time"
    return largest_at_most(ALMOST_NEVER, both("both_filled", "half full")).but(*full, notes=(note,))


@listed
def alternates(m: Measurements) -> Verdict:
    """With buffers of equal drain time, each side's buffer is at least half full for at least 10 % of the time."""
    found = [
        percent(
            f"{way}link filled on {line.name} with {line.matched} packets",
            value(m, line, f"{way}link_filled", line.matched),
        )
        for line in LINES
        for way in ("down", "up")
    ]
    return at_least(ALTERNATELY, found)


def _compared(m: Measurements, unit: str, lines: Iterable[AccessLine], sizes: Sequence[int]) -> Verdict:
    """Judges whether the measured throughput ratios agree with our expression (`model`)."""
    measured: list[Measured] = []
    off: list[float] = []
    settings: list[Measured] = []
    for line in lines:
        for size in sizes:
            expected = predicted(line, size, unit).ratio
            if math.isnan(expected):
                continue
            found = value(m, line, "ratio", size, unit).median
            off.append(max(found / expected, expected / found) if found > 0 else math.inf)
            where = f"on {line.name} with {size} packets"
            settings.append(number(f"factor between ratio and expression {where}", off[-1]))
            measured += [number(f"ratio {where}", found), number(f"expected {where}", expected)]
    share = percent("settings within 25 % of the expression", sum(each <= CLOSE for each in off) / len(off))
    worst = max(settings, key=lambda each: each.value)
    return all_of(at_least(MOST, [share]), at_most(FACTOR, [worst])).but(
        *measured, criterion="75 % of the settings within 25 % of the expression, and all within a factor of 2"
    )


@listed
def bytes_follow_the_expression(m: Measurements) -> Verdict:
    """With byte buffers, our expression for the throughput ratio is confirmed on three access lines with every buffer
    size."""
    return _compared(m, "bytes", LINES, BUFFERS)


@listed
def packets_follow_the_expression(m: Measurements) -> Verdict:
    """With packet buffers, our expression for the throughput ratio is confirmed on three access lines.

    Buffer sizes are skipped if the expression has no solution for the windows of both flows.
    """
    return _compared(m, "packets", LINES, BUFFERS)


@listed
def ratio_of_windows(m: Measurements) -> Verdict:
    """With byte buffers of every size, the throughput ratio is within 15 % of the ratio of the mean windows."""
    found: list[Measured] = []
    timeouts: list[Measured] = []
    for line in LINES:
        for size in BUFFERS:
            where = f"on {line.name} with {size} packets"
            quotient = value(m, line, "ratio", size).median / value(m, line, "cwnd_ratio", size).median
            found.append(number(f"throughput ratio over window ratio {where}", quotient))
            timeouts.append(number(f"the upload's timeouts {where}", value(m, line, "timeouts_up", size)))
    far = max(range(len(found)), key=lambda each: abs(math.log(found[each].value)))
    return all_of(at_least(1 - SHARE, [found[far]]), at_most(1 + SHARE, [found[far]])).but(
        *found,
        *timeouts,
        criterion="each within 15 % of the ratio of the mean windows",
        why=f"after a timeout a flow sends less than its mean window: {text.named(timeouts[far])}",
    )


@listed
def sizing_helps(m: Measurements) -> Verdict:
    """On both asymmetric lines, the performance with buffers of equal drain time is at least 60 %.

    It is also at least 1.5 times the performance with buffers of equal size. Performance is data throughput relative to
    line rate, for the worse direction.
    """

    def judged(line: AccessLine) -> Verdict:
        matched, equal = (
            percent(f"performance on {line.name} with {size} packets", value(m, line, "performance", size))
            for size in (line.matched, DOWNLINK_BUFFER)
        )
        better = ratio(f"{line.name}: matched over equal buffers", matched, equal, above=MUCH)
        return all_of(better, at_least(GOOD, [matched]))

    return all_of(*map(judged, ASYMMETRIC))


@listed
def packets_amplify(m: Measurements) -> Verdict:
    """The throughput ratio is at least 10 % farther from 1 with packet buffers than with byte buffers.

    The criterion applies to uplink buffers of half to twice the downlink buffer's size, except equal buffers.
    """

    def found(line: AccessLine, size: int, unit: str) -> float:
        return value(m, line, "ratio", size, unit).median

    amplified = [
        number(
            f"distance from 1 in packets over bytes on {line.name} with {size} packets",
            _factor(found(line, size, "packets")) / _factor(found(line, size, "bytes")),
        )
        for line in LINES
        for size in (25, 35, 70, 100)
    ]
    least = min(amplified, key=lambda each: each.value)
    equal = [
        number(f"ratio in {unit} on {STEEP.name} with {DOWNLINK_BUFFER} packets", found(STEEP, DOWNLINK_BUFFER, unit))
        for unit in UNITS
    ]
    return at_least(MORE, [least]).but(
        *amplified,
        *equal,
        criterion=f"the ratio is at least {MORE} times as far from 1 with packets as with bytes, in each setting",
        why="ACKs in packet buffers take room from the upload more than from the download, so the ratio rises instead: "
        + text.listed(equal),
    )


def _factor(found: float) -> float:
    return max(found, 1 / found) if found > 0 else math.inf


@listed
def bytes_perform_better(m: Measurements) -> Verdict:
    """On each asymmetric line, the mean performance is at least 10 % higher with byte buffers than with packet
    buffers."""

    def mean(line: AccessLine, unit: str) -> Measured:
        every = (value(m, line, "performance", size, unit) for size in BUFFERS)
        return percent(f"mean performance in {unit} on {line.name}", Spread.mean(every))

    return all_of(
        ratio(f"{line.name}: bytes over packets", mean(line, "bytes"), mean(line, "packets"), above=MORE)
        for line in ASYMMETRIC
    )


@listed
def mechanisms_exist(m: Measurements) -> Verdict:
    """On each asymmetric line, the performance with acks-first scheduling and with fq_codel is at least 60 %.

    It is also at least 1.5 times the performance with one FIFO.
    """
    verdicts: list[Verdict] = []
    for line in ASYMMETRIC:
        fifo = percent(f"one FIFO on {line.name}", _mechanism(m, line, "fifo"))
        for kind, name in (("acks_first", "ACKs first"), ("fq_codel", "fq_codel")):
            found = percent(f"{name} on {line.name}", _mechanism(m, line, kind))
            better = ratio(f"{name} over one FIFO on {line.name}", found, fifo, above=MUCH)
            verdicts.append(all_of(better, at_least(GOOD, [found])))
    return all_of(*verdicts)


@listed
def the_faster_side_is_empty(m: Measurements) -> Verdict:
    """If one buffer drains at least 1.5 times as fast as the other buffer, the faster buffer is empty for at least
    twice the time for which the slower buffer is empty."""
    verdicts: list[Verdict] = []
    for line in LINES:
        for size in BUFFERS:
            drains = {"down": DOWNLINK_BUFFER / line.down_bps, "up": size / line.up_bps}
            slow, fast = sorted(drains, key=lambda way: -drains[way])
            if drains[slow] < MUCH * drains[fast]:
                continue
            where = f"on {line.name} with {size} packets"
            empty = {
                way: percent(f"{way}link's buffer empty {where}", value(m, line, f"{way}link_empty", size))
                for way in drains
            }
            verdicts.append(ratio(f"faster over slower side {where}", empty[fast], empty[slow], above=2))
    return all_of(*verdicts).but(criterion="the buffer that drains faster is empty at least twice as often, in each")


@listed
def shares_follow_the_expression(m: Measurements) -> Verdict:
    """With byte buffers, each direction's relative throughput is within 15 percentage points of the expression."""
    off: list[Measured] = []
    for line in LINES:
        for size in BUFFERS:
            expected = predicted(line, size, "bytes").shares(line.down_bps, line.up_bps)
            for way, wanted in zip(("down", "up"), expected, strict=True):
                found = value(m, line, f"{way}_share", size).median
                off.append(percent(f"distance {way} on {line.name} with {size} packets", abs(found - wanted)))
    return largest_at_most(POINTS, off, "each share within 15 points of the expected one")


CLAIMS = claims_of(globals())
