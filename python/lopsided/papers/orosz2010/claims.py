"""The letter's statements as functions that measure whether they hold.

A claim is judged on medians over the repetitions and again on each single one (the letter shows one measurement for
each variant). Bounds: shares within 15 points of a printed one that is "near", "similar" within 2 %, "equal"
within 5 %, fluctuation "large" where the standard deviation in bins of a second exceeds a fifth of the mean and five
times that of the download alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.orosz2010.exhibits import OTHERS, collection, mean_over, value
from lopsided.papers.orosz2010.testbed import (
    ASSUMED_BUFFER,
    DEEP_BUFFER,
    DOWN_BPS,
    FLAVOURS,
    HIGH_SPEED,
    UP_BPS,
    UPLINKS,
    WINDOWS,
    flavour,
)

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab

PHASES_ONLY = ("phases",)

SIMILAR = 0.02
NEAR = 0.15
EQUAL = 0.05
LARGE = 0.2
TIMES = 5

_VEGAS, _RENO = flavour("vegas"), flavour("reno")


def _each(lab: Lab, name: str, text: str, scale: float = 1.0, unit: str = "") -> tuple[Measured, ...]:
    return tuple(Measured(f"{each.title}{text}", value(lab, each, name) * scale, unit) for each in FLAVOURS)


@collection.claim(
    "phase-1-similar",
    "Alone on the line all variants perform similarly well.",
    where="section V",
    needs=PHASES_ONLY,
)
def phase_1_similar(lab: Lab) -> Verdict:
    """Throughputs of phase 1 lie within 2 % of each other, and the downlink is busy for 95 % of the time."""
    rates = np.array([value(lab, each, "throughput_1_bps") for each in FLAVOURS])
    spread = float((rates.max() - rates.min()) / rates.max())
    busy = min(value(lab, each, "downlink_busy_1") for each in FLAVOURS)
    printed = lab.published.find("Section V", "downstream_throughput_ranking")
    measured = (
        Measured("greatest difference", spread * 100, "percent", printed),
        Measured("least share of time that the downlink is busy", busy * 100, "percent"),
        *_each(lab, "throughput_1_bps", "", 1e-3, "kbit/s"),
    )
    holds = spread < SIMILAR and busy > 0.95
    return Verdict(holds, measured, "" if holds else f"they differ by {spread:.1%}, the downlink is busy {busy:.0%}")


@collection.claim(
    "phase-2-near-70",
    "Beside one upload the download falls to near 70 % of the line, depending on the variant.",
    where="section V",
    needs=PHASES_ONLY,
)
def phase_2_near_70(lab: Lab) -> Verdict:
    """The mean share of phase 1 over the variants but Vegas, of which the letter speaks apart, is within 15 points."""
    mean, *_ = mean_over(lab, OTHERS, "share_2")
    printed = lab.published.find("Section V", "downstream_throughput_share_of_link", phase=2)
    measured = (
        Measured("mean but Vegas", mean * 100, "percent", printed),
        *_each(lab, "share_2", "", 100, "percent"),
    )
    holds = abs(mean - printed.number / 100) < NEAR
    reason = f"the mean share is {mean:.0%}, and what decides it is the modem's buffer, which is not given (figure B)"
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "phase-3-below-40",
    "Beside two uploads an average of 40 % or less is left.",
    where="section V",
    needs=("phases", "windows"),
    known_not_to_hold=True,
)
def phase_3_below_40(lab: Lab) -> Verdict:
    """The mean share of phase 1 over all variants is at most 0.4 (printed "an average of 40 % or less")."""
    mean, *_ = mean_over(lab, FLAVOURS, "share_3")
    others, *_ = mean_over(lab, OTHERS, "share_3")
    second, *_ = mean_over(lab, OTHERS, "share_2")
    printed = lab.published.find("Section V", "downstream_throughput_share_of_link", phase=3)
    bounded = {
        window: mean_over(lab, FLAVOURS, "share_3", "windows", upload_window_kib=window)[0] for window in WINDOWS
    }
    measured = (
        Measured("mean over the six", mean * 100, "percent", printed),
        Measured("mean but Vegas", others * 100, "percent"),
        *(
            Measured(f"mean over the six with uploads of {window} KiB, deep buffer", share * 100, "percent")
            for window, share in bounded.items()
        ),
    )
    holds = mean <= printed.number / 100
    enough = next((window for window, share in bounded.items() if share <= printed.number / 100), WINDOWS[-1])
    reason = (
        f"{others:.0%} is left (all but Vegas), as in phase 2 ({second:.0%}): one upload that grows its window fills a "
        f"buffer of {ASSUMED_BUFFER} packets already, and a second cannot make ACKs wait longer than the full buffer "
        "does. Only where the first upload leaves room does the second add its wait: with windows of "
        f"{enough} KiB before a buffer of {DEEP_BUFFER} packets {bounded[enough]:.0%} is left (figure W)"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "one-setting-gives-both",
    "There is a setting in which one upload leaves about 70 % and two leave 40 % or less.",
    where="section V, both shares together",
    needs=("windows",),
)
def one_setting_gives_both(lab: Lab) -> Verdict:
    """With uploads of some window in figure W: mean but Vegas within 15 points of 70 %, of the six at most 40 %."""
    measured, found = [], []
    for window in WINDOWS:
        second, *_ = mean_over(lab, OTHERS, "share_2", "windows", upload_window_kib=window)
        third, *_ = mean_over(lab, FLAVOURS, "share_3", "windows", upload_window_kib=window)
        measured += [
            Measured(f"{window} KiB: phase 2, mean but Vegas", second * 100, "percent"),
            Measured(f"{window} KiB: phase 3, mean over the six", third * 100, "percent"),
        ]
        if abs(second - 0.7) < NEAR and third <= 0.4:
            found.append(window)
    reason = "no window of figure W gives both"
    return Verdict(bool(found), tuple(measured), "" if found else reason)


@collection.claim(
    "vegas-lowest",
    "Vegas becomes far the lowest as long as any large upload runs.",
    where="section V, figure 2",
    needs=PHASES_ONLY,
)
def vegas_lowest(lab: Lab) -> Verdict:
    """In phases 2 and 3 Vegas has less than half of the throughput of every other variant."""
    measured, holds = [], True
    for phase in (2, 3):
        vegas = value(lab, _VEGAS, f"throughput_{phase}_bps")
        next_lowest = min(value(lab, each, f"throughput_{phase}_bps") for each in OTHERS)
        holds = holds and vegas < next_lowest / 2
        measured += [
            Measured(f"Vegas in phase {phase}", vegas / 1e3, "kbit/s"),
            Measured(f"the next lowest in phase {phase}", next_lowest / 1e3, "kbit/s"),
        ]
    return Verdict(holds, tuple(measured), "" if holds else "another variant is nearly as low")


@collection.claim(
    "vegas-below-uplink",
    "Vegas' download is at or below the rate of the uplink, 128 kbit/s, while an upload runs.",
    where="section V, figure 2",
    needs=PHASES_ONLY,
)
def vegas_below_uplink(lab: Lab) -> Verdict:
    """Throughput of phases 2 and 3 at most 128 kbit/s, printed in words as "equal to or under", so within 5 %."""
    printed = lab.published.find("Section V", "downstream_throughput_bound")
    rates = {phase: value(lab, _VEGAS, f"throughput_{phase}_bps") for phase in (2, 3)}
    measured = tuple(Measured(f"phase {phase}", rate / 1e3, "kbit/s", printed) for phase, rate in rates.items())
    holds = max(rates.values()) <= UP_BPS * (1 + EQUAL)
    reason = "the uploads run Vegas too and stand in line with small windows, so the download can keep more"
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "vegas-holds-its-window",
    "Vegas reads the swing of the RTT as congestion and holds its window down.",
    where="sections V and VI, the explanation (ORO-M04)",
    needs=PHASES_ONLY,
)
def vegas_holds_its_window(lab: Lab) -> Verdict:
    """In phase 2 Vegas' mean window is below a fifth of Reno's although the downlink drops nothing of it."""
    vegas, reno = (value(lab, each, "cwnd_2_bytes") for each in (_VEGAS, _RENO))
    drops = value(lab, _VEGAS, "downlink_drops_2")
    measured = (
        Measured("Vegas' window in phase 2", vegas / 1e3, "kB"),
        Measured("its window alone", value(lab, _VEGAS, "cwnd_1_bytes") / 1e3, "kB"),
        Measured("Reno's in phase 2", reno / 1e3, "kB"),
        Measured("its RTT in phase 2", value(lab, _VEGAS, "rtt_2_ms"), "ms"),
        Measured("its RTT alone", value(lab, _VEGAS, "rtt_1_ms"), "ms"),
        Measured("packets that the downlink drops of it", drops),
    )
    holds = vegas < reno / 5 and drops == 0
    return Verdict(holds, measured, "" if holds else f"its window is {vegas / 1e3:.0f} kB, and {drops:.0f} are dropped")


@collection.claim(
    "high-speed-fluctuates",
    "With the uplink congested the high-speed variants' throughput fluctuates widely.",
    where="sections V and VI, figures 1, 3 and 4",
    needs=PHASES_ONLY,
)
def high_speed_fluctuates(lab: Lab) -> Verdict:
    """Standard deviation over mean in phase 3, bins of a second: above 0.2 for each, and five times that of phase 1."""
    printed = lab.published.find("Section V", "throughput_fluctuation")
    measured, calm = [], []
    for each in HIGH_SPEED:
        alone, congested = (value(lab, each, f"fluctuation_{phase}") for phase in (1, 3))
        measured += [
            Measured(f"{each.title}, phase 3", congested, published=printed),
            Measured(f"{each.title}, phase 1", alone),
        ]
        if congested < max(LARGE, TIMES * alone):
            calm.append(f"{each.title} only {congested:.2f} (alone {alone:.2f})")
    return Verdict(not calm, tuple(measured), "; ".join(calm))


@collection.claim(
    "high-speed-fluctuates-more",
    "They fluctuate because their windows grow more aggressively than Reno's.",
    where="sections V and VI",
    needs=PHASES_ONLY,
    known_not_to_hold=True,
)
def high_speed_fluctuates_more(lab: Lab) -> Verdict:
    """In phase 3 each high-speed variant fluctuates by at least a tenth more than Reno."""
    reno = value(lab, _RENO, "fluctuation_3")
    found = {each: value(lab, each, "fluctuation_3") for each in HIGH_SPEED}
    drops = {each: value(lab, each, "downlink_drops_3") for each in (*HIGH_SPEED, _RENO)}
    delivery = {each: value(lab, each, "delivery_fluctuation_3") for each in (*HIGH_SPEED, _RENO)}
    measured = (
        Measured("Reno", reno),
        *(Measured(each.title, fluctuation) for each, fluctuation in found.items()),
        *(Measured(f"{each.title}: packets that the downlink drops", number) for each, number in drops.items()),
        *(Measured(f"{each.title}: of what the application reads", number) for each, number in delivery.items()),
    )
    calm = [each.title for each, fluctuation in found.items() if fluctuation < 1.1 * reno]
    cubic = flavour("cubic")
    reason = (
        f"not {', '.join(calm)}: what comes down the line fluctuates with the waiting of ACKs, which is the same for "
        f"Reno ({reno:.2f}). The aggressive growth shows in losses (CUBIC {drops[cubic]:.0f} packets, Reno "
        f"{drops[_RENO]:.0f}) and behind them in what the application can read in order: there CUBIC fluctuates by "
        f"{delivery[cubic]:.2f}, Reno by {delivery[_RENO]:.2f}"
    )
    return Verdict(not calm, measured, reason if calm else "")


@collection.claim(
    "uplink-delays-acks",
    "Uploads make the download's ACKs wait, and the effective RTT rises with each.",
    where="sections IV and V (ORO-M04)",
    needs=PHASES_ONLY,
    known_not_to_hold=True,
)
def uplink_delays_acks(lab: Lab) -> Verdict:
    """Mean RTT over the variants but Vegas rises by a tenth at least from phase 1 to 2 and from 2 to 3."""
    first, second, third = (mean_over(lab, OTHERS, f"rtt_{phase}_ms")[0] for phase in (1, 2, 3))
    waiting = [mean_over(lab, OTHERS, f"uplink_backlog_{phase}_packets")[0] for phase in (2, 3)]
    measured = (
        Measured("RTT in phase 1", first, "ms"),
        Measured("RTT in phase 2", second, "ms"),
        Measured("RTT in phase 3", third, "ms"),
        Measured("packets waiting in the uplink in phase 2", waiting[0]),
        Measured("packets waiting in the uplink in phase 3", waiting[1]),
    )
    holds = second > 1.1 * first and third > 1.1 * second
    reason = (
        f"the RTT rises from {first:.0f} to {second:.0f} ms with the first upload and is {third:.0f} ms with the "
        f"second: the buffer is filled to much the same (from {waiting[0]:.0f} to {waiting[1]:.0f} packets). It rises "
        "again where the uploads' windows are bounded (figure W)"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "acks-bunch",
    "ACKs that waited in the uplink arrive in bunches.",
    where="sections I and VI (ORO-M04)",
    needs=("acks",),
)
def acks_bunch(lab: Lab) -> Verdict:
    """Of the download's acknowledged octets over a third arrives compressed in phase 2, twice as much as in phase 1."""
    rows = {each: [value(lab, each, f"bunched_share_{phase}", "acks") for phase in (1, 2, 3)] for each in FLAVOURS}
    measured = tuple(
        Measured(f"{each.title}, phase {phase}", shares[phase - 1])
        for each, shares in rows.items()
        for phase in (1, 2, 3)
    )
    holds = all(shares[1] > max(1 / 3, 2 * shares[0]) for shares in rows.values())
    return Verdict(holds, measured, "" if holds else "for one of the variants they do not")


