"""What the claims share: how print is compared, and how curves are read.

Printed numbers count as reproduced within `POINTS`, `PACKETS` or `SHARE`, chosen before anything was run: a tenth of
the scale, one step of the sweep, and what reading a mean off a noisy log allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.drawing import column
from lopsided.papers.merritt2010.exhibits import at_buffer, of_line
from lopsided.papers.merritt2010.testbed import BUFFERS, Line

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab
    from lopsided.papers.framework.traces import Array

POINTS = 0.10
"""Performance within ten percentage points of print."""

PACKETS = 5.0
"""A buffer within one step of the sweep."""

SHARE = 0.15
"""Any other quantity within 15 %."""

SWEEP_ONLY = ("sweep",)


def curve(lab: Lab, line: Line, name: str, experiment: str = "sweep") -> Array:
    """A measured column of one link, buffers rising."""
    return column(of_line(lab, line, experiment), name)


def sizes() -> Array:
    """The buffers that were run, in packets."""
    return np.asarray(BUFFERS, dtype=np.float64)


def at(lab: Lab, line: Line, packets: float, name: str) -> float:
    """A measured column at a buffer size, linear between the sizes that were run."""
    return at_buffer(lab, line, packets, name)[0]


def rank_correlation(x: Array, y: Array) -> float:
    """`metrics.rank_correlation` of the settings where both were measured; NaN with fewer than three."""
    known = np.isfinite(x) & np.isfinite(y)
    return metrics.rank_correlation(x[known], y[known]) if known.sum() >= 3 else float("nan")


def printed_estimate(lab: Lab, line: Line) -> float:
    """The estimate that table 6.2 prints for a link, in packets."""
    return lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name).number


def ack_limit(line: Line) -> float:
    """The best performance that leaves room for all ACKs, with full frames and timestamps."""
    return metrics.two_way_performance_bound(line.down_bps, line.up_bps)


def which_direction(lab: Lab, line: Line, packets: float, value: float, printed: float) -> str:
    """Which direction makes a performance differ from print, and whether print can be goodput at all."""
    down, up = at(lab, line, packets, "down_share"), at(lab, line, packets, "up_share")
    limiting = "download" if down < up else "upload"
    way = "below" if value < printed else "above"
    parts = [
        f"on {line.name} at {packets:.0f} packets {value:.2f} is {way} {printed:.2f}; the {limiting} sets it (download "
        f"{down:.2f}, upload {up:.2f} of its link)"
    ]
    if printed > ack_limit(line):
        logged = at(lab, line, packets, "logged_performance")
        parts.append(
            f"Print is more than fits beside the other direction's ACKs ({ack_limit(line):.2f}), so it is hardly "
            f"goodput; mean window over mean RTT gives {logged:.2f} here"
        )
    elif way == "below" and limiting == "download":
        parts.append(not_stationary(lab, line, packets))
    return ". ".join(parts)


def not_stationary(lab: Lab, line: Line, packets: float) -> str:
    """How performance changes from the first to the second minute of both flows, and why."""
    first, second = (at(lab, line, packets, f"performance_{half}_half") for half in ("first", "second"))
    return (
        f"The two minutes are not stationary, with performance {first:.2f} in the first and {second:.2f} in the "
        "second: the upload's slow start fills R2, and the download's window grows by half a segment per round trip "
        "(delayed ACKs, no byte counting), which takes minutes at an RTT of a second"
    )
