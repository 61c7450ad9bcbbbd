"""Claims about the sizing model and its RTT (chapter 6)."""

from __future__ import annotations

import numpy as np

from lopsided import metrics
from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    POINTS,
    Listed,
    all_of,
    at_most,
    claims_of,
    kilobytes,
    near,
    number,
    percent,
    within,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Verdict
from lopsided.papers.merritt2010.claims.performance import by_both
from lopsided.papers.merritt2010.setup import BUFFERS, DOWNLINK_BUFFER, LINES
from lopsided.papers.merritt2010.shared import Reading, at, curve, printed_size, threshold

STEP = 5.0
"""Step of the buffer sweep in packets. An estimate is near a buffer size if they differ by at most one step."""


listed = Listed.beside(__file__)


@listed
def rtt_alone(m: Measurements) -> Verdict:
    """For a download alone, the smoothed RTT in the thesis's log is near the published value."""
    verdicts: list[Verdict] = []
    for line in LINES:
        printed = m.published.find("Table 6.1", "average_rtt_download_only", link=line.name)
        full = number(f"{line.name}: a full R1", metrics.drain_time_s(DOWNLINK_BUFFER, line.down_bps), "ms", scale=1e3)
        value = number(line.name, at(m, line, BUFFERS[-1], "rtt_alone_logged_ms"), "ms", published=printed)
        verdicts.append(near([value]).but(full, why=f"a full buffer of R1 alone takes {text.value(full)}"))
    return all_of(*verdicts)


@listed
def acks_alone_never_queue(m: Measurements) -> Verdict:
    """For a download alone, the queueing delay in the uplink's buffer (R2) is at most 2 % of the RTT. The RTT varies by
    at most 2 % over all sizes of this buffer."""
    verdicts: list[Verdict] = []
    for line in LINES:
        rtt, wait = curve(m, line, "rtt_alone_ms").median, curve(m, line, "wait_up_alone_ms").median
        backlog = curve(m, line, "uplink_backlog_alone_max_packets").median
        found = (
            percent(f"{line.name}: mean wait in R2, of the RTT", wait.max() / rtt.mean()),
            percent(f"{line.name}: difference of the RTT over buffers", np.ptp(rtt) / rtt.mean()),
        )
        most = number(f"{line.name}: most in R2", backlog.max(), "packets")
        verdicts.append(at_most(2, found).but(most, criterion="wait and difference at most 2 % of the RTT each"))
    return all_of(*verdicts)


@listed
def estimates(m: Measurements) -> Verdict:
    """On each link, the buffer at which equation 6.6 of the thesis is just met is within one sweep step of the
    published estimate."""
    verdicts: list[Verdict] = []
    for line in LINES:
        printed = printed_size(m, line)
        rtt_ms = m.published.find("Table 6.1", "average_rtt_download_only", link=line.name).number
        implied = metrics.window_difference_for_bound_bytes(printed.number, rtt_ms / 1e3, line.up_bps)
        difference = (
            at(m, line, printed.number, "max_cwnd_down_bytes").median
            - at(m, line, printed.number, "max_cwnd_up_bytes").median
        )
        wanted = kilobytes(f"{line.name}: W_D - W_U implied by the thesis", implied)
        here = kilobytes(f"{line.name}: W_D - W_U measured there", difference)
        both = number(
            f"{line.name}, largest windows while both active", threshold(m, line, "estimate_both_packets"), "packets"
        )
        value = number(line.name, threshold(m, line), "packets", published=printed)
        why = f"the thesis implies windows {text.value(wanted)} apart; the measured ones are {text.value(here)} apart"
        if np.isfinite(both.value):
            why += f"; the estimate without the overshoot of the first slow start is {text.value(both)}"
        verdicts.append(within(STEP, [value]).but(wanted, here, both, why=why))
    return all_of(*verdicts)


@by_both
def estimate_marks_the_knee(m: Measurements, reading: Reading) -> Verdict:
    """The largest buffer whose performance is within 10 percentage points of the best performance differs from the
    measured estimate by at most one step."""
    verdicts: list[Verdict] = []
    for line in LINES:
        values = curve(m, line, reading.performance).median * 100
        knee = float(BUFFERS[int(np.flatnonzero(values >= np.nanmax(values) - POINTS)[-1])])
        largest = number(f"{line.name}: largest size within 10 points of the best", knee, "packets")
        size = printed_size(m, line)
        estimate = number(f"{line.name}: estimate, measured here", threshold(m, line), "packets", published=size)
        both = threshold(m, line, "estimate_both_packets")
        active = number(f"{line.name}: estimate, windows while both active", both, "packets")
        reason = (
            f"on {line.name} performance stays high up to {knee:g} packets, the estimate is {text.value(estimate)} "
            f"(printed {size}; with windows while both are active {text.value(active)})"
        )
        verdicts.append(Verdict(abs(knee - estimate.value) <= STEP, "", (largest, estimate, active), reason))
    criterion = "the largest size within 10 points of the best is within 5 packets of the estimate, on every link"
    return all_of(*verdicts).but(criterion=criterion)


@listed
def procedure_is_independent_of_setting(m: Measurements) -> Verdict:
    """The field procedure's estimates from all starting buffers are within one step of their mid-range."""
    verdicts: list[Verdict] = []
    for line in LINES:
        found = curve(m, line, "estimate_packets", "field").median
        low = number(f"{line.name}: smallest estimate", found.min(), "packets")
        high = number(f"{line.name}: largest estimate", found.max(), "packets")
        crossing = number(f"{line.name}: crossing", threshold(m, line, experiment="field"), "packets")
        crosses = np.isfinite(crossing.value)
        where = f"cross the diagonal at {text.value(crossing)}" if crosses else "do not cross the diagonal"
        reason = f"on {line.name} the estimates range from {text.value(low)} to {text.value(high)} and {where}"
        # Estimates within one step of their mid-range differ by at most two steps.
        verdicts.append(Verdict(high.value - low.value <= 2 * STEP, "", (low, high, crossing), reason))
    return all_of(*verdicts).but(criterion="all estimates of a link within 5 packets of their middle")


CLAIMS = claims_of(globals())
