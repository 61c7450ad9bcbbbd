"""Reproduces the time series of chapter 2 (HAV-E04 to HAV-E06), and the experiment on a mesh (HAV-E10).

Three pairs are compared over time: holes at the receiver with window reductions at the sender, the receiver's window
with its equation, and the requested data with the receiver's window. For the mesh, the dissertation gives two
throughputs but no loss rate. The first throughput determines the loss rate, and the second throughput tests it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lopsided.papers.framework.claims import Listed, all_of, at_least, at_most, between, claims_of, near, number
from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Case, Experiment, Figure, Verdict
from lopsided.papers.framework.plots import Line, Panel, Plot, printed_mark
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.scenario import Run

SEEN_S = 0.2
"""A gap in the received data and a reduction of the sender's window count as simultaneous if they are at most this
number of seconds apart: half an RTT plus the transmission time of 3 packets at 2 Mbit/s.
"""
APART_S = 1.2
"""Gaps in the received data that are less than this number of seconds apart count as one event. The value is the RTT
with a full queue."""
BEGUN_S = 5.0
"""Time in seconds after which the window of equation 2.2 is past its initial phase."""
MESH_LOSSES = (0.05, 0.1, 0.15, 0.2)
MESH_SINGLE_BPS = 190e3
"""Goodput in bit/s of one connection on the mesh: "a little under 200 kbit/s"."""
MESH = {
    "single": '{ kind = "rdra", mode = "single" }',
    "rdra": '{ kind = "rdra", detection = "every", window = "havey2015" }',
    "rdra-queued": '{ kind = "rdra" }',
    "greedy": '{ kind = "rdra", mode = "greedy" }',
}
NAMES = {
    "single": "one connection",
    "rdra": "RDRA as printed",
    "rdra-queued": "RDRA that checks for a queue",
    "greedy": "eight plain streams",
}
INKS = {"single": style.INK, "rdra": style.RED, "rdra-queued": style.DOWN[0], "greedy": style.MUTED}


# --- Experiments


def _holes(run: Run) -> list[float]:
    """Returns the times at which the receiver detected a hole after an RTT without holes."""
    times: list[float] = []
    count, open_hole = 0, False
    for row in run.fetches.rows():
        if row["step"] == "received":
            open_hole = False
        elif row["step"] == "observed":
            if int(row["out_of_order"]) > count and not open_hole:
                times.append(float(row["time_s"]))
                open_hole = True
            count = int(row["out_of_order"])
    # Holes within `APART_S` of the previous hole belong to the same event.
    earlier = [-math.inf, *times]
    return [time for time, before in zip(times, earlier, strict=False) if time - before > APART_S]


def _back_offs(run: Run) -> list[float]:
    """Returns the times of the sender's window reductions, by fast retransmit or timeout."""
    rows = run.tcp_events.rows()
    return [float(row["time_s"]) for row in rows if row["event"] == "cwnd_reduced"]


