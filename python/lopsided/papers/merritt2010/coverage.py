"""Counterparts of published values that no figure, table or statement compares."""

from __future__ import annotations

from lopsided.papers.framework.coverage import Reader, measured
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.merritt2010.setup import BUFFERS, LINES, MAIN, AccessLine
from lopsided.papers.merritt2010.shared import GOODPUT, SWEEP, at, curve, printed_size


def _worst(m: Measurements, _row: PublishedValue) -> float:
    """The lowest performance over all links and buffers, in percent."""
    return 100 * min(float(curve(m, line, GOODPUT.performance).median.min()) for line in LINES)


def _best_below(m: Measurements, _row: PublishedValue) -> float:
    """The highest performance over buffers up to the published estimate, in percent."""
    return 100 * max(
        at(m, line, packets, GOODPUT.performance).median
        for line in LINES
        for packets in BUFFERS
        if packets <= printed_size(m, line).number
    )


def _at_estimates(m: Measurements, _row: PublishedValue) -> float:
    """The lowest performance over all links at their published estimates, in percent."""
    return 100 * min(at(m, line, printed_size(m, line).number, GOODPUT.performance).median for line in LINES)


def _fall(m: Measurements, line: AccessLine) -> float:
    """Performance at the estimate minus performance at the largest buffer, in percentage points."""
    estimate, largest = (
        at(m, line, packets, GOODPUT.performance).median
        for packets in (printed_size(m, line).number, float(BUFFERS[-1]))
    )
    return 100 * (estimate - largest)


def _at(line: AccessLine, packets: float | None = None) -> Reader:
    """A link's performance at a buffer, or at the published estimate, in percent."""
    return lambda m, _row: at(m, line, packets or printed_size(m, line).number, GOODPUT.performance).map(
        lambda each: 100 * each
    )


COVERAGE = (
    measured("performance", _worst, needs=SWEEP, where="Section 1", item="worst case stated in the introduction"),
    measured("performance", _at_estimates, needs=SWEEP, where="Section 1", item="model-sized buffer, all three links"),
    measured(
        "further_performance_drop_minimum",
        lambda m, _row: min(_fall(m, line) for line in LINES),
        needs=SWEEP,
        remark="from the estimate to 50 packets, the smallest of the links",
    ),
    measured(
        "further_performance_drop_maximum",
        lambda m, _row: max(_fall(m, line) for line in LINES),
        needs=SWEEP,
        remark="from the estimate to 50 packets, the largest of the links",
    ),
    measured("performance", _best_below, needs=SWEEP, item="buffers below the estimate, best case"),
    measured("performance", _at(MAIN), needs=SWEEP, item="2400/196 at the estimated threshold"),
    measured("performance", _at(MAIN, 50), needs=SWEEP, item="2400/196 at the largest measured buffer (50 packets)"),
    measured(
        "performance", _at(LINES[2]), needs=SWEEP, item="worst link at the recommended size (3000/100 by Table 6.2)"
    ),
    measured("performance", _at(LINES[2], 50), needs=SWEEP, item="worst link at 50 packets"),
    measured(
        "download_throughput_drop_when_upload_starts",
        lambda m, _row: curve(m, MAIN, "down_ratio").at(50).map(lambda kept: 100 * (1 - kept)),
        needs=SWEEP,
    ),
)
