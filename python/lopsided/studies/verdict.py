"""What a run says, in a few sentences from its own numbers: what the line did to its users, and what to try.

In this order, each only where it applies: how far the round trips rose above those of empty queues and where packets
waited, who lost goodput when another flow joined, how long transfers took, what calls lost, and one thing to try. The
bounds from which something is worth a sentence are below.

Left out: causes inside TCP, which `lopsided explain` tells, and comparisons with other settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided.data import series, units

if TYPE_CHECKING:
    from lopsided.scenario import Run

_BLOAT = 2.0
"""Round trips this many times those of empty queues are told of,"""
_BLOAT_MS = 20.0
"""if they are longer by this much."""
_EXPLAINED = 0.2
"""A mean wait that is a smaller share of the rise does not explain it: packets waited elsewhere, as for a medium."""
_LONG_WAIT_MS = 50.0
"""A mean wait in one queue that explains a loss of goodput, and for which something better is worth trying."""
_LOST_SHARE = 0.6
"""A flow that keeps less than this share of its goodput has lost it to who joined."""
_SETTLED_S = 3.0
"""Time in which a flow finds its rate; also the least that is measured."""
_MOST_LOST = 0.01

Row = Mapping[str, Any]


def verdict(run: Run) -> list[str]:
    """The sentences; none for a run without flows that delivered anything."""
    flows = [row for row in run.flows.rows() if row["delivered_bytes"]]
    if not flows:
        return ["No flow delivered anything."] if len(run.flows) else []
    kinds = {flow["name"]: flow["app"]["kind"] for flow in run.scenario.resolved["flows"]}
    queue = _longest_queue(list(run.links.rows()))
    found = [
        *_round_trips([row for row in flows if kinds.get(row["name"]) != "udp"], queue),
        *_starved(run, flows, queue),
        *_completions(flows),
        *_calls(flows, kinds),
        *_to_try(run, queue),
    ]
    return found or _nothing_to_tell(run, flows)


@dataclass(frozen=True)
class _Queue:
    """The queue in which packets waited longest on average."""

    link: str
    direction: str
    mean_ms: float
    dropped: int

    def __str__(self) -> str:
        return f"{self.link} {self.direction}"


def _longest_queue(links: Sequence[Row]) -> _Queue | None:
    waited = [row for row in links if row["sojourn_mean_ms"]]
    if not waited:
        return None
    row = max(waited, key=lambda row: row["sojourn_mean_ms"])
    return _Queue(row["link"], row["direction"], row["sojourn_mean_ms"], row["dropped_packets"])


def _round_trips(flows: Sequence[Row], queue: _Queue | None) -> Iterator[str]:
    timed = [row for row in flows if row["rtt_min_ms"] and row["rtt_mean_ms"]]
    if not timed:
        return
    worst = max(timed, key=lambda row: row["rtt_mean_ms"] / row["rtt_min_ms"])
    least, mean, p95 = worst["rtt_min_ms"], worst["rtt_mean_ms"], worst["rtt_p95_ms"]
    if mean < _BLOAT * least or mean - least < _BLOAT_MS:
        short = f"{units.millis(mean)} on average, {units.millis(least)} at best"
        yield f"Round trips stay short: {worst['name']} has {short}."
        return
    where = ""
    if queue and queue.mean_ms < _EXPLAINED * (mean - least):
        where = f"; little of it before links, {units.millis(queue.mean_ms)} on average at most"
    elif queue:
        where = f"; packets wait longest before {queue}, {units.millis(queue.mean_ms)} on average"
    yield (
        f"Round trips of {worst['name']} rise from {units.millis(least)} to {units.millis(mean)} on average and "
        f"{units.millis(p95)} for the slowest twentieth{where}."
    )


def _starved(run: Run, flows: Sequence[Row], queue: _Queue | None) -> Iterator[str]:
    """The flow that lost the largest share of its goodput when all were active."""
    if len(flows) < 2 or len(run.samples) == 0:
        return
    starts = sorted(row["start_s"] for row in flows)
    joined, stop = max(starts), min(row["stop_s"] for row in flows)
    early = [row for row in flows if row["start_s"] == starts[0]]
    alone_until = next((start for start in starts if start > starts[0]), None)
    if alone_until is None or alone_until - starts[0] < 2 * _SETTLED_S or stop - joined < 2 * _SETTLED_S:
        return
    kept: list[tuple[float, Row, float, float]] = []
    for row in early:
        before = series.goodput_between(run, row["name"], starts[0] + _SETTLED_S, alone_until)
        after = series.goodput_between(run, row["name"], joined + _SETTLED_S, stop)
        if before > 0:
            kept.append((after / before, row, before, after))
    if not kept:
        return
    share, row, before, after = min(kept, key=lambda each: each[0])
    if share > _LOST_SHARE:
        return
    others = [other for other in flows if other["start_s"] > starts[0]]
    names = others[0]["name"] if len(others) == 1 else f"{len(others)} more flows"
    opposite = all(other["direction"] != row["direction"] for other in others)
    why = ""
    if opposite and queue and queue.direction != row["direction"] and queue.mean_ms >= _LONG_WAIT_MS:
        why = f": its acknowledgements wait before {queue}"
    elif not opposite:
        why = ", which it shares the line with"
    yield f"{row['name']} falls from {units.rate(before)} to {units.rate(after)} once {names} joined{why}."


def _completions(flows: Sequence[Row]) -> Iterator[str]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in flows:
        if row["completion_s"] is not None and row["transfers"]:
            groups[row["group"]].append(row)
    for group, rows in groups.items():
        count = sum(row["transfers"] for row in rows)
        mean = sum(row["completion_s"] * row["transfers"] for row in rows) / count
        longest = max(row["completion_max_s"] for row in rows)
        yield (
            f"{count:,} transfers of {group} took {units.millis(mean * 1e3)} on average, "
            f"{units.millis(longest * 1e3)} at most."
        )


def _calls(flows: Sequence[Row], kinds: Mapping[str, str]) -> Iterator[str]:
    for row in flows:
        if kinds.get(row["name"]) != "udp" or not row["data_segments_out"]:
            continue
        lost = row["lost_packets"] / row["data_segments_out"]
        if lost >= _MOST_LOST:
            late = row["rtt_p95_ms"]
            slow = f"; the slowest twentieth was under way for {units.millis(late)}" if late else ""
            yield f"{row['name']} lost {units.percent(lost)} of its datagrams{slow}."


def _to_try(run: Run, queue: _Queue | None) -> Iterator[str]:
    if queue is None or queue.mean_ms < _LONG_WAIT_MS:
        return
    kind = next(
        link[way]["queue"]["kind"]
        for link in run.scenario.resolved["links"]
        for way in ("down", "up")
        if (link["name"], way) == (queue.link, queue.direction)
    )
    if kind == "fifo":
        yield f"Worth a try before {queue}: a shorter buffer (`lopsided size`) or fq_codel (`lopsided aqm`)."


def _nothing_to_tell(run: Run, flows: Sequence[Row]) -> list[str]:
    total = sum(row["goodput_bps"] for row in flows)
    return [f"{len(flows)} flow{'s' if len(flows) != 1 else ''} got {units.rate(total)} in all."]
