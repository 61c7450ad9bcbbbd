"""Draws figures of results that the report shows in tables: throughput shares, RTTs, and the window behind netem."""

# matplotlib's stubs do not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Figure
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.yahya2011 import tables
from lopsided.papers.yahya2011.setup import BASELINES, COMBOS, DELAYED, NO_LOSS, WITH_LOSS, Test
from lopsided.papers.yahya2011.shared import INKS, MBIT, RTT, THROUGHPUT, mbit, printed_number, value
from lopsided.views.plot import style

_SEGMENT_BYTES = 1448
_NETEM_PACKETS = 1000

_diamonds = partial(Line, ink=style.INK, look="points", mark="D", size=7.5, hollow=True, label="printed")
_dots = partial(Line, ink=style.DOWN[0], look="points", mark="o", size=6)
_dashes = partial(Line, ink=style.UP[0], look="points", mark="_", size=12)


def _shares(m: Measurements, flow: str) -> Iterable[Line]:
    x = [test.number for test in COMBOS]
    printed = [printed_number(m, test, flow, THROUGHPUT) for test in COMBOS]
    yield _diamonds(x, printed, column=f"{flow}_printed_Mbit_s")
    intended = [mbit(m, test, flow) for test in COMBOS]
    yield _dots(x, intended, label="windows as intended", column=f"{flow}_intended_Mbit_s")
    observed = [mbit(m, test, flow, "observed") for test in COMBOS]
    yield _dashes(x, observed, label="windows as observed", column=f"{flow}_observed_Mbit_s")


