"""Assigns measured values to the published values that no figure, table or statement covers."""

from __future__ import annotations

from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.merritt2010.setup import BUFFERS, LINES, MAIN
from lopsided.papers.merritt2010.shared import GOODPUT, at, curve, printed_size


def worst(m: Measurements, _row: PublishedValue) -> float:
    """Returns the lowest performance over all links and buffers."""
    return min(float(curve(m, line, GOODPUT.performance).median.min()) for line in LINES)


def best_below(m: Measurements, _row: PublishedValue) -> float:
    """Returns the highest performance over buffers up to the published estimate."""
    return max(
        at(m, line, packets, GOODPUT.performance).median
        for line in LINES
        for packets in BUFFERS
        if packets <= printed_size(m, line).number
    )


def at_buffer(m: Measurements, _row: PublishedValue, line: int, packets: float | None = None) -> Spread:
    """Returns a link's performance with a buffer of `packets` packets. Default: the published estimate of its size."""
    return at(m, LINES[line], packets or printed_size(m, LINES[line]).number, GOODPUT.performance)


def at_estimates(m: Measurements, row: PublishedValue) -> float:
    """Returns the lowest performance over all links, each with the buffer size that the thesis estimates for it."""
    return min(at_buffer(m, row, line).median for line in range(len(LINES)))


def fall(m: Measurements, row: PublishedValue, pick: str) -> float:
    """Returns the smallest or largest decrease of performance from the published estimate to the largest buffer, over
    all links."""
    return {"min": min, "max": max}[pick](
        at_buffer(m, row, line).median - at_buffer(m, row, line, float(BUFFERS[-1])).median
        for line in range(len(LINES))
    )


def lost_at(m: Measurements, _row: PublishedValue, packets: float) -> Spread:
    return curve(m, MAIN, "down_ratio").at(packets).map(lambda kept: 1 - kept)


COVERAGE = load(__file__, worst, best_below, at_buffer, at_estimates, fall, lost_at)
