"""Section 9's measurements on real packets: one end of ours, with the paper's change, against this machine's kernel.

A remedy that changes one end alone can meet a peer that knows nothing of it: sender adaptation (SA) beside ACK
filtering (AF), which is the line's. ACK congestion control (ACC) changes both ends, for the sender tells its window or
its marks;
against the kernel remains what its receiver does once the window is large: an ACK for each `max_delay` segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from lopsided.papers.balakrishnan1999 import measure
from lopsided.papers.balakrishnan1999.setup import (
    AF_SA,
    AF_SA_FIRST,
    BURSTS,
    DELAYS,
    EMULATED,
    EVERY_OCTET,
    IMPLEMENTED_QUEUE,
    MAX_BURST,
    NO_LIMIT,
    RENO,
    RENO_FIRST,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import ENOUGH, INKS, least_that_is_enough
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Case, Comparison, Experiment, Figure, Overrides, Paper
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import compare, table

SCHEMES = (RENO, RENO_FIRST, AF_SA, AF_SA_FIRST)

NOT_RUN = (
    ("Figure 20, ACC", "the sender must tell its window in an option, and the receiver act on it: both ends"),
    ("Figure 21, maxburst 4 and 6", "beside a receiver of ours the sender is the kernel, which has no maxburst"),
    ("Figure 21, the bound by the window", "the kernel's sender does not tell its window"),
    ("Figure 22, ACC and ACC + acks-first", "both ends change"),
    ("Sections 8.1 and 9.2", "radios and modems: the simulator's media stand for them, in the study itself"),
)


def _adapted(burst: int) -> Overrides:
    """Sender adaptation at the download's sender alone."""
    limit = {} if burst == NO_LIMIT else {"flow.forward.sender_stack.max_burst": str(burst)}
    return {**limit, "flow.forward.sender_stack.abc": EVERY_OCTET}


def _line(scheme: Scheme) -> Overrides:
    return {"link.up.queue": scheme.queue(IMPLEMENTED_QUEUE)}


BURST_SWEEP = Experiment(
    key="live-maxburst",
    summary="3 MB down under AF/SA by maxburst: our sender, the kernel's receiver",
    cases=tuple(
        Case("implemented-one-way.toml", {**EMULATED, **_line(AF_SA), **_adapted(burst)}, {"maxburst": burst})
        for burst in BURSTS
    ),
    measure=measure.transfer,
    ours=("server",),
)

DELAY_SWEEP = Experiment(
    key="live-max-delay",
    summary="3 MB down by segments for each ACK: the kernel's sender, our receiver",
    cases=tuple(
        Case(
            "implemented-one-way.toml",
            {"flow.forward.receiver_stack.delayed_ack.segments": str(delay)},
            {"max_delay": delay},
        )
        for delay in DELAYS
    ),
    measure=measure.transfer,
    ours=("client",),
)

TWO_WAY = Experiment(
    key="live-two-way",
    summary="3 MB down and 100 kB up: our server, the kernel's client",
    cases=tuple(
        Case(
            "implemented-two-way.toml",
            {
                "scenario.duration": "30 s",
                **_line(scheme),
                **(_adapted(MAX_BURST) if scheme.adapted else {}),
                **(EMULATED if scheme.filtered else {}),
            },
            {"scheme": scheme.key},
        )
        for scheme in SCHEMES
    ),
    measure=measure.implemented_two_way,
    ours=("server",),
)


def _swept(m: Measurements, experiment: str, label: str, ink: str) -> Iterable[Line]:
    yield Line.of(m.curve(experiment, "throughput_bps", label), ink, 1e-6, column="throughput_Mbit/s")


def _burst_comparisons(m: Measurements) -> Iterable[Comparison]:
    where = "Section 9.1.1 / Figure 20"
    least = least_that_is_enough(m, BURST_SWEEP.key, "maxburst")
    remark = f"the least that reaches {ENOUGH:.0%} of the best"
    yield compare(m.published.find(where, "maxburst", case="recommended value, low"), least, remark)
    limit = m.published.find(where, "throughput_limit", case="maxburst 3, 10 ms timer, 1424 B segments")
    yield compare(limit, m.value(BURST_SWEEP.key, "throughput_bps", maxburst=3), "ours has no timer of 10 ms", 1e-6)


def _delay_comparisons(m: Measurements) -> Iterable[Comparison]:
    printed = m.published.find("Section 9.1.2 / Figure 21", "max_delay", case="throughput stops growing beyond")
    yield compare(
        printed,
        least_that_is_enough(m, DELAY_SWEEP.key, "max_delay"),
        f"the least that reaches {ENOUGH:.0%} of the best",
    )