def _groups(panel: Axes, _m: Measurements) -> None:
    """Shades the groups of equal delay, and draws a line before the first combination with loss."""
    for first in range(1, 25, 3):
        test = COMBOS[first - 1]
        if (first // 3) % 2:
            panel.axvspan(first - 0.5, first + 2.5, color=style.GRID, alpha=0.35, linewidth=0)
        text = f"{test.delay_ms} ms{', loss' if test.loss else ''}"
        panel.annotate(text, (first + 1, 0.82), xycoords=("data", "axes fraction"), ha="center", fontsize=7.5)
    panel.axvline(12.5, color=style.MUTED, linewidth=1)


SHARES = Plot(
    "Shares of the two flows",
    "Throughput of both flows in the 24 combinations (yahya2011 tables 3-1 and 3-2)",
    "combination (number)",
    (
        Panel(
            "Mbit/s",
            partial(_shares, flow="S1"),
            "S1: the variant and delay of the test",
            limits=(0, 108),
            legend=("best", 3),
            finish=_groups,
        ),
        Panel("Mbit/s", partial(_shares, flow="S2"), "S2: Reno with SACK, 100 ms", limits=(0, 108), finish=_groups),
    ),
    ("combos",),
    x_limits=(0.3, 24.7),
    ticks=range(1, 25),
    axis="combination",
)


def _course(m: Measurements, read: Callable[[pl.DataFrame], np.ndarray], scale: float) -> Iterable[Line]:
    for test in DELAYED:
        samples = m.run("course", **test.labels).samples_of["S1"].filter(pl.col("cwnd_bytes") > 0)
        time = samples["time_s"].to_numpy() - 10
        shown = time <= 48
        y = read(samples)[shown] * scale
        yield Line(time[shown], y, INKS[test.variant], label=test.variant, width=1.5, column=test.variant)


def _netems_room(panel: Axes, _m: Measurements) -> None:
    panel.axhline(_NETEM_PACKETS, color=style.RED, linewidth=1, linestyle="--")
    panel.annotate("netem's limit", (46, _NETEM_PACKETS), xytext=(0, -11), textcoords="offset points", ha="right")


COURSE = Plot(
    "The window behind a full netem",
    "One download, 100 ms of netem at its sender with a limit of 1000 packets (yahya2011 baselines 5 to 8)",
    "time (s)",
    (
        Panel(
            "window (segments)",
            partial(_course, read=lambda samples: samples["cwnd_bytes"].to_numpy(), scale=1 / _SEGMENT_BYTES),
            "congestion window: it falls once, by the rule of the variant, without a loss",
            2.7,
            limits=(0, 1300),
            legend=("best", 4),
            finish=_netems_room,
        ),
        Panel(
            "goodput (Mbit/s)",
            partial(
                _course,
                read=lambda samples: np.diff(samples["delivered_bytes"].to_numpy(), prepend=0),
                scale=8 / 0.1 / MBIT,
            ),
            "goodput in bins of 100 ms",
            2.4,
            limits=(0, 105),
        ),
    ),
    ("course",),
    small_print=("first repetition",),
    x_limits=(0, 48),
    data=lambda m: pl.concat(
        [
            m.run("course", **test.labels)
            .samples_of["S1"]
            .filter(pl.col("cwnd_bytes") > 0)
            .select(pl.lit(test.variant).alias("variant"), "time_s", "cwnd_bytes", "delivered_bytes")
            for test in DELAYED
        ]
    ),
)

_ALL: tuple[Test, ...] = (*BASELINES, *COMBOS)
_BEHIND = "tcptrace's average behind netem"


def _round_trips(m: Measurements) -> Iterable[Line]:
    x = np.arange(len(_ALL))
    yield _diamonds(x, [printed_number(m, test, "S1", RTT) for test in _ALL])
    yield _dots(x, [value(m, test, "rtt_ms").median for test in _ALL], label=_BEHIND)
    yield _dashes(x, [value(m, test, "end_to_end_rtt_ms").median for test in _ALL], label="end to end")


def _logarithmic(panel: Axes, _m: Measurements) -> None:
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_ylim(0.5, 2000)
    panel.axvline(7.5, color=style.MUTED, linewidth=1)
    panel.tick_params(axis="x", labelsize=7.5)


ROUND_TRIPS = Plot(
    "The RTT column excludes netem",
    "Average RTT of S1 (yahya2011 sections 3.1.1, 3.2.1): a capture at the sender is taken behind its netem",
    "baselines 1 to 8, then combinations 1 to 24 (number)",
    (Panel("ms", _round_trips, height=3.4, legend=("upper left", 3), finish=_logarithmic),),
    ("combos",),
    x_limits=(-0.7, len(_ALL) - 0.3),
    ticks=range(len(_ALL)),
    tick_names=[str(test.number) for test in _ALL],
    data=lambda m: pl.DataFrame(
        {
            "test": [test.name for test in _ALL],
            "printed_ms": [printed_number(m, test, "S1", RTT) for test in _ALL],
            "behind_netem_ms": [value(m, test, "rtt_ms").median for test in _ALL],
            "end_to_end_ms": [value(m, test, "end_to_end_rtt_ms").median for test in _ALL],
        }
    ).fill_nan(None),
)

FIGURES = (
    Figure("3.1.1", "One download alone (group 1)", ("baselines",), tables.section_3_1_1, "Section"),
    Figure(
        "3-1",
        "Two downloads without loss (group 2)",
        ("combos", "observed"),
        partial(tables.combinations, tests=NO_LOSS),
        "Table",
    ),
    Figure(
        "3-2",
        "Two downloads with a loss of all packets for 100 ms (group 3)",
        ("combos", "observed", "without-sack"),
        partial(tables.combinations, tests=WITH_LOSS),
        "Table",
    ),
    Figure("A", "Shares of the two flows", ("combos", "observed"), SHARES),
    Figure("B", "The window behind a full netem", ("course",), COURSE),
    Figure("C", "The RTT column excludes netem", ("baselines", "combos"), ROUND_TRIPS),
    Figure("E04", "iperf before the tests", ("preflight",), tables.preflight, "Table"),
    Figure("E06", "Bandwidth-delay products and windows", (), tables.products, "Table"),
    Figure("H", "The run harness", ("combos", "dialogue"), tables.harness, "Table"),
    Figure("K", "Linux itself behind a netem of 1000 packets", ("kernel", "kernel-pair"), tables.kernel, "Table"),
    Figure("O", "Outstanding data and the time of the loss", ("combos",), tables.outstanding, "Table"),
    Figure("P", "The position of the delay", ("baselines", "combos", "in-network"), tables.position, "Table"),
    Figure("W", "Windows: intended, and implied by the printed numbers", (), tables.windows, "Table"),
)
