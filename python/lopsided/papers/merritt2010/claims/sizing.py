"""Claims about the RTT that goes into the sizing model, and about the model itself (chapter 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.merritt2010.claims.judging import (
    PACKETS,
    POINTS,
    SHARE,
    SWEEP_ONLY,
    at,
    curve,
    printed_estimate,
)
from lopsided.papers.merritt2010.exhibits import collection
from lopsided.papers.merritt2010.figures import estimates
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, Line

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab


@collection.claim(
    "rtt-alone",
    "A download alone sees a mean RTT of 140 ms (3000/1000), 200 ms (2400/196) and 160 ms (3000/100).",
    where="table 6.1",
    needs=SWEEP_ONLY,
)
def rtt_alone(lab: Lab) -> Verdict:
    """The smoothed RTT as logged, within 15 % of print on every link."""
    measured, reasons = [], []
    for line in LINES:
        printed = lab.published.find("Table 6.1", "average_rtt_download_only", link=line.name)
        value = at(lab, line, 50, "rtt_alone_logged_ms")
        measured.append(Measured(line.name, value, "ms", printed))
        if abs(value / printed.number - 1) > SHARE:
            full = metrics.drain_time_s(50, line.down_bps) * 1e3
            reasons.append(
                f"on {line.name} {value:.0f} ms against {printed.number:.0f}; a full R1 buffer is {full:.0f} ms, and "
                "Reno alone keeps it between half full and full"
            )
    if reasons:
        reasons.append(
            "the thesis's 140 and 160 ms differ although the downlinks are alike and a download alone does not use the "
            "uplink's buffer, so that print carries an uncertainty of that size"
        )
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "acks-alone-never-queue",
    "Without an upload the download's ACKs never queue on the uplink, so one buffer setting per link gives the RTT.",
    where="section 6.3",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def acks_alone_never_queue(lab: Lab) -> Verdict:
    """Alone, the mean wait in R2 is below 2 % of the RTT, and the RTT is the same for all buffers to 2 %."""
    measured, reasons = [], []
    for line in LINES:
        backlog = float(curve(lab, line, "uplink_backlog_alone_max_packets").max())
        rtt = curve(lab, line, "rtt_alone_ms")
        wait = float(curve(lab, line, "wait_up_alone_ms").max() / rtt.mean())
        spread = float(np.ptp(rtt) / rtt.mean())
        measured += [
            Measured(f"{line.name}: mean wait in R2, of the RTT", wait * 100, "percent"),
            Measured(f"{line.name}: RTT spread over buffers", spread * 100, "percent"),
            Measured(f"{line.name}: largest R2 backlog", backlog, "packets"),
        ]
        if wait > 0.02 or spread > 0.02:
            reasons.append(
                f"on {line.name} an ACK waits {wait:.1%} of the RTT in R2 and the RTT differs by {spread:.1%} between "
                "buffers; in loss recovery every segment is acknowledged, with SACK blocks, which is more than the "
                "uplink carries"
            )
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "estimates",
    "Eq 6.6 gives 25 (3000/1000), 17 (2400/196) and 30 packets (3000/100).",
    where="table 6.2, figure 6.2",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def estimated_buffers(lab: Lab) -> Verdict:
    """The crossings with the diagonal, within one step of the sweep (5 packets) of print."""
    measured, reasons = [], []
    for line in LINES:
        printed = lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name)
        value, both = _thresholds(lab, line)
        measured += [
            Measured(line.name, value, "packets", printed),
            Measured(f"{line.name}, largest windows while both active", both, "packets"),
        ]
        if not abs(value - printed.number) <= PACKETS:
            reasons.append(_estimate_reason(lab, line, value, printed.number))
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


def _thresholds(lab: Lab, line: Line) -> tuple[float, float]:
    """The crossing with windows of the whole run, and with windows while both are active; NaN where there is none."""
    found = (estimates(lab, line, name=name).packets for name in ("estimate_packets", "estimate_both_packets"))
    whole, both = (float("nan") if packets is None else packets for packets in found)
    return whole, both


def _or_none(packets: float) -> str:
    return f"{packets:.0f}" if np.isfinite(packets) else "there is none"


def _estimate_reason(lab: Lab, line: Line, value: float, printed: float) -> str:
    rtt_ms = lab.published.find("Table 6.1", "average_rtt_download_only", link=line.name).number
    implied = metrics.window_difference_for_bound_bytes(printed, rtt_ms / 1e3, line.up_bps)
    down, up = at(lab, line, printed, "max_cwnd_down_bytes"), at(lab, line, printed, "max_cwnd_up_bytes")
    both = _thresholds(lab, line)[1]
    text = (
        f"on {line.name} {value:.0f} against {printed:.0f} packets: print implies W_D - W_U = {implied / 1e3:.0f} kB, "
        f"here W_D = {down / 1e3:.0f} and W_U = {up / 1e3:.0f} kB. W_D of the whole run is the overshoot of the first "
        "slow start"
    )
    if abs(both - printed) <= PACKETS:
        text += (
            f"; leaving that out, with the largest windows while both are active, gives {both:.0f}. FreeBSD remembers "
            "a threshold per destination, so that the thesis's later connections may not have overshot"
        )
    return text


@collection.claim(
    "estimate-marks-the-knee",
    "The estimate is where performance starts to fall: high up to it, rapidly lower beyond.",
    where="section 6.3, table 6.2",
    needs=SWEEP_ONLY,
    known_not_to_hold=True,
)
def estimate_marks_the_knee(lab: Lab) -> Verdict:
    """The largest size within ten points of the best is within one step (5 packets) of this run's own estimate."""
    measured, reasons = [], []
    for line in LINES:
        performance = curve(lab, line, "performance")
        knee = float(BUFFERS[int(np.flatnonzero(performance >= performance.max() - POINTS)[-1])])
        estimate, both = _thresholds(lab, line)
        printed = printed_estimate(lab, line)
        measured += [
            Measured(f"{line.name}: largest size within ten points of the best", knee, "packets"),
            Measured(f"{line.name}: estimate, measured here", estimate, "packets"),
            Measured(f"{line.name}: estimate, windows while both active", both, "packets"),
        ]
        if not abs(knee - estimate) <= PACKETS:
            reasons.append(
                f"on {line.name} performance stays high up to {knee:.0f} packets, the estimate is {estimate:.0f} "
                f"(printed {printed:.0f}; with windows while both are active {_or_none(both)})"
            )
    if reasons:
        reasons.append(
            "eq 6.6 knows the uplink's rate and two windows, but nothing of the rate at which the window can grow"
        )
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))


@collection.claim(
    "procedure-is-independent-of-setting",
    "The field procedure may start from any uplink buffer: its answer does not depend on it.",
    where="section 6.4",
    needs=("field",),
    known_not_to_hold=True,
)
def procedure_is_independent_of_setting(lab: Lab) -> Verdict:
    """The advice (keep or lower) agrees with the crossing of all settings, from every starting size on every link."""
    measured, reasons = [], []
    for line in LINES:
        estimate = curve(lab, line, "estimate_packets", "field")
        crossing = estimates(lab, line, "field").packets
        low, high = float(estimate.min()), float(estimate.max())
        measured += [
            Measured(f"{line.name}: smallest answer", low, "packets"),
            Measured(f"{line.name}: largest answer", high, "packets"),
        ]
        if high - low > 2 * PACKETS:
            threshold = "no crossing" if crossing is None else f"a crossing at {crossing:.0f}"
            reasons.append(f"on {line.name} the answers go from {low:.0f} to {high:.0f} packets ({threshold})")
    if reasons:
        reasons.append(
            "W_U grows with the configured buffer, so that one answer is not the threshold; several are needed"
        )
    return Verdict(not reasons, tuple(measured), "; ".join(reasons))
