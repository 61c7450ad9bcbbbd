"""Draws figures of each variant over time, and the download's share in the three phases.

Figures over time show the first repetition. The letter contains two figures with the number 2 (ORO-A02), and no figures
of H-TCP and Reno (ORO-A03).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from lopsided import metrics
from lopsided.papers.framework import recorded
from lopsided.papers.framework.measurements import Array, Measurements, Spread
from lopsided.papers.framework.model import Artifact, Comparison, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, side_by_side
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.papers.orosz2010 import setup
from lopsided.papers.orosz2010.measure import BIN_S, Phased
from lopsided.papers.orosz2010.setup import ASSUMED_BUFFER, DOWN_BPS, FLAVOURS, OTHERS, PHASES, UP_BPS, VEGAS, Flavour
from lopsided.papers.orosz2010.shared import mean_over, share, value
from lopsided.views.plot import style

# --- Over time


def _phased(m: Measurements, each: Flavour) -> Phased:
    return Phased.of(m.run("phases", variant=each.key))


def _throughput(m: Measurements, each: Flavour) -> Iterable[Line]:
    phased = _phased(m, each)
    for way, ink in (("down", style.DOWN[0]), ("up", style.UP[0])):
        time, rate = phased.series_bps(way, 0.0, phased.bounds_s[-1])
        yield Line(time, rate / 1e3, ink, width=1.1, column=f"{way}_kbps")
        yield Line([time[-1]], [rate[-30:].mean() / 1e3], ink, end=way)


def _of_download(m: Measurements, each: Flavour, column: str) -> Iterable[Line]:
    download = _phased(m, each).download
    samples: Array = getattr(download, column)
    yield Line(download.time_s, samples / 1e3, style.DOWN[0], look="step", width=1.1)


def _joins(m: Measurements, each: Flavour) -> Iterable[float]:
    return _phased(m, each).bounds_s[1:3]


def _seed(m: Measurements, each: Flavour) -> str:
    run = m.run("phases", variant=each.key)
    return f"seed {run.seed}  ·  digest {run.digest}"


def _over_time(number: str, each: Flavour) -> Figure:
    """Returns one variant's figure: throughput in both directions, and the download's window and RTT."""
    place = f"orosz2010 figure {number}" if number.isdigit() else "not drawn in orosz2010"
    rates = Panel(
        "kbit/s",
        partial(_throughput, each=each),
        "throughput of both directions: IP bytes on the line; dashed: rates of the line",
        2.5,
        limits=(0, DOWN_BPS / 1e3 * 1.05),
        levels=lambda m: [(rate / 1e3, style.MUTED) for rate in (DOWN_BPS, UP_BPS)],
    )
    window, rtt = (
        Panel(y, partial(_of_download, each=each, column=column), caption, 1.6)
        for y, column, caption in (
            ("cwnd (kB)", "cwnd_bytes", "the download's congestion window"),
            ("RTT (s)", "srtt_ms", "the download's smoothed round-trip time"),
        )
    )
    plot = Plot(
        f"{each.title}: a download alone, next to one upload, and next to two",
        f"512/128 kbit/s ADSL line; dotted: an upload joins ({place})",
        "time since the download's start (s)",
        tuple(replace(panel, uprights=partial(_joins, each=each)) for panel in (rates, window, rtt)),
        small_print=(f"throughput in bins of {BIN_S:g} s, no smoothing", partial(_seed, each=each)),
        x_limits=lambda m: (0.0, _phased(m, each).bounds_s[-1]),
        axis="time_s",
    )
    return Figure(number, f"{each.title} throughput", ("phases",), plot)


# --- By phase


def _bars(m: Measurements) -> Iterable[Line]:
    groups = [(each.title, each.ink, [value(m, each, f"share_{phase}") for phase in PHASES]) for each in FLAVOURS]
    yield from side_by_side(PHASES, groups, 100, width=0.78)
    for phase in (2, 3):
        printed = share(m, phase).number
        yield Line([phase - 0.45, phase + 0.45], [printed, printed], style.MUTED, style=(0, (4, 3)), width=1.5)


FIGURE_A = Plot(
    "Share of the download that one and two uploads leave",
    "Throughput against phase 1, 512/128 kbit/s (orosz2010 section V); dashed: printed values",
    "phase (number of uploads plus 1)",
    (Panel("% of phase 1", _bars, height=2.8, limits=(0, 125), legend=("upper left", 6)),),
    ("phases",),
    x_limits=(0.5, 3.5),
    ticks=PHASES,
    tick_names=("1: alone", "2: one upload", "3: two uploads"),
    data=lambda m: m.table("phases").select(
        "variant", *(f"share_{phase}{end}" for phase in PHASES for end in ("", "_low", "_high"))
    ),
)


def _shares(m: Measurements, phase: int, experiment: str, over: str) -> Iterable[Line]:
    """Returns one curve per variant: the throughput relative to phase 1."""
    for each in FLAVOURS:
        found = m.curve(experiment, f"share_{phase}", over, variant=each.key)
        if over == "uplink_kbps":
            found = found.against(DOWN_BPS / 1e3 / found.x)
        yield Line.of(found, each.ink, 100, mark=each.mark, end=each.title, column=f"{each.key}_share_{phase}")


def _sweep(
    title: str, subtitle: str, x: str, experiment: str, over: str, axis: Sequence[float], note: str = ""
) -> Plot:
    """Returns a plot of the download's shares in phases 2 and 3, as functions of the setting on the x axis."""
    panels = tuple(
        Panel(
            "% of phase 1",
            partial(_shares, phase=phase, experiment=experiment, over=over),
            lambda m, phase=phase: f"phase {phase}; dashed: printed, {share(m, phase)}",
            2.7,
            limits=(0, 112),
            levels=lambda m, phase=phase: ((share(m, phase).number, style.MUTED),),
        )
        for phase in (2, 3)
    )
    return Plot(
        title,
        f"{subtitle} (orosz2010 section V; the sweep is ours)",
        x,
        panels,
        (experiment,),
        x_limits=(min(axis) * 0.93, max(axis) * 1.04),
        ticks=tuple(axis),
        notes=(note,) if note else (),
        data=lambda m: m.table(experiment).select("variant", pl.col(f"^({over}|share_.*|throughput_.*)$")),
    )


