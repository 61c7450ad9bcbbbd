"""Reads the measurements that this paper's figures, tables and claims use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.measurements import Array, Curve, Measurements, Spread
from lopsided.papers.framework.plots import Line, Lines, Panel, Plot, printed_mark
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.merritt2010.setup import BUFFERS, LINES, MAIN, AccessLine

SWEEP = ("sweep",)
BUFFER = "uplink_buffer_packets"


@dataclass(frozen=True)
class Reading:
    """One of the thesis's two definitions of performance, with its measured columns."""

    name: str
    suffix: str
    """Suffix of the keys of claims under this definition."""
    performance: str
    down: str
    up: str


GOODPUT = Reading("goodput", "", "performance", "down_share", "up_share")
"""Performance according to equation 1.2 of the thesis, computed from the bytes that the application receives
(MER-A08)."""

WINDOWS = Reading("mean window over mean RTT", "-by-windows", "logged_performance", "logged_down", "logged_up")
"""Performance according to equation 1.2 of the thesis, computed as in the scripts of appendices E, F and I."""

BOTH_READINGS = (GOODPUT, WINDOWS)


def curve(m: Measurements, line: AccessLine, column: str, experiment: str = "sweep") -> Curve:
    """Returns a measured column of one link as a function of the uplink buffer."""
    return m.curve(experiment, column, BUFFER, link=line.name)


def at(m: Measurements, line: AccessLine, packets: float, column: str) -> Spread:
    """Returns a measured column for an uplink buffer of `packets`, by interpolation."""
    return curve(m, line, column).at(packets)


def main(m: Measurements, column: str, experiment: str = "sweep") -> Curve:
    """Returns a measured column as a function of the uplink buffer, for the link of the thesis's chapter 5."""
    return curve(m, MAIN, column, experiment)


def sizes() -> Array:
    """Returns the simulated uplink buffers in packets."""
    return np.asarray(BUFFERS, dtype=np.float64)


def printed_size(m: Measurements, line: AccessLine) -> PublishedValue:
    """Returns the published buffer size of a link in packets, from table 6.2."""
    return m.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name)


def crossing(
    m: Measurements, line: AccessLine, column: str = "estimate_packets", experiment: str = "sweep"
) -> metrics.Crossing:
    """Returns the point at which the buffer size estimated by equation 6.6 equals the configured buffer size."""
    found = curve(m, line, column, experiment)
    return metrics.diagonal_crossing(found.x, found.median)


def threshold(m: Measurements, line: AccessLine, column: str = "estimate_packets", experiment: str = "sweep") -> float:
    """Returns the buffer in packets at which the estimate of eq 6.6 equals the configured size; NaN if there is no such
    buffer."""
    packets = crossing(m, line, column, experiment).packets
    return float("nan") if packets is None else packets


def by_link(column: str, experiment: str = "sweep") -> Lines:
    """Yields one line per link: a measured column as a function of the buffer."""

    def lines(m: Measurements) -> Iterable[Line]:
        for line in LINES:
            yield Line.of(
                curve(m, line, column, experiment),
                line.ink,
                mark=line.mark,
                label=line.title,
                end=f"{line.name} kbit/s",
                column=f"{line.name} {column}",
            )

    return lines


def printed_at(found: Iterable[tuple[AccessLine, float, float]]) -> Iterable[Line]:
    """Returns markers of published values at `(link, packets, value)`."""
    return (printed_mark(packets, value, line.ink) for line, packets, value in found)


AGAINST_BUFFER = Plot(
    title="",
    subtitle="",
    x="uplink buffer (packets)",
    panels=(Panel(""),),
    experiments=SWEEP,
    small_print=("both flows active (120 s)",),
    x_limits=(BUFFERS[0] - 2, BUFFERS[-1] + 2),
    ticks=BUFFERS,
    axis=BUFFER,
)
"""The parts that are equal in all figures with the uplink buffer on the x-axis."""
