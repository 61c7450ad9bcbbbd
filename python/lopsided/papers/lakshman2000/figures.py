"""Draws figures with curves from the formulas in `model`. The paper's own figures were not available."""

# matplotlib does not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Figure
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.lakshman2000 import model
from lopsided.papers.lakshman2000.claims import lossy, pipe
from lopsided.papers.lakshman2000.setup import (
    ASYMMETRIES,
    DROPS,
    FORWARD_BUFFERS,
    FRONT_ASYMMETRIES,
    FRONT_BUFFERS,
    LOSSES,
    LOSSY_ASYMMETRIES,
    LOSSY_REVERSE_BUFFER,
    LOSSY_RTTS,
    PIPE,
    REVERSE_BUFFER,
    SHARED_ASYMMETRIES,
    SHARED_QUEUES,
)
from lopsided.views.plot import style

DASHED = (0, (4, 3))
INKS = (style.DOWN[0], style.UP[0], style.OTHER[0])
MARKS = ("o", "s", "^")
STEPS: Array = np.geomspace(ASYMMETRIES[0], ASYMMETRIES[-1], 200)


def _regimes(m: Measurements) -> Iterable[Line]:
    for forward, ink, mark in zip(FORWARD_BUFFERS, INKS, MARKS, strict=True):
        found = m.curve("regimes", "utilisation", "k", forward=forward)
        name = f"{forward} packets"
        yield Line.of(found, ink, 100, mark=mark, label=name, column=f"utilisation_{forward}")
        expected = [100 * model.without_loss(k, forward, REVERSE_BUFFER, PIPE) for k in STEPS]
        yield Line(STEPS, expected, ink, style=DASHED, width=1.1)


FIGURE_K = Plot(
    "Three modes: no asymmetry, bursts that fit, bursts that do not",
    "Utilisation of the forward link by forward buffer; dashed: our expressions; dotted: k = 1 and k = the buffers",
    "normalised asymmetry k",
    (
        Panel(
            "% of the link",
            _regimes,
            height=3.2,
            limits=(0, 118),
            uprights=lambda _m: (1.0, *FORWARD_BUFFERS),
            legend=("upper left", 3),
        ),
    ),
    ("regimes",),
    x_limits=(ASYMMETRIES[0] * 0.9, ASYMMETRIES[-1] * 1.1),
    ticks=ASYMMETRIES,
    log_x=True,
    axis="k",
)


def _losses(m: Measurements, rtt: float) -> Iterable[Line]:
    steps = np.geomspace(LOSSES[0], LOSSES[-1], 80)
    for k, ink, mark in zip(LOSSY_ASYMMETRIES, INKS, MARKS, strict=True):
        found = m.curve("loss", "utilisation", "loss", k=float(k), rtt_s=rtt)
        yield Line.of(found, ink, 100, mark=mark, label=f"k = {k:g}", column=f"utilisation_k_{k:g}_{1e3 * rtt:g}_ms")
        expected = [100 * model.with_loss(loss, k, LOSSY_REVERSE_BUFFER, pipe(rtt)) for loss in steps]
        yield Line(steps, expected, ink, style=DASHED, width=1.1)


FIGURE_P = Plot(
    "Asymmetry adds to the cost of random loss until loss alone limits",
    "Utilisation of the forward link under random loss; dashed: our expression",
    "loss probability",
    tuple(
        Panel(
            "% of the link",
            lambda m, rtt=rtt: _losses(m, rtt),
            f"base round trip {1e3 * rtt:g} ms, bandwidth-delay product {pipe(rtt):g} packets",
            2.7,
            limits=(0, 124),
            legend=("upper left", 3),
        )
        for rtt in LOSSY_RTTS
    ),
    ("loss",),
    x_limits=(LOSSES[0] * 0.9, LOSSES[-1] * 1.1),
    ticks=LOSSES,
    tick_names=tuple(f"{100 * loss:g} %" for loss in LOSSES),
    log_x=True,
    axis="loss",
)