FIGURE_B = _sweep(
    "The modem's buffer decides the share that an upload leaves",
    "Share of the download's throughput by uplink buffer",
    "uplink buffer (packets)",
    "buffers",
    "uplink_buffer_packets",
    setup.BUFFERS,
    f"Other experiments assume {ASSUMED_BUFFER} packets. The statement seventy-percent-needs-its-buffer gives the "
    "buffers for which the mean of phase 2 is near the printed share.",
).but(log_x=True)

FIGURE_W = _sweep(
    "Waits of bounded uploads add up in a deep buffer",
    f"Share of the download's throughput, uplink buffer of {setup.DEEP_BUFFER} packets",
    "send buffer of each upload (KiB)",
    "windows",
    "upload_window_kib",
    setup.WINDOWS,
    "The whole window of an upload waits in the modem's buffer, and a second upload doubles the wait. The letter says "
    "that defaults were kept. It does not say if its FTP programs set buffers.",
)

FIGURE_RATIO = _sweep(
    "The slower the uplink, the less an upload leaves",
    f"Share of the download's throughput, buffers of {ASSUMED_BUFFER} packets",
    "downlink rate over uplink rate",
    "ratios",
    "uplink_kbps",
    [DOWN_BPS / 1e3 / rate for rate in setup.UPLINKS],
).but(log_x=True)


def _table_e01(m: Measurements) -> Artifact:
    """Returns a table of the download's throughput, share, fluctuation and RTT in each phase (ORO-E01)."""

    def scaled(column: str, scale: float = 1.0) -> Callable[[Flavour], float]:
        return lambda each: value(m, each, column).median * scale

    columns: Columns[Flavour] = {"variant": lambda each: each.title}
    for phase in PHASES:
        columns[f"kbit/s_in_phase_{phase}"] = scaled(f"throughput_{phase}_bps", 1e-3)
        columns[f"%_left_in_phase_{phase}"] = scaled(f"share_{phase}", 100)
        columns[f"fluctuation_in_phase_{phase}"] = scaled(f"fluctuation_{phase}")
        columns[f"RTT_ms_in_phase_{phase}"] = scaled(f"rtt_{phase}_ms")
    columns["retransmits"] = scaled("retransmits")
    notes = (
        "Throughput counts IP bytes on the line. Shares relate to phase 1. Fluctuation is the standard deviation over "
        "the mean in bins of 1 s.",
    )
    return Artifact(table(FLAVOURS, columns), None, tuple(_compared(m)), notes)


