"""Fits the CUBIC captures, and scores the fitted links and the predictions for BBR.

A prediction is the mean of several runs of the fitted scenario with BBR, and is compared with the mean of as many runs
of the known line. For comparison, two simpler predictions use only the measured
rates and RTT. One of them uses a scenario's default buffer. The other uses a buffer that never fills, as Mahimahi does
by default.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import lopsided as lop
from lopsided.data import captures
from lopsided.data.table import Row
from lopsided.studies.fit import Fit, Fitter
from lopsided.studies.fit.draft import draft_of
from reference.analyze.corpus import Case
from reference.fit.corpus import ASKED, SEEDS, with_control

BASELINES = {"rate and RTT, 50 packets": "50 packets", "rate and RTT, unlimited": "100000 packets"}
PREDICTED = "fit"


@dataclass
class Scores:
    """The errors of the fitted values and of the predictions, for all scored cases."""

    errors: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    inside: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    right: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    predictions: dict[str, dict[str, list[float]]] = field(default_factory=dict[str, dict[str, list[float]]])


def score(folder: Path, cases: list[Case], world: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Yields one line of text per case, and finally the lines of the tables."""
    scores = Scores()
    for case in cases:
        home = folder / world / case.name
        asked = [folder / world / with_control(case, ASKED, seed).name for seed in SEEDS]
        if not all((each / "flows.parquet").exists() for each in (home, *asked)):
            yield f"{case.name}: no captures"
            continue
        place = "client" if case.pattern == "upload" else "server"
        fitter = Fitter(captures.at_host(home / "pcap", place), **options)
        found = fitter.run(remedies=False)
        _line(scores, case, found, _is_swapped(home, fitter))
        said = _predictions(scores, fitter, found, asked, place)
        best = fitter.search.best()
        assert best is not None
        parts = [f"distance {found.distance:.2f}", best.structure.text, said]
        yield f"{case.name} ({case.pattern}, {case.queue}): {'; '.join(parts)}"
    yield ""
    yield from _tables(scores)


def _is_swapped(home: Path, fitter: Fitter) -> bool:
    """Returns true if the fit's direction `down` is the case's direction `up`: it is the direction of the largest
    flow."""
    clients = [
        flow["address"] for flow in pl.read_csv(home / "pcap" / "flows.csv").to_dicts() if flow["to"] == "client"
    ]
    largest = fitter.draft.traffic[0]
    return (largest.way == "down") != (largest.flow.row["to"] in clients)


def _line(scores: Scores, case: Case, found: Fit, swapped: bool) -> None:
    way_of = {"down": "up", "up": "down"} if swapped else {"down": "down", "up": "up"}
    data = "up" if case.pattern == "upload" else "down"
    loaded = ("down", "up") if case.pattern == "two-way" else (data,)
    rates = {"down": case.down_bps, "up": case.up_bps}
    for way in loaded:
        _value(scores, "rate of a loaded direction", found.value(f"rate.{way_of[way]}"), rates[way])
        placed = case.tables["link"][way]["queue"]
        right = placed["kind"]
        queue = found.possible(f"queue.{way_of[way]}")
        scores.right.setdefault("queue discipline", []).append(queue[:1] == [right])
        scores.right.setdefault("queue discipline among the possible", []).append(right in queue)
        scores.right.setdefault("congestion control", []).append(
            found.possible(f"cc.{way_of[way]}")[:1] == [case.control]
        )
        if right == "fifo" and queue[:1] == ["fifo"]:
            size, unit = placed["limit"].split()
            _value(
                scores, "buffer", found.value(f"buffer.{way_of[way]}"), int(size) * (1500 if unit == "packets" else 1)
            )
    for way in {"down", "up"} - set(loaded):
        _value(scores, "rate of a direction with ACKs only", found.value(f"rate.{way_of[way]}"), rates[way])
    serial_ms = 60 * 8e3 * (1 / case.down_bps + 1 / case.up_bps)
    row = found.value("rtt_floor")
    scores.errors.setdefault("RTT floor (ms)", []).append(
        row["value"] - case.rtt_ms - (0 if "shaper" in case.tables["link"]["down"] else serial_ms)
    )


def _value(scores: Scores, quantity: str, row: Row, right: float) -> None:
    known = row["status"] != "unknown"
    scores.errors.setdefault(quantity, []).append(row["value"] / right - 1 if known else float("nan"))
    if row["low"] is not None and row["high"] is not None:
        scores.inside.setdefault(quantity, []).append(row["low"] <= right <= row["high"])


