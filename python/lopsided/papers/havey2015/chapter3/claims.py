"""The statements of chapter 3, statements of our own, and statements about current Wi-Fi."""

from __future__ import annotations

import numpy as np

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    Listed,
    agree_within,
    all_of,
    at_least,
    at_most,
    between,
    claims_of,
    mbit,
    near,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.havey2015.chapter3.setup import ERRORS, OBJECT, PARTS, RIVALS, RULES, STANDARDS, TIMED
from lopsided.papers.havey2015.chapter3.shared import (
    LOSSES,
    RIVALRIES,
    curl_overhead,
    overhead,
    share_curve,
    speedup,
)

listed = Listed.beside(__file__)


@listed
def fwp_is_linear(m: Measurements) -> Verdict:
    """At frame error rates from 0.05 to 0.5, FWP's throughputs are within 10 % of a straight line."""
    found = [m.value("fwp-loss", "tested_bps", mode="fwp", error=error) for error in ERRORS[1:]]
    ends = [mbit(f"FWP at FER {error}", found[place]) for error, place in ((0.05, 0), (0.5, -1))]
    return at_most(10, [_off_line(found)]).but(
        *ends, why="a SYN-ACK is sent only once, like any frame, so that connections open late if many frames are lost"
    )


def _off_line(found: list[Spread]) -> Measured:
    """Fits a straight line to the throughput against the frame error rate, and returns the largest deviation from the
    line, divided by the mean throughput."""
    x, y = np.array(ERRORS[1:]), np.array([each.median for each in found])
    slope, intercept = np.polyfit(x, y, 1)
    off = np.abs(y - (slope * x + intercept)) / y.mean()
    return percent("largest distance from a straight line over 0.05 to 0.5", float(off.max()))


@listed
def alone_it_is_linear(m: Measurements) -> Verdict:
    """Without competitors, FWP's throughputs are within 2 % of a straight line over the frame error rate (FER).

    The ratio of the throughput at FER 0.5 to the throughput at FER 0.05 is within 5 % of 0.5 / 0.95.
    """
    found = [m.value("fwp-alone", "tested_bps", mode="fwp", error=error, rivals=0) for error in ERRORS[1:]]
    kept = number("at 0.5 to at 0.05, over 0.50 / 0.95", found[-1].median / found[0].median * 0.95 / 0.5)
    return all_of(at_most(2, [_off_line(found)]), between(0.95, 1.05, [kept]))


@listed
def third_at_5_percent(m: Measurements) -> Verdict:
    """At a frame error rate of 0.05, A-MPDU's throughput is near the published 1/3 of FWP's throughput.

    The published 1/3 contradicts figure 3.8 (HAV-A09).
    """
    return _share(m, LOSSES, 0.05).but(
        why="a third would be a speedup of three, more than in figure 3.8: the text probably means a loss of one third"
    )


@listed
def half_at_20_percent(m: Measurements) -> Verdict:
    """At a frame error rate of 0.2, A-MPDU's throughput is near the published 1/2 of FWP's throughput."""
    return _share(m, LOSSES[:1], 0.2).but(
        why="the verdict depends on the seed: single seeds are on either side of the bound"
    )


def _share(m: Measurements, keys: tuple[str, ...], error: float) -> Verdict:
    item = f"FER {error:.2f}, A-MPDU as a share of FWP"
    printed = m.published.find("Section 3.4.2 / Figure 3.7", "throughput_share", item=item)
    return near([number(f"A-MPDU to FWP at FER {error}", 1 / speedup(m, keys, error, 9), published=printed)])


def _rivalry(error: float) -> tuple[str, ...]:
    """Returns the experiment with competitors at a frame error rate."""
    return RIVALRIES[:1] if error == 0.1 else RIVALRIES[1:]


def _mean_speedup(m: Measurements, error: float) -> Measured:
    printed = m.published.find("Section 3.4.2 / Figure 3.8", "speedup", item=f"FER {error:.2f}")
    found = [speedup(m, _rivalry(error), error, rivals) for rivals in RIVALS[1:]]
    return number(f"mean speedup at FER {error}", float(np.mean(found)), published=printed)


