"""Scores `lopsided analyze` on the corpus and prints the tables of `docs/analyze.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import lopsided as lop
from reference.analyze import truth
from reference.analyze.corpus import Case
from reference.analyze.truth import Truth

VANTAGES = {"sender": "server", "receiver": "client", "middle": "link"}
"""For each point of capture, the prefix of its capture files."""

BULK = ("download", "two-way", "upload")
"""Traffic patterns with a bulk flow. The congestion control is scored only for these patterns, because only a bulk flow
reveals it."""

DROPS = 10
"""Minimum number of drops. Below this number, the queue discipline that `analyze` reports is not scored."""


@dataclass
class Scores:
    """The scores of `lopsided analyze` for captures from one point of capture."""

    confusion: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """For each pair of true limit and reported limit, the total time in ms."""
    errors: dict[str, list[tuple[str, float]]] = field(default_factory=dict[str, list[tuple[str, float]]])
    """For each quantity, the error in each case. The error of the minimum RTT is in ms, and all other errors are
    relative. NaN if `analyze` reports no value."""
    discipline: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    confused: list[str] = field(default_factory=list[str])
    """The queues whose discipline is wrong or unknown."""
    control: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def error(self, quantity: str, case: Case, value: float) -> None:
        self.errors.setdefault(quantity, []).append((case.name, value))


def score(folder: Path, cases: list[Case], world: str) -> dict[str, Scores]:
    """Returns the scores for each point of capture."""
    found = {vantage: Scores() for vantage in VANTAGES}
    for case in cases:
        home = folder / world / case.name
        if not (home / "flows.parquet").exists():
            continue
        limits = truth.limits(home, case)
        listed = pl.read_csv(home / "pcap" / "flows.csv").to_dicts()
        for path in sorted((home / "pcap").glob("*.pcapng")):
            capture = lop.analyze(path)
            for flow, right in zip(listed, limits, strict=True):
                _flow(found, _vantage(path, flow), capture, case, home, flow, right)
    return found


def _vantage(path: Path, flow: dict[str, Any]) -> str:
    place = path.stem.partition("-")[2]
    if path.stem.startswith("link"):
        return "middle"
    return "sender" if place == flow["from"] else "receiver"


def _flow(
    found: dict[str, Scores],
    vantage: str,
    capture: lop.Capture,
    case: Case,
    home: Path,
    flow: dict[str, Any],
    limits: Truth,
) -> None:
    scores = found[vantage]
    rows = [row for row in capture.largest if (row["to"], row["to_port"]) == (flow["address"], flow["port"])]
    if not rows:
        return
    for row in rows:
        _limits(scores, capture, row, limits.seen(vantage, case.rtt_ms / 1e3), limits.limit)
    row = rows[0]
    downwards = flow["to"] == "client"
    rate, back = (case.down_bps, case.up_bps) if downwards else (case.up_bps, case.down_bps)
    scores.error("data rate", case, _relative(row["data_rate_bps"], rate))
    if case.pattern == "two-way":
        scores.error("ACK rate", case, _relative(row["ack_rate_bps"], back))
    scores.error("RTT floor", case, (row["rtt_floor_ms"] or float("nan")) - _floor_ms(case))
    way = "down" if downwards else "up"
    links = pl.read_parquet(home / "links.parquet").filter(pl.col("direction") == way)
    main = downwards == (case.pattern != "upload")
    dropped = links["dropped_packets"][0] or 0
    if way in case.queues and dropped >= DROPS:
        queue, limit_bytes = case.queues[way]
        kind = "drop_tail" if queue == "fifo" else "aqm"
        scores.discipline[kind, row["data_discipline"]] += 1
        if kind != row["data_discipline"]:
            scores.confused.append(f"{case.name.rpartition('-')[2]} {way} {queue}: {row['data_discipline']}")
        if kind == "drop_tail":
            scores.error("buffer", case, _relative(row["data_buffer_bytes"], limit_bytes))
    if main and case.pattern in BULK:
        scores.control[case.control, row["cc"]] += 1


def _relative(value: float | None, right: float) -> float:
    return float("nan") if value is None else value / right - 1


def _floor_ms(case: Case) -> float:
    """Returns the RTT in ms of a 60-byte packet on the idle line."""
    serial = 0.0 if "shaper" in case.tables["link"]["down"] else 60 * 8e3 * (1 / case.down_bps + 1 / case.up_bps)
    return case.rtt_ms + serial


def _limits(
    scores: Scores, capture: lop.Capture, row: dict[str, Any], bounds: NDArray[np.float64], right: NDArray[np.int8]
) -> None:
    begin = capture.facts["begin_s"]
    bins = capture.timeline.to_polars().filter(pl.col("direction") == row["direction"])
    for place in bins.iter_rows(named=True):
        if not place["limit"]:
            continue
        since = begin + place["time_s"]
        until = since + place["width_s"]
        inside = slice(max(0, np.searchsorted(bounds, since) - 1), np.searchsorted(bounds, until))
        spans = np.diff(np.clip(bounds[inside.start : inside.stop + 1], since, until))
        known = right[inside] >= 0
        shown = np.bincount(right[inside][known], spans[known])
        if np.any(shown):
            true = truth.LIMITS[int(shown.argmax())]
            said = "receive_window" if place["limit"] == "receiver_stall" else place["limit"]
            scores.confusion[true, said] += round(1000 * place["width_s"])


def tables(found: dict[str, Scores]) -> Iterator[str]:
    """Yields the lines of the score tables in Markdown."""
    yield "| point | limit right | macro F1 | worst classes |"
    yield "|---|---|---|---|"
    for vantage, scores in found.items():
        right, f1 = _f1(scores.confusion)
        worst = ", ".join(f"{name} {value:.2f}" for name, value in sorted(f1.items(), key=lambda each: each[1])[:3])
        yield f"| {vantage} | {right:.1%} | {np.mean(list(f1.values())):.2f} | {worst} |"
    yield ""
    yield "| quantity | within | " + " | ".join(found) + " |"
    yield "|---|---|" + "---|" * len(found)
    for quantity, bound in (("data rate", 0.03), ("ACK rate", 0.03), ("buffer", 0.1), ("RTT floor", 1.0)):
        cells = [_within(scores.errors.get(quantity, []), bound) for scores in found.values()]
        yield f"| {quantity} | {'1 ms' if bound == 1.0 else f'{bound:.0%}'} | " + " | ".join(cells) + " |"
    for name in ("discipline", "control"):
        cells = [_right(getattr(scores, name)) for scores in found.values()]
        yield f"| {name} | | " + " | ".join(cells) + " |"


def _within(errors: list[tuple[str, float]], bound: float) -> str:
    known = [abs(error) for _, error in errors if not np.isnan(error)]
    return f"{sum(error <= bound for error in known)} of {len(known)} ({len(errors) - len(known)} not shown)"


def _right(counts: Counter[tuple[str, str]]) -> str:
    right = sum(count for (true, said), count in counts.items() if true == said)
    unknown = sum(count for (_, said), count in counts.items() if said == "unknown")
    return f"{right} of {counts.total()} ({unknown} unknown)"


def _f1(confusion: Counter[tuple[str, str]]) -> tuple[float, dict[str, float]]:
    """Returns the fraction of the time in which the reported limit is correct, and the F1 score of each limit."""
    right = sum(time for (true, said), time in confusion.items() if true == said)
    f1: dict[str, float] = {}
    for name in truth.LIMITS:
        hit = confusion[name, name]
        real = sum(time for (true, _), time in confusion.items() if true == name)
        said = sum(time for (_, said), time in confusion.items() if said == name)
        if real:
            f1[name] = 2 * hit / (real + said)
    return right / max(1, confusion.total()), f1


def details(found: dict[str, Scores]) -> Iterator[str]:
    """Yields the lines of the confusion matrices, and of the errors in each case."""
    for vantage, scores in found.items():
        yield f"\n{vantage}: seconds by true limit (rows) and reported limit"
        said = sorted({said for _, said in scores.confusion})
        yield " " * 16 + "".join(f"{name[:9]:>10}" for name in said)
        for true in truth.LIMITS:
            yield f"{true:16}" + "".join(f"{scores.confusion[true, name] / 1e3:10.1f}" for name in said)
        for quantity, errors in scores.errors.items():
            yield f"{quantity}: " + "  ".join(f"{name.rpartition('-')[2]} {error:+.3g}" for name, error in errors)
        yield f"discipline: {dict(scores.discipline)}; {', '.join(scores.confused)}"
        yield f"control: {dict(scores.control)}"