FIGURE_20 = Plot(
    "3 MB by the largest burst, ACK filtering on the line",
    "28 kbit/s back, on real packets: our sender with SA, the kernel's receiver (figure 20)",
    "maxburst (segments)",
    (Panel("Mbit/s", partial(_swept, experiment=BURST_SWEEP.key, label="maxburst", ink=INKS["af_sa"])),),
    (BURST_SWEEP.key,),
    ticks=BURSTS,
    tick_names=[*map(str, BURSTS[:-1]), "none"],
    comparisons=_burst_comparisons,
    axis="maxburst",
    notes=(
        "In BSD/OS what a burst left over waits for a timer of 10 ms; ours is not held to one, so the largest burst "
        "decides little.",
    ),
)

FIGURE_21 = Plot(
    "3 MB by segments for each ACK",
    "28.8 kbit/s back, on real packets: the kernel's sender, our receiver (figure 21)",
    "segments for each ACK",
    (Panel("Mbit/s", partial(_swept, experiment=DELAY_SWEEP.key, label="max_delay", ink=INKS["acc_sa"])),),
    (DELAY_SWEEP.key,),
    ticks=DELAYS,
    comparisons=_delay_comparisons,
    axis="max_delay",
    notes=(
        "The receiver's half of ACC: its bound by the sender's window is left out, which here stood for 21 segments.",
    ),
)


def _bars(m: Measurements, column: str, scale: float) -> Iterable[Line]:
    for place, scheme in enumerate(SCHEMES):
        median, low, high = np.array(m.value(TWO_WAY.key, column, scheme=scheme.key)) * scale
        yield Line([place], [median], INKS[scheme.key], look="bar", width=0.6, low=[low], high=[high])


_PRINTED = (
    ("Reno, FIFO", RENO, "forward", "Mbit/s"),
    ("AF, FIFO", AF_SA, "forward", "Mbit/s"),
    ("Reno + acks-first", RENO_FIRST, "reverse", "kbit/s"),
    ("AF + acks-first", AF_SA_FIRST, "forward", "Mbit/s"),
    ("AF + acks-first", AF_SA_FIRST, "reverse", "kbit/s"),
)


def _two_way_comparisons(m: Measurements) -> Iterable[Comparison]:
    for case, scheme, way, unit in _PRINTED:
        printed = m.published.find("Section 9.1.3 / Figure 22", f"{way}_throughput", case=case)
        measured = m.value(TWO_WAY.key, f"{way}_bps", scheme=scheme.key)
        yield compare(printed, measured, scale=1e-6 if unit == "Mbit/s" else 1e-3)


FIGURE_22 = Plot(
    "3 MB down beside 100 kB up",
    "28.8 kbit/s back (AF: 28), on real packets: our server, the kernel's client (figure 22)",
    "scheme",
    (
        Panel("Mbit/s", partial(_bars, column="forward_bps", scale=1e-6), "download", 2.2),
        Panel("kbit/s", partial(_bars, column="reverse_bps", scale=1e-3), "upload", 1.8, limits=(0, 30)),
    ),
    (TWO_WAY.key,),
    ticks=range(len(SCHEMES)),
    tick_names=[scheme.title for scheme in SCHEMES],
    x_limits=(-0.5, len(SCHEMES) - 0.5),
    data=lambda m: m.table(TWO_WAY.key),
    comparisons=_two_way_comparisons,
)


def not_run(_m: Measurements) -> Artifact:
    """What of section 9 cannot be run against a kernel, and why."""
    rows: pl.DataFrame = table(NOT_RUN, {"what": lambda row: row[0], "why": lambda row: row[1]})
    return Artifact(rows)


LIVE = Paper(
    key="balakrishnan1999",
    title="The Effects of Asymmetry on TCP Performance, section 9 on real packets",
    authors="Hari Balakrishnan, Venkata N. Padmanabhan and Randy H. Katz",
    year=1999,
    summary="What do a sender and a receiver with the paper's changes get from a peer that knows nothing of them?",
    folder=Path(__file__).parent,
    experiments=(BURST_SWEEP, DELAY_SWEEP, TWO_WAY),
    claims=(),
    figures=(
        Figure("20", "The largest burst", (BURST_SWEEP.key,), FIGURE_20),
        Figure("21", "Segments for each ACK", (DELAY_SWEEP.key,), FIGURE_21),
        Figure("22", "Beside an upload", (TWO_WAY.key,), FIGURE_22),
        Figure("L", "What is not run against a kernel", (), not_run, "Table"),
    ),
    world="live",
)
