"""Reproduces chapter 2, throughput and bandwidth shares: parallel TCP and RDRA (HAV-E01 to HAV-E03, E07 to E09).

`rdra` is the dissertation's algorithm. The window follows CUBIC's equations 2.2 and 2.3, each hole counts as
congestion, and equation 2.4 controls the streams. `rdra-queued` is our variant. The window follows RFC 9438, and a hole
counts as congestion only if there is a queue. We also compare BBR, and several streams in one connection as in HTTP/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided import metrics
from lopsided.papers.framework.claims import (
    Listed,
    all_of,
    at_least,
    between,
    claims_of,
    mbit,
    number,
    ordered,
    ratio,
    rises,
)
from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Artifact, Case, Experiment, Figure, KeyResult, Measured, Verdict
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import compare, table
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.scenario import Run

STREAMS = (1, 2, 3, 4, 6, 8)
LOSSES = (0.0, 0.0005, 0.001, 0.003, 0.01, 0.03)
RTTS = (100, 125, 150, 175, 200)
FEW = (1, 4, 8)

_PAPER = '{ kind = "rdra", detection = "every", window = "havey2015" }'
_QUEUED = '{ kind = "rdra" }'
_ONE = '{ kind = "rdra", mode = "single" }'
_MULTIPLEXED = '{ kind = "http", multiplexed = true, objects = 8, object_size = "20 MB", index_size = "0 B" }'

CONTENDERS: dict[str, tuple[str, str]] = {
    "single": (_ONE, "cubic"),
    "rdra": (_PAPER, "cubic"),
    "rdra-queued": (_QUEUED, "cubic"),
    "multiplexed": (_MULTIPLEXED, "cubic"),
    "bbr": (_ONE, "bbr"),
}
NAMES = {
    "single": "one connection",
    "rdra": "RDRA as printed",
    "rdra-queued": "RDRA that checks for a queue",
    "multiplexed": "eight streams of one connection",
    "bbr": "one connection with BBR",
}
INKS = {
    "single": style.INK,
    "rdra": style.RED,
    "rdra-queued": style.DOWN[0],
    "multiplexed": style.MUTED,
    "bbr": style.UP[0],
}


def _parallel(streams: int) -> str:
    return _ONE if streams == 1 else f'{{ kind = "rdra", mode = "greedy", streams = {streams} }}'


def _two(app: str, cc: str, loss: float, rtt: int = 100, **labels: str | int | float) -> Case:
    settings = {"flow.tested.app": app, "flow.tested.cc": cc, "link.down.loss": f"{loss:g}", "link.rtt": f"{rtt} ms"}
    return Case("two-fetches.toml", settings, {**labels, "loss": loss, "rtt_ms": rtt})


# --- Experiments


def pair(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the goodputs of both downloads, and the tested download's percentage of the total goodput."""
    tested, single = (float(value) for value in run.flows["goodput_bps"])
    return {"goodput_bps": tested, "single_bps": single, "share": 100 * tested / (tested + single)}


