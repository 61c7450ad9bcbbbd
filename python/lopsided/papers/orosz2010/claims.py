"""The statements of the letter and the functions that judge them.

A claim is judged on the medians, and then on each repetition. The letter shows one measurement per variant. Two
criteria are our own. "Equal" means within 5 %. The throughput fluctuates "widely" if its standard deviation in bins of
1 s is at least 20 % of its mean, and if this ratio is at least 5 times the ratio of the download alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    MORE,
    Listed,
    agree_within,
    all_of,
    at_least,
    at_most,
    claims_of,
    falls,
    kbit,
    kilobytes,
    near,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.framework.reproduction import judge
from lopsided.papers.orosz2010 import setup
from lopsided.papers.orosz2010.setup import CUBIC, DOWN_BPS, FLAVOURS, HIGH_SPEED, OTHERS, RENO, VEGAS, WINDOWS, Flavour
from lopsided.papers.orosz2010.shared import mean_curve, mean_over, share, value

if TYPE_CHECKING:
    from lopsided.papers.framework.published import PublishedValue

EQUAL = 1.05
LARGE = 0.2
TIMES = 5


listed = Listed.beside(__file__)


def _waiting(m: Measurements) -> list[Measured]:
    """Returns the mean backlog of the uplink in phases 2 and 3, in packets."""
    return [
        number(f"packets waiting in the uplink, phase {phase}", mean_over(m, OTHERS, f"uplink_backlog_{phase}_packets"))
        for phase in (2, 3)
    ]


@listed
def phase_1_similar(m: Measurements) -> Verdict:
    """In phase 1, the variants' throughputs are within 2 % of each other, and the downlink is busy for at least 95 % of
    the time."""
    printed = m.published.find("Section V", "downstream_throughput_ranking")
    busy = min(value(m, each, "downlink_busy_1").median for each in FLAVOURS)
    rates = agree_within(0.02, [kbit(each.title, value(m, each, "throughput_1_bps")) for each in FLAVOURS])
    return all_of(rates, at_least(95, [percent("least share of time that the downlink is busy", busy, printed)]))


@listed
def phase_2_near_70(m: Measurements) -> Verdict:
    """The mean download share of all variants except Vegas is near the published 70 %. The letter discusses Vegas
    separately."""
    verdict = near([percent("mean except Vegas", mean_over(m, OTHERS, "share_2"), share(m, 2))])
    return verdict.but(*(percent(each.title, value(m, each, "share_2")) for each in FLAVOURS))


@listed
def seventy_percent_needs_its_buffer(m: Measurements) -> Verdict:
    """The mean download share is near 70 % only for a range of uplink buffers that spans at most a factor of 2. This
    range includes the assumed buffer."""
    found, printed = mean_curve(m, OTHERS, "share_2", "buffers", "uplink_buffer_packets"), share(m, 2)
    # The buffers vary in steps of 0.1 packets.
    least, most = int(found.x[0]), int(found.x[-1])
    buffers = np.linspace(least, most, 1 + 10 * (most - least))
    fits = buffers[[near([percent("", found.at(each), printed)]).holds for each in buffers]]
    ends = [
        number(f"{name} uplink buffer with a share near the printed one", packets, "packets")
        for name, packets in (("smallest", fits.min(initial=np.inf)), ("largest", fits.max(initial=-np.inf)))
    ]
    assumed = number("assumed buffer", setup.ASSUMED_BUFFER, "packets")
    there = [percent(f"mean share with {packets:g} packets", found.at(packets), printed) for packets in found.x]
    where = f"near the printed share from {text.value(ends[0])} to {text.value(ends[1])}"
    holds = fits.size > 0 and fits.max() < 2 * fits.min() and fits.min() <= assumed.value <= fits.max()
    criterion = "the buffers lie within a factor of 2 and include the assumed one"
    notes = (f"The share is only {where}; the letter does not give the buffer",) if fits.size else ()
    return Verdict(bool(holds), criterion, (*ends, assumed, *there), f"the share is {where}", notes)


def _bounded(m: Measurements, window: int, phase: int, flavours: Iterable[Flavour]) -> float:
    """Returns the mean download share over the variants, with a deep uplink buffer and limited upload windows."""
    return mean_over(m, flavours, f"share_{phase}", "windows", upload_window_kib=window).median


@listed
def phase_3_below_40(m: Measurements) -> Verdict:
    """The mean download share over all variants is at most the published 40 %."""
    printed = share(m, 3)
    mean = percent("mean over the six", mean_over(m, FLAVOURS, "share_3"), printed)
    others, second = (
        percent(f"mean except Vegas, phase {phase}", mean_over(m, OTHERS, f"share_{phase}")) for phase in (3, 2)
    )
    deep = f"before {setup.DEEP_BUFFER} packets"
    bounded = [
        percent(f"mean over the six with uploads of {window} KiB {deep}", _bounded(m, window, 3, FLAVOURS))
        for window in WINDOWS
    ]
    enough = next((each for each in bounded if each.value <= printed.number), bounded[-1])
    waiting = _waiting(m)
    return at_most(printed.number, [mean]).but(
        others,
        second,
        *waiting,
        *bounded,
        why=f"{text.value(others)} is left on average without Vegas, as in phase 2 ({text.value(second)}): the buffer "
        f"is as full with one upload as with two ({text.number(waiting[0].value)} and "
        f"{text.number(waiting[1].value)} packets wait). If the first upload leaves room, the second adds its wait: "
        f"{text.named(enough)} (figure W)",
    )


@listed
def one_setting_gives_both(m: Measurements) -> Verdict:
    """One limit of the upload's window, from figure W, gives both published results.

    The mean download share is near 70 % in phase 2 (without Vegas), and at most 40 % in phase 3. The note lists the
    statements whose verdict changes with this limit.
    """
    measured: list[Measured] = []
    found: list[int] = []
    for window in WINDOWS:
        second, third = (
            percent(f"{window} KiB: {name}", _bounded(m, window, phase, flavours), share(m, phase))
            for phase, name, flavours in (
                (2, "phase 2, mean except Vegas", OTHERS),
                (3, "phase 3, mean over the six", FLAVOURS),
            )
        )
        measured += [second, third]
        if near([second]).holds and third.value <= share(m, 3).number:
            found.append(window)
    criterion = "at least one window of figure W gives both"
    notes = tuple(_changes(m, window) for window in found) if m.has("phases") else ()
    return Verdict(bool(found), criterion, tuple(measured), "no window of figure W gives both", notes)


def _changes(m: Measurements, window: int) -> str:
    """Returns a note that lists the statements whose verdict changes if the upload's window has this limit of figure
    W."""
    others = [claim for claim in CLAIMS if claim.needs == ("phases",)]
    there = judge(others, m.instead("phases", "windows", upload_window_kib=window))
    moved = [(each, claim.check(m).holds) for each, claim in zip(there, others, strict=True)]
    gained = [each.claim.key for each, held in moved if each.verdict.holds and not held]
    lost = [each.claim.key for each, held in moved if held and not each.verdict.holds]
    return (
        f"With uploads of {window} KiB these statements hold too: {', '.join(gained) or 'none'}; these no longer hold: "
        f"{', '.join(lost) or 'none'}"
    )


@listed
def vegas_lowest(m: Measurements) -> Verdict:
    """In phases 2 and 3, Vegas gets less than half of the throughput of the second slowest variant."""

    def against_next(phase: int) -> Verdict:
        vegas, *others = (value(m, each, f"throughput_{phase}_bps").median for each in (VEGAS, *OTHERS))
        lowest = kbit(f"the next lowest in phase {phase}", min(others))
        name = f"Vegas over the next lowest, phase {phase}"
        return ratio(name, kbit(f"Vegas in phase {phase}", vegas), lowest, below=0.5)

    return all_of(against_next(2), against_next(3))


@listed
def vegas_below_uplink(m: Measurements) -> Verdict:
    """In phases 2 and 3, Vegas's throughput is at most 5 % above the uplink's rate ("equal to or under")."""
    printed = m.published.find("Section V", "downstream_throughput_bound")
    rates = (kbit(f"Vegas, phase {phase}", value(m, VEGAS, f"throughput_{phase}_bps"), printed) for phase in (2, 3))
    return at_most(setup.UP_BPS / 1e3 * EQUAL, rates)


@listed
def vegas_holds_its_window(m: Measurements) -> Verdict:
    """In phase 2, Vegas's mean window is below 20 % of Reno's mean window, although no packet of Vegas is dropped."""
    vegas, reno = (
        kilobytes(f"{each.title}' window in phase 2", value(m, each, "cwnd_2_bytes")) for each in (VEGAS, RENO)
    )
    drops = number("packets of Vegas that the downlink drops", value(m, VEGAS, "downlink_drops_2"))
    context = (
        kilobytes("Vegas' window alone", value(m, VEGAS, "cwnd_1_bytes")),
        number("its RTT in phase 2", value(m, VEGAS, "rtt_2_ms"), "ms"),
        number("its RTT alone", value(m, VEGAS, "rtt_1_ms"), "ms"),
    )
    return all_of(ratio("Vegas' window over Reno's", vegas, reno, below=0.2), at_most(0, [drops])).but(*context)


def _rough(m: Measurements, flavours: Iterable[Flavour], published: PublishedValue | None = None) -> Verdict:
    """Judges whether the coefficient of variation of each throughput is at least `LARGE`, and at least `TIMES` the
    coefficient without uploads."""
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


@listed
def high_speed_fluctuates(m: Measurements) -> Verdict:
    """In phase 3, each high-speed variant's throughput fluctuates widely."""
    return _rough(m, HIGH_SPEED, published=m.published.find("Section V", "throughput_fluctuation"))


