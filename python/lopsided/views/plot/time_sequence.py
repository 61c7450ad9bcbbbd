"""Draws one direction of a captured connection.

The panels show a time-sequence diagram like tcptrace's, outstanding data and windows, waiting times, goodput, and ACK
spacing.
"""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided.studies.analyze.verdict import name
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from lopsided.data.table import Row
    from lopsided.studies.analyze import Capture
    from lopsided.views.plot.style import LabFigure

_MOST_BARS = 4000


def figure(found: Capture, row: Row) -> LabFigure:
    """Draws the direction that `row` describes, in five panels."""
    points = found.points.to_polars().filter(pl.col("direction") == row["direction"])
    bins = found.timeline.to_polars().filter(pl.col("direction") == row["direction"])
    heights = (3.4, 1.6, 1.6, 1.4, 1.4)
    sheet = style.sheet("Time and sequence numbers", name(row), heights, "time since the capture's first packet (s)")
    sequence, out, waits, goodput, spacing = sheet.panels
    _sequence(sequence, points)
    middle = (bins["time_s"] + bins["width_s"] / 2).to_numpy()
    _curves(out, middle, [("out", bins["outstanding_max_bytes"], 1e-3), ("window", bins["window_bytes"], 1e-3)], "kB")
    waiting = [
        ("RTT", bins["rtt_mean_ms"], 1.0),
        ("data", bins["data_wait_ms"], 1.0),
        ("ACKs", bins["ack_wait_ms"], 1.0),
    ]
    _curves(waits, middle, waiting, "RTT, waits (ms)")
    _curves(goodput, middle, [("", bins["goodput_bps"], 1e-6)], "Mbit/s")
    _spacing(spacing, points)
    style.small_print(
        sheet.figure,
        "bars: data, red: seen again; steps: ACKs and the end of the window; green: SACK; at most 4,000 each",
        f"captured: {row['vantage']}; limited by {row['limited_by'].replace('_', ' ')}",
    )
    return sheet.figure


def _sequence(panel: Axes, points: pl.DataFrame) -> None:
    def of(kind: str) -> tuple[NDArray[np.float64], ...]:
        frame = points.filter(pl.col("kind") == kind)
        return (frame["time_s"].to_numpy(), frame["start_bytes"].to_numpy() / 1e6, frame["end_bytes"].to_numpy() / 1e6)

    at, start, end = of("data")
    style.bars(panel, at[:_MOST_BARS], start[:_MOST_BARS], end[:_MOST_BARS], color=style.DOWN[0], linewidth=1.1)
    at, start, end = of("ack")
    panel.step(at, start, where="post", color=style.MUTED, linewidth=0.9)
    panel.step(at, end, where="post", color=style.UP[0], linewidth=0.7)
    at, start, end = of("sack")
    style.bars(panel, at, start, end, color="#3b8f5a", linewidth=0.7)
    at, start, end = of("retransmission")
    style.bars(panel, at, start, end, color=style.RED, linewidth=1.8)
    data = of("data")[2]
    if len(data):
        panel.set_ylim(0, float(data.max()) * 1.08 or 1.0)
    panel.set_ylabel("stream (MB)")


def _curves(panel: Axes, time: NDArray[np.float64], curves: list[tuple[str, pl.Series, float]], label: str) -> None:
    inks = (style.DOWN[0], style.UP[0], style.RED)
    labels: list[tuple[float, str, str]] = []
    for (what, values, scale), ink in zip(curves, inks, strict=False):
        curve = values.cast(pl.Float64).to_numpy() * scale
        known = np.isfinite(curve)
        if not known.any():
            continue
        panel.plot(time[known], curve[known], color=ink, linewidth=1.2)
        if what:
            labels.append((float(curve[known][-1]), what, ink))
    panel.set_ylim(bottom=0)
    panel.set_ylabel(label)
    style.end_labels(panel, labels)


def _spacing(panel: Axes, points: pl.DataFrame) -> None:
    at = points.filter(pl.col("kind") == "ack")["time_s"].to_numpy()
    gaps = np.diff(at) * 1e3
    panel.plot(at[1:], gaps, linestyle="none", marker=".", markersize=2, color=style.MUTED)
    if (gaps > 0).any():
        panel.set_yscale("log")
    panel.set_ylabel("ACK gap (ms)")
