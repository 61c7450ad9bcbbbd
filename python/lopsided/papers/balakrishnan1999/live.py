"""Repeats the measurements of section 9 with real packets.

**The simulator's TCP at both ends**: every packet crosses this machine's kernel before and after the line. All curves
and bars of figures 20 to 22 are measured. ACC is implemented as in section 8.2.

**The kernel's TCP at one end**: only remedies at the other end or in the line can be tested. These are sender
adaptation and ACK filtering. ACC changes both ends, so only its receiver is tested with the kernel: one ACK per
`max_delay` segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from lopsided.papers.balakrishnan1999 import bursts, measure, section9
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA,
    AF_SA,
    AF_SA_FIRST,
    DELAYS,
    EMULATED,
    MAX_BURST,
    NO_LIMIT,
    RENO,
    RENO_FIRST,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import INKS
from lopsided.papers.framework import failing
from lopsided.papers.framework.claims import Listed, agree_within, mbit
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Case, Comparison, Experiment, Figure, Paper, Verdict
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import table

BOTH = ("server", "client")
MAX_DELAY = section9.MAX_DELAY

KERNELS = (RENO, RENO_FIRST, AF_SA, AF_SA_FIRST)
"""The schemes that can be tested with the kernel's TCP as receiver, because they do not change the receiver."""
SCHEMES = section9.SCHEMES

NOT_RUN = (
    ("ACC's sender against the kernel's receiver", "Linux does not delay its ACKs by an announced window"),
    (
        "ACC's receiver against the kernel's sender",
        "Linux announces neither its window nor its marks, which leaves a fixed delay",
    ),
    ("Maxburst at the kernel's sender", "Linux has no such limit; its pacing spreads the packets of a window"),
    ("Sections 8.1 and 9.2", "they need radios and modems, which the study itself simulates"),
)


FEW_BURSTS = (1, 2, 3, 4, 6, 10, NO_LIMIT)
"""Values of `maxburst` to test with real packets. The list is short, because these runs take place in real time."""