@collection.claim(
    "bunches-congest-downlink",
    "Bunched ACKs let the sender send more than the downlink can take: it loses packets and idles in turn.",
    where="sections I and VI (ORO-M04)",
    needs=PHASES_ONLY,
)
def bunches_congest_downlink(lab: Lab) -> Verdict:
    """In phase 3, for all but Vegas: the downlink stands empty for a tenth of the time and still drops packets."""
    measured, reasons = [], []
    for each in OTHERS:
        busy, drops = value(lab, each, "downlink_busy_3"), value(lab, each, "downlink_drops_3")
        measured += [
            Measured(f"{each.title}: downlink empty", (1 - busy) * 100, "percent"),
            Measured(f"{each.title}: packets dropped", drops),
        ]
        if busy > 0.9 or drops < 1:
            reasons.append(f"{each.title}: empty {1 - busy:.0%} of the time, {drops:.0f} dropped")
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "irregular",
    "The originally flat throughput becomes very irregular, whatever the variant.",
    where="section V",
    needs=PHASES_ONLY,
)
def irregular(lab: Lab) -> Verdict:
    """Standard deviation over mean, bins of a second, in phase 3: above 0.2 and five times that of phase 1."""
    flat = {each: value(lab, each, "fluctuation_1") for each in FLAVOURS}
    rough = {each: value(lab, each, "fluctuation_3") for each in FLAVOURS}
    measured = tuple(
        Measured(f"{each.title}, phase {phase}", found[each])
        for each in FLAVOURS
        for phase, found in ((1, flat), (3, rough))
    )
    off = [each.title for each in FLAVOURS if rough[each] < max(LARGE, TIMES * flat[each])]
    return Verdict(not off, measured, f"not so for {', '.join(off)}" if off else "")


