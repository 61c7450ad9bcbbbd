"""Claims about performance and throughput against the uplink buffer (sections 1, 5.1 and 6.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.merritt2010.claims.judging import (
    POINTS,
    SHARE,
    SWEEP_ONLY,
    ack_limit,
    at,
    curve,
    not_stationary,
    printed_estimate,
    rank_correlation,
    sizes,
    which_direction,
)
from lopsided.papers.merritt2010.exhibits import collection
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, MAIN, Line

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab


@collection.claim(
    "degradation-grows",
    "On all three links performance falls as the uplink buffer grows.",
    where="section 5.1, figure 5.1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def degradation_grows(lab: Lab) -> Verdict:
    """Rank correlation of performance with buffer below -0.7 and a lower end than beginning, on every link."""
    measured, failing = [], []
    for line in LINES:
        performance = curve(lab, line, "performance")
        correlation = rank_correlation(sizes(), performance)
        measured += [
            Measured(f"{line.name}: performance at 5 packets", float(performance[0])),
            Measured(f"{line.name}: at 50 packets", float(performance[-1])),
            Measured(f"{line.name}: rank correlation with buffer", correlation),
            Measured(
                f"{line.name}: rank correlation, window over RTT",
                rank_correlation(sizes(), curve(lab, line, "logged_performance")),
            ),
        ]
        if correlation > -0.7 or performance[-1] >= performance[0]:
            failing.append(line)
    return Verdict(not failing, tuple(measured), _not_falling(lab, failing))


def _not_falling(lab: Lab, lines: list[Line]) -> str:
    """Why performance does not fall throughout: which direction sets it at which end."""
    parts = []
    for line in lines:
        down, up = curve(lab, line, "down_share"), curve(lab, line, "up_share")
        performance = np.minimum(down, up)
        best = int(performance.argmax())
        parts.append(
            f"on {line.name} performance is best at {BUFFERS[best]} packets. Below that the upload sets it "
            f"({up[0]:.2f} of its link at {BUFFERS[0]} packets, {up[-1]:.2f} at {BUFFERS[-1]}): in a buffer counted "
            "in packets the download's ACKs take the places of the upload's segments, which are then lost. The "
            f"download goes from {down[0]:.2f} to {down[-1]:.2f} of its link"
        )
    return "; ".join(parts)


@collection.claim(
    "flat-then-fast-drop",
    "Up to a certain size performance stays high, beyond it it drops fast, on all three links.",
    where="section 5.1.5, figure 5.1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def flat_then_fast_drop(lab: Lab) -> Verdict:
    """A size splits the curve: before it within ten points of the best, after it never; its end is 20 points lower."""
    measured, reasons = [], []
    for line in LINES:
        performance = curve(lab, line, "performance")
        high = performance >= performance.max() - POINTS
        last_high = int(np.flatnonzero(high)[-1])
        plateau = bool(high[: last_high + 1].all())
        fall = float(performance[: last_high + 1].mean() - performance[-1])
        measured += [
            Measured(f"{line.name}: high up to", BUFFERS[last_high], "packets"),
            Measured(f"{line.name}: fall from plateau to 50 packets", fall * 100, "points"),
        ]
        if not plateau:
            lowest = int(performance[: last_high + 1].argmin())
            reasons.append(
                f"on {line.name} performance is not flat before it falls: at {BUFFERS[lowest]} packets it is "
                f"{performance[lowest]:.2f}, at {BUFFERS[int(performance.argmax())]} it is best with "
                f"{performance.max():.2f}, because a short buffer that is full of ACKs drops the upload's segments"
            )
        elif fall < 0.2:
            reasons.append(f"on {line.name} performance falls by only {fall * 100:.0f} points up to 50 packets")
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "high-at-small-buffers",
    "Buffers below the estimate give performance of up to 93 %.",
    where="section 6.3",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def high_at_small_buffers(lab: Lab) -> Verdict:
    """The best performance at sizes up to the printed estimate is within ten points of 93 %."""
    printed = lab.published.find("Section 6.3", "performance", item="buffers below the estimate, best case")
    best, where = max(
        (at(lab, line, packets, "performance"), f"{line.name} at {packets} packets")
        for line in LINES
        for packets in BUFFERS
        if packets <= printed_estimate(lab, line)
    )
    logged = max(
        at(lab, line, packets, "logged_performance")
        for line in LINES
        for packets in BUFFERS
        if packets <= printed_estimate(lab, line)
    )
    limits = ", ".join(f"{ack_limit(line):.0%} ({line.name})" for line in LINES)
    reason = (
        f"the best is {best:.0%} ({where}). Beside the ACKs of the other direction no more than {limits} fits, so 93 "
        "% cannot be goodput; as mean window over mean RTT, which the thesis's scripts compute, the best is "
        f"{logged:.0%} here"
    )
    holds = best >= printed.number / 100 - POINTS
    measured = (
        Measured(f"best: {where}", best * 100, "percent", printed),
        Measured("best, window over RTT", logged * 100, "percent"),
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "performance-at-estimate",
    "At the estimated buffer performance is 0.80 (3000/1000), 0.86 (2400/196) and 0.68 (3000/100).",
    where="table 6.2",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def performance_at_estimate(lab: Lab) -> Verdict:
    """Performance at the printed sizes, between the sizes run, within ten points of print on every link."""
    measured, reasons = [], []
    for line in LINES:
        printed = lab.published.find("Table 6.2", "performance_at_estimate", link=line.name)
        value = at(lab, line, printed_estimate(lab, line), "performance")
        logged = at(lab, line, printed_estimate(lab, line), "logged_performance")
        measured += [
            Measured(line.name, value, "", printed),
            Measured(f"{line.name}, window over RTT", logged),
            Measured(f"{line.name}, most that fits beside all ACKs", ack_limit(line)),
        ]
        if abs(value - printed.number) > POINTS:
            reasons.append(which_direction(lab, line, printed_estimate(lab, line), value, printed.number))
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "model-size-gives-68-percent",
    "A buffer of the estimated size gives at least 68 % on all three links.",
    where="section 1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def model_size_gives_68_percent(lab: Lab) -> Verdict:
    """The lowest of the three performances at the printed sizes reaches 0.68."""
    printed = lab.published.find("Section 1", "performance", item="model-sized buffer, all three links")
    values = {line: at(lab, line, printed_estimate(lab, line), "performance") for line in LINES}
    measured = tuple(Measured(line.name, value * 100, "percent", printed) for line, value in values.items())
    short = [line for line, value in values.items() if value < printed.number / 100]
    reason = "; ".join(
        which_direction(lab, line, printed_estimate(lab, line), values[line], printed.number / 100) for line in short
    )
    return Verdict(not short, measured, reason)


@collection.claim(
    "worse-above-estimate",
    "Every measured buffer above the estimate costs at least a further 10 points, on all links.",
    where="section 1",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def worse_above_estimate(lab: Lab) -> Verdict:
    """Performance at the first size run above the printed estimate and beyond, against performance at the estimate."""
    measured, reasons = [], []
    least = lab.published.find("Section 1", "further_performance_drop_minimum")
    most = lab.published.find("Section 1", "further_performance_drop_maximum")
    for line in LINES:
        estimate = printed_estimate(lab, line)
        there = at(lab, line, estimate, "performance")
        above = [(packets, at(lab, line, packets, "performance")) for packets in BUFFERS if packets > estimate]
        first, last = above[0], above[-1]
        smallest = min(there - value for _, value in above)
        measured += [
            Measured(f"{line.name}: smallest drop above {estimate:.0f} packets", smallest * 100, "points", least),
            Measured(f"{line.name}: drop at 50 packets", (there - last[1]) * 100, "points", most),
        ]
        if smallest < POINTS:
            reasons.append(
                f"on {line.name} the first size above the estimate ({first[0]} packets) costs "
                f"{(there - first[1]) * 100:.0f} points: the fall is gradual, there is no cliff at the estimate"
            )
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "55-percent-at-50",
    "On 2400/196 performance is 55 % with 50 packets.",
    where="section 6.3",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def fifty_five_percent_at_fifty(lab: Lab) -> Verdict:
    """Within ten points."""
    item = "2400/196 at the largest measured buffer (50 packets)"
    return _printed_performance(lab, MAIN, "Section 6.3", item)


@collection.claim(
    "7-percent-worst",
    "The worst link falls to 7 % with 50 packets.",
    where="section 6.5",
    needs=SWEEP_ONLY,
)
def seven_percent_worst(lab: Lab) -> Verdict:
    """3000/100 (its 68 % at the estimate says that it is the worst link), within ten points."""
    return _printed_performance(lab, LINES[2], "Section 6.5", "worst link at 50 packets")


def _printed_performance(lab: Lab, line: Line, where: str, item: str) -> Verdict:
    printed = lab.published.find(where, "performance", item=item)
    value = at(lab, line, 50, "performance")
    holds = abs(value - printed.number / 100) <= POINTS
    reason = "" if holds else which_direction(lab, line, 50, value, printed.number / 100)
    return Verdict(holds, (Measured(f"{line.name} at 50 packets", value * 100, "percent", printed),), reason)


@collection.claim(
    "download-halves",
    "With 50 packets the download loses about half of its throughput when the upload joins.",
    where="section 1, figure 1.1(a)",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def download_halves(lab: Lab) -> Verdict:
    """A loss of 40 to 60 %, both-active mean against alone."""
    printed = lab.published.find("Section 1", "download_throughput_drop_when_upload_starts")
    loss = 1 - at(lab, MAIN, 50, "down_ratio")
    holds = abs(loss - printed.number / 100) <= POINTS
    reason = (
        f"it loses {loss:.0%}. {not_stationary(lab, MAIN, 50)}. A stack that counts bytes (profile linux-6.1, see the "
        "assumptions) loses less"
    )
    return Verdict(holds, (Measured("loss at 50 packets", loss * 100, "percent", printed),), "" if holds else reason)


@collection.claim(
    "small-buffer-spares-download",
    "With a model-sized buffer (15 packets) the upload hardly changes the download, and it varies less than with 50.",
    where="section 1, figure 1.1(b)",
    needs=SWEEP_ONLY,
)
def small_buffer_spares_download(lab: Lab) -> Verdict:
    """At 15 packets the download keeps at least 85 %, and its goodput's variation is below that at 50."""
    kept = at(lab, MAIN, 15, "down_ratio")
    small, large = (at(lab, MAIN, packets, "goodput_variation") for packets in (15, 50))
    measured = (
        Measured("kept at 15 packets", kept * 100, "percent"),
        Measured("variation (std/mean) at 15 packets", small),
        Measured("variation at 50 packets", large),
    )
    holds = kept >= 1 - SHARE and small < large
    reason = f"it keeps {kept:.0%} and varies by {small:.2f} of its mean, against {large:.2f} with 50 packets"
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "upload-gains-little",
    "As the buffer grows the download loses clearly and the upload gains only slightly.",
    where="section 5.1, figures 5.2-5.5",
    needs=SWEEP_ONLY,
)
def upload_gains_little(lab: Lab) -> Verdict:
    """From 5 to 50 packets on 2400/196: the download's loss in bit/s exceeds the upload's gain tenfold."""
    down, up = curve(lab, MAIN, "goodput_down_bps"), curve(lab, MAIN, "goodput_up_bps")
    loss, gain = float(down[0] - down[-1]), float(up[-1] - up[0])
    measured = (
        Measured("download's loss, 5 to 50 packets", loss / 1e3, "kbit/s"),
        Measured("upload's gain", gain / 1e3, "kbit/s"),
        Measured("upload's gain, relative", (up[-1] / up[0] - 1) * 100, "percent"),
    )
    holds = loss > 0 and loss > 10 * gain
    return Verdict(
        holds, measured, "" if holds else f"the download loses {loss / 1e3:.0f}, the upload gains {gain / 1e3:.0f}"
    )
