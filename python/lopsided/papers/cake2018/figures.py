"""Draws figures 3 to 6 as far as public sources describe them, and an additional figure that varies the uplink rate."""

# matplotlib does not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.cake2018.claims import DATA, FLOWS, MARKS
from lopsided.papers.cake2018.measure import SETTLED_S, induced
from lopsided.papers.cake2018.setup import FILTERS, ISOLATIONS, QUEUES, UPLINKS
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Comparison, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, printed_mark, side_by_side
from lopsided.papers.framework.tables import compare
from lopsided.views.plot import style

DASHED = (0, (4, 3))
INKS = (style.MUTED, style.DOWN[0], style.UP[0], style.OTHER[0])
WIDTH = 0.8


def _hosts(m: Measurements) -> Iterable[Line]:
    groups = [
        (mode, ink, [m.value("hosts", f"share_{flow}", mode=mode) for flow in FLOWS])
        for mode, ink in zip(ISOLATIONS, INKS, strict=True)
    ]
    places = range(len(FLOWS))
    yield from side_by_side(places, groups, 100, WIDTH)
    each = WIDTH / len(ISOLATIONS)
    for number, mode in enumerate(ISOLATIONS):
        for place, flow in zip(places, FLOWS, strict=True):
            printed = m.published.find("Figure 3", "share", mode=mode, flow=flow).number
            at = place + (number - (len(ISOLATIONS) - 1) / 2) * each
            yield Line([at], [printed], style.INK, look="points", mark="_", size=11)


FIGURE_3 = Plot(
    "Host isolation divides the line by hosts",
    "Share of six flows (source-destination); strokes: the share that the isolation gives (cake2018 figure 3)",
    "flow",
    (Panel("% of the sum", _hosts, height=3.0, limits=(0, 34), legend=("upper left", 4)),),
    ("hosts",),
    x_limits=(-0.6, len(FLOWS) - 0.4),
    ticks=tuple(range(len(FLOWS))),
    tick_names=FLOWS,
    comparisons=lambda m: [
        compare(
            m.published.find("Figure 3", "share", mode=mode, flow=flow),
            m.value("hosts", f"share_{flow}", mode=mode),
            "",
            100,
        )
        for mode in ISOLATIONS
        for flow in FLOWS
    ],
    data=lambda m: m.table("hosts"),
)


def _tins(m: Measurements, way: str) -> Iterable[Line]:
    groups = [
        (queue, ink, [m.value("tins", f"{way}_{mark}_bps", queue=queue) for mark in MARKS])
        for queue, ink in zip(QUEUES, INKS, strict=True)
    ]
    places = range(len(MARKS))
    yield from side_by_side(places, groups, 1e-6, WIDTH)
    each = WIDTH / len(QUEUES)
    for number, queue in enumerate(QUEUES):
        for place, mark in zip(places, MARKS, strict=True):
            printed = m.published.find(DATA, "goodput", queue=queue, flow=f"{way}_{mark}").number
            at = place + (number - (len(QUEUES) - 1) / 2) * each
            yield printed_mark(at, printed, style.INK)


def _compared_tins(m: Measurements) -> Iterable[Comparison]:
    for queue in QUEUES:
        for way in ("down", "up"):
            for mark in MARKS:
                printed = m.published.find(DATA, "goodput", queue=queue, flow=f"{way}_{mark}")
                yield compare(printed, m.value("tins", f"{way}_{mark}_bps", queue=queue), "", 1e-6)
        for mark in ("be", "bk", "ef"):
            printed = m.published.find(DATA, "ping_p50", queue=queue, flow=mark)
            yield compare(printed, m.value("tins", f"ping_{mark}_ms", queue=queue))


FIGURE_4 = Plot(
    "DiffServ gives each code point its tin's part of the line",
    "Goodput of four flows each way on 10/10 Mbit/s; diamonds: medians of the authors' data (cake2018 figure 4)",
    "mark of the flow",
    tuple(
        Panel("Mbit/s", lambda m, way=way: _tins(m, way), f"{way}loads", 2.3, limits=(0, 7.5), legend=("upper left", 4))
        for way in ("down", "up")
    ),
    ("tins",),
    x_limits=(-0.6, len(MARKS) - 0.4),
    ticks=tuple(range(len(MARKS))),
    tick_names=("best effort", "background (CS1)", "CS5", "EF"),
    comparisons=_compared_tins,
    data=lambda m: m.table("tins"),
)

SHOWN = (("fq_codel", style.MUTED), ("cake", style.DOWN[0]), ("cake_diff4", style.OTHER[0]))


