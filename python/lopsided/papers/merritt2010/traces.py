"""Draws figures over time: throughput, windows, BDP and the feedback cycle of single runs on 2400/196.

The figures show the first repetition. The upload starts at 120 s (section 1.3), although the text of figure 1.1 says
about 150 s (MER-A05). Therefore, compare only the shapes of the curves with the paper, and ignore their times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

from lopsided import metrics
from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Comparison, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import compare
from lopsided.papers.framework.traces import Buffers, Trace, buffers_of
from lopsided.papers.merritt2010.measure import TwoWay, phase_of
from lopsided.papers.merritt2010.setup import MAIN
from lopsided.papers.merritt2010.shared import BUFFER, SWEEP, main
from lopsided.views.plot import style

THROUGHPUT_STEP_S = 1.0
"""Bin width of the throughput curves in seconds: the default of Wireshark, which the thesis used."""

FLOWS = (("download", style.DOWN[0]), ("upload", style.UP[0]))


def two_way_of(m: Measurements, packets: int) -> TwoWay:
    return TwoWay.of(m.run("sweep", link=MAIN.name, **{BUFFER: packets}))


def _digest(m: Measurements, packets: int) -> str:
    run = m.run("sweep", link=MAIN.name, **{BUFFER: packets})
    return f"seed {run.seed}  ·  digest {run.digest}"


def _start(m: Measurements, packets: int) -> Iterable[float]:
    return (two_way_of(m, packets).start_s,)


def _whole(m: Measurements, packets: int) -> tuple[float, float]:
    return (0.0, two_way_of(m, packets).end_s)


def _both_active(m: Measurements, packets: int) -> tuple[float, float]:
    run = two_way_of(m, packets)
    return (run.start_s, run.end_s)


def _throughput(m: Measurements, packets: int) -> Iterable[Line]:
    run = two_way_of(m, packets)
    for name, ink in FLOWS:
        trace: Trace = getattr(run, name)
        bins = (trace.time_s, trace.delivered_bytes, 0.0, run.end_s, THROUGHPUT_STEP_S)
        time, rate = metrics.rate_series_bps(*bins)
        yield Line(time, rate / 1e3, ink, column=f"{name}_kbps_{packets}", label=name)
        yield Line([time[-1]], [rate[-20:].mean() / 1e3], ink, end=name)


def _rates(_m: Measurements) -> Iterable[tuple[float, str]]:
    return ((MAIN.down_bps / 1e3, style.MUTED), (MAIN.up_bps / 1e3, style.MUTED))


def throughput_panel(packets: int, caption: str = "", height: float = 2.8) -> Panel:
    """Returns a panel with both throughputs and the rates of the link."""
    return Panel(
        "kbit/s",
        lines=partial(_throughput, packets=packets),
        caption=caption,
        height=height,
        levels=_rates,
        uprights=partial(_start, packets=packets),
    )


def throughput(packets: int, number: str) -> Plot:
    return Plot(
        f"Throughput with a {packets}-packet uplink buffer",
        f"2400/196 kbit/s; the upload joins at the dotted line (merritt2010 figure {number})",
        "time since the download's start (s)",
        (throughput_panel(packets),),
        small_print=(
            f"goodput in bins of {THROUGHPUT_STEP_S:g} s, dashed: link rates",
            partial(_digest, packets=packets),
        ),
        x_limits=partial(_whole, packets=packets),
        axis="time_s",
    )


def _drop(m: Measurements) -> Iterable[Comparison]:
    printed = m.published.find("Section 1", "download_throughput_drop_when_upload_starts")
    loss = main(m, "down_ratio").at(50).map(lambda kept: 1 - kept)
    return (compare(printed, loss, "the 120 s with both flows against the 120 s alone", 100),)


INTRODUCTION = throughput(50, "1.1").but(
    title="Throughput with a large and a small uplink buffer",
    panels=(throughput_panel(50, "(a) 50 packets", 2.2), throughput_panel(15, "(b) 15 packets", 2.2)),
    comparisons=_drop,
)
"""The introduction's figures: a buffer of 50 packets, and a buffer "sized with the model" (15 packets, MER-A06)."""


def _window(m: Measurements, packets: int, flow: str, after_s: float = 5.0) -> Iterable[Line]:
    trace: Trace = getattr(two_way_of(m, packets), flow)
    shown = trace.time_s >= after_s
    kb = trace.cwnd_bytes[shown] / 1e3
    yield Line(trace.time_s[shown], kb, dict(FLOWS)[flow], look="step", column=f"{flow}_cwnd_kB")


def _while_both(m: Measurements, packets: int, flow: str) -> Iterable[Line]:
    return _window(m, packets, flow, two_way_of(m, packets).start_s)


def _phase(m: Measurements, packets: int) -> str:
    phase = phase_of(two_way_of(m, packets))
    return f"over all 120 s: {phase.verdict} (correlation {phase.correlation:+.2f}, agreement {phase.agreement:+.2f})"


def phases(packets: int, number: str, expected: str) -> Plot:
    """Returns the plot of both congestion windows while both flows are active."""
    return throughput(packets, number).but(
        title=f"Congestion windows with a {packets}-packet uplink buffer",
        subtitle=f"2400/196 kbit/s, both flows active; the thesis finds them {expected} in a detail (merritt2010 "
        f"figure {number})",
        panels=tuple(
            Panel("cwnd (kB)", partial(_while_both, packets=packets, flow=flow), caption=flow, height=2.0)
            for flow, _ in FLOWS
        ),
        small_print=(partial(_phase, packets=packets), partial(_digest, packets=packets)),
        x_limits=partial(_both_active, packets=packets),
    )