def _compared(m: Measurements) -> Iterable[Comparison]:
    """Returns comparisons with published values. Phase 2 excludes Vegas, as in the letter."""
    find = m.published.find
    busy = Spread.over(min, (value(m, each, "downlink_busy_1") for each in FLAVOURS))
    yield compare(find("Section IV", "downlink_load", phase=1), busy, "lowest share of time with packets waiting", 100)
    yield compare(share(m, 2), mean_over(m, OTHERS, "share_2"), "mean of five variants, without Vegas", 100)
    without = mean_over(m, OTHERS, "share_3").median * 100
    remark = f"mean of all six; without Vegas {without:.0f}"
    yield compare(share(m, 3), mean_over(m, FLAVOURS, "share_3"), remark, 100)
    highest = Spread.over(max, (value(m, VEGAS, f"throughput_{phase}_bps") for phase in (2, 3)))
    yield compare(find("Section V", "downstream_throughput_bound"), highest, "the higher of phases 2 and 3", 1e-3)


def _table_e02(m: Measurements) -> Artifact:
    """Returns a table with the calculations of section III. All results equal the published values (ORO-E02)."""
    paths = {"local ADSL link": 0.02, "full path": 0.03}
    columns: Columns[str] = {
        "path": lambda path: path,
        "rtt_s": lambda path: paths[path],
        "rate_kB/s": lambda path: DOWN_BPS / 8 / 1e3,
        "bdp_kB": lambda path: metrics.bandwidth_delay_product_bytes(DOWN_BPS, paths[path]) / 1e3,
    }
    found = table(paths, columns)
    compared = tuple(
        compare(m.published.find("Section III", metric, path=row["path"]), row[column])
        for row in found.rows(named=True)
        for metric, column in (("rate", "rate_kB/s"), ("bdp", "bdp_kB"))
    )
    return Artifact(found, None, compared, ("Computed: 512 kbit/s times the delay.",))


def _table_l(m: Measurements) -> Artifact:
    """Returns a table that compares the simulator's two TCP profiles with Linux 6.1's own TCP, one run per variant."""
    record = recorded.read(Path(__file__).parent, "modern")
    linux = {row["variant"]: row for row in record.rows(named=True)}
    columns: Columns[Flavour] = {"variant": lambda each: each.title}
    for phase in (2, 3):
        name = f"share_{phase}"
        columns |= {
            f"%_left_linux-2.6_phase_{phase}": lambda each, name=name: value(m, each, name).median * 100,
            f"%_left_linux-6.1_phase_{phase}": lambda each, name=name: value(m, each, name, "modern").median * 100,
            f"%_left_Linux_itself_phase_{phase}": lambda each, name=name: linux[each.key][name] * 100,
        }
    columns |= {
        "RTT_ms_linux-6.1_phase_2": lambda each: value(m, each, "rtt_2_ms", "modern"),
        "RTT_ms_Linux_itself_phase_2": lambda each: linux[each.key]["rtt_2_ms"],
    }
    notes = (
        f"Linux itself: Linux {record['kernel'][0]} in virtual time (the kernel world), one recorded run with the "
        "first seed. The other columns are simulated, medians of the seeds. CUBIC is the old version under linux-2.6 "
        "and the current one elsewhere.",
    )
    return Artifact(table(FLAVOURS, columns), None, (), notes)


FIGURES = (
    _over_time("1", setup.CUBIC),
    _over_time("2", VEGAS),
    _over_time("3", setup.BIC),
    _over_time("4", setup.HIGHSPEED),
    Figure("A", "Share of the download in each phase", ("phases",), FIGURE_A),
    Figure("B", "Share against the uplink buffer", ("buffers",), FIGURE_B),
    Figure("E01", "Three phases for each variant", ("phases",), _table_e01, "Table"),
    Figure("E02", "Bandwidth-delay products", (), _table_e02, "Table"),
    _over_time("H", setup.HTCP),
    _over_time("R", setup.RENO),
    Figure("L", "The same on current Linux", ("phases", "modern"), _table_l, "Table"),
    Figure("Ratio", "Share against the ratio of the rates", ("ratios",), FIGURE_RATIO),
    Figure("W", "Share against the windows of the uploads", ("windows",), FIGURE_W),
)
