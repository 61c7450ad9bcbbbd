"""Simulates a line with each buffer size, and computes which sizes the sweep and the model recommend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided import metrics
from lopsided.data import series
from lopsided.data.table import Row
from lopsided.studies.jobs import Progress, part_of, run_jobs
from lopsided.studies.sizing.line import Line, round_size
from lopsided.studies.sizing.plan import FIELD_ALONE_S, FIELD_BOTH_S, Plan, about
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

TOLERANCE = 0.05
"""A buffer is good if its performance is at most this fraction below the best performance."""


@dataclass(frozen=True)
class Model:
    """The buffer size in packets that inequality 6.6 of merritt2010 recommends, rounded down. If a buffer of this size
    is configured, the inequality recommends the same size (figure 6.2).

    `packets` is `None` if no size satisfies this. The congestion windows in the inequality were measured with the
    closest tested buffer.
    """

    packets: int | None
    side: str
    rtt_ms: float
    window_down_bytes: float
    window_up_bytes: float


@dataclass(frozen=True)
class Measured:
    """The result of the sweep. `knee_packets` is the recommended buffer: the largest tested buffer whose performance is
    good (`TOLERANCE`). `falls` is true if larger buffers were tested; their performance is not good."""

    best_packets: int
    best_performance: float
    knee_packets: int
    knee_performance: float
    worst_performance: float
    falls: bool


@dataclass
class Curve:
    """Runs the field procedure and the sweep with each buffer size, and returns one row per run and procedure."""

    line: Line
    plan: Plan
    seed: int
    workers: int | None
    progress: Progress | None

    def whole(self, sizes: Sequence[int]) -> list[Row]:
        """Runs the field procedure and the sweep in separate simulations, for every buffer and seed."""
        field = self.line.scenario(FIELD_ALONE_S, FIELD_BOTH_S)
        swept = self.line.scenario(self.plan.alone_s, self.plan.both_s)
        due = [
            (packets, repetition, base, row)
            for packets in sizes
            for base, row in ((field, _field_row), (swept, _sweep_row))
            for repetition in range(self.plan.repeat)
        ]
        jobs = [Job(_with_buffer(base, packets), self.seed + repetition) for packets, repetition, base, _ in due]

        def reduce(index: int, run: Run) -> Row:
            packets, repetition, _, row = due[index]
            return {**_key(packets, repetition, run), **row(run)}

        return run_jobs(jobs, reduce, workers=self.workers, progress=self.progress)

    def estimate(self, sizes: Sequence[int], *, chosen: bool) -> list[Row]:
        """Simulates a coarse grid of buffer sizes and a finer grid around the knee. Then adds seeds until the runs
        agree.

        If the user chose the sizes (`chosen`), exactly these sizes are simulated.
        """
        plan = self.plan
        first = list(sizes) if chosen else _spaced(sizes, plan.coarse)
        total = (len(first) + (0 if chosen else plan.fine)) * plan.repeat
        rows = self._some(first, 0, 0, total)
        tried = first
        if not chosen and plan.fine:
            knee = measured(curve_of(rows)).knee_packets
            finer = sorted({round_size(size) for size in np.geomspace(first[0], first[-1], 60)})
            more = about(knee, first, plan.fine, finer)
            rows += self._some(more, 0, len(first), total)
            tried = sorted([*first, *more])
        for repetition in range(1, plan.repeat):
            if repetition > 1 and _agreed(rows):
                break
            rows += self._some(tried, repetition, repetition * len(tried), total)
        return rows

    def _some(self, sizes: Sequence[int], repetition: int, done: int, total: int) -> list[Row]:
        base = self.line.scenario(self.plan.alone_s, self.plan.both_s)
        jobs = [Job(_with_buffer(base, packets), self.seed + repetition) for packets in sizes]

        def reduce(index: int, run: Run) -> list[Row]:
            key = _key(sizes[index], repetition, run)
            return [{**key, **_field_row(run)}, {**key, **_sweep_row(run)}]

        progress = part_of(self.progress, done / total, len(sizes) / total)
        pairs = run_jobs(jobs, reduce, workers=self.workers, progress=progress)
        return [row for pair in pairs for row in pair]


def _with_buffer(base: Scenario, packets: int) -> Scenario:
    return base.with_(**{"link.up.queue.limit": f"{packets} packets"})


def _key(packets: int, repetition: int, run: Run) -> Row:
    return {"buffer_packets": packets, "repetition": repetition, "seed": run.seed, "digest": run.digest}


def _spaced(sizes: Sequence[int], count: int) -> list[int]:
    """Returns at most `count` sizes, including the first and the last."""
    places = np.linspace(0, len(sizes) - 1, min(count, len(sizes)))
    return sorted({sizes[round(float(place))] for place in places})


def _agreed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Returns true if the performance near the knee has narrow 95 % intervals. More seeds would then probably not
    change the knee."""
    curve = curve_of(rows)
    tried = [row["buffer_packets"] for row in curve]
    place = tried.index(measured(curve).knee_packets)
    near = tried[max(0, place - 1) : place + 2]
    best = max(row["performance"] for row in curve)
    for packets in near:
        values = [row["performance"] for row in rows if row["part"] == "sweep" and row["buffer_packets"] == packets]
        if metrics.mean_interval(values).half_width > TOLERANCE * best:
            return False
    return True