def alone(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures one download's goodput and RTT, and the mean and standard deviation of the queue's backlog. The queue
    can store 1 s of data."""
    queue = run.queues.to_polars().filter((pl.col("direction") == "down") & (pl.col("time_s") > 30))
    wait = queue["sojourn_mean_ms"].cast(pl.Float64).drop_nulls().to_numpy()
    row = next(iter(run.flows.rows()))
    return {
        "goodput_bps": float(row["goodput_bps"]),
        "rtt_mean_ms": float(row["rtt_mean_ms"]),
        "rtt_p95_ms": float(row["rtt_p95_ms"]),
        "queue_use": float(np.mean(wait)) / 10,
        "queue_use_deviation": float(np.std(wait)) / 10,
    }


PACED_S = 120.0
"""Length of the paced phase of figures 2.5 and 2.6, in seconds."""
LOADED_S = 10.0
"""Time in seconds in which a new connection fills its part of the queue."""


def _clock_samples(run: Run) -> tuple[Array, Array]:
    """Returns the times in seconds and the RTTs in ms that the TCP clock measured."""
    number = run.flows["name"].to_list().index("clock")
    timed = run.samples.to_polars().filter((pl.col("flow") == number) & (pl.col("rtt_count") > 0))
    rtt = timed["rtt_sum_ms"].cast(pl.Float64) / timed["rtt_count"].cast(pl.Float64)
    return timed["time_s"].to_numpy(), rtt.to_numpy()


def _queue_use(run: Run) -> tuple[Array, Array]:
    """Returns the sampling times in seconds, and the backlog of the bottleneck in percent of 1 s of data."""
    queue = run.queues.to_polars().filter(pl.col("direction") == "down")
    return queue["time_s"].to_numpy(), 100 * queue["backlog_bytes"].cast(pl.Float64).to_numpy() / 250e3


def clock(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the RTTs of the TCP clock and the use of the queue, in the paced and in the free phase."""
    time, rtt = _clock_samples(run)
    sampled, use = _queue_use(run)
    paced, free = rtt[time <= PACED_S], rtt[time > PACED_S]
    loaded = (time > LOADED_S) & (time <= PACED_S) | (time > PACED_S + LOADED_S)
    return {
        "paced_rtt_mean_ms": float(paced.mean()),
        "free_rtt_p95_ms": float(np.percentile(free, 95)),
        "free_above_1_s_percent": 100 * float(np.mean(free > 1000)),
        "shortest_rtt_ms": float(rtt[loaded].min()),
        "paced_queue_use_percent": float(use[(sampled > LOADED_S) & (sampled <= PACED_S)].mean()),
        "free_queue_use_percent": float(use[sampled > PACED_S + LOADED_S].mean()),
    }


RUNS = 10
"""Number of the dissertation's runs for each box of figures 2.4 and 2.12."""

PARALLEL = Experiment(
    key="parallel",
    summary="n plain streams against one, at six rates of loss",
    cases=tuple(_two(_parallel(n), "cubic", loss, streams=n) for n in FEW for loss in LOSSES),
    measure=pair,
)

SHARES = Experiment(
    key="shares",
    summary="one to eight plain streams against one at 0.1 % loss",
    cases=tuple(_two(_parallel(n), "cubic", 0.001, streams=n) for n in STREAMS),
    measure=pair,
    full_repetitions=RUNS,
)

RECEIVERS = Experiment(
    key="receivers",
    summary="RDRA, one connection, streams of one connection, and BBR, each against one connection at six loss rates",
    cases=tuple(_two(app, cc, loss, kind=kind) for kind, (app, cc) in CONTENDERS.items() for loss in LOSSES),
    measure=pair,
)

FEW_AT_LITTLE = Experiment(
    key="parallel-little",
    summary="one, four and eight streams against one at 0.05 % loss, with more seeds",
    cases=tuple(_two(_parallel(n), "cubic", 0.0005, streams=n) for n in FEW),
    measure=pair,
    usual=4,
)

WITHOUT_LOSS = Experiment(
    key="receivers-lossless",
    summary="RDRA against one connection without loss, with more seeds",
    cases=(_two(_PAPER, "cubic", 0.0, kind="rdra"),),
    measure=pair,
    usual=4,
)

FAIR_RTTS = Experiment(
    key="fair-rtts",
    summary="RDRA against one connection at 0.1 % loss and five round trips",
    cases=tuple(
        _two(CONTENDERS[kind][0], "cubic", 0.001, rtt, kind=kind) for kind in ("rdra", "rdra-queued") for rtt in RTTS
    ),
    measure=pair,
    usual=4,
    full_repetitions=RUNS,
)

QUEUE_USE = Experiment(
    key="queue-use",
    summary="one download alone without loss: the queue of RDRA and of one connection",
    cases=tuple(
        Case("one-fetch.toml", {"flow.tested.app": CONTENDERS[kind][0]}, {"kind": kind})
        for kind in ("single", "rdra", "rdra-queued")
    ),
    measure=alone,
)

CLOCK = Experiment(
    key="clock",
    summary="round trips by a TCP clock: a paced download that fills half of the queue, then a free one",
    cases=(Case("tcp-clock.toml", {}, {}),),
    measure=clock,
    keep=True,
)

LOSSY_LINE = Experiment(
    key="lossy-line",
    summary="each contender alone on 10 Mbit/s with a queue of 100 ms, limited by loss instead of the rate",
    cases=tuple(
        Case(
            "one-fetch.toml",
            {
                "flow.tested.app": app,
                "flow.tested.cc": cc,
                "link.down.rate": "10 Mbit/s",
                "link.down.queue": "100 ms",
                "link.down.loss": f"{loss:g}",
                "scenario.duration": "45 s",
            },
            {"kind": kind, "loss": loss},
        )
        for kind, (app, cc) in CONTENDERS.items()
        for loss in (0.0, 0.001, 0.01, 0.03)
    ),
    measure=alone,
    usual=1,
    full_repetitions=2,
)

EXPERIMENTS = (PARALLEL, FEW_AT_LITTLE, SHARES, RECEIVERS, WITHOUT_LOSS, FAIR_RTTS, QUEUE_USE, CLOCK, LOSSY_LINE)

listed = Listed.beside(__file__)


def _goodput(m: Measurements, kind: str, loss: float, experiment: str = "receivers") -> Measured:
    return mbit(f"{NAMES[kind]} at {100 * loss:g} %", m.value(experiment, "goodput_bps", kind=kind, loss=loss))


def _alone(m: Measurements, kind: str, loss: float) -> Measured:
    return _goodput(m, kind, loss, "lossy-line")


def _streams(m: Measurements, streams: int, loss: float, experiment: str = "parallel") -> Measured:
    found = m.value(experiment, "goodput_bps", streams=streams, loss=loss)
    return mbit(f"{streams} of {streams + 1} streams at {100 * loss:g} %", found)


def _shares(m: Measurements, kind: str) -> list[Measured]:
    return [number(f"share at {rtt} ms", m.value("fair-rtts", "share", kind=kind, rtt_ms=rtt), "%") for rtt in RTTS]


# --- Claims


# The rate of the bottleneck was chosen to match the published throughput, so this claim always holds.
ONE_MBIT = listed.near_print(
    "one-mbit",
    lambda m: [
        mbit(
            "one stream without loss",
            m.value("parallel", "goodput_bps", streams=1, loss=0.0),
            m.published.find("Section 2.3.1 / Figure 2.3", "throughput"),
        )
    ],
)


@listed
def robust_with_streams(m: Measurements) -> Verdict:
    """At 1 % loss, goodput rises by at least 10 % from 1 to 4 streams, and by at least 10 % from 4 to 8 streams."""
    return ordered([_streams(m, streams, 0.01) for streams in reversed(FEW)])


@listed
def four_suffice(m: Measurements) -> Verdict:
    """At 0.05 % loss, the goodput gain of 4 streams over 1 stream is at least 50 % of the gain of 8 streams over 1
    stream."""
    one, four, eight = (_streams(m, streams, 0.0005, "parallel-little") for streams in FEW)
    gain = Measured(
        "gain of four, of the gain of eight", 100 * (four.value - one.value) / (eight.value - one.value), "%"
    )
    return at_least(50, [gain]).but(one, four, eight)


@listed
def unfair_with_streams(m: Measurements) -> Verdict:
    """At 0.1 % loss, the parallel download's share of the total goodput rises with its number of streams."""
    return rises("share", m.curve("shares", "share", "streams"), "%")


@listed
def singles_are_fair(m: Measurements) -> Verdict:
    """At 0.1 % loss, a download with one stream gets 40 to 60 % of the total goodput of both downloads."""
    return between(40, 60, [number("share of one", m.curve("shares", "share", "streams").at(1), "%")])


@listed
def clock_half(m: Measurements) -> Verdict:
    """In the first 120 s, the mean RTT of the TCP clock is at least 500 ms."""
    use = number("use of the queue", m.value("clock", "paced_queue_use_percent"), "%")
    return at_least(500, [number("mean round trip", m.value("clock", "paced_rtt_mean_ms"), "ms")]).but(use)


@listed
def clock_full(m: Measurements) -> Verdict:
    """After 120 s, at least 5 % of the RTTs of the TCP clock exceed 1 s ("often"). The queue was chosen so that RTTs
    can exceed 1 s (HAV-A03)."""
    use = number("use of the queue", m.value("clock", "free_queue_use_percent"), "%")
    above = number("round trips above 1 s", m.value("clock", "free_above_1_s_percent"), "%")
    return at_least(1000, [number("round trip, 95 %", m.value("clock", "free_rtt_p95_ms"), "ms")]).but(above, use)


@listed
def clock_is_never_true(m: Measurements) -> Verdict:
    """From 10 s after the start of each connection on, each RTT of the TCP clock is at least 110 ms."""
    return at_least(110, [number("shortest round trip", m.value("clock", "shortest_rtt_ms"), "ms")])


@listed
def equal_without_loss(m: Measurements) -> Verdict:
    """Without loss, RDRA gets 40 to 60 % of the total goodput."""
    share = m.value("receivers-lossless", "share", kind="rdra", loss=0.0)
    return between(40, 60, [number("share without loss", share, "%")]).but(
        why="equation 2.4 divides the unused window by all streams, so that the requests are below the window"
    )


@listed
def twice_under_loss(m: Measurements) -> Verdict:
    """At 1 % and 3 % loss, RDRA's goodput is more than 1.6 times the goodput of one connection in the same setting."""
    verdicts = (
        ratio(
            f"RDRA to one connection at {100 * loss:g} %",
            _goodput(m, "rdra", loss),
            _goodput(m, "single", loss),
            above=1.6,
        )
        for loss in (0.01, 0.03)
    )
    return all_of(*verdicts).but(
        why="each hole in any stream reduces the common window, as in one connection with this loss; the text does not "
        "explain a higher throughput"
    )


@listed
def fair_over_rtts(m: Measurements) -> Verdict:
    """At 0.1 % loss and each RTT, RDRA gets 40 to 60 % of the total goodput of both downloads."""
    return between(40, 60, _shares(m, "rdra"))


@listed
def queue_is_used(m: Measurements) -> Verdict:
    """From 30 s on, one connection alone and RDRA alone each keep the queue 50 to 80 % full on average. The queue can
    store 1 s of data."""
    found = [number(f"{NAMES[kind]}", m.value("queue-use", "queue_use", kind=kind), "%") for kind in ("single", "rdra")]
    return between(50, 80, found).but(
        why="the length of the queue is not printed, and the part that Cubic fills depends on it"
    )


@listed
def queued_twice(m: Measurements) -> Verdict:
    """Alone on a line of 10 Mbit/s at 1 % and 3 % loss, `rdra-queued` gets more than twice the goodput of one
    connection."""
    return all_of(
        ratio(
            f"RDRA to one connection at {100 * loss:g} %",
            _alone(m, "rdra-queued", loss),
            _alone(m, "single", loss),
            above=2.0,
        )
        for loss in (0.01, 0.03)
    )


@listed
def printed_is_less(m: Measurements) -> Verdict:
    """Alone on a line of 10 Mbit/s at 1 % loss, RDRA gets less goodput than one connection. This contradicts figure
    2.11."""
    return ratio("RDRA to one connection", _alone(m, "rdra", 0.01), _alone(m, "single", 0.01), below=1.0)


@listed
def queued_is_fair(m: Measurements) -> Verdict:
    """At 0.1 % loss and each RTT, `rdra-queued` gets 40 to 60 % of the total goodput of both downloads."""
    return between(40, 60, _shares(m, "rdra-queued")).but(
        why="CUBIC regains its window in seconds, whatever the queue. The part of the window that equation 2.4 "
        "requests grows more slowly. With a queue of one round trip it is fair"
    )


@listed
def multiplexing_is_one(m: Measurements) -> Verdict:
    """Alone on a line of 10 Mbit/s at 1 % loss, a connection with several streams gets the goodput of a connection with
    one stream, within 25 %."""
    one, many = _alone(m, "single", 0.01), _alone(m, "multiplexed", 0.01)
    return ratio("streams of one connection to one connection", many, one, above=0.8, below=1.25)


@listed
def bbr_withstands(m: Measurements) -> Verdict:
    """Alone on a line of 10 Mbit/s, BBR's throughput at 1 % loss is more than 90 % of its throughput without loss."""
    return ratio("at 1 % to none", _alone(m, "bbr", 0.01), _alone(m, "bbr", 0.0), above=0.9)


CLAIMS = claims_of(globals())


# --- Figures

_PERCENT = 100.0


def _over_loss(m: Measurements, experiment: str, column: str, scale: float, **labels: str | int) -> Line:
    curve = m.curve(experiment, column, "loss", **labels)
    kind = labels.get("kind")
    if isinstance(kind, str):
        return Line.of(curve, INKS[kind], scale, column=f"{kind}_{column}", label=NAMES[kind])
    streams = int(labels["streams"])
    ink = {1: style.INK, 4: style.UP[0], 8: style.DOWN[0]}[streams]
    return Line.of(
        curve, ink, scale, column=f"{streams}_{column}", label="one stream" if streams == 1 else f"{streams} streams"
    )


EQUATION_LOSSES = tuple(loss for loss in LOSSES if loss)


def _equation(_m: Measurements) -> Line:
    """Returns equation 2.1 for an RTT of 100 ms and the "standard MSS of 1500 Bytes" of section 2.3.1: the throughput
    of a loss-limited Reno connection."""
    found = [metrics.padhye_throughput_bps(1500, 0.1, loss) * 1e-6 for loss in EQUATION_LOSSES]
    return Line(EQUATION_LOSSES, found, style.MUTED, style=":", label="equation 2.1", column="equation_2_1_mbps")


FIGURE_2_3 = Plot(
    "More streams keep more throughput under loss",
    "n plain streams against one over 2 Mbit/s and 100 ms (havey2015 figure 2.3)",
    "packets lost (share)",
    (
        Panel(
            "Mbit/s",
            lambda m: [_over_loss(m, "parallel", "goodput_bps", 1e-6, streams=n) for n in FEW],
            "goodput of the n streams",
            2.4,
            legend=("best", 3),
        ),
    ),
    ("parallel",),
    axis="loss",
)

FIGURE_2_4 = Plot(
    "More streams take more than their share",
    "n plain streams against one at 0.1 % loss (havey2015 figure 2.4)",
    "streams",
    (
        Panel(
            "% of both",
            lambda m: [Line.of(m.curve("shares", "share", "streams"), style.DOWN[0], column="share")],
            "share of the n streams",
            2.2,
            levels=lambda _: [(50.0, style.MUTED)],
            limits=(0, 100),
        ),
    ),
    ("shares",),
    axis="streams",
)

FIGURE_2_11 = FIGURE_2_3.but(
    title="RDRA and later techniques under loss",
    subtitle="one download against one connection over 2 Mbit/s and 100 ms (havey2015 figure 2.11)",
    panels=(
        Panel(
            "Mbit/s",
            lambda m: [
                *(_over_loss(m, "receivers", "goodput_bps", 1e-6, kind=kind) for kind in CONTENDERS),
                _equation(m),
            ],
            "goodput of the download under test; equation 2.1 without the line's rate",
            2.6,
            limits=(0, 2.1),
            legend=("best", 2),
        ),
        Panel(
            "% of both",
            lambda m: [_over_loss(m, "receivers", "share", 1.0, kind=kind) for kind in CONTENDERS],
            "its share",
            2.2,
            levels=lambda _: [(40.0, style.MUTED), (60.0, style.MUTED)],
            limits=(0, 100),
        ),
    ),
    experiments=("receivers",),
)

FIGURE_LOSSY = FIGURE_2_3.but(
    title="Limited by loss: each alone on 10 Mbit/s",
    subtitle="100 ms, a queue of 100 ms; ours, no figure of the dissertation",
    panels=(
        Panel(
            "Mbit/s",
            lambda m: [
                *(_over_loss(m, "lossy-line", "goodput_bps", 1e-6, kind=kind) for kind in CONTENDERS),
                _equation(m),
            ],
            "goodput",
            2.6,
            limits=(0, 13.5),
            legend=("upper left", 2),
        ),
    ),
    experiments=("lossy-line",),
)

FIGURE_2_12 = FIGURE_2_4.but(
    title="RDRA's share of a line at 0.1 % loss",
    subtitle="against one connection (havey2015 figure 2.12)",
    x="round trip (ms)",
    panels=(
        Panel(
            "% of both",
            lambda m: [
                Line.of(m.curve("fair-rtts", "share", "rtt_ms", kind=kind), INKS[kind], column=kind, label=NAMES[kind])
                for kind in ("rdra", "rdra-queued")
            ],
            "share; the band is 40 to 60 %",
            2.2,
            levels=lambda _: [(40.0, style.MUTED), (60.0, style.MUTED)],
            limits=(0, 100),
            legend=("best", 2),
        ),
    ),
    experiments=("fair-rtts",),
    axis="rtt_ms",
)


def _clock_dots(m: Measurements) -> Iterable[Line]:
    time, rtt = _clock_samples(m.run("clock"))
    yield Line(time, rtt, style.DOWN[0], look="points", mark=".", size=3, column="rtt_ms")


def _queue_use_line(m: Measurements) -> Iterable[Line]:
    time, use = _queue_use(m.run("clock"))
    yield Line(time, use, style.INK, column="queue_use_percent")


FIGURE_2_5 = Plot(
    "A TCP clock measures the queue, not the path",
    "One download, paced until 120 s, over 2 Mbit/s and 100 ms (havey2015 figures 2.5 and 2.6)",
    "time (s)",
    (
        Panel(
            "ms",
            _clock_dots,
            "round trips of the TCP clock; lines: the path's 100 ms, and the printed 500 and 1000 ms",
            2.4,
            levels=lambda _: [(level, style.MUTED) for level in (100.0, 500.0, 1000.0)],
            uprights=lambda _: [PACED_S],
        ),
        Panel("%", _queue_use_line, "use of the queue", 1.8, limits=(0, 105), uprights=lambda _: [PACED_S]),
    ),
    ("clock",),
)


def _queue_table(m: Measurements) -> Artifact:
    kinds = ("single", "rdra", "rdra-queued")
    frame = table(
        kinds,
        {
            "download": lambda kind: NAMES[kind],
            "queue_use_percent": lambda kind: m.value("queue-use", "queue_use", kind=kind),
            "deviation_percent": lambda kind: m.value("queue-use", "queue_use_deviation", kind=kind),
            "goodput_mbps": lambda kind: m.value("queue-use", "goodput_bps", kind=kind).median * 1e-6,
        },
    )
    where = "Section 2.4.5 / Figures 2.13 and 2.14"
    low = m.published.find(where, "queue_utilisation", item="RDRA and single-stream Cubic, low")
    return Artifact(
        frame,
        comparisons=tuple(
            compare(low, m.value("queue-use", "queue_use", kind=kind), f"{NAMES[kind]}: start of the printed range")
            for kind in ("single", "rdra")
        ),
    )


FIGURES = (
    Figure("2.3", "Throughput of n streams against loss", ("parallel",), FIGURE_2_3),
    Figure("2.4", "Share of n streams", ("shares",), FIGURE_2_4),
    Figure("2.5", "Round trips of a TCP clock", ("clock",), FIGURE_2_5),
    Figure("2.11", "Throughput of RDRA against loss", ("receivers",), FIGURE_2_11),
    Figure("2.12", "Share of RDRA against the round trip", ("fair-rtts",), FIGURE_2_12),
    Figure("L", "Alone under loss", ("lossy-line",), FIGURE_LOSSY),
    Figure("2.13", "Use of the queue", ("queue-use",), _queue_table, "Table"),
)

KEY_RESULT = KeyResult(
    "rdra-share", "share of RDRA at 100 ms and 0.1 % loss", "%",
    lambda m: m.value("fair-rtts", "share", kind="rdra", rtt_ms=100).median,
)  # fmt: skip
