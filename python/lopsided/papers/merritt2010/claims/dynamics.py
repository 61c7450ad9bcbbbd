"""Claims about what the two connections do to each other: phase, ACK compression, interference, RTT (section 5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.merritt2010.claims.judging import (
    SWEEP_ONLY,
    at,
    curve,
    rank_correlation,
    sizes,
)
from lopsided.papers.merritt2010.exhibits import collection
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, MAIN, Line

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab


@collection.claim(
    "small-out-large-in-phase",
    "With 10 packets the two windows move against each other, with 50 together.",
    where="section 5.1.1, figures 5.6 and 5.7",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def small_out_large_in_phase(lab: Lab) -> Verdict:
    """The phase score (mean of correlation and agreement) is below -0.1 at 10 packets and above 0.1 at 50."""
    small, large = (at(lab, MAIN, packets, "phase_score") for packets in (10, 50))
    lifts = [at(lab, MAIN, packets, "falls_together_lift") for packets in (10, 50)]
    measured = (
        Measured("score at 10 packets", small),
        Measured("score at 50 packets", large),
        Measured("correlation at 10 packets", at(lab, MAIN, 10, "phase_correlation")),
        Measured("correlation at 50 packets", at(lab, MAIN, 50, "phase_correlation")),
        Measured("download's falls with one of the upload's within 1 s, over chance, at 10 packets", lifts[0]),
        Measured("the same at 50 packets", lifts[1]),
    )
    holds = small < -0.1 and large > 0.1
    reason = (
        f"the score is {small:+.2f} at 10 packets and {large:+.2f} at 50 (out of phase below -0.1, in phase above "
        "0.1). With 10 packets the upload's window goes through many short sawtooths in each of the download's, so "
        "that it rises and falls at every phase of it. What does change is the losses: the download's falls coincide "
        f"with one of the upload's {lifts[0]:.1f} times as often as by chance with 10 packets, {lifts[1]:.1f} times "
        "with 50"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "phase-drifts",
    "The change from out of phase to in phase is gradual as the buffer grows.",
    where="section 5.1.1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def phase_drifts(lab: Lab) -> Verdict:
    """The phase score rises with the buffer: rank correlation above 0.6 on 2400/196."""
    score, lift = curve(lab, MAIN, "phase_score"), curve(lab, MAIN, "falls_together_lift")
    correlation = rank_correlation(sizes(), score)
    measured = (
        Measured("rank correlation of phase score with buffer", correlation),
        Measured("score at 5 packets", float(score[0])),
        Measured("score at 25 packets", float(score[4])),
        Measured("score at 50 packets", float(score[-1])),
        Measured("rank correlation of coinciding losses over chance", rank_correlation(sizes(), lift)),
    )
    holds = correlation > 0.6
    reason = (
        f"the score does not rise with the buffer (rank correlation {correlation:+.2f}): it goes from {score[0]:+.2f} "
        f"over {score.min():+.2f} to {score[-1]:+.2f}. Only the coincidence of losses rises, from {lift[0]:.1f} to "
        f"{lift[-1]:.1f} times chance"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "losses-synchronise",
    "As the uplink buffer grows the two connections become synchronised: they lose packets together.",
    where="section 5.1.1, by losses instead of movement",
    needs=SWEEP_ONLY,
)
def losses_synchronise(lab: Lab) -> Verdict:
    """Falls of the download within 1 s of the upload's, over chance: rank correlation with the buffer above 0.7."""
    lift = curve(lab, MAIN, "falls_together_lift")
    correlation = rank_correlation(sizes(), lift)
    measured = (
        Measured("coincidence over chance at 5 packets", float(lift[0])),
        Measured("at 25 packets", float(lift[4])),
        Measured("at 50 packets", float(lift[-1])),
        Measured("rank correlation with buffer", correlation),
    )
    holds = correlation > 0.7 and lift[-1] > 2
    reason = (
        f"the coincidence goes from {lift[0]:.1f} to {lift[-1]:.1f} times chance, rank correlation {correlation:+.2f}"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "out-of-phase-is-better",
    "Out-of-phase windows go with higher download goodput.",
    where="section 5.1.1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def out_of_phase_is_better(lab: Lab) -> Verdict:
    """Over the buffers of 2400/196 the ranks of phase score and download goodput correlate below -0.6."""
    correlation = rank_correlation(curve(lab, MAIN, "phase_score"), curve(lab, MAIN, "goodput_down_bps"))
    holds = correlation < -0.6
    reason = (
        f"the rank correlation is {correlation:+.2f}: the download's goodput follows the uplink's waiting time, which "
        "grows with the buffer whether or not the windows are in phase"
    )
    return Verdict(holds, (Measured("rank correlation of phase and goodput", correlation),), "" if holds else reason)


@collection.claim(
    "phase-rule",
    "The windows' sizes predict the phase: out of phase while W_D > W_U + 2 BDP of the uplink, buffer delay included.",
    where="section 6.3, eqs 2.4, 2.5 and 6.5",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def phase_rule(lab: Lab) -> Verdict:
    """The rule agrees with the sign of the measured score in 80 % of the settings whose score is beyond +-0.1."""
    agree = judged = predicted_out = 0
    for line in LINES:
        for packets, estimate, score in zip(
            BUFFERS, curve(lab, line, "estimate_packets"), curve(lab, line, "phase_score"), strict=True
        ):
            out = packets < estimate
            predicted_out += out
            if abs(score) > 0.1:
                judged += 1
                agree += out == (score < 0)
    measured = (
        Measured("settings with a phase", judged, f"of {len(BUFFERS) * len(LINES)}"),
        Measured("of these as the rule says", agree),
        Measured("settings that the rule calls out of phase", predicted_out),
    )
    holds = judged >= 15 and agree >= 0.8 * judged
    reason = (
        f"only {judged} of 30 settings show a phase at all, and the rule is right in {agree} of them; it was derived "
        "for two fixed windows on a symmetric line"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "ack-compression-grows",
    "ACK compression of the upload grows with the uplink buffer.",
    where="section 5.1.2",
    needs=("acks",),
    known_not_to_hold=True,
)
def ack_compression_grows(lab: Lab) -> Verdict:
    """The share of the upload's acknowledged bytes that arrive compressed rises: rank correlation above 0.6."""
    up = curve(lab, MAIN, "compressed_share_up", "acks")
    down = curve(lab, MAIN, "compressed_share_down", "acks")
    burst = curve(lab, MAIN, "burst_down_bytes", "acks")
    correlation = rank_correlation(sizes(), up)
    measured = (
        Measured("upload: compressed share at 5 packets", float(up[0])),
        Measured("upload: at 50 packets", float(up[-1])),
        Measured("upload: rank correlation with buffer", correlation),
        Measured("download: compressed share at 5 packets", float(down[0])),
        Measured("download: at 50 packets", float(down[-1])),
        Measured("download: mean burst at 50 packets", float(burst[-1]) / 1e3, "kB"),
    )
    holds = correlation > 0.6 and up[-1] > up[0]
    reason = (
        f"the upload's share goes from {up[0]:.2f} to {up[-1]:.2f} (rank correlation {correlation:+.2f}), the "
        f"download's from {down[0]:.2f} to {down[-1]:.2f}. The ACKs that wait in the uplink buffer are the "
        "download's: it is their bunching that a larger uplink buffer makes worse. The upload's ACKs wait in R1, "
        "whose buffer did not change"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "acks-queue-and-burst",
    "The larger the uplink buffer, the more ACKs queue in it and leave it in bursts.",
    where="section 5.1.2, the explanation",
    needs=("acks",),
)
def acks_queue_and_burst(lab: Lab) -> Verdict:
    """Share of the download's ACKed bytes that arrive compressed, and bytes per burst: both ranks above 0.6."""
    share, burst = (curve(lab, MAIN, name, "acks") for name in ("compressed_share_down", "burst_down_bytes"))
    ranks = rank_correlation(sizes(), share), rank_correlation(sizes(), burst)
    measured = (
        Measured("compressed share at 5 packets", float(share[0])),
        Measured("compressed share at 50 packets", float(share[-1])),
        Measured("mean burst at 5 packets", float(burst[0]) / 1e3, "kB"),
        Measured("mean burst at 50 packets", float(burst[-1]) / 1e3, "kB"),
        Measured("rank correlation of the share with the buffer", ranks[0]),
        Measured("rank correlation of the burst with the buffer", ranks[1]),
    )
    holds = min(ranks) > 0.6
    reason = f"the rank correlations are {ranks[0]:+.2f} (share) and {ranks[1]:+.2f} (burst)"
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "growth-then-silence",
    "The upload grows in steps with silence between them, the more the larger the buffer.",
    where="section 5.1.2, figure 5.8",
    needs=("acks",),
    known_not_to_hold=True,
)
def growth_then_silence(lab: Lab) -> Verdict:
    """The time that the upload waits in gaps of more than twice the clocked spacing rises with the buffer."""
    silent, longest = (curve(lab, MAIN, name, "acks") for name in ("silent_share_up", "longest_silence_up_s"))
    correlation = rank_correlation(sizes(), silent)
    measured = (
        Measured("silent share at 5 packets", float(silent[0])),
        Measured("silent share at 50 packets", float(silent[-1])),
        Measured("rank correlation with buffer", correlation),
        Measured("longest silence at 5 packets", float(longest[0]), "s"),
        Measured("longest silence at 50 packets", float(longest[-1]), "s"),
    )
    holds = correlation > 0.6 and silent[-1] > silent[0]
    reason = (
        f"the silent share goes from {silent[0]:.2f} to {silent[-1]:.2f} (rank correlation {correlation:+.2f}): with "
        "a small buffer the upload's window is a few segments and every loss silences it, a large one keeps it "
        f"sending. The single longest silence goes from {longest[0]:.1f} to {longest[-1]:.1f} s"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "interference-grows",
    "The larger the uplink buffer, the more the two connections disturb each other.",
    where="section 5.1.3",
    needs=SWEEP_ONLY,
)
def interference_grows(lab: Lab) -> Verdict:
    """The variation of the download's goodput (0.5 s bins) rises with the buffer: rank correlation above 0.7."""
    variation = curve(lab, MAIN, "goodput_variation")
    correlation = rank_correlation(sizes(), variation)
    measured = (
        Measured("variation (std/mean) at 5 packets", float(variation[0])),
        Measured("variation at 50 packets", float(variation[-1])),
        Measured("rank correlation with buffer", correlation),
    )
    holds = correlation > 0.7
    return Verdict(holds, measured, "" if holds else f"rank correlation {correlation:+.2f}")


@collection.claim(
    "interference-turns-periodic",
    "The disturbance looks random with 5 and 20 packets and periodic with 25 and 50.",
    where="section 5.1.3, figures 5.2-5.5",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def interference_turns_periodic(lab: Lab) -> Verdict:
    """The autocorrelation peak of the download's goodput is above 0.25 at 25 and 50 packets, below at 5 and 20."""
    strength = {packets: at(lab, MAIN, packets, "period_strength") for packets in (5, 20, 25, 50)}
    measured = tuple(Measured(f"strength at {packets} packets", value) for packets, value in strength.items())
    cycle = at(lab, MAIN, 50, "period_s")
    holds = max(strength[5], strength[20]) < 0.25 < min(strength[25], strength[50])
    values = ", ".join(f"{value:.2f} at {packets}" for packets, value in strength.items())
    reason = (
        f"the strengths are {values}; above 0.25 is called periodic. Small buffers disturb little but no less "
        f"regularly, with the download's own sawtooth ({at(lab, MAIN, 20, 'period_s'):.0f} s at 20 packets): nothing "
        "here is random but the upload's start. With 50 packets a cycle takes longer than the two minutes"
    )
    return Verdict(holds, (*measured, Measured("cycle at 50 packets", cycle, "s")), "" if holds else reason)


@collection.claim(
    "downlink-idles",
    "A large uplink buffer makes the downlink run empty: the download's ACKs arrive late and its window is too small.",
    where="sections 3.5 and 5.1.4",
    needs=SWEEP_ONLY,
)
def downlink_idles(lab: Lab) -> Verdict:
    """On 2400/196 and 3000/100 R1 is empty more often as the buffer grows (rank above 0.9), over 30 % with 50."""
    measured, reasons = [], []
    for line in LINES[1:]:
        empty = curve(lab, line, "downlink_empty_share")
        measured += [
            Measured(f"{line.name}: R1 empty at 5 packets", float(empty[0]) * 100, "percent"),
            Measured(f"{line.name}: R1 empty at 50 packets", float(empty[-1]) * 100, "percent"),
        ]
        if rank_correlation(sizes(), empty) <= 0.9 or empty[-1] <= 0.3:
            reasons.append(f"on {line.name} R1 is empty {empty[0]:.0%} of the time at 5 packets, {empty[-1]:.0%} at 50")
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "bdp-outgrows-cwnd",
    "With small buffers the download's window follows the BDP; as the buffer grows the BDP becomes much larger.",
    where="section 5.1.4, figures 5.8-5.11",
    needs=SWEEP_ONLY,
)
def bdp_outgrows_cwnd(lab: Lab) -> Verdict:
    """Mean BDP over mean window: within 25 % of one at 5 packets, above 1.5 at 50, rising in between."""
    ratio = curve(lab, MAIN, "bdp_over_cwnd")
    correlation = rank_correlation(sizes(), ratio)
    measured = (
        Measured("BDP / cwnd at 5 packets", float(ratio[0])),
        Measured("BDP / cwnd at 25 packets", float(ratio[4])),
        Measured("BDP / cwnd at 50 packets", float(ratio[-1])),
        Measured("rank correlation with buffer", correlation),
    )
    holds = abs(ratio[0] - 1) < 0.25 and ratio[-1] > 1.5 and correlation > 0.7
    return Verdict(holds, measured, "" if holds else f"the ratio goes from {ratio[0]:.2f} to {ratio[-1]:.2f}")


def _slopes(lab: Lab) -> dict[Line, float]:
    """RTT deviation gained per packet of buffer, ms, by least squares."""
    return {line: float(np.polyfit(sizes(), curve(lab, line, "rtt_std_ms"), 1)[0]) for line in LINES}


@collection.claim(
    "rtt-variability-rises",
    "RTT variability rises with the uplink buffer on all links.",
    where="section 5.1.4, figure 5.12",
    needs=SWEEP_ONLY,
)
def rtt_variability_rises(lab: Lab) -> Verdict:
    """Rank correlation of the RTT's standard deviation with the buffer above 0.7 on every link."""
    correlations = {line: rank_correlation(sizes(), curve(lab, line, "rtt_std_ms")) for line in LINES}
    measured = tuple(Measured(f"{line.name}: rank correlation", value) for line, value in correlations.items())
    failing = [f"{line.name} ({value:+.2f})" for line, value in correlations.items() if value <= 0.7]
    reason = f"it does not rise throughout on {', '.join(failing)}" if failing else ""
    return Verdict(not failing, measured, reason)


@collection.claim(
    "asymmetry-steepens-variability",
    "The larger the asymmetry, the faster RTT variability grows with the buffer.",
    where="section 5.1.4, figure 5.12",
    needs=SWEEP_ONLY,
)
def asymmetry_steepens_variability(lab: Lab) -> Verdict:
    """The slopes of the three links are in the order of their asymmetry."""
    slopes = _slopes(lab)
    measured = tuple(Measured(f"{line.name}: slope", slope, "ms per packet") for line, slope in slopes.items())
    values = list(slopes.values())
    holds = values[0] < values[1] < values[2]
    reason = "the slopes are " + ", ".join(f"{slope:.1f} ({line.name})" for line, slope in slopes.items())
    return Verdict(holds, measured, "" if holds else reason)