def _field_row(run: Run) -> Row:
    """Returns the measurements of the field procedure (MER-M23), and the buffer sizes that inequality 6.6 computes from
    them."""
    flows = {row["name"]: row for row in run.flows.rows()}
    start, stop = series.both_active(run)
    rtt_ms = series.rtt_between(run, "download", 0.0, start)
    down, up = flows["download"]["cwnd_max_bytes"], flows["upload"]["cwnd_max_bytes"]
    down_both = series.largest_between(run, "download", "cwnd_bytes", start, stop)
    up_bps = run.scenario.link_rate_bps("up") or math.nan
    return {
        "part": "field",
        "rtt_alone_ms": rtt_ms,
        "window_down_bytes": down,
        "window_down_both_bytes": down_both,
        "window_up_bytes": up,
        "estimate_packets": metrics.uplink_buffer_bound_packets(down, up, rtt_ms / 1e3, up_bps),
        "estimate_both_packets": metrics.uplink_buffer_bound_packets(down_both, up, rtt_ms / 1e3, up_bps),
    }


def _sweep_row(run: Run) -> Row:
    start, stop = series.both_active(run)
    down, up = (series.goodput_between(run, name, start, stop) for name in ("download", "upload"))
    rates = run.scenario.link_rate_bps("down") or math.nan, run.scenario.link_rate_bps("up") or math.nan
    return {
        "part": "sweep",
        "goodput_down_bps": down,
        "goodput_up_bps": up,
        "performance": metrics.min_normalised_goodput(down, up, *rates),
        "rtt_ms": series.rtt_between(run, "download", start, stop),
    }


_FIELD_COLUMNS = (
    "estimate_packets",
    "estimate_both_packets",
    "window_down_bytes",
    "window_down_both_bytes",
    "window_up_bytes",
    "rtt_alone_ms",
)


def curve_of(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Returns one row per buffer size, with the median of each column over the seeds."""
    curve: list[Row] = []
    for packets in sorted({row["buffer_packets"] for row in rows}):
        here = [row for row in rows if row["buffer_packets"] == packets]
        field = [row for row in here if row["part"] == "field"]
        swept = [row for row in here if row["part"] == "sweep"]
        performance = [row["performance"] for row in swept]
        curve.append(
            {
                "buffer_packets": packets,
                "performance": median(performance),
                "performance_least": min(performance),
                "performance_greatest": max(performance),
                "goodput_down_bps": median(row["goodput_down_bps"] for row in swept),
                "goodput_up_bps": median(row["goodput_up_bps"] for row in swept),
                "rtt_ms": median(row["rtt_ms"] for row in swept),
                **{column: median(row[column] for row in field) for column in _FIELD_COLUMNS},
            }
        )
    return curve


def model(curve: list[Row], estimate: str, window_down: str) -> Model:
    crossing = metrics.diagonal_crossing([row["buffer_packets"] for row in curve], [row[estimate] for row in curve])
    at = curve[0]["buffer_packets"] if crossing.packets is None else crossing.packets
    near = min(curve, key=lambda row: abs(row["buffer_packets"] - at))
    return Model(
        packets=None if crossing.packets is None else max(1, math.floor(crossing.packets)),
        side=crossing.side,
        rtt_ms=median(row["rtt_alone_ms"] for row in curve),
        window_down_bytes=near[window_down],
        window_up_bytes=near["window_up_bytes"],
    )


def measured(curve: list[Row]) -> Measured:
    best = max(range(len(curve)), key=lambda index: curve[index]["performance"])
    floor = curve[best]["performance"] * (1 - TOLERANCE)
    knee = max(index for index, row in enumerate(curve) if row["performance"] >= floor)
    return Measured(
        best_packets=curve[best]["buffer_packets"],
        best_performance=curve[best]["performance"],
        knee_packets=curve[knee]["buffer_packets"],
        knee_performance=curve[knee]["performance"],
        worst_performance=curve[-1]["performance"],
        falls=knee + 1 < len(curve),
    )