@listed
def irregular(m: Measurements) -> Verdict:
    """In phase 3, all six throughputs fluctuate widely."""
    return _rough(m, FLAVOURS)


@listed
def high_speed_fluctuates_more(m: Measurements) -> Verdict:
    """In phase 3, each high-speed variant's throughput fluctuates at least 10 % more than Reno's throughput."""
    reno, *found = (number(each.title, value(m, each, "fluctuation_3")) for each in (RENO, *HIGH_SPEED))
    drops, delivery = (
        {each: number(f"{each.title}: {name}", value(m, each, column)) for each in (*HIGH_SPEED, RENO)}
        for column, name in (
            ("downlink_drops_3", "packets that the downlink drops"),
            ("delivery_fluctuation_3", "fluctuation of what the application reads"),
        )
    )
    calm = [each for each in found if each.value < MORE * reno.value]
    return Verdict(
        not calm,
        f"each fluctuates at least {MORE} times as much as Reno",
        (reno, *found, *drops.values(), *delivery.values()),
        f"Reno fluctuates by {text.value(reno)}, and these do not exceed it: {text.listed(calm)}. The growth shows in "
        f"losses (CUBIC {text.value(drops[CUBIC])} packets, Reno {text.value(drops[RENO])}), and in the data that the "
        f"application reads in order: there CUBIC fluctuates by {text.value(delivery[CUBIC])}, Reno by "
        f"{text.value(delivery[RENO])}",
    )


