"""Finds traffic that is missing from the capture, from the rate at which a busy line delivers the captured flows.

While data waits in front of a line, the line sends without a pause. If it then delivers less than its rate, it also
carries other packets. Their rate is approximated by pieces of constant rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lopsided.studies.fit.line import BUSY_MS, Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lopsided.studies.fit.statistics import Flow

STEP_S = 0.5
"""Shortest interval in seconds over which a rate is measured."""
MOST_STEPS = 600
"""Maximum number of intervals. In longer captures, the intervals are longer."""
LEAST = 0.1
"""Smallest rate of other traffic, as a share of the line's rate."""
FULL = 0.05
"""The captured flows fill the line if their rate is lower than the line's rate by at most this share."""
ALONE = 0.2
"""Other traffic is only reported if the captured flows fill the line in at least this share of the busy intervals."""
LEAST_BUSY = 3
"""Minimum number of busy intervals in a period of other traffic."""
MOSTLY = 0.6
"""Minimum share of busy intervals in a period of other traffic."""
NOISE = 0.03
"""Smallest standard deviation of a measured rate, as a share of the line's rate."""


def pieces(data: Sequence[Flow], rate_bps: float, begin_s: float) -> list[Piece]:
    """Returns the traffic that is missing from the capture, as periods of constant rate.

    `data` are the captured flows of one direction, which must not carry ACKs. Times count from `begin_s`.
    """
    known = [flow for flow in data if len(flow.bins["time_s"])]
    if not known:
        return []
    first = min(float(flow.bins["time_s"][0]) for flow in known)
    last = max(float(flow.bins["time_s"][-1] + flow.bins["width_s"][-1]) for flow in known)
    width = max(STEP_S, (last - first) / MOST_STEPS, *(2 * float(flow.bins["width_s"][0]) for flow in known))
    share, busy = _shares(known, rate_bps, np.arange(first, last, width), width)
    if busy.sum() < 4 or (share[busy] >= 1 - FULL).mean() < ALONE:
        return []
    found: list[Piece] = []
    for begin, end in _segments(share, busy):
        inside = busy[begin:end]
        if inside.sum() < LEAST_BUSY or inside.mean() < MOSTLY:
            continue
        missing = 1 - float(np.median(share[begin:end][inside]))
        if missing >= LEAST:
            since = first - begin_s
            found.append(Piece(max(since + begin * width, 0.0), since + end * width, missing * rate_bps))
    return found


def _shares(
    data: Sequence[Flow], rate_bps: float, grid: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns the captured packets' share of the line's rate in each interval, and whether data waited for the line."""
    octets, least = np.zeros(len(grid)), np.full(len(grid), np.inf)
    for flow in data:
        bins, mss = flow.bins, flow.row["mss_bytes"] or 1460
        place = np.clip(((bins["time_s"] - grid[0]) / width).astype(int), 0, len(grid) - 1)
        near = flow.row["vantage"] == "receiver"
        np.add.at(octets, place, bins["sent_bytes" if near else "acked_bytes"] * (mss + 40) / (mss - 12))
        # A flow without data counts as not waiting. The line then counts as idle, even if another flow kept it busy.
        np.minimum.at(least, place, np.nan_to_num(bins["data_wait_ms"], nan=0.0))
    busy = np.isfinite(least) & (least > BUSY_MS)
    # The first and the last interval are not complete.
    busy[[0, -1]] = False
    return octets * 8 / width / rate_bps, busy


def _segments(share: NDArray[np.float64], busy: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Divides the intervals into segments of constant share, by optimal partitioning (Jackson et al. 2005).

    The segments minimise the sum of squared errors plus a cost per segment.
    """
    weight = busy.astype(float)
    count, total, square = (
        np.concatenate([[0.0], np.cumsum(each)]) for each in (weight, weight * share, weight * share**2)
    )
    steps = np.diff(share[busy])
    noise = max(NOISE, 1.4826 / np.sqrt(2) * float(np.median(np.abs(steps))) if len(steps) else 0.0)
    cost = 3 * noise**2 * np.log(len(share) + 1)
    best, back = np.zeros(len(share) + 1), np.zeros(len(share) + 1, dtype=int)
    for end in range(1, len(share) + 1):
        number = np.maximum(count[end] - count[:end], 1e-9)
        errors = square[end] - square[:end] - (total[end] - total[:end]) ** 2 / number
        sums = best[:end] + np.maximum(errors, 0.0) + cost
        back[end] = int(np.argmin(sums))
        best[end] = sums[back[end]]
    found: list[tuple[int, int]] = []
    end = len(share)
    while end > 0:
        found.append((int(back[end]), end))
        end = int(back[end])
    return found[::-1]
