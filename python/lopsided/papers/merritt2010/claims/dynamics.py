"""Claims about how the two connections affect each other (section 5.1)."""

from __future__ import annotations

import numpy as np

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    Listed,
    all_of,
    at_least,
    between,
    claims_of,
    number,
    ordered,
    percent,
    rises,
)
from lopsided.papers.framework.measurements import Measurements, rank_correlation
from lopsided.papers.framework.model import Verdict
from lopsided.papers.merritt2010.setup import BUFFERS, LINES
from lopsided.papers.merritt2010.shared import curve, main, sizes

ACKS = ("acks",)
PHASE = 0.1
"""Two windows count as moving together if their phase score is above this value. They count as moving in opposite
directions if the score is below the negative of this value."""
PERIODIC = 0.25
"""Goodput counts as periodic if its autocorrelation peak is above this value. The threshold is our own."""


listed = Listed.beside(__file__)


@listed
def small_out_large_in_phase(m: Measurements) -> Verdict:
    """The windows' phase score is below `-PHASE` with an uplink buffer of 10 packets, and above `PHASE` with a
    buffer of 50 packets."""
    score, lift = main(m, "phase_score"), main(m, "falls_together_lift")
    small, large = (number(f"score at {packets} packets", score.at(packets)) for packets in (10, 50))
    lifts = [
        number(f"coincidence of falls of both windows, over chance, at {packets} packets", lift.at(packets))
        for packets in (10, 50)
    ]
    correlations = [
        number(f"correlation at {packets} packets", main(m, "phase_correlation").at(packets)) for packets in (10, 50)
    ]
    return Verdict(
        small.value < -PHASE and large.value > PHASE,
        f"phase score below -{PHASE} at 10 packets and above {PHASE} at 50",
        (small, large, *correlations, *lifts),
        f"the score is {text.signed(small.value)} at 10 packets and {text.signed(large.value)} at 50; the download's "
        f"window falls together with the upload's {text.number(lifts[0].value)} times as often as by chance with 10 "
        f"packets, and {text.number(lifts[1].value)} times as often with 50",
    )


@listed
def phase_drifts(m: Measurements) -> Verdict:
    """The phase score of the two windows rises with the uplink buffer."""
    return rises("phase score", main(m, "phase_score"), rank=0.6, show=(25,))


@listed
def losses_synchronise(m: Measurements) -> Verdict:
    """Window reductions of download and upload synchronise more if the uplink buffer is larger.

    The measure is the fraction of the download's reductions that are within 1 s of an upload's reduction, divided by
    the fraction that unrelated windows would have. With a buffer of 50 packets, this ratio is at least 2.
    """
    lift = main(m, "falls_together_lift")
    return all_of(
        rises("coincidence over chance", lift, rank=0.7, show=(25,)),
        at_least(2, [number("falls within 1 s of each other, over chance, at 50 packets", lift.last)]),
    )


@listed
def out_of_phase_is_better(m: Measurements) -> Verdict:
    """On 2400/196, the rank correlation between phase score and download goodput over the uplink buffers is below
    -0.6."""
    correlation = number(
        "rank correlation of phase score and download goodput",
        rank_correlation(main(m, "phase_score").median, main(m, "goodput_down_bps").median),
    )
    wait = number(
        "rank correlation of the wait in R2 and download goodput",
        rank_correlation(main(m, "wait_up_ms").median, main(m, "goodput_down_bps").median),
    )
    return Verdict(
        correlation.value < -0.6,
        "rank correlation of phase score and goodput below -0.6",
        (correlation, wait),
        f"the rank correlation is {text.signed(correlation.value)}; the download's goodput correlates with the wait in "
        f"the uplink's buffer at {text.signed(wait.value)}",
    )


@listed
def phase_rule(m: Measurements) -> Verdict:
    """The thesis's equations 2.4, 2.5 and 6.5 predict the sign of the measured phase score in all settings with a clear
    phase."""
    agree = judged = out = 0
    for line in LINES:
        estimates, scores = (curve(m, line, name).median for name in ("estimate_packets", "phase_score"))
        for packets, estimate, score in zip(BUFFERS, estimates, scores, strict=True):
            out += packets < estimate
            if abs(score) > PHASE:
                judged += 1
                agree += (packets < estimate) == (score < 0)
    settings = number("settings", len(BUFFERS) * len(LINES))
    measured = (
        number("settings that show a phase", judged),
        number("settings in which the rule is right", agree),
        number("settings that the rule calls out of phase", out),
        settings,
    )
    return Verdict(
        judged >= settings.value / 2 and agree >= 0.8 * judged,
        "at least half of the settings show a phase, and in 80 % of these the rule is right",
        measured,
        f"{judged} of {settings.value:g} settings show a phase, and the rule is right in {agree} of them; it was "
        "derived for two fixed windows on a symmetric line",
    )


@listed
def ack_compression_grows(m: Measurements) -> Verdict:
    """The larger the uplink buffer, the larger is the fraction of the upload's bytes whose ACKs arrive compressed."""
    download = rises("the download's compressed share", main(m, "compressed_share_down", "acks"))
    upload = rises("the upload's compressed share", main(m, "compressed_share_up", "acks"), rank=0.6)
    return upload.but(*download.measured, why=f"For comparison, {download.reason}: the download's ACKs wait in R2")