def _tracking(m: Measurements, packets: int) -> Iterable[Line]:
    trace = two_way_of(m, packets).download
    shown = trace.time_s > 5
    bdp = MAIN.down_bps * trace.srtt_ms[shown] / 8e6
    time = trace.time_s[shown]
    yield Line(time, bdp, style.OTHER[1], label="BDP = downlink rate x smoothed RTT", column="bdp_kB")
    yield Line(time, trace.cwnd_bytes[shown] / 1e3, style.DOWN[0], label="download's cwnd", column="cwnd_kB")


def tracking(packets: int, number: str) -> Plot:
    """Returns the plot of the download's window and of its BDP, computed from the smoothed RTT (MER-M16)."""
    start = partial(_start, packets=packets)
    return throughput(packets, number).but(
        title=f"Window against bandwidth-delay product, {packets}-packet uplink buffer",
        subtitle=f"Download on 2400/196 kbit/s; the upload joins at the dotted line (merritt2010 figure {number})",
        panels=(
            Panel("kB", partial(_tracking, packets=packets), legend=("upper left", 1), uprights=start),
            Panel(
                "cwnd (kB)",
                partial(_window, packets=packets, flow="upload"),
                caption="the upload's window",
                height=1.5,
                uprights=start,
            ),
        ),
        small_print=("sampled every 100 ms, from 5 s on", partial(_digest, packets=packets)),
    )


Course: TypeAlias = Callable[[TwoWay, Buffers], tuple[Array, Array]]
"""Returns times and values of a quantity from a run and its buffers."""

CYCLE_PACKETS = 50
CYCLE_S = (-3.0, 12.0)
"""Time range of figure 3.2, in seconds after the start of the upload."""
_STEPS = (("r2_full", "2"), ("r1_empty", "3"), ("r2_drained", "4"), ("r1_filled", "4"))


def _cycle_line(m: Measurements, read: Course, ink: str, column: str) -> Iterable[Line]:
    run = m.run("sweep", link=MAIN.name, **{BUFFER: CYCLE_PACKETS})
    both = TwoWay.of(run)
    time, value = read(both, buffers_of(run))
    after = time - both.start_s
    shown = (after >= CYCLE_S[0]) & (after <= CYCLE_S[1])
    yield Line(after[shown], value[shown], ink, look="step", column=column)


def _steps(m: Measurements) -> Iterable[float]:
    row = m.repetition(0).row("sweep", link=MAIN.name, **{BUFFER: CYCLE_PACKETS})
    return [0.0, *(row[f"cycle_{name}_s"] for name, _ in _STEPS if row[f"cycle_{name}_s"] is not None)]


def _cycle_panel(y: str, caption: str, ink: str, column: str, read: Course) -> Panel:
    lines = partial(_cycle_line, read=read, ink=ink, column=column)
    return Panel(y, lines, caption=caption, height=1.35, uprights=_steps)


CYCLE = throughput(CYCLE_PACKETS, "3.2").but(
    title="The feedback cycle",
    subtitle="2400/196 kbit/s, uplink buffer of 50 packets, while the upload joins (merritt2010 section 3.5, figure "
    "3.2)",
    x="time since the upload's start (s)",
    panels=(
        _cycle_panel(
            "packets",
            "backlog of R1: 1. it holds data before the upload; 3. it runs empty; 4. a burst of ACKs fills it again",
            style.DOWN[0],
            "r1_packets",
            lambda both, buffers: (buffers["down"]["time_s"], buffers["down"]["backlog_packets"]),
        ),
        _cycle_panel(
            "packets",
            "backlog of R2: 2. the upload's slow start fills it; 4. it drains",
            style.UP[0],
            "r2_packets",
            lambda both, buffers: (buffers["up"]["time_s"], buffers["up"]["backlog_packets"]),
        ),
        _cycle_panel(
            "s",
            "the download's smoothed RTT",
            style.OTHER[1],
            "srtt_s",
            lambda both, buffers: (both.download.time_s, both.download.srtt_ms / 1e3),
        ),
        _cycle_panel(
            "kB",
            "the download's window, which grows by one segment per RTT",
            style.DOWN[0],
            "cwnd_kB",
            lambda both, buffers: (both.download.time_s, both.download.cwnd_bytes / 1e3),
        ),
    ),
    small_print=(
        "dotted: the upload's start, R2 full, R1 empty, R2 drained, R1 full again (statement feedback-cycle)",
        partial(_digest, packets=CYCLE_PACKETS),
    ),
    x_limits=CYCLE_S,
)
"""Plots the four steps of section 3.5, for the run with an uplink buffer of 50 packets."""

FIGURES = (
    Figure("1.1", "Throughput with 50 and 15 packet uplink buffers", SWEEP, INTRODUCTION),
    Figure("3.2", "The feedback cycle, its steps in order", SWEEP, CYCLE),
    *(
        Figure(number, f"Throughput with a {packets} packet uplink buffer", SWEEP, throughput(packets, number))
        for number, packets in (("5.2", 5), ("5.3", 20), ("5.4", 25), ("5.5", 50))
    ),
    Figure("5.6", "Windows with a 10 packet uplink buffer", SWEEP, phases(10, "5.6", "out of phase")),
    Figure("5.7", "Windows with a 50 packet uplink buffer", SWEEP, phases(50, "5.7", "in phase")),
    *(
        Figure(number, f"Window and BDP with a {packets} packet uplink buffer", SWEEP, tracking(packets, number))
        for number, packets in (("5.8", 50), ("5.9", 5), ("5.10", 20), ("5.11", 25))
    ),
)