def _each_speedup(m: Measurements, error: float) -> list[Measured]:
    return [
        number(f"speedup next to {rivals}, FER {error}", speedup(m, _rivalry(error), error, rivals))
        for rivals in RIVALS[1:]
    ]


def _flat(m: Measurements) -> Verdict:
    return all_of(
        *(agree_within(0.15, _each_speedup(m, error), f"greatest difference at FER {error}") for error in (0.1, 0.4))
    )


def _alike_alone(m: Measurements) -> Verdict:
    printed = m.published.find("Section 3.4.2", "speedup", item="no competing station")
    return near(
        number(f"speedup alone at FER {error}", speedup(m, RIVALRIES[:1], error, 0), published=printed)
        for error in (0.1, 0.4)
    )


@listed
def speedup_at_10_percent(m: Measurements) -> Verdict:
    """At a frame error rate of 0.1 and with 1 to 9 competitors, FWP's mean speedup over A-MPDU is at least 1.6."""
    return at_least(1.6, [_mean_speedup(m, 0.1)]).but(
        *_each_speedup(m, 0.1), why="FWP gains least with one competitor, because every second turn is its own"
    )


@listed
def speedup_at_40_percent(m: Measurements) -> Verdict:
    """At a frame error rate of 0.4 and with 1 to 9 competitors, FWP's mean speedup over A-MPDU is at least 2."""
    return at_least(2.0, [_mean_speedup(m, 0.4)]).but(*_each_speedup(m, 0.4))


@listed
def speedup_is_flat(m: Measurements) -> Verdict:
    """At frame error rates of 0.1 and 0.4, FWP's speedups over A-MPDU with 1 to 9 competitors are within 15 % of each
    other."""
    return _flat(m).but(
        why="with one competitor every second turn is the station's own, so that a short turn costs it least"
    )


@listed
def equal_alone(m: Measurements) -> Verdict:
    """Without a competitor, FWP's throughput divided by A-MPDU's throughput is within 15 % of the published 1."""
    return _alike_alone(m)


def _shares(m: Measurements, rule: str) -> list[Measured]:
    curve = share_curve(m, rule)
    return [
        number(f"share of the compatible TCP at {rtt:g} ms ({rule})", curve.at(float(rtt)), "percent")
        for rtt in curve.x
    ]


@listed
def shares_fairly(m: Measurements) -> Verdict:
    """With the published rule, Compatible TCP gets 40 to 60 % of the total rate."""
    return between(40, 60, _shares(m, "literal")).but(
        *_shares(m, "margin 4"),
        *_shares(m, "two Cubics"),
        why="a possible reason: the printed rule treats more loss than the channel's mean as congestion. Many round "
        "trips exceed the mean by chance. A margin for chance also hides losses of the queue: "
        + text.listed(_shares(m, "margin 4")),
    )


@listed
def aggressive_on_long_ways(m: Measurements) -> Verdict:
    """Compatible TCP's mean share is 0 to 10 percentage points higher at RTTs of 60 and 70 ms than at 30 and 40 ms."""
    shares = [each.value for each in _shares(m, "literal")]
    short, long = float(np.mean(shares[:2])), float(np.mean(shares[3:]))
    more = number("share at 60 and 70 ms less that at 30 and 40", long - short, "points")
    return between(0, 10, [more]).but(why="the printed rule leaves it a small share at any round trip")


def _in_time(m: Measurements, column: str, what: str, unit: str = "") -> list[Measured]:
    return [
        number(f"{what} ({rule})", m.value("fwp-sharing-time", column, rule=rule, rtt_ms=TIMED), unit) for rule in RULES
    ]


@listed
def lead_in_turn(m: Measurements) -> Verdict:
    """At an RTT of 40 ms, the lead in throughput passes from one flow to the other at least once after slow start."""
    with_margin, printed, cubics = _in_time(m, "lead_changes", "changes of the lead")
    return at_least(1, [printed]).but(
        with_margin,
        cubics,
        *_in_time(m, "share_percent", "its share", "percent"),
        why="with the printed rule it never leads, and with a margin it never loses the lead. Two Cubic flows keep the "
        "lead for such a time too",
    )


