"""Draws the figures of balakrishnan1999."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from lopsided import metrics
from lopsided.papers.balakrishnan1999 import bursts, ns2, printed, section9, tables
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA_FIRST,
    AF_SA,
    BUFFERS_KB,
    CONNECTIONS,
    FORWARD_BPS,
    HOPS,
    HOSTS,
    LINES,
    RADIO_SCHEMES,
    RENO,
    SCHEMES,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import INKS, ack_limit_bps
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, printed_mark, side_by_side
from lopsided.papers.framework.rows import compared
from lopsided.papers.framework.traces import traces_of
from lopsided.views.plot import style

# --- Figure 8: one download, no forward loss


def _case_a(m: Measurements) -> Iterable[Line]:
    def found(scheme: Scheme) -> list[Spread]:
        return [m.value("one-way", "throughput_bps", line=line.key, scheme=scheme.key) for line in LINES]

    groups = [(scheme.title, INKS[scheme.key], found(scheme)) for scheme in SCHEMES]
    yield from side_by_side(range(len(LINES)), groups, 1e-6)
    for place, line in enumerate(LINES):
        limit = ack_limit_bps(line) / 1e6
        yield Line([place - 0.45, place + 0.45], [limit, limit], style.MUTED, style=(0, (4, 3)), width=1.5)
    reno = -(len(SCHEMES) - 1) / 2 * 0.8 / len(SCHEMES)
    for place, row in enumerate(printed.FIGURE_8):
        yield printed_mark(place + reno, row.printed(m).number, style.INK)


FIGURE_8 = Plot(
    "One download over a slow return line, without forward loss",
    "10 Mbit/s, 50 ms back, 10 packets of buffer (figure 8). Diamonds: printed; dashed: limit of an ACK per packet",
    "return line",
    (Panel("Mbit/s", _case_a, height=3.0, limits=(0, 11.5), legend=("upper left", 4)),),
    ("one-way",),
    ticks=range(len(LINES)),
    x_limits=(-0.5, len(LINES) - 0.5),
    tick_names=[line.title for line in LINES],
    comparisons=partial(compared, printed.FIGURE_8),
    data=lambda m: m.table("one-way"),
)


# --- Figure 9: windows with forward loss


def _window(m: Measurements, scheme: Scheme) -> Iterable[Line]:
    run = m.run("lossy", scheme=scheme.key, return_delay_ms=50.0)
    trace = traces_of(run, ("forward",))["forward"]
    yield Line(trace.time_s, trace.cwnd_bytes / 960, INKS[scheme.key], look="step", width=1.2)


def _printed_window(m: Measurements, scheme: Scheme) -> Iterable[tuple[float, str]]:
    """Yields a horizontal line at the mean congestion window from table 1."""
    if 1 in scheme.tables:
        yield printed.table_1(scheme)[1].printed(m).number, style.INK


FIGURE_9 = Plot(
    "The window with forward loss",
    "Case B: every buffer 10 packets, return line 28.8 kbit/s compressed (figure 9); dashed: printed mean (table 1)",
    "time (s)",
    tuple(
        Panel(
            "packets",
            partial(_window, scheme=scheme),
            scheme.title,
            1.5,
            limits=(0, 128),
            levels=partial(_printed_window, scheme=scheme),
        )
        for scheme in SCHEMES
    ),
    ("lossy",),
    x_limits=(0, 50),
    axis="time_s",
)


# --- Figures 10 and 11: a download and an upload over time


def _sequences(m: Measurements, scheme: Scheme, flow: str, scale: float) -> Iterable[Line]:
    run = m.run("two-way", scheme=scheme.key, series=0)
    trace = traces_of(run, (flow,))[flow]
    yield Line(
        trace.time_s, trace.acked_bytes * scale, style.DOWN[0] if flow == "forward" else style.UP[0], look="step"
    )


def beside_an_upload(title: str, place: str, scheme: Scheme) -> Plot:
    """Returns a plot of the acknowledged bytes of both flows over time."""
    return Plot(
        title,
        f"{scheme.title}: return line of 28.8 kbit/s, compressed; the upload starts between 5 s and 10 s ({place})",
        "time (s)",
        (
            Panel(
                "MB",
                partial(_sequences, scheme=scheme, flow="forward", scale=1e-6),
                "acknowledged data of the download",
                2.2,
            ),
            Panel(
                "kB",
                partial(_sequences, scheme=scheme, flow="reverse", scale=1e-3 * 6 / 40),
                "acknowledged data of the upload",
                1.8,
            ),
        ),
        x_limits=(0, 50),
        axis="time_s",
    )


# --- Packet radio


def _over_hops(m: Measurements) -> Iterable[Line]:
    def found(scheme: Scheme) -> list[Spread]:
        return [m.value("radio", "throughput_bps", hops=hops, scheme=scheme.key) for hops in HOPS]

    groups = [(scheme.title, INKS[scheme.key], found(scheme)) for scheme in RADIO_SCHEMES]
    yield from side_by_side(HOPS, groups, 1e-3)
    for number, scheme in enumerate(RADIO_SCHEMES):
        for hops in HOPS if 5 in scheme.tables else ():
            at = hops + (number - (len(RADIO_SCHEMES) - 1) / 2) * 0.8 / len(RADIO_SCHEMES)
            yield printed_mark(at, printed.table_5(scheme, hops).printed(m).number, style.INK)


FIGURE_12 = Plot(
    "A download over hops of packet radio",
    "100 kbit/s, half duplex (figure 12); diamonds: printed in table 5",
    "hops",
    (Panel("kbit/s", _over_hops, height=3.0, limits=(0, 60), legend=("upper left", 4)),),
    ("radio",),
    ticks=HOPS,
    x_limits=(0.5, 3.5),
    data=lambda m: m.table("radio"),
)


def _round_trips(m: Measurements, scheme: Scheme) -> Iterable[Line]:
    run = m.run("radio", hops=2, scheme=scheme.key)
    samples = run.samples.to_polars()
    timed = samples.filter(samples["rtt_count"] > 0)
    rtt = (timed["rtt_sum_ms"] / timed["rtt_count"] / 1e3).to_numpy()
    yield Line(timed["time_s"].to_numpy(), rtt, INKS[scheme.key], mark=".", size=3, width=0.8)


def _printed_trips(m: Measurements, scheme: Scheme) -> Iterable[tuple[float, str]]:
    """Yields horizontal lines at the published mean RTT, and one standard deviation above and below this mean."""
    mean, deviation = (row.printed(m).number for row in printed.figure_13(scheme))
    return (mean, style.INK), (mean - deviation, style.MUTED), (mean + deviation, style.MUTED)


FIGURE_13 = Plot(
    "Round trips over two hops of packet radio",
    "Means of half a second each (figure 13); dashed: printed mean, and a standard deviation above and below",
    "time (s)",
    tuple(
        Panel(
            "RTT (s)",
            partial(_round_trips, scheme=scheme),
            scheme.title,
            1.8,
            limits=(0, 6),
            levels=partial(_printed_trips, scheme=scheme),
        )
        for scheme in RADIO_SCHEMES
        if 6 in scheme.tables
    ),
    ("radio",),
    x_limits=(0, 100),
    comparisons=partial(
        compared, [row for scheme in RADIO_SCHEMES if 6 in scheme.tables for row in printed.figure_13(scheme)]
    ),
    axis="time_s",
)


def _fairness(m: Measurements) -> Iterable[Line]:
    for scheme in RADIO_SCHEMES:
        if 6 in scheme.tables:
            curve = m.curve("radio-many", "fairness_index", "connections", scheme=scheme.key)
            yield Line.of(curve, INKS[scheme.key], column=f"{scheme.key}_fairness_index", end=scheme.title)
    for number, row in zip((2, 12), printed.FIGURE_14, strict=True):
        yield printed_mark(number, row.printed(m).number, INKS[RENO.key])


FIGURE_14 = Plot(
    "Fairness between connections over one hop of packet radio",
    "Jain's index of throughputs over 100 s (figure 14); diamonds: printed for Reno",
    "connections",
    (Panel("fairness index", _fairness, height=2.8, limits=(0, 1.08)),),
    ("radio-many",),
    ticks=CONNECTIONS,
    x_limits=(0.5, 12.6),
    comparisons=partial(compared, printed.FIGURE_14),
)


# --- Measured networks

_RETURN_INKS = {"SLIP": style.UP[0], "CSLIP": style.OTHER[0], "Ethernet": style.DOWN[0]}


def _by_buffer(m: Measurements) -> Iterable[Line]:
    for line, ink in _RETURN_INKS.items():
        curve = m.curve("measured", "throughput_bps", "buffer_kb", line=line)
        yield Line.of(curve, ink, 1e-6, column=f"{line}_mbps", end=line)
    for line, octets in tables.SIZES:
        limit = metrics.ack_limited_bps(FORWARD_BPS, 28.8e3, 1000, octets, 2) / 1e6
        yield Line([BUFFERS_KB[0], BUFFERS_KB[-1]], [limit, limit], _RETURN_INKS[line], style=(0, (4, 3)))


FIGURE_2 = Plot(
    "A download of 1 MB by return line and socket buffer",
    "10 Mbit/s down, between hosts of BSD/OS (figure 2); dashed: an ACK for every second packet, 1.1 and 3.2 Mbit/s",
    "socket buffer (kB)",
    (Panel("Mbit/s", _by_buffer, height=3.0, limits=(0, 10)),),
    ("measured",),
    ticks=BUFFERS_KB,
)


def _measured_sequence(m: Measurements, flow: str) -> Iterable[Line]:
    run = m.run("measured-two-way", line="9.6")
    trace = traces_of(run, (flow,))[flow]
    ink, scale = (style.DOWN[0], 1e-6) if flow == "forward" else (style.UP[0], 1e-3)
    yield Line(trace.time_s, trace.acked_bytes * scale, ink, look="step", column=f"{flow}_acked")


def _losses(m: Measurements) -> Iterable[float]:
    samples = m.run("measured-two-way", line="9.6").samples.to_polars()
    upload = samples.filter(samples["flow"] == 0)
    sent_again = upload["retransmits"].to_numpy().astype(float)
    times = upload["time_s"].to_numpy().astype(float)
    return times[1:][np.diff(sent_again) > 0]


def measured_sequence(title: str, place: str, flow: str, unit: str) -> Plot:
    """Returns a plot of one flow's acknowledged bytes. Dotted lines mark the upload's retransmissions."""
    return Plot(
        title,
        f"Between hosts of BSD/OS ({place}); dotted: the upload retransmits",
        "time (s)",
        (Panel(f"{unit} acknowledged", partial(_measured_sequence, flow=flow), height=2.8, uprights=_losses),),
        ("measured-two-way",),
        x_limits=(0, 260),
        axis="time_s",
    )


def _radio_sequence(m: Measurements) -> Iterable[Line]:
    trace = traces_of(m.run("measured-radio", hops=1), ("transfer",))["transfer"]
    yield Line(trace.time_s, trace.acked_bytes / 1e3, style.UP[0], look="step", column="acked_kb")


def _radio_trips(m: Measurements) -> Iterable[Line]:
    samples = m.run("measured-radio", hops=1).samples.to_polars()
    timed = samples.filter(samples["rtt_count"] > 0)
    rtt = (timed["rtt_sum_ms"] / timed["rtt_count"] / 1e3).to_numpy()
    yield Line(timed["time_s"].to_numpy(), rtt, style.UP[0], mark=".", look="points")


FIGURE_6 = Plot(
    "200 kB over one hop of packet radio",
    "Between hosts of BSD/OS, ARQ without piggybacked acknowledgements (figure 6)",
    "time (s)",
    (
        Panel("kB acknowledged", _radio_sequence, height=2.4),
        Panel("RTT (s)", _radio_trips, "means of half a second each", 1.8),
    ),
    ("measured-radio",),
    x_limits=(0, 100),
    comparisons=partial(compared, printed.FIGURE_6),
    axis="time_s",
)


FIGURE_15 = Plot(
    "A download of 1 MB over the cable, with packet radio back",
    "Between hosts of BSD/OS (figure 15)",
    "socket buffer (kB)",
    (
        Panel(
            "Mbit/s",
            lambda m: [
                Line.of(m.curve("measured-combined", "throughput_bps", "buffer_kb"), style.DOWN[0], 1e-6, column="mbps")
            ],
            height=2.8,
        ),
    ),
    ("measured-combined",),
    ticks=BUFFERS_KB,
)


def _web(m: Measurements) -> Iterable[Line]:
    for scheme in RADIO_SCHEMES:
        curve = m.curve("web", "completion_s", "hosts", scheme=scheme.key)
        yield Line.of(curve, INKS[scheme.key], column=f"{scheme.key}_s", end=scheme.title)


FIGURE_16 = Plot(
    "Pages over the cable, with packet radio back",
    "Four objects of 10 kB each, requested within the first 5 s (figure 16)",
    "hosts",
    (Panel("mean completion (s)", _web, height=3.0),),
    ("web",),
    ticks=HOSTS,
    notes=("Means are over the hosts that receive all four objects within 400 s.",),
    data=lambda m: m.table("web"),
)


def _implemented_bars(m: Measurements, way: str, scale: float) -> Iterable[Line]:
    for place, scheme in enumerate(section9.SCHEMES):
        median, low, high = (each * scale for each in m.value("implemented-two-way", f"{way}_bps", scheme=scheme.key))
        yield Line([place], [median], INKS[scheme.key], look="bar", width=0.6, low=[low], high=[high])
    for scheme, of, row in section9.printed_of("implemented-two-way"):
        if of == way:
            yield printed_mark(section9.SCHEMES.index(scheme), row.printed(m).number, style.INK)


FIGURE_22 = Plot(
    "3 MB down next to 100 kB up, with the implementation in BSD/OS",
    "28.8 kbit/s back (AF: 28), 32 packets of buffer, while both are active (figure 22); diamonds: as printed",
    "scheme",
    (
        Panel("Mbit/s", partial(_implemented_bars, way="forward", scale=1e-6), "download", 2.2),
        Panel("kbit/s", partial(_implemented_bars, way="reverse", scale=1e-3), "upload", 1.8, limits=(0, 30)),
    ),
    ("implemented-two-way",),
    ticks=range(len(section9.SCHEMES)),
    tick_names=[scheme.title for scheme in section9.SCHEMES],
    x_limits=(-0.5, len(section9.SCHEMES) - 0.5),
    data=lambda m: m.table("implemented-two-way"),
    comparisons=partial(compared, [row for _, _, row in section9.printed_of("implemented-two-way")]),
)


FIGURES = (
    Figure("2", "1 MB by return line and socket buffer", ("measured",), FIGURE_2),
    Figure(
        "3",
        "An upload that a download joins",
        ("measured-two-way",),
        measured_sequence("An upload over 9.6 kbit/s that a download joins", "figure 3", "reverse", "kB"),
    ),
    Figure(
        "4",
        "A download that joins an upload",
        ("measured-two-way",),
        measured_sequence("A download that joins an upload over 9.6 kbit/s", "figure 4", "forward", "MB"),
    ),
    Figure("6", "200 kB over packet radio", ("measured-radio",), FIGURE_6),
    Figure("8", "One download over a slow return line", ("one-way",), FIGURE_8),
    Figure("9", "Windows with forward loss", ("lossy",), FIGURE_9),
    Figure(
        "10",
        "A download next to an upload",
        ("two-way",),
        beside_an_upload("A download with ACK filtering next to an upload", "figure 10", AF_SA),
    ),
    Figure(
        "11",
        "A download next to an upload, acks first",
        ("two-way",),
        beside_an_upload("ACKs first: a window for each of the upload's packets", "figure 11", ACC_SA_FIRST),
    ),
    Figure("12", "Throughput over hops of packet radio", ("radio",), FIGURE_12),
    Figure("13", "Round trips over two hops", ("radio",), FIGURE_13),
    Figure("14", "Fairness over packet radio", ("radio-many",), FIGURE_14),
    Figure("15", "1 MB over the cable with packet radio back", ("measured-combined",), FIGURE_15),
    Figure("16", "Pages over the cable with packet radio back", ("web",), FIGURE_16),
    Figure("20", "The largest burst", ("maxburst",), bursts.FIGURE_20),
    Figure("21", "Segments for each ACK", ("max-delay",), bursts.FIGURE_21),
    Figure("22", "The implementation next to an upload", ("implemented-two-way",), FIGURE_22),
    Figure("1", "A download with forward loss", ("lossy",), tables.table_1, "Table"),
    Figure("2", "Two downloads", ("two-downloads",), tables.table_2, "Table"),
    Figure("3", "A download and an upload", ("two-way",), tables.table_3, "Table"),
    Figure("4", "Parameters of the packet radio", (), tables.table_4, "Table"),
    Figure("5", "Throughput over packet radio", ("radio",), tables.table_5, "Table"),
    Figure("6", "Many connections over packet radio", ("radio-many",), tables.table_6, "Table"),
    Figure("A", "Case A and the authors' code", ("one-way",), tables.table_a, "Table"),
    Figure("N", "ns-2 and this simulator", ns2.EXPERIMENTS, ns2.table_n, "Table"),
    Figure("K", "Normalised bandwidth ratio and limits", (), tables.table_k, "Table"),
)
