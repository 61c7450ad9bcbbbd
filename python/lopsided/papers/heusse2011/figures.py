"""Draws the figures of this study. The paper's own figures were not available."""

# matplotlib does not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Artifact, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import Columns, table
from lopsided.papers.heusse2011.claims import predicted
from lopsided.papers.heusse2011.measure import backlogs
from lopsided.papers.heusse2011.setup import BUFFERS, DOWNLINK_BUFFER, LINES, MECHANISMS, MIDDLE, UNITS, AccessLine
from lopsided.views.plot import style

DASHED = (0, (4, 3))
SIZES: Array = np.geomspace(BUFFERS[0], BUFFERS[-1], 120)
MOST_RATIO = 16.0


def _expected(line: AccessLine, unit: str, ink: str) -> Line:
    ratios = np.array([predicted(line, size, unit).ratio for size in SIZES])
    shown = np.where((ratios <= MOST_RATIO) & (ratios >= 1 / MOST_RATIO), ratios, np.nan)
    return Line(SIZES, np.log2(shown), ink, style=DASHED, width=1.1)


def _ratios(m: Measurements, unit: str) -> Iterable[Line]:
    for line in LINES:
        found = m.curve("sweep", "ratio", "uplink_packets", line=line.name, unit=unit)
        with np.errstate(divide="ignore"):
            y, low, high = (np.log2(each) for each in (found.median, found.low, found.high))
        bounds = np.log2(MOST_RATIO)
        y, low, high = (np.clip(each, -bounds, bounds) for each in (y, low, high))
        yield Line(found.x, y, line.ink, low=low, high=high, mark=line.mark, end=line.name, width=1.5)
        yield _expected(line, unit, line.ink)


FIGURE_RATIO = Plot(
    "The sizes of the two buffers decide which flow gets more",
    "Download over upload throughput; dashed: our expression (the authors' is not public)",
    "uplink buffer (full packets); the downlink's holds 50",
    tuple(
        Panel(
            "download over upload",
            lambda m, unit=unit: _ratios(m, unit),
            f"buffers counted in {unit}"
            + ("; ratios above 16 and below 1/16 are drawn at the edge" if unit == "packets" else ""),
            2.9,
            limits=(-4.4, 4.4),
            levels=lambda _m: ((0.0, style.MUTED),),
            finish=lambda axes, _m: axes.set_yticks([-4, -2, 0, 2, 4], ["1/16", "1/4", "1", "4", "16"]),
        )
        for unit in UNITS
    ),
    ("sweep",),
    x_limits=(BUFFERS[0] * 0.93, BUFFERS[-1] * 1.04),
    ticks=BUFFERS,
    log_x=True,
    data=lambda m: m.table("sweep").select("line", "unit", "uplink_packets", "ratio", "ratio_low", "ratio_high"),
)


def _shares(m: Measurements, line: AccessLine) -> Iterable[Line]:
    for number, (way, ink) in enumerate((("down", style.DOWN[0]), ("up", style.UP[0]))):
        found = m.curve("sweep", f"{way}_share", "uplink_packets", line=line.name, unit="bytes")
        yield Line.of(found, ink, 100, end=f"{way}link", column=f"{line.name}_{way}")
        expected = [predicted(line, size, "bytes").shares(line.down_bps, line.up_bps)[number] for size in SIZES]
        yield Line(SIZES, 100 * np.array(expected), ink, style=DASHED, width=1.1)


FIGURE_SHARES = Plot(
    "Buffers that drain equally fast fill both lines",
    "Share of each line that data fills, byte buffers; dashed: our expression; dotted: equal drain times",
    "uplink buffer (full packets); the downlink's holds 50",
    tuple(
        Panel(
            "% of the line",
            lambda m, line=line: _shares(m, line),
            f"{line.name} kbit/s",
            2.1,
            limits=(0, 108),
            uprights=lambda _m, line=line: (DOWNLINK_BUFFER * line.up_bps / line.down_bps,),
        )
        for line in LINES
    ),
    ("sweep",),
    x_limits=(BUFFERS[0] * 0.93, BUFFERS[-1] * 1.04),
    ticks=BUFFERS,
    log_x=True,
    axis="uplink_packets",
)

SHOWN_S = (60.0, 90.0)


def _swing(m: Measurements, packets: int) -> Iterable[Line]:
    run = m.run("acks", line=MIDDLE.name, unit="bytes", uplink_packets=packets)
    for way, (time, held) in backlogs(run).items():
        inside = (time >= SHOWN_S[0]) & (time <= SHOWN_S[1])
        ink = style.DOWN[0] if way == "down" else style.UP[0]
        yield Line(
            time[inside],
            held[inside] / 1e3,
            ink,
            look="step",
            width=0.9,
            label=f"{way}link's buffer",
            column=f"{way}_kB_uplink_{packets}",
        )


FIGURE_PENDULUM = Plot(
    "Data waits before one side of the line at a time",
    "Backlog of both buffers on 3000/1000 kbit/s, byte buffers; downlink's buffer 75 kB",
    "time (s)",
    tuple(
        Panel(
            "kB",
            lambda m, packets=packets: _swing(m, packets),
            f"uplink buffer {packets * 1.5:g} kB: {words}",
            2.1,
            limits=(0, 92),
            legend=("upper left", 2),
        )
        for packets, words in ((MIDDLE.matched, "both drain in 0.2 s"), (50, "the uplink's drains in 0.6 s"))
    ),
    ("acks",),
    x_limits=SHOWN_S,
    axis="time_s",
)


def _mechanisms(m: Measurements) -> Artifact:
    """Returns the table of the remedies, with a buffer of 75 kB at both ends of each line."""
    rows = [(line, kind) for line in LINES for kind in MECHANISMS]

    def read(row: tuple[AccessLine, str], column: str) -> float:
        return m.value("mechanisms", column, line=row[0].name, mechanism=row[1]).median * 100

    columns: Columns[tuple[AccessLine, str]] = {
        "line": lambda row: row[0].name,
        "queue": lambda row: row[1],
        "%_of_downlink": lambda row: read(row, "down_share"),
        "%_of_uplink": lambda row: read(row, "up_share"),
    }
    return Artifact(
        table(rows, columns), None, (), ("Shares of each line that data fills. The queue is the same at both ends.",)
    )


FIGURES = (
    Figure("P", "The pendulum", ("acks",), FIGURE_PENDULUM),
    Figure("R", "Ratio against the uplink buffer", ("sweep",), FIGURE_RATIO),
    Figure("S", "Shares against the uplink buffer", ("sweep",), FIGURE_SHARES),
    Figure("M", "Mechanisms", ("mechanisms",), _mechanisms, "Table"),
)