@listed
def uplink_delays_acks(m: Measurements) -> Verdict:
    """Without Vegas, the download's mean RTT rises by at least 10 % from each phase to the next."""
    rtt = [number(f"RTT in phase {phase}", mean_over(m, OTHERS, f"rtt_{phase}_ms"), "ms") for phase in (1, 2, 3)]
    waiting = _waiting(m)
    return all_of(
        ratio("phase 2 over phase 1", rtt[1], rtt[0], above=MORE),
        ratio("phase 3 over phase 2", rtt[2], rtt[1], above=MORE),
    ).but(
        *waiting,
        why=f"the buffer holds {text.number(waiting[0].value)} packets with one upload and "
        f"{text.number(waiting[1].value)} with two; the RTT rises in phase 3 if the uploads' windows are bounded "
        "(figure W)",
    )


@listed
def acks_bunch(m: Measurements) -> Verdict:
    """In phase 2, compressed ACKs acknowledge at least 33 % of the download's bytes with each variant. This fraction is
    at least twice the fraction in phase 1."""
    verdicts: list[Verdict] = []
    for each in FLAVOURS:
        alone, beside = (
            percent(f"{each.title}: share in bunches, phase {phase}", value(m, each, f"bunched_share_{phase}", "acks"))
            for phase in (1, 2)
        )
        more = ratio(f"{each.title}: phase 2 over phase 1", beside, alone, above=2)
        bunch = kilobytes(f"{each.title}: mean bunch in phase 2", value(m, each, "bunch_2_bytes", "acks"))
        verdicts.append(all_of(at_least(100 / 3, [beside]), more).but(bunch))
    return all_of(*verdicts).but(criterion="at least a third, and at least twice as much as in phase 1, for each")


@listed
def bunches_congest_downlink(m: Measurements) -> Verdict:
    """In phase 3, without Vegas, the downlink's buffer drops packets and is empty for at least 10 % of the time."""
    verdicts: list[Verdict] = []
    for each in OTHERS:
        empty = 1 - value(m, each, "downlink_busy_3").median
        drops = number(f"{each.title}: packets that the downlink drops", value(m, each, "downlink_drops_3"))
        idle = at_least(10, [percent(f"{each.title}: time that the downlink's buffer is empty", empty)])
        verdicts.append(all_of(idle, at_least(1, [drops])))
    return all_of(*verdicts).but(criterion="empty for 10 % of the time, and drops, for each")


@listed
def ratio_decides(m: Measurements) -> Verdict:
    """With uplinks of 512 to 64 kbit/s, the mean share without Vegas falls as the ratio of the rates rises."""

    def by_ratio(phase: int) -> Verdict:
        found = mean_curve(m, OTHERS, f"share_{phase}", "ratios", "uplink_kbps")
        found = found.against(DOWN_BPS / 1e3 / found.x)
        return falls(f"share of phase {phase} by ratio", found, "percent", rank=0.9, scale=100, show=found.x)

    return all_of(by_ratio(2), by_ratio(3))


@listed
def buffers_above_bdp(m: Measurements) -> Verdict:
    """For upload buffers of 16 to 64 KiB, phase 3 takes the same mean fraction of the download's time, within 10 %. All
    these buffers are larger than the BDP."""
    bdp = kilobytes("bandwidth-delay product of the path", metrics.bandwidth_delay_product_bytes(DOWN_BPS, 0.03))
    shares = [percent(f"phase 3 with uploads of {window} KiB", _bounded(m, window, 3, OTHERS)) for window in WINDOWS]
    return agree_within(0.1, shares, "difference of the shares").but(
        bdp,
        why=f"the path without queues needs {text.value(bdp)}, but the whole window of an upload waits in the modem's "
        f"buffer: {text.named(shares[0])}, {text.named(shares[-1])}",
    )


CLAIMS = claims_of(globals())