BURST_SWEEP = Experiment(
    key="live-maxburst",
    summary="3 MB down under AF/SA by maxburst: our sender, the kernel's receiver",
    cases=tuple(
        Case(
            "implemented-one-way.toml",
            {**EMULATED, **section9.line(AF_SA), **section9.adapted(burst)},
            {"maxburst": burst},
        )
        for burst in FEW_BURSTS
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
    cases=tuple(map(section9.beside_an_upload, KERNELS)),
    measure=measure.implemented_two_way,
    ours=("server",),
)

BURSTS_BOTH = replace(
    bursts.BURST_SWEEP,
    cases=tuple(each for each in bursts.BURST_SWEEP.cases if each.labels["maxburst"] in FEW_BURSTS),
    key="live-maxburst-both",
    summary="3 MB down by maxburst, under AF/SA and ACC/SA: both ends ours",
    ours=BOTH,
)

DELAYS_BOTH = replace(
    bursts.DELAY_SWEEP,
    key="live-max-delay-both",
    summary="3 MB down by the most segments for each ACK, under ACC/SA: both ends ours",
    ours=BOTH,
)

TWO_WAY_BOTH = Experiment(
    key="live-two-way-both",
    summary="3 MB down and 100 kB up: both ends ours",
    cases=tuple(map(section9.beside_an_upload, SCHEMES)),
    measure=measure.implemented_two_way,
    ours=BOTH,
)


def _curve(m: Measurements, experiment: Experiment, label: str, ink: str, end: str, **where: str | int) -> Line:
    curve = m.curve(experiment.key, "throughput_bps", label, **where)
    return Line.of(curve, ink, 1e-6, column=f"{end} (Mbit/s)", end=end)


def _by_burst(m: Measurements) -> Iterable[Line]:
    yield _curve(m, BURSTS_BOTH, "maxburst", INKS["af_sa"], "AF/SA", scheme=AF_SA.key)
    yield _curve(m, BURSTS_BOTH, "maxburst", INKS["acc_sa"], "ACC/SA", scheme=ACC_SA.key)
    yield _curve(m, BURST_SWEEP, "maxburst", INKS["af_sa_first"], "AF/SA, kernel")


def _by_delay(m: Measurements) -> Iterable[Line]:
    yield _curve(m, DELAYS_BOTH, "max_delay", INKS["acc_sa"], "maxburst 4", maxburst=4)
    yield _curve(m, DELAYS_BOTH, "max_delay", INKS["acc_sa_first"], "maxburst 6", maxburst=6)
    yield _curve(m, DELAY_SWEEP, "max_delay", INKS["reno"], "kernel's sender")


FIGURE_20 = bursts.FIGURE_20.but(
    subtitle="28.8 kbit/s back (AF: 28), on real packets (figure 20)",
    panels=(Panel("Mbit/s", _by_burst, height=3.0),),
    experiments=(BURSTS_BOTH.key, BURST_SWEEP.key),
    comparisons=partial(bursts.burst_comparisons, experiment=BURSTS_BOTH.key, kernel=BURST_SWEEP.key),
    notes=(),
)

FIGURE_21 = bursts.FIGURE_21.but(
    subtitle="28.8 kbit/s back, on real packets (figure 21)",
    x="segments for each ACK",
    panels=(Panel("Mbit/s", _by_delay, height=3.0),),
    experiments=(DELAYS_BOTH.key, DELAY_SWEEP.key),
    comparisons=partial(bursts.delay_comparisons, experiment=DELAYS_BOTH.key, kernel=DELAY_SWEEP.key),
    notes=(
        "The curve with the kernel's sender shows the receiver's half of ACC, without its bound by the sender's "
        "window, which corresponds to 21 segments here.",
    ),
)


def _bars(m: Measurements, column: str, scale: float) -> Iterable[Line]:
    """Yields two bars per scheme: one for runs with the simulator's TCP at both ends, and one for runs in which the
    client uses the kernel's TCP."""
    for experiment, schemes, aside in ((TWO_WAY_BOTH, SCHEMES, -0.2), (TWO_WAY, KERNELS, 0.2)):
        for scheme in schemes:
            median, low, high = (value * scale for value in m.value(experiment.key, column, scheme=scheme.key))
            place, ink = SCHEMES.index(scheme) + aside, INKS[scheme.key]
            yield Line([place], [median], ink, look="bar", width=0.36, low=[low], high=[high])


def _two_way_comparisons(m: Measurements) -> Iterable[Comparison]:
    ours = section9.printed_of(TWO_WAY_BOTH.key, "both ends ours")
    kernels = {
        (scheme, way): row for scheme, way, row in section9.printed_of(TWO_WAY.key, "the kernel's client", KERNELS)
    }
    for scheme, way, row in ours:
        yield row.compared(m)
        if (scheme, way) in kernels:
            yield kernels[scheme, way].compared(m)


def _two_way_data(m: Measurements) -> pl.DataFrame:
    tables = ((TWO_WAY_BOTH, "ours"), (TWO_WAY, "kernel"))
    return pl.concat([m.table(each.key).with_columns(client=pl.lit(client)) for each, client in tables])


FIGURE_22 = Plot(
    "3 MB down next to 100 kB up",
    "28.8 kbit/s back (AF: 28), on real packets; left both ends ours, right the kernel's client (figure 22)",
    "scheme",
    (
        Panel("Mbit/s", partial(_bars, column="forward_bps", scale=1e-6), "download", 2.2),
        Panel("kbit/s", partial(_bars, column="reverse_bps", scale=1e-3), "upload", 1.8, limits=(0, 30)),
    ),
    (TWO_WAY_BOTH.key, TWO_WAY.key),
    ticks=range(len(SCHEMES)),
    tick_names=[scheme.title for scheme in SCHEMES],
    x_limits=(-0.5, len(SCHEMES) - 0.5),
    data=_two_way_data,
    comparisons=_two_way_comparisons,
)


def not_run(_m: Measurements) -> Artifact:
    """Returns a table of section 9's tests that cannot use the kernel's TCP, with the reasons."""
    rows: pl.DataFrame = table(NOT_RUN, {"what": lambda row: row[0], "why": lambda row: row[1]})
    return Artifact(rows)


listed = Listed.beside(__file__)


def _by_maxburst(m: Measurements, scheme: Scheme, burst: int) -> Spread:
    return m.value(BURSTS_BOTH.key, "throughput_bps", scheme=scheme.key, maxburst=burst)


@listed
def adaptation_needs_the_sender_alone(m: Measurements) -> Verdict:
    kernel = m.value(BURST_SWEEP.key, "throughput_bps", maxburst=MAX_BURST)
    return agree_within(0.1, [mbit("our receiver", _by_maxburst(m, AF_SA, MAX_BURST)), mbit("the kernel's", kernel)])


@listed
def a_fixed_delay_serves_the_kernels_sender(m: Measurements) -> Verdict:
    ours = m.value(DELAYS_BOTH.key, "throughput_bps", max_delay=MAX_DELAY, maxburst=6)
    kernels = m.value(DELAY_SWEEP.key, "throughput_bps", max_delay=MAX_DELAY)
    return agree_within(0.1, [mbit("our sender", ours), mbit("the kernel's", kernels)])


CLAIMS = (
    *section9.statements(BURSTS_BOTH.key, DELAYS_BOTH.key, TWO_WAY_BOTH.key),
    adaptation_needs_the_sender_alone,
    a_fixed_delay_serves_the_kernels_sender,
)

LIVE = Paper(
    key="balakrishnan1999",
    title="The Effects of Asymmetry on TCP Performance, section 9 on real packets",
    authors="Hari Balakrishnan, Venkata N. Padmanabhan and Randy H. Katz",
    year=1999,
    summary="How much do the paper's changes gain on real packets, at both ends and at one end against the kernel?",
    folder=Path(__file__).parent,
    experiments=(BURSTS_BOTH, BURST_SWEEP, DELAYS_BOTH, DELAY_SWEEP, TWO_WAY_BOTH, TWO_WAY),
    claims=CLAIMS,
    figures=(
        Figure("20", "The largest burst", (BURSTS_BOTH.key, BURST_SWEEP.key), FIGURE_20),
        Figure("21", "Segments for each ACK", (DELAYS_BOTH.key, DELAY_SWEEP.key), FIGURE_21),
        Figure("22", "Next to an upload", (TWO_WAY_BOTH.key, TWO_WAY.key), FIGURE_22),
        Figure("L", "What is not run against a kernel", (), not_run, "Table"),
    ),
    causes=failing.load(Path(__file__).parent),
    world="live",
)
