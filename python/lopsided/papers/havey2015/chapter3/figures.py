"""Draws the figures of chapter 3, and builds its tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Comparison, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, printed_mark
from lopsided.papers.framework.tables import compare, shown
from lopsided.papers.havey2015.chapter3.setup import BEGUN_S, ERRORS, PARTS, RIVALS, RULES, TIMED, shares
from lopsided.papers.havey2015.chapter3.shared import (
    LOSSES,
    RIVALRIES,
    curl_overhead,
    loss_curve,
    overhead,
    share_curve,
    speedup,
    together,
)
from lopsided.views.plot import style

INKS = {"fwp": style.RED, "ampdu": style.DOWN[0]}
RULE_INKS = (style.DOWN[0], style.RED, style.OTHER[0])
NAMES = {"fwp": "FWP", "ampdu": "A-MPDU"}


def _lines(m: Measurements) -> Iterable[Line]:
    for mode in PARTS:
        yield Line.of(loss_curve(m, mode), INKS[mode], 1e-6, label=f"{NAMES[mode]}, the station under test")
    fwp = loss_curve(m, "fwp")
    for error in (0.05, 0.2):
        item = f"FER {error:.2f}, A-MPDU as a share of FWP"
        printed = m.published.find("Section 3.4.2 / Figure 3.7", "throughput_share", item=item)
        yield printed_mark(error, printed.number * fwp.at(error).median * 1e-6, INKS["ampdu"])


def _speedups(m: Measurements) -> Iterable[Line]:
    for error, ink, printed in ((0.1, style.DOWN[0], 1.6), (0.4, style.RED, 2.0)):
        found = [speedup(m, RIVALRIES, error, rivals) for rivals in RIVALS]
        yield Line(list(RIVALS), found, ink, label=f"FER {error}")
        yield printed_mark(5, printed, ink)


def _overheads(m: Measurements) -> Iterable[Line]:
    requests = m.curve("fwp-repair", "request_overhead_percent", "error")
    yield Line(list(ERRORS), [overhead(m, error) for error in ERRORS], style.RED, label="Internet path")
    yield Line.of(requests, style.DOWN[0], label="wireless hop: requests")
    curls = [curl_overhead(m, error) for error in ERRORS]
    yield Line(list(ERRORS), curls, style.DOWN[0], style=":", mark="o", label="wireless hop: one curl for each range")
    yield printed_mark(0.5, 100.0, style.RED)
    yield printed_mark(0.5, 13.0, style.DOWN[0])


def _share_lines(m: Measurements) -> Iterable[Line]:
    for rule, ink in zip(RULES, RULE_INKS, strict=True):
        yield Line.of(share_curve(m, rule), ink, label=rule)


def _shares_in_time(m: Measurements) -> Iterable[Line]:
    for rule, ink in zip(RULES, RULE_INKS, strict=True):
        share = shares(m.run("fwp-sharing-time", rule=rule, rtt_ms=TIMED))
        seconds = BEGUN_S + 0.5 + np.arange(share.size)
        yield Line(seconds, share, ink, label=rule, column=rule.replace(" ", "_"))


GAIN = Plot(
    "The window of A-MPDU shortens its turns; turns of FWP are always full",
    "One station among nine of A-MPDU, four streams of 150 Mbit/s, 40 ms (havey2015 figure 3.7); diamonds: as printed",
    "frame error rate",
    (Panel("Mbit/s", _lines, "throughput before repair", 2.4, legend=("best", 1)),),
    LOSSES,
    data=lambda m: together(m, LOSSES),
)

SPEEDUP = Plot(
    "Speedup of FWP by number of competitors",
    "Throughput of FWP to that of A-MPDU (havey2015 figure 3.8); diamonds: as printed, at least",
    "competing stations",
    (Panel("times", _speedups, "speedup", 2.8, legend=("best", 1)),),
    RIVALRIES,
    data=lambda m: together(m, RIVALRIES),
)

IN_TIME = Plot(
    "The leading flow, second by second",
    "Share of the compatible TCP of 100 Mbit/s next to Cubic at 40 ms (havey2015 figure 3.9)",
    "time (s)",
    (
        Panel(
            "%",
            _shares_in_time,
            "share of both flows in each second",
            2.4,
            limits=(0, 118),
            legend=("upper left", 3),
            levels=lambda m: [(50.0, style.MUTED)],
        ),
    ),
    ("fwp-sharing-time",),
    axis="time_s",
)

FAIRNESS = Plot(
    "Hiding a channel's loss from TCP, next to Cubic",
    "Share of the compatible TCP of 100 Mbit/s, whose channel loses 1 % (havey2015 figure 3.10)",
    "base round trip (ms)",
    (
        Panel(
            "%",
            _share_lines,
            "share of both flows",
            2.4,
            limits=(0, 100),
            legend=("best", 1),
            levels=lambda m: [(50.0, style.MUTED)],
        ),
    ),
    ("fwp-sharing", "fwp-sharing-rules"),
    data=lambda m: m.table("fwp-sharing"),
)

OVERHEAD = Plot(
    "Repair costs the path as much as the channel loses",
    "One object of 10 MB (havey2015 figure 3.11); diamonds: as printed",
    "frame error rate",
    (Panel("% of the object", _overheads, "in addition to the bytes without loss", 2.4, legend=("best", 1)),),
    ("fwp-repair", "fwp-repair-curl"),
    x_limits=(0, 0.52),
    data=lambda m: m.table("fwp-repair"),
)


def _loss_table(m: Measurements) -> Artifact:
    """Returns a table of throughputs, with the published and the measured ratios of A-MPDU to FWP."""
    comparisons: list[Comparison] = []
    for error in (0.05, 0.2):
        item = f"FER {error:.2f}, A-MPDU as a share of FWP"
        printed = m.published.find("Section 3.4.2 / Figure 3.7", "throughput_share", item=item)
        found = 1 / speedup(m, LOSSES, error, 9)
        comparisons.append(compare(printed, Spread.of(found), f"A-MPDU to FWP at FER {error}"))
    return Artifact(together(m, LOSSES), comparisons=tuple(comparisons))


FIGURES = (
    Figure("3.7", "Throughput against the frame error rate", LOSSES, GAIN),
    Figure("3.8", "Speedup against the number of competitors", RIVALRIES, SPEEDUP),
    Figure("3.9", "Sharing with Cubic in time", ("fwp-sharing-time",), IN_TIME),
    Figure("3.10", "Sharing with Cubic", ("fwp-sharing", "fwp-sharing-rules"), FAIRNESS),
    Figure("3.11", "Overhead of the repair", ("fwp-repair", "fwp-repair-curl"), OVERHEAD),
    Figure("3", "FWP and A-MPDU in numbers", LOSSES, _loss_table, "Table"),
    Figure("T3", "With current standards", ("fwp-today",), shown("fwp-today"), "Table"),
    Figure("P3", "A page and an object", ("fwp-pages",), shown("fwp-pages"), "Table"),
)