@collection.claim(
    "ratio-decides",
    "The higher the ratio of the two rates, the likelier is a loss of throughput.",
    where="section V, which measured one ratio",
    needs=("ratios",),
)
def ratio_decides(lab: Lab) -> Verdict:
    """Over uplinks of 512 to 64 kbit/s the mean share but Vegas falls in both phases: rank correlation below -0.9."""
    ratios = [DOWN_BPS / 1e3 / rate for rate in UPLINKS]
    measured, ranks = [], []
    for phase in (2, 3):
        shares = [mean_over(lab, OTHERS, f"share_{phase}", "ratios", uplink_kbps=rate)[0] for rate in UPLINKS]
        ranks.append(metrics.rank_correlation(ratios, shares))
        measured += [
            Measured(f"ratio {ratio:g}, phase {phase}", share * 100, "percent")
            for ratio, share in zip(ratios, shares, strict=True)
        ]
    holds = max(ranks) < -0.9
    reason = f"the rank correlations with the ratio are {ranks[0]:+.2f} (phase 2) and {ranks[1]:+.2f} (phase 3)"
    return Verdict(holds, tuple(measured), "" if holds else reason)


@collection.claim(
    "buffers-above-bdp",
    "Default socket buffers, above 16 kB, are far larger than the bandwidth-delay product, so they do not limit.",
    where="section III (ORO-M01)",
    needs=("windows",),
    known_not_to_hold=True,
)
def buffers_above_bdp(lab: Lab) -> Verdict:
    """Uploads bounded at 16 to 64 KiB, all above the path's 1.92 kB, change the mean share by less than a tenth."""
    shares = [mean_over(lab, OTHERS, "share_3", "windows", upload_window_kib=window)[0] for window in WINDOWS]
    bdp = metrics.bandwidth_delay_product_bytes(DOWN_BPS, 0.03)
    measured = (
        Measured("bandwidth-delay product of the path", bdp / 1e3, "kB"),
        *(
            Measured(f"phase 3 with uploads of {window} KiB", share * 100, "percent")
            for window, share in zip(WINDOWS, shares, strict=True)
        ),
    )
    holds = max(shares) - min(shares) < 0.1 * max(shares)
    reason = (
        f"the path without queues needs {bdp / 1e3:.2f} kB, but an upload's window is what stands in the modem's "
        f"buffer: with uploads of {WINDOWS[0]} KiB {shares[0]:.0%} of the download is left in phase 3, with "
        f"{WINDOWS[-1]} KiB {shares[-1]:.0%}. The product sizes a window from below, not from above"
    )
    return Verdict(holds, measured, "" if holds else reason)