@listed
def acks_queue_and_burst(m: Measurements) -> Verdict:
    """The larger the uplink buffer, the larger is the fraction of the download's bytes whose ACKs arrive compressed,
    and the longer are the download's bursts."""
    return all_of(
        rises("compressed share", main(m, "compressed_share_down", "acks"), rank=0.6),
        rises("mean burst", main(m, "burst_down_bytes", "acks"), "kB", rank=0.6, scale=1e-3),
    )


@listed
def growth_then_silence(m: Measurements) -> Verdict:
    """The upload's fraction of time in long ACK gaps rises with the uplink buffer.

    A long gap exceeds twice the transmission time of the acknowledged data.
    """
    longest = main(m, "longest_silence_up_s", "acks")
    ends = (
        number("longest silence at 5 packets", longest.first, "s"),
        number("longest silence at 50 packets", longest.last, "s"),
    )
    why = f"The longest single silence goes from {text.value(ends[0])} to {text.value(ends[1])}"
    return rises("silent share", main(m, "silent_share_up", "acks"), rank=0.6).but(*ends, why=why)


@listed
def interference_grows(m: Measurements) -> Verdict:
    """The variation of the download's goodput in bins of 0.5 s rises with the uplink buffer."""
    return rises("variation (std/mean)", main(m, "goodput_variation"))


@listed
def interference_turns_periodic(m: Measurements) -> Verdict:
    """The autocorrelation peak of the download's goodput exceeds `PERIODIC` with uplink buffers of 25 and 50 packets,
    but not with 5 and 20 packets."""
    strength, period = main(m, "period_strength"), main(m, "period_s")
    found = {packets: number(f"strength at {packets} packets", strength.at(packets)) for packets in (5, 20, 25, 50)}
    cycles = [number(f"cycle at {packets} packets", period.at(packets), "s") for packets in (20, 50)]
    values = ", ".join(f"{text.number(each.value)} at {packets}" for packets, each in found.items())
    return Verdict(
        max(found[5].value, found[20].value) < PERIODIC < min(found[25].value, found[50].value),
        f"strength of the goodput's cycle above {PERIODIC} at 25 and 50 packets and below at 5 and 20",
        (*found.values(), *cycles),
        f"the strengths are {values} packets; the cycle takes {text.value(cycles[0])} with 20 packets and "
        f"{text.value(cycles[1])} with 50",
    )


@listed
def downlink_idles(m: Measurements) -> Verdict:
    """On the two most asymmetric links, the fraction of time in which the downlink's buffer (R1) is empty rises with
    the uplink buffer. With 50 packets, this fraction is at least 30 %."""
    verdicts: list[Verdict] = []
    for line in LINES[1:]:
        empty = curve(m, line, "downlink_empty_share")
        verdicts.append(rises(f"{line.name}: time that R1 is empty", empty, "percent", rank=0.9, scale=100))
        last = percent(f"{line.name}: time that R1 is empty at 50", empty.last)
        verdicts.append(at_least(30, [last]))
    return all_of(*verdicts)


@listed
def feedback_cycle(m: Measurements) -> Verdict:
    """With an uplink buffer of 50 packets on the 2400/196 kbit/s line, R1 (downlink) contains data and R2 (uplink) is
    empty before the upload starts. Afterwards, the steps of the thesis's feedback cycle occur in order."""
    before = [
        number(f"R{place} before the upload, mean", main(m, f"cycle_r{place}_before_packets").last, "packets")
        for place in (1, 2)
    ]
    steps = [
        number(f"after the upload's start, {name}", main(m, f"cycle_{column}_s").last, "s")
        for name, column in (
            ("R2 is full", "r2_full"),
            ("then R1 is empty", "r1_empty"),
            ("then R2 has drained", "r2_drained"),
            ("then R1 is full again", "r1_filled"),
        )
    ]
    came = bool(np.isfinite([each.value for each in steps]).all())
    return Verdict(
        came and before[0].value > 1 > before[1].value,
        "before the upload R1 holds more than 1 packet and R2 less, and each step follows the previous step",
        (*before, *steps),
        f"before the upload R1 holds {text.value(before[0])} and R2 {text.value(before[1])}; {text.listed(steps)}",
    )


@listed
def bdp_outgrows_cwnd(m: Measurements) -> Verdict:
    """The download's mean BDP divided by its mean window, both from its log (appendix E), is about 1 with the smallest
    buffer, and at least 1.5 with the largest buffer."""
    found = main(m, "bdp_over_cwnd")
    return all_of(
        between(0.75, 1.25, [number("BDP over cwnd with 5 packets", found.first)]),
        at_least(1.5, [number("BDP over cwnd with 50 packets", found.last)]),
        rises("BDP over cwnd", found, show=(25,)),
    )


@listed
def rtt_variability_rises(m: Measurements) -> Verdict:
    """On every link, the standard deviation of the download's logged RTT (appendix J) rises with the uplink buffer."""
    return all_of(
        *(rises(f"{line.name}: deviation of the RTT", curve(m, line, "rtt_std_logged_ms"), "ms") for line in LINES)
    )


@listed
def asymmetry_steepens_variability(m: Measurements) -> Verdict:
    """The logged RTT's standard deviation (appendix J) rises more steeply with the uplink buffer on links with a higher
    ratio of downstream to upstream rate."""
    slopes = {line: float(np.polyfit(sizes(), curve(m, line, "rtt_std_logged_ms").median, 1)[0]) for line in LINES}
    found = [number(f"{line.name}: slope", slope, "ms per packet") for line, slope in reversed(slopes.items())]
    return ordered(found, by=1)


CLAIMS = claims_of(globals())
