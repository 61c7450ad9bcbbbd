"""The letter's statements as functions that measure whether they hold.

A claim is judged on medians over the repetitions and again on each single one (the letter shows one measurement for
each variant). Bounds that are ours alone: "equal" within 5 %, fluctuation "large" where the standard deviation in bins
of a second exceeds a fifth of the mean and five times that of the download alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided import metrics
from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    MORE,
    Statements,
    agree_within,
    all_of,
    at_least,
    at_most,
    falls,
    near,
    number,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.reproduction import judge
from lopsided.papers.orosz2010.setup import (
    ASSUMED_BUFFER,
    DEEP_BUFFER,
    DOWN_BPS,
    FLAVOURS,
    HIGH_SPEED,
    UP_BPS,
    UPLINKS,
    WINDOWS,
    Flavour,
)
from lopsided.papers.orosz2010.shared import (
    CUBIC,
    OTHERS,
    RENO,
    VEGAS,
    mean_curve,
    mean_over,
    of_each,
    share,
    value,
)

EQUAL = 1.05
LARGE = 0.2
TIMES = 5


of_paper, ours = Statements(("phases",)), Statements(("phases",), "ours")


@of_paper("Alone on the line all variants perform similarly well.", "section V")
def phase_1_similar(m: Measurements) -> Verdict:
    """Throughputs of phase 1, and how busy the downlink is."""
    printed = m.published.find("Section V", "downstream_throughput_ranking")
    busy = min(value(m, each, "downlink_busy_1").median for each in FLAVOURS)
    rates = agree_within(0.02, of_each(m, "throughput_1_bps", "", "kbit/s", 1e-3))
    said = number("least share of time that the downlink is busy", busy, "percent", scale=100, published=printed)
    return all_of(rates, at_least(95, [said]))


@of_paper("Beside one upload the download falls to near 70 % of the line, depending on the variant.", "section V")
def phase_2_near_70(m: Measurements) -> Verdict:
    """The mean share of phase 1 over the variants but Vegas, of which the letter speaks apart."""
    mean = mean_over(m, OTHERS, "share_2")
    verdict = near([number("mean but Vegas", mean, "percent", scale=100, published=share(m, 2))])
    return verdict.but(*of_each(m, "share_2", "", "percent", 100))


@ours("Near 70 % is left with some uplink buffers only.", "of section V (ORO-A08)", needs=("buffers",))
def seventy_percent_needs_its_buffer(m: Measurements) -> Verdict:
    """The uplink buffers, linear between those that were run, with which the mean share is near the printed one."""
    found = mean_curve(m, OTHERS, "share_2", "buffers", "uplink_buffer_packets")
    least, most = float(found.x[0]), float(found.x[-1])
    buffers = np.linspace(least, most, 1 + 10 * int(most - least))
    printed = share(m, 2)
    shares = [number("", found.at(each), "percent", scale=100, published=printed) for each in buffers]
    fits = buffers[[near([each]).holds for each in shares]]
    ends = [
        number(f"{name} uplink buffer with which it is near print", packets, "packets")
        for name, packets in (("smallest", fits.min(initial=np.inf)), ("largest", fits.max(initial=-np.inf)))
    ]
    assumed = number("the buffer that is assumed", ASSUMED_BUFFER, "packets")
    there = [
        number(f"mean share with {packets:g} packets", found.at(packets), "percent", scale=100, published=printed)
        for packets in found.x
    ]
    reason = f"it is near print from {text.value(ends[0])} to {text.value(ends[1])}"
    holds = fits.size > 0 and fits.max() < 2 * fits.min() and fits.min() <= ASSUMED_BUFFER <= fits.max()
    criterion = "the buffers lie within a factor of 2, around the one that is assumed"
    note = f"Near print from {text.value(ends[0])} to {text.value(ends[1])} only; the letter does not give the buffer"
    return Verdict(bool(holds), criterion, (*ends, assumed, *there), reason, (note,) if fits.size else ())


def _bounded_uploads(m: Measurements, phase: int, window: int) -> float:
    flavours = OTHERS if phase == 2 else FLAVOURS
    return mean_over(m, flavours, f"share_{phase}", "windows", upload_window_kib=window).median


@of_paper(
    "Beside two uploads an average of 40 % or less is left.", "section V", needs=("phases", "windows"), fails=True
)
def phase_3_below_40(m: Measurements) -> Verdict:
    """The mean share of phase 1 over all variants."""
    printed = share(m, 3)
    mean = number("mean over the six", mean_over(m, FLAVOURS, "share_3"), "percent", scale=100, published=printed)
    others, second = (
        number(f"mean but Vegas, phase {phase}", mean_over(m, OTHERS, f"share_{phase}"), "percent", scale=100)
        for phase in (3, 2)
    )
    bounded = [
        number(
            f"mean over the six with uploads of {window} KiB before {DEEP_BUFFER} packets",
            _bounded_uploads(m, 3, window),
            "percent",
            scale=100,
        )
        for window in WINDOWS
    ]
    enough = next((each for each in bounded if each.value <= printed.number), bounded[-1])
    waiting = [
        number(f"packets waiting in the uplink, phase {phase}", mean_over(m, OTHERS, f"uplink_backlog_{phase}_packets"))
        for phase in (2, 3)
    ]
    return at_most(printed.number, [mean]).but(
        others,
        second,
        *waiting,
        *bounded,
        why=f"of the five but Vegas {text.value(others)} is left, as in phase 2 ({text.value(second)}): the buffer "
        f"is as full beside one upload as beside two ({text.number(waiting[0].value)} and "
        f"{text.number(waiting[1].value)} packets wait). Where the first upload leaves room the second adds its "
        f"wait: {text.named(enough)} (figure W)",
    )


@ours(
    "There is a setting in which one upload leaves about 70 % and two leave 40 % or less.",
    "of section V, both shares together",
    needs=("windows", "phases"),
    fails=True,
)
def one_setting_gives_both(m: Measurements) -> Verdict:
    """In figure W: the mean but Vegas near print beside one upload, and the mean of the six at most 40 % beside two.

    The note says which statements on the three phases come to another verdict there.
    """
    measured: list[Measured] = []
    found: list[int] = []
    for window in WINDOWS:
        second, third = (
            number(
                f"{window} KiB: {name}",
                _bounded_uploads(m, phase, window),
                "percent",
                scale=100,
                published=share(m, phase),
            )
            for phase, name in ((2, "phase 2, mean but Vegas"), (3, "phase 3, mean over the six"))
        )
        measured += [second, third]
        if near([second]).holds and third.value <= share(m, 3).number:
            found.append(window)
    criterion = "one window of figure W at least gives both"
    notes = tuple(_changes(m, window) for window in found) if m.has("phases") else ()
    return Verdict(bool(found), criterion, tuple(measured), "no window of figure W gives both", notes)


def _changes(m: Measurements, window: int) -> str:
    """What the other statements say under a window of figure W, against what is assumed."""
    others = [claim for claim in CLAIMS if claim.needs == ("phases",)]
    there = judge(others, m.instead("phases", "windows", upload_window_kib=window))
    moved = [(each, claim.check(m).holds) for each, claim in zip(there, others, strict=True)]
    gained = [each.claim.key for each, held in moved if each.verdict.holds and not held]
    lost = [each.claim.key for each, held in moved if held and not each.verdict.holds]
    return (
        f"With uploads of {window} KiB also hold: {', '.join(gained) or 'none'}; no longer hold: "
        f"{', '.join(lost) or 'none'}"
    )


@of_paper("Vegas becomes far the lowest as long as any large upload runs.", "section V, figure 2")
def vegas_lowest(m: Measurements) -> Verdict:
    """Vegas' throughput against that of the next lowest variant, beside one upload and beside two."""
    verdicts: list[Verdict] = []
    for phase in (2, 3):
        vegas = number(f"Vegas in phase {phase}", value(m, VEGAS, f"throughput_{phase}_bps"), "kbit/s", scale=1e-3)
        lowest = min(value(m, each, f"throughput_{phase}_bps").median for each in OTHERS)
        other = number(f"the next lowest in phase {phase}", lowest, "kbit/s", scale=1e-3)
        verdicts.append(ratio(f"Vegas over the next lowest, phase {phase}", vegas, other, below=0.5))
    return all_of(*verdicts)