def detection(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures how closely holes at the receiver coincide with window reductions at the sender."""
    holes, backs = _holes(run), _back_offs(run)
    before = [back - max((hole for hole in holes if hole <= back), default=-math.inf) for back in backs]
    after = [min((back for back in backs if back >= hole), default=math.inf) - hole for hole in holes]
    return {
        "back_offs": float(len(backs)),
        "holes": float(len(holes)),
        "back_offs_seen_share": float(np.mean([lag <= SEEN_S for lag in before])),
        "holes_answered_share": float(np.mean([lag <= SEEN_S for lag in after])),
        "lag_ms": 1e3 * float(np.median(before)),
    }


def _controller(run: Run) -> tuple[Array, Array, Array]:
    """Returns the time in seconds, the window and the requested bytes after each step of the controller."""
    rows = list(run.fetches.rows())
    time, window, requested = (
        np.array([float(row[name]) for row in rows]) for name in ("time_s", "window_bytes", "requested_bytes")
    )
    return time, window, requested


def _epochs(run: Run) -> Iterator[tuple[Array, Array, float]]:
    """Yields for each congestion event: the times since the event, the windows until the next event, and the window
    before the event.

    Windows are in segments.
    """
    rows = list(run.fetches.rows())
    mss = max(float(row["mss_bytes"] or 0) for row in rows)
    starts = [at for at, row in enumerate(rows) if row["loss"] == "every"]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        part: list[Any] = [row for row in rows[start + 1 : end] if row["step"] == "received"]
        times = np.array([float(row["time_s"]) for row in part]) - float(rows[start]["time_s"])
        windows = np.array([float(row["window_bytes"]) for row in part]) / mss
        yield times, windows, float(rows[start - 1]["window_bytes"]) / mss


def control(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures how far the window deviates from equation 2.2, and how far the requested data deviates from the
    window."""
    time, window, requested = _controller(run)
    whole = time > BEGUN_S
    lasted = np.diff(time, append=float(time[-1]))[whole]
    window, requested = window[whole], requested[whole]
    spare = 100 * (requested - window) / window
    # Compute percentiles over time: each value is weighted by its duration.
    order = np.argsort(spare)
    heavy = np.cumsum(lasted[order])
    low, half, high = (float(np.interp(share * float(heavy[-1]), heavy, spare[order])) for share in (0.05, 0.5, 0.95))
    mean_window = float(np.average(window, weights=lasted))
    mean_requested = float(np.average(requested, weights=lasted))
    off: list[float] = [0.0]
    for since, windows, before in _epochs(run):
        # Equation 2.3 with beta = 0.2 and C = 0.4: the time after which the cubic curve reaches the window before
        # the event again.
        k = (before * 0.2 / 0.4) ** (1 / 3)
        # Skip the first RTT after an event, in which the window is constant, as in loss recovery.
        later = since > APART_S
        off += [float(each) for each in np.abs(windows[later] / (0.4 * (since[later] - k) ** 3 + before) - 1)]
    row = next(iter(run.flows.rows()))
    return {
        "goodput_bps": float(row["goodput_bps"]),
        "window_bytes": mean_window,
        "requested_bytes": mean_requested,
        "requested_to_window_percent": 100 * mean_requested / mean_window,
        "spare_p5_percent": low,
        "spare_p50_percent": half,
        "spare_p95_percent": high,
        "off_curve_percent": 100 * max(off),
        "congestions": float(sum(row["loss"] == "every" for row in run.fetches.rows())),
    }


def goodput(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the goodput of one download."""
    return {"goodput_bps": float(run.flows["goodput_bps"][0])}


DETECTION = Experiment(
    key="detection-trace",
    summary="one download over one connection: holes at the receiver, back-offs of the sender, and the queue",
    cases=(
        Case(
            "one-fetch.toml",
            {"flow.tested.app": '{ kind = "rdra", mode = "single", record_steps = true }', "record.tcp_events": "true"},
            {"mode": "single"},
        ),
    ),
    measure=detection,
    keep=True,
)

CONTROL = Experiment(
    key="window-trace",
    summary="one download by RDRA as printed: its window, and the data that it requests",
    cases=(
        Case(
            "one-fetch.toml",
            {"flow.tested.app": '{ kind = "rdra", detection = "every", window = "havey2015", record_steps = true }'},
            {"kind": "rdra"},
        ),
    ),
    measure=control,
    keep=True,
)

ON_MESH = Experiment(
    key="mesh",
    summary="each download alone over 6 Mbit/s and 100 ms with the losses of a bad radio",
    cases=tuple(
        Case(
            "one-fetch.toml",
            {
                "flow.tested.app": app,
                "link.down.rate": "6 Mbit/s",
                "link.down.queue": "100 ms",
                "link.down.loss": f"{loss:g}",
            },
            {"kind": kind, "loss": loss},
        )
        for kind, app in MESH.items()
        for loss in MESH_LOSSES
    ),
    measure=goodput,
)

EXPERIMENTS = (DETECTION, CONTROL, ON_MESH)

listed = Listed.beside(__file__)


# --- Claims


@listed
def detection_lines_up(m: Measurements) -> Verdict:
    """At least 90 % of the sender's window reductions follow a hole at the receiver within 200 ms. At least 90 % of the
    holes are followed by a window reduction within 200 ms."""
    found = [
        number(name, m.value("detection-trace", column, mode="single"), "%", scale=100)
        for name, column in (
            ("back-offs with a hole before them", "back_offs_seen_share"),
            ("holes with a back-off after them", "holes_answered_share"),
        )
    ]
    others = [
        number(name, m.value("detection-trace", column, mode="single"), unit)
        for name, column, unit in (("back-offs", "back_offs", ""), ("lag", "lag_ms", "ms"))
    ]
    return at_least(90, found).but(*others)


@listed
def window_is_cubic(m: Measurements) -> Verdict:
    """From one RTT after each congestion event on, RDRA's window is within 1 % of equation 2.2."""
    off = number("furthest from equation 2.2", m.value("window-trace", "off_curve_percent", kind="rdra"), "%")
    seen = number("congestions", m.value("window-trace", "congestions", kind="rdra"))
    return all_of(at_most(1, [off]), at_least(1, [seen]))


@listed
def asked_is_near_window(m: Measurements) -> Verdict:
    """The data that RDRA requests is on average 80 to 105 % of its window."""
    part = number("requested, of the window", m.value("window-trace", "requested_to_window_percent", kind="rdra"), "%")
    half = number("requested minus window, median", _spare(m, "p50"), "%")
    return between(80, 105, [part]).but(
        half,
        why="by equation 2.4 a stream that has finished requests only its share of the unused window, so that all "
        "streams together stay below the window",
    )


@listed
def spikes_above_window(m: Measurements) -> Verdict:
    """The data that RDRA requests exceeds its window for at least 5 % of the time."""
    return at_least(0, [number("requested minus window, 95 %", _spare(m, "p95"), "%")]).but(
        why="the requested data is below the window, so that the end of a chunk does not raise it above the window"
    )


def _spare(m: Measurements, quantile: str) -> Any:
    return m.value("window-trace", f"spare_{quantile}_percent", kind="rdra")


def _mesh_loss(m: Measurements) -> float:
    """Returns the loss rate at which one connection gets its published goodput, by logarithmic interpolation."""
    single = m.curve("mesh", "goodput_bps", "loss", kind="single")
    return math.exp(float(np.interp(math.log(MESH_SINGLE_BPS), np.log(single.median[::-1]), np.log(single.x[::-1]))))


def at_mesh(m: Measurements, kind: str) -> float:
    """Returns the goodput in bit/s of a kind of download on the mesh, at `_mesh_loss`."""
    found = m.curve("mesh", "goodput_bps", "loss", kind=kind)
    return math.exp(float(np.interp(math.log(_mesh_loss(m)), np.log(found.x), np.log(found.median))))


def _on_mesh(m: Measurements, kind: str) -> Verdict:
    printed = m.published.find("Section 2.4.5 / Figure 2.15", "throughput")
    found = number(f"{NAMES[kind]} on the mesh", at_mesh(m, kind), "kbit/s", scale=1e-3, published=printed)
    others = [
        number(f"{NAMES[other]} there", at_mesh(m, other), "kbit/s", scale=1e-3) for other in MESH if other != kind
    ]
    return near([found]).but(*others)


MESH_AS_PRINTED = listed.claim(
    "mesh-as-printed",
    lambda m: _on_mesh(m, "rdra").but(
        why="the printed value lies between RDRA as printed and RDRA that checks for a queue"
    ),
)

MESH_QUEUED = listed.claim(
    "mesh-that-looks-for-a-queue",
    lambda m: _on_mesh(m, "rdra-queued").but(
        why="losses without a queue do not reduce its window, so that it has most of eight plain streams' goodput"
    ),
)

CLAIMS = claims_of(globals())


# --- Figures


def _queue_line(m: Measurements) -> Iterable[Line]:
    queue = m.run("detection-trace", mode="single").queues.to_polars().filter(pl.col("direction") == "down")
    yield Line(queue["time_s"].to_numpy(), queue["backlog_bytes"].to_numpy() / 1e3, style.INK, column="backlog_kb")


def _drawn_control(m: Measurements) -> tuple[Array, Array, Array]:
    """Returns the time, the window and the requested data every 100 ms."""
    time, window, requested = _controller(m.run("window-trace", kind="rdra"))
    at = np.searchsorted(time, np.arange(float(time[0]), float(time[-1]), 0.1), side="right") - 1
    return time[at], window[at], requested[at]


def _window_line(m: Measurements) -> Iterable[Line]:
    time, window, _ = _drawn_control(m)
    yield Line(time, window / 1e3, style.RED, look="step", column="window_kb")


def _spare_line(m: Measurements) -> Iterable[Line]:
    time, window, requested = _drawn_control(m)
    yield Line(time, (requested - window) / 1e3, style.DOWN[0], look="step", column="asked_less_window_kb")


FIGURE_2_7 = Plot(
    "The receiver sees the losses that the sender reacts to",
    "One connection over 2 Mbit/s; lines: holes seen by the receiver (havey2015 figure 2.7)",
    "time (s)",
    (
        Panel(
            "kB",
            _queue_line,
            "backlog of the bottleneck",
            2.4,
            uprights=lambda m: _holes(m.run("detection-trace", mode="single")),
        ),
    ),
    ("detection-trace",),
)

FIGURE_2_8 = Plot(
    "The receiver's window: that of one connection, which no sender uses",
    "RDRA as printed alone on 2 Mbit/s (havey2015 figure 2.8)",
    "time (s)",
    (Panel("kB", _window_line, "window by equation 2.2", 2.0),),
    ("window-trace",),
)

FIGURE_2_10 = FIGURE_2_8.but(
    title="Requested data minus the receiver's window",
    subtitle="RDRA as printed alone on 2 Mbit/s (havey2015 figure 2.10: near zero or slightly below)",
    panels=(Panel("kB", _spare_line, "requested bytes minus the window", 2.4, levels=lambda _: [(0.0, style.MUTED)]),),
)


def _mesh_lines(m: Measurements) -> Iterable[Line]:
    for kind in MESH:
        curve = m.curve("mesh", "goodput_bps", "loss", kind=kind)
        yield Line.of(curve, INKS[kind], 1e-3, column=kind, label=NAMES[kind])
    at = _mesh_loss(m)
    yield printed_mark(at, 200, style.INK)
    yield printed_mark(at, 700, style.RED)


FIGURE_2_15 = Plot(
    "Goodput of a download over a bad radio",
    "6 Mbit/s and 100 ms (havey2015 figures 2.15 and 2.16); diamonds: printed, at the loss that fits the lower value",
    "packets lost (share)",
    (Panel("kbit/s", _mesh_lines, "goodput of a download alone", 2.4, legend=("best", 1)),),
    ("mesh",),
    data=lambda m: m.table("mesh"),
)

FIGURES = (
    Figure("2.7", "Losses seen at the receiver", ("detection-trace",), FIGURE_2_7),
    Figure("2.8", "The receiver's window", ("window-trace",), FIGURE_2_8),
    Figure("2.10", "Requested data minus the window", ("window-trace",), FIGURE_2_10),
    Figure("2.15", "Downloads on a mesh", ("mesh",), FIGURE_2_15),
)