def _collapsed(m: Measurements) -> Iterable[Line]:
    rows = list(lossy(m))
    for k, ink, mark in zip(LOSSY_ASYMMETRIES, INKS, MARKS, strict=True):
        mine = [(product, found) for _, other, _, product, found in rows if other == k]
        x, y = np.array(sorted(mine)).T
        yield Line(x, 100 * y, ink, look="points", mark=mark, label=f"k = {k:g}")
    steps = np.geomspace(0.2, 6000, 80)
    yield Line(steps, 100 * np.minimum(1, (1.5 / steps) ** (1 / 3)), style.INK, style=DASHED, label="(1.5/x)^1/3")
    yield Line(steps, 100 * np.minimum(1, (1.5 / steps) ** (1 / 2)), style.MUTED, style=":", label="(1.5/x)^1/2")


FIGURE_X = Plot(
    "One product decides how much random loss costs",
    "Utilisation against x = p k (bandwidth-delay product)^2; lines: our expressions for k above and up to 1",
    "x",
    (Panel("% of the link", _collapsed, height=3.2, limits=(0, 124), legend=("upper left", 4)),),
    ("loss",),
    x_limits=(0.2, 6000),
    ticks=(0.25, 1, 4, 16, 64, 256, 1024, 4096),
    log_x=True,
    data=lambda m: m.table("loss").select("k", "loss", "rtt_s", "utilisation", "utilisation_low", "utilisation_high"),
)


def _front(m: Measurements, reverse: int) -> Iterable[Line]:
    for drop, ink, mark in zip(DROPS, INKS[:2], MARKS[:2], strict=True):
        found = m.curve("front", "utilisation", "k", reverse=reverse, drop=drop)
        yield Line.of(found, ink, 100, mark=mark, label=f"from the {drop}", column=f"{drop}_{reverse}")


FIGURE_D = Plot(
    "ACKs dropped from the front or from the tail",
    "Utilisation of the forward link, forward buffer of 40 packets",
    "normalised asymmetry k",
    tuple(
        Panel(
            "% of the link",
            lambda m, reverse=reverse: _front(m, reverse),
            f"reverse buffer of {reverse} packets",
            2.1,
            limits=(0, 124),
            legend=("upper left", 2),
        )
        for reverse in FRONT_BUFFERS
    ),
    ("front",),
    x_limits=(FRONT_ASYMMETRIES[0] * 0.95, FRONT_ASYMMETRIES[-1] * 1.05),
    ticks=FRONT_ASYMMETRIES,
    log_x=True,
    axis="k",
)


def _fair(m: Measurements) -> Iterable[Line]:
    names = {"fifo": "one queue", "sfq": "a queue for each connection"}
    for queue, ink, mark in zip(SHARED_QUEUES, INKS[:2], MARKS[:2], strict=True):
        found = m.curve("shared", "jain", "k", queue=queue)
        yield Line.of(found, ink, mark=mark, label=names[queue], column=f"jain_{queue}")


FIGURE_J = Plot(
    "Fairness of four downloads whose ACKs share the reverse link",
    "Jain's index of goodputs over 98 s, equal round trips",
    "normalised asymmetry k",
    (Panel("Jain's index", _fair, height=2.6, limits=(0, 1.2), legend=("upper left", 2)),),
    ("shared",),
    x_limits=(SHARED_ASYMMETRIES[0] * 0.9, SHARED_ASYMMETRIES[-1] * 1.1),
    ticks=SHARED_ASYMMETRIES,
    log_x=True,
    axis="k",
)

FIGURES = (
    Figure("K", "Utilisation against k", ("regimes",), FIGURE_K),
    Figure("P", "Utilisation against loss", ("loss",), FIGURE_P),
    Figure("X", "Utilisation against the product", ("loss",), FIGURE_X),
    Figure("D", "Drop from the front", ("front",), FIGURE_D),
    Figure("J", "Fairness", ("shared",), FIGURE_J),
)