@of_paper(
    "Vegas' download is at or below the rate of the uplink, 128 kbit/s, while an upload runs.", "section V, figure 2"
)
def vegas_below_uplink(m: Measurements) -> Verdict:
    """Vegas' throughput in phases 2 and 3, printed in words as "equal to or under", so within 5 %."""
    printed = m.published.find("Section V", "downstream_throughput_bound")
    rates = [
        number(
            f"Vegas, phase {phase}",
            value(m, VEGAS, f"throughput_{phase}_bps"),
            "kbit/s",
            scale=1e-3,
            published=printed,
        )
        for phase in (2, 3)
    ]
    return at_most(UP_BPS / 1e3 * EQUAL, rates)


@of_paper(
    "Vegas reads the swing of the RTT as congestion and holds its window down.",
    "sections V and VI, the explanation (ORO-M04)",
)
def vegas_holds_its_window(m: Measurements) -> Verdict:
    """Vegas' mean window in phase 2 against Reno's, although the downlink drops nothing of it."""
    vegas, reno = (
        number(f"{each.title}' window in phase 2", value(m, each, "cwnd_2_bytes"), "kB", scale=1e-3)
        for each in (VEGAS, RENO)
    )
    drops = number("packets of Vegas that the downlink drops", value(m, VEGAS, "downlink_drops_2"))
    context = (
        number("Vegas' window alone", value(m, VEGAS, "cwnd_1_bytes"), "kB", scale=1e-3),
        number("its RTT in phase 2", value(m, VEGAS, "rtt_2_ms"), "ms"),
        number("its RTT alone", value(m, VEGAS, "rtt_1_ms"), "ms"),
    )
    return all_of(ratio("Vegas' window over Reno's", vegas, reno, below=0.2), at_most(0, [drops])).but(*context)