def _real_time(m: Measurements) -> Iterable[Line]:
    for queue, ink in SHOWN:
        time, delay = induced(m.run("real-time", queue=queue))
        yield Line(time, np.maximum(delay, 0.1), ink, width=1.0, label=queue, column=f"{queue}_ms")


FIGURE_5 = Plot(
    "Only DiffServ keeps a real-time flow above its fair share fast",
    "Added one-way delay of 2 Mbit/s next to 32 bulk flows on 10 Mbit/s; dashed: 200 ms (cake2018 figure 5)",
    "time (s); bulk flows start at 5 s",
    (
        Panel(
            "ms",
            _real_time,
            height=3.0,
            limits=(0.1, 3000),
            levels=lambda _m: ((200.0, style.MUTED),),
            uprights=lambda _m: (5.0, SETTLED_S),
            legend=("upper left", 3),
            finish=lambda axes, _m: axes.set_yscale("log"),
        ),
    ),
    ("real-time",),
    x_limits=(0, 60),
    axis="time_s",
    comparisons=lambda m: [
        compare(
            m.published.find("Figure 5", "induced_delay", queue="cake"), m.value("real-time", "delay_ms", queue="cake")
        )
    ],
)

ACK_OCTETS, SEGMENT_BITS = 66, 1448 * 8


def ack_limit_bps(uplink_bps: float) -> float:
    """Returns the goodput in bit/s at which the downloads' ACKs fill half of the uplink.

    Each ACK takes 66 bytes with its Ethernet header, and acknowledges two segments of 1,448 bytes. Four of the uplink's
    eight flows consist of ACKs, so fair queueing assigns half of the uplink to ACKs.
    """
    return uplink_bps / 2 / (8 * ACK_OCTETS) * 2 * SEGMENT_BITS


def _uplinks(m: Measurements) -> Iterable[Line]:
    for rule, ink, mark in zip(FILTERS, INKS[:3], ("o", "s", "^"), strict=True):
        found = m.curve("uplinks", "down_bps", "uplink_mbps", filter=rule)
        yield Line.of(found, ink, 1e-6, mark=mark, label=f"filter: {rule}", column=f"{rule}_mbps")
    rates = np.geomspace(UPLINKS[0], UPLINKS[-1], 60)
    most = 30e6 * 1448 / 1514
    yield Line(
        rates,
        [min(most, ack_limit_bps(rate * 1e6)) / 1e6 for rate in rates],
        style.INK,
        style=DASHED,
        label="limit of ACKs",
    )


FIGURE_F = Plot(
    "A filter helps where ACKs do not fit",
    "Sum of four downloads next to four uploads, 30 Mbit/s downlink (cake2018 figure 6; the sweep is ours)",
    "uplink rate (Mbit/s)",
    (
        Panel(
            "Mbit/s",
            _uplinks,
            "dashed: goodput if two segments share an ACK and ACKs have half of the uplink",
            3.0,
            limits=(0, 34),
            legend=("best", 1),
        ),
    ),
    ("uplinks",),
    x_limits=(0.28, 3.2),
    ticks=UPLINKS,
    log_x=True,
    axis="uplink_mbps",
)


def _filters(m: Measurements) -> Iterable[Line]:
    values = [m.value("filters", "down_bps", filter=rule) for rule in FILTERS]
    yield from side_by_side(range(len(FILTERS)), [("downloads", style.DOWN[0], values)], 1e-6, 0.6)


FIGURE_6 = Plot(
    "ACK filters on 30/1 Mbit/s",
    "Sum of four downloads next to four uploads; dashed: ends of the printed range (cake2018 figure 6)",
    "ACK filter",
    (
        Panel(
            "Mbit/s",
            _filters,
            height=2.6,
            limits=(0, 34),
            levels=lambda m: [(row.number, style.MUTED) for row in m.published if row.metric == "download_goodput"],
        ),
    ),
    ("filters",),
    x_limits=(-0.6, len(FILTERS) - 0.4),
    ticks=(0, 1, 2),
    tick_names=FILTERS,
    data=lambda m: m.table("filters"),
)

FIGURES = (
    Figure("3", "Host isolation", ("hosts",), FIGURE_3),
    Figure("4", "Flows on different code points", ("tins",), FIGURE_4),
    Figure("5", "Delay of a real-time flow", ("real-time",), FIGURE_5),
    Figure("6", "ACK filters", ("filters",), FIGURE_6),
    Figure("F", "ACK filters against the uplink rate", ("uplinks",), FIGURE_F),
)