@listed
def swings_are_large(m: Measurements) -> Verdict:
    """The range of Compatible TCP's share, in bins of 1 s, is wider than the range of a Cubic flow's share if two Cubic
    flows compete."""
    with_margin, printed, cubics = _in_time(m, "swing_points", "swing of its share", "points")
    return ratio("swing as printed to that of two Cubics", printed, cubics, above=1.0).but(
        with_margin, why="a share near zero cannot swing far; the share with a margin does"
    )


@listed
def path_overhead(m: Measurements) -> Verdict:
    """At a frame error rate of 0.5, the additional bytes on the Internet path, in percent of a loss-free transfer, are
    near the published percentage."""
    printed = m.published.find("Section 3.4.4 / Figure 3.11", "overhead", item="Internet path at FER 0.50")
    found = [number("overhead of the path at FER 0.5", overhead(m, 0.5), "percent", published=printed)]
    arrived = m.value("fwp-repair", "arrived_bytes", error=0.5)
    again = m.value("fwp-repair", "retransmits", error=0.5)
    return near(found).but(
        number("at 0.2", overhead(m, 0.2), "percent"),
        number("arrived at FER 0.5", arrived, "MB", scale=1e-6),
        number("segments that TCP retransmitted", again, "segments"),
        number("the object", OBJECT, "MB", scale=1e-6),
        why="as many bytes are lost as arrive. More arrive than the object has: headers, and unusable responses whose "
        "headers the channel lost. TCP itself retransmits almost nothing",
    )


@listed
def wireless_overhead(m: Measurements) -> Verdict:
    """At a frame error rate of 0.5, the size of all repair requests, in percent of the object's size, is near the
    published percentage."""
    printed = m.published.find("Section 3.4.4 / Figure 3.11", "overhead", item="wireless hop at FER 0.50")
    found = m.value("fwp-repair", "request_overhead_percent", error=0.5)
    named = number("requests at FER 0.5", found, "percent", published=printed)
    curl = number("all that the station sends, with one curl for each range", curl_overhead(m, 0.5), "percent")
    return near([named]).but(
        curl,
        why=f"a request here is short and uses a persistent connection. With one curl for each range, and all packets "
        f"of its connection, they are {text.value(curl)}",
    )


@listed
def object_is_whole(m: Measurements) -> Verdict:
    """At each frame error rate, the object is complete within 30 s. The application verifies that every byte is
    correct."""
    found = [
        number(f"complete at FER {error}", m.value("fwp-repair", "completion_s", error=error), "s") for error in ERRORS
    ]
    return between(0, 30, found)


def _today_speedup(m: Measurements, standard: str) -> Measured:
    fwp, ampdu = (m.value("fwp-today", "tested_bps", standard=standard, mode=mode, cc="cubic").median for mode in PARTS)
    return number(f"speedup with {standard} at FER 0.1", fwp / ampdu)


@listed
def gains_today(m: Measurements) -> Verdict:
    """At an FER of 0.1 with 4 other stations, FWP's throughput is at least 1.1 times A-MPDU's throughput."""
    return at_least(1.1, [_today_speedup(m, standard) for standard in STANDARDS])


@listed
def bbr_without_repair(m: Measurements) -> Verdict:
    """With 802.11ac at FER 0.1 and no retransmissions of frames, BBR gets at least 5 times Cubic's throughput."""
    bbr, cubic = (
        mbit(f"{name} over frames sent once", _plain(m, cc)) for name, cc in (("BBR", "bbr"), ("Cubic", "cubic"))
    )
    fwp = m.value("fwp-today", "tested_bps", standard="802.11ac", mode="fwp", cc="cubic")
    gain = number("BBR to Cubic", bbr.value / cubic.value)
    return at_least(5, [gain]).but(bbr, cubic, mbit("FWP with Cubic", fwp))


def _plain(m: Measurements, cc: str) -> Spread:
    return m.value("fwp-today", "tested_bps", standard="802.11ac", mode="plain", cc=cc)


CLAIMS = claims_of(globals())