def _rough(m: Measurements, flavours: Iterable[Flavour], published: PublishedValue | None = None) -> Verdict:
    """Whether the throughput of each fluctuates beyond `LARGE`, and by `TIMES` more than alone."""
    measured: list[Measured] = []
    calm: list[str] = []
    for each in flavours:
        alone, congested = (
            number(f"{each.title}, phase {one}", value(m, each, f"fluctuation_{one}"), published=print_)
            for one, print_ in ((1, None), (3, published))
        )
        measured += [congested, alone]
        if congested.value < max(LARGE, TIMES * alone.value):
            calm.append(f"{text.named(congested)} (alone {text.value(alone)})")
    criterion = f"deviation over mean, bins of a second, above {LARGE} and {TIMES} times that of phase 1, for each"
    return Verdict(not calm, criterion, tuple(measured), "; ".join(calm))


@of_paper(
    "With the uplink congested the high-speed variants' throughput fluctuates widely.",
    "sections V and VI, figures 1, 3 and 4",
)
def high_speed_fluctuates(m: Measurements) -> Verdict:
    """Of the high-speed variants in phase 3."""
    return _rough(m, HIGH_SPEED, published=m.published.find("Section V", "throughput_fluctuation"))


@of_paper("The originally flat throughput becomes very irregular, whatever the variant.", "section V")
def irregular(m: Measurements) -> Verdict:
    """Of all six in phase 3."""
    return _rough(m, FLAVOURS)


@of_paper("They fluctuate because their windows grow more aggressively than Reno's.", "sections V and VI", fails=True)
def high_speed_fluctuates_more(m: Measurements) -> Verdict:
    """In phase 3 each high-speed variant against Reno."""
    reno = number("Reno", value(m, RENO, "fluctuation_3"))
    found = of_each(m, "fluctuation_3", flavours=HIGH_SPEED)
    drops, delivery = (
        {
            each: number(f"{each.title}: {name}", value(m, each, column))
            for each in (*HIGH_SPEED, RENO)
        }
        for column, name in (
            ("downlink_drops_3", "packets that the downlink drops"),
            ("delivery_fluctuation_3", "fluctuation of what the application reads"),
        )
    )  # fmt: skip
    calm = [each for each in found if each.value < MORE * reno.value]
    return Verdict(
        not calm,
        f"each fluctuates at least {MORE} times as much as Reno",
        (reno, *found, *drops.values(), *delivery.values()),
        f"beside Reno's {text.value(reno)} not {text.listed(calm)}. In losses the growth shows (CUBIC "
        f"{text.value(drops[CUBIC])} packets, Reno {text.value(drops[RENO])}), and behind them in what the application "
        f"can read in order: there CUBIC fluctuates by {text.value(delivery[CUBIC])}, Reno by "
        f"{text.value(delivery[RENO])}",
    )


@of_paper(
    "Uploads make the download's ACKs wait, and the effective RTT rises with each.",
    "sections IV and V (ORO-M04)",
    fails=True,
)
def uplink_delays_acks(m: Measurements) -> Verdict:
    """Mean RTT over the variants but Vegas, from phase to phase."""
    rtt = [number(f"RTT in phase {phase}", mean_over(m, OTHERS, f"rtt_{phase}_ms"), "ms") for phase in (1, 2, 3)]
    waiting = [
        number(f"packets waiting in the uplink, phase {phase}", mean_over(m, OTHERS, f"uplink_backlog_{phase}_packets"))
        for phase in (2, 3)
    ]
    return all_of(
        ratio("phase 2 over phase 1", rtt[1], rtt[0], above=MORE),
        ratio("phase 3 over phase 2", rtt[2], rtt[1], above=MORE),
    ).but(
        *waiting,
        why=f"the buffer holds {text.number(waiting[0].value)} packets beside one upload and "
        f"{text.number(waiting[1].value)} beside two; the RTT rises again where the uploads' windows are bounded "
        "(figure W)",
    )