def _predictions(scores: Scores, fitter: Fitter, found: Fit, asked: list[Path], place: str) -> str:
    ends = [(each.flow.row["to"], each.flow.row["to_port"]) for each in fitter.draft.traffic]
    true = [_measured(captures.at_host(each / "pcap", place), ends) for each in asked]
    best = fitter.search.best()
    assert best is not None
    # The simpler predictions use only the values that `analyze` measured.
    traffic = fitter.draft.traffic
    draft = draft_of([each.flow for each in traffic], [each.way for each in traffic])
    plain = draft.scenario(best.structure, {each.name: each.start for each in draft.parameters(best.structure)})
    scenarios = {PREDICTED: found.scenario}
    for name, limit in BASELINES.items():
        settings = {f"link.{way}.queue": f'{{ kind = "fifo", limit = "{limit}" }}' for way in ("down", "up")}
        scenarios[name] = plain.with_(**settings, **{f"link.{way}.loss": "{ random = 0 }" for way in ("down", "up")})
    said: list[str] = []
    for name, scenario in scenarios.items():
        predicted: list[list[Row]] = []
        for seed in SEEDS:
            with tempfile.TemporaryDirectory(prefix="lopsided-fit-") as folder:
                changed = scenario.with_(**{"flow.*.cc": ASKED, "scenario.seed": seed})
                changed.run(pcap=folder, pcap_at=["hosts"])
                listed = {each.flow: each.place for each in captures.read_index(Path(folder))}
                receivers = [listed[each.name] for each in fitter.draft.traffic]
                predicted.append(_measured(captures.at_host(Path(folder), place), receivers))
        errors = scores.predictions.setdefault(name, {})
        for quantity in ("goodput_bps", "rtt_p95_ms"):
            apart = np.abs(_logs(predicted, quantity) - _logs(true, quantity))
            errors.setdefault(quantity, []).append(float(np.mean(apart)))
        said.append(f"{name} {errors['goodput_bps'][-1]:.1%} {errors['rtt_p95_ms'][-1]:.1%}")
    return "; ".join(said)


def _logs(runs: list[list[Row]], quantity: str) -> NDArray[np.float64]:
    """Returns the mean logarithm of a quantity over the runs, for each flow."""
    return np.log([[row[quantity] for row in rows] for rows in runs]).mean(axis=0)


def _measured(path: Path, receivers: list[tuple[str, int]]) -> list[Row]:
    """Returns, for each receiver's address and port, the goodput and the 95th percentile of the RTT of the flow to this
    receiver.

    Flows are identified by address and port, because both directions can use the same port.
    """
    capture = lop.analyze(path)
    found: list[Row] = []
    for receiver in receivers:
        row = next(row for row in capture.largest if (row["to"], row["to_port"]) == receiver)
        mine = capture.timeline.numbers("direction") == row["direction"]
        rtt = capture.timeline.numbers("rtt_mean_ms")[mine]
        found.append({"goodput_bps": row["goodput_bps"], "rtt_p95_ms": float(np.nanquantile(rtt, 0.95))})
    return found


def _tables(scores: Scores) -> Iterator[str]:
    yield "| quantity | goal | reached | unknown | in the 95 % interval |"
    yield "|---|---|---|---|---|"
    for quantity, errors in scores.errors.items():
        bound = 1.0 if "ms" in quantity else 0.1 if quantity == "buffer" else 0.03
        known = [abs(error) for error in errors if not np.isnan(error)]
        inside = scores.inside.get(quantity)
        covered = f"{sum(inside)} of {len(inside)}" if inside else ""
        goal = "1 ms" if bound == 1.0 else f"{bound:.0%}"
        reached = f"{sum(error <= bound for error in known)} of {len(known)}"
        yield f"| {quantity} | {goal} | {reached} | {len(errors) - len(known)} | {covered} |"
    for name, right in scores.right.items():
        yield f"| {name} | | {sum(right)} of {len(right)} | | |"
    yield ""
    heads = ("goodput, mean error", "95 % delay, mean error", "goodput, median", "95 % delay, median")
    yield f"| prediction of BBR from CUBIC | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    for name, errors in scores.predictions.items():
        cells = [
            f"{function(errors[quantity]):.1%}"
            for function in (np.mean, np.median)
            for quantity in ("goodput_bps", "rtt_p95_ms")
        ]
        yield f"| {name} | {' | '.join(cells)} |"