@of_paper("ACKs that waited in the uplink arrive in bunches.", "sections I and VI (ORO-M04)", needs=("acks",))
def acks_bunch(m: Measurements) -> Verdict:
    """Of the download's acknowledged octets, the share that arrives compressed in phase 2, against phase 1."""
    verdicts: list[Verdict] = []
    for each in FLAVOURS:
        alone, beside = (
            number(
                f"{each.title}: share in bunches, phase {phase}",
                value(m, each, f"bunched_share_{phase}", "acks"),
                "percent",
                scale=100,
            )
            for phase in (1, 2)
        )
        bunch = number(
            f"{each.title}: mean bunch in phase 2", value(m, each, "bunch_2_bytes", "acks"), "kB", scale=1e-3
        )
        verdicts.append(
            all_of(
                at_least(100 / 3, [beside]), ratio(f"{each.title}: phase 2 over phase 1", beside, alone, above=2)
            ).but(bunch, criterion="a third at least, and twice as much as in phase 1, for each")
        )
    return all_of(*verdicts)


@of_paper(
    "Bunched ACKs let the sender send more than the downlink can take: it loses packets and idles in turn.",
    "sections I and VI (ORO-M04)",
)
def bunches_congest_downlink(m: Measurements) -> Verdict:
    """The downlink's buffer in phase 3, for each variant but Vegas: empty part of the time, and dropping packets."""
    verdicts: list[Verdict] = []
    for each in OTHERS:
        empty = number(
            f"{each.title}: time that the downlink's buffer is empty",
            1 - value(m, each, "downlink_busy_3").median,
            "percent",
            scale=100,
        )
        drops = number(f"{each.title}: packets that it drops", value(m, each, "downlink_drops_3"))
        verdicts.append(
            all_of(at_least(10, [empty]), at_least(1, [drops])).but(
                criterion="empty for 10 % of the time, and drops, for each"
            )
        )
    return all_of(*verdicts)


@of_paper(
    "The higher the ratio of the two rates, the likelier is a loss of throughput.",
    "section V, which measured one ratio",
    needs=("ratios",),
)
def ratio_decides(m: Measurements) -> Verdict:
    """Over uplinks of 512 to 64 kbit/s the mean share but Vegas."""
    verdicts: list[Verdict] = []
    for phase in (2, 3):
        found = mean_curve(m, OTHERS, f"share_{phase}", "ratios", "uplink_kbps")
        by_ratio = type(found)(DOWN_BPS / 1e3 / found.x[::-1], found.median[::-1], found.low[::-1], found.high[::-1])
        show = [DOWN_BPS / 1e3 / rate for rate in UPLINKS]
        verdicts.append(falls(f"share of phase {phase} by ratio", by_ratio, "percent", rank=0.9, scale=100, show=show))
    return all_of(*verdicts)


@of_paper(
    "Default socket buffers, above 16 kB, are far larger than the bandwidth-delay product, so they do not limit.",
    "section III (ORO-M01)",
    needs=("windows",),
    fails=True,
)
def buffers_above_bdp(m: Measurements) -> Verdict:
    """Uploads bounded at 16 to 64 KiB, all above the path's product, and the mean share of phase 3."""
    bdp = number(
        "bandwidth-delay product of the path", metrics.bandwidth_delay_product_bytes(DOWN_BPS, 0.03) / 1e3, "kB"
    )
    shares = [
        number(
            f"phase 3 with uploads of {window} KiB",
            mean_over(m, OTHERS, "share_3", "windows", upload_window_kib=window),
            "percent",
            scale=100,
        )
        for window in WINDOWS
    ]
    return agree_within(0.1, shares, "difference of the shares").but(
        bdp,
        why=f"the path without queues needs {text.value(bdp)}, but an upload's window is what stands in the modem's "
        f"buffer: {text.named(shares[0])}, {text.named(shares[-1])}",
    )


CLAIMS = (
    phase_1_similar,
    phase_2_near_70,
    seventy_percent_needs_its_buffer,
    phase_3_below_40,
    one_setting_gives_both,
    vegas_lowest,
    vegas_below_uplink,
    vegas_holds_its_window,
    high_speed_fluctuates,
    high_speed_fluctuates_more,
    uplink_delays_acks,
    acks_bunch,
    bunches_congest_downlink,
    irregular,
    ratio_decides,
    buffers_above_bdp,
)
