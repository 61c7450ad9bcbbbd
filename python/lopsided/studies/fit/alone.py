"""Fits a line to the log of a measurement tool such as Flent, without a capture.

A log shows goodput, the smallest RTT, and the RTT under load. A line with these values is simulated under each queue
discipline. The rate of the line is scaled until the simulated goodput equals the goodput in the log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.data import units
from lopsided.data.study_tables import FIT_CHOICES, FIT_PARAMETERS, FIT_REMEDIES, FIT_TIMELINE, FIT_TRIALS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.scenario import Scenario, checked_seed
from lopsided.studies.fit.line import AQMS, PACKET, QUEUES, WAYS, Way
from lopsided.studies.fit.logs import Log, read_log
from lopsided.studies.fit.remedies import measure, remedies
from lopsided.studies.fit.result import CLEAR, Fit
from lopsided.studies.fit.statistics import distance
from lopsided.studies.jobs import Progress

STANDING_MS = 100.0
"""Median queueing delay in ms above which a queue counts as drop-tail. CoDel's target is 5 ms, PIE's target is 15 ms,
and CoDel's interval is 100 ms (RFC 8289, RFC 8033)."""
STANDING_PACKETS = 5
"""A queue counts as drop-tail only if its delay also exceeds the transmission time of this number of full packets. On a
slow line, an AQM keeps at least one or two packets in the queue."""
FEWEST = 20
"""Minimum number of RTT samples under load for computing a delay."""
LENGTHS_S = (10.0, 60.0)
"""Shortest and longest simulation in seconds."""
RATE_TOLERANCE, DELAY_TOLERANCE = 0.03, 0.1
"""Relative tolerances of goodput and RTT. They are the units of the distance between a simulated line and the log."""
PLACEHOLDER_MS = 30.0
"""RTT in ms that the scenario assumes if the log contains no RTT."""
STEPS = 3
"""Number of simulations per queue discipline. Each simulation except the last adjusts the rates."""
ALIKE = 1.0
"""A discipline is reported as possible if its distance from the log exceeds the smallest distance by at most this
number of tolerances."""
SPARSE = ("fq_codel", "fq_pie", "cake")
"""Disciplines that send the packets of a ping before the packets of bulk flows."""
_NAMES: Mapping[Way, str] = {"down": "download", "up": "upload"}


@dataclass(frozen=True)
class _Line:
    """A simulated line, and its distance from the log."""

    kind: str
    rates: Mapping[Way, float]
    scenario: Scenario
    distance: float


def fit_log(
    path: Path,
    *,
    with_remedies: bool = True,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Returns the line that was fitted to a log.

    Raises UsageError if the file is not a log, or if the log contains no rate.
    """
    log = read_log(path)
    if not log.rate_bps:
        raise UsageError(f"{path.name} is a log of {log.kind} without a rate: name a capture, and the log with --with")
    delay_ms = _delay_ms(log)
    standing = delay_ms is not None and delay_ms[0] >= _standing_ms(log)
    kinds = ("cake",) if log.shaped else ("fifo",) if standing or delay_ms is None else QUEUES
    lines = [line for kind in kinds for line in _lines(log, kind, delay_ms, checked_seed(seed))]
    last = sorted(lines[STEPS - 1 :: STEPS], key=lambda line: line.distance)
    best = last[0]
    possible = [line.kind for line in last if line.distance <= best.distance + ALIKE]
    loaded: list[Way] = [way for way in WAYS if log.flows.get(way)]
    table = Table.of([], FIT_REMEDIES)
    if with_remedies and loaded and delay_ms is not None and best.distance <= CLEAR:
        table = remedies(best.scenario, loaded, workers=workers, progress=progress)
    choices: list[Row] = []
    if delay_ms is not None or log.shaped:
        for line in last:
            status = "best" if line is best else "possible" if line.kind in possible else "rejected"
            row = {"name": line.kind, "distance": line.distance, "status": status}
            choices += [{"choice": f"queue.{way}", **row} for way in (WAYS if log.shaped else loaded)]
    trials = [
        {"trial": number, "distance": line.distance, "structure": line.kind, "parameters": _rates(line)}
        for number, line in enumerate(lines, 1)
    ]
    return Fit(
        source=str(path),
        scenario=best.scenario,
        distance=best.distance,
        parameters=Table.of(_parameters(log, best, possible, delay_ms), FIT_PARAMETERS),
        choices=Table.of(choices, FIT_CHOICES),
        timeline=Table.of([], FIT_TIMELINE),
        trials=Table.of(trials, FIT_TRIALS),
        remedies=table,
        seed=seed,
        notes=_notes(log, delay_ms, standing=standing),
        from_log=True,
    )


def _lines(log: Log, kind: str, delay_ms: tuple[float, float] | None, seed: int) -> list[_Line]:
    """Simulates a queue discipline `STEPS` times, with rates closer to the log's goodput each time."""
    rates: dict[Way, float] = {way: log.rate_bps.get(way) or max(log.rate_bps.values()) for way in WAYS}
    found: list[_Line] = []
    for _ in range(STEPS):
        scenario = _scenario(log, kind, rates, delay_ms)
        seen = measure(scenario.run(seed=seed))
        if kind in SPARSE and log.floor_ms is not None:
            seen["rtt_p95_ms"] = log.floor_ms + sum(PACKET * 8e3 / rates[way] for way in log.flows)
        found.append(_Line(kind, dict(rates), scenario, distance(_statistics(log), _simulated(seen))))
        for way, goodput in log.goodput_bps.items():
            if simulated := seen[f"{way}_goodput_bps"]:
                rates[way] *= min(max(goodput / simulated, 0.5), 2.0)
    return found


def _rates(line: _Line) -> str:
    return ", ".join(f"rate.{way} = {rate:.6g}" for way, rate in line.rates.items())


def _delay_ms(log: Log) -> tuple[float, float] | None:
    """Returns the median and the 95th percentile of the queueing delay under load, in ms; `None` if the log does not
    show this delay."""
    if log.floor_ms is None or len(log.loaded_ms) < FEWEST:
        return None
    middle, high = np.quantile(log.loaded_ms, (0.5, 0.95)) - log.floor_ms
    return max(float(middle), 0.0), max(float(high), 0.0)


def _standing_ms(log: Log) -> float:
    slowest = min(rate for way, rate in log.rate_bps.items() if way in log.flows or not log.flows)
    return max(STANDING_MS, STANDING_PACKETS * PACKET * 8e3 / slowest)


def _buffer(log: Log, way: Way, rate_bps: float, delay_ms: tuple[float, float] | None) -> float | None:
    """Returns the number of bytes that waited in a loaded direction. All loaded directions are assumed to have equal
    delays."""
    if delay_ms is None or way not in log.flows:
        return None
    return max(delay_ms[1] / len(log.flows) * rate_bps / 8e3, 2.0 * PACKET)


def _scenario(log: Log, kind: str, rates: Mapping[Way, float], delay_ms: tuple[float, float] | None) -> Scenario:
    serial_ms = sum(60 * 8e3 / rate for rate in rates.values())
    line: dict[str, Any] = {"rtt": f"{max((log.floor_ms or PLACEHOLDER_MS) - serial_ms, 0.01):.4f} ms"}
    for way in WAYS:
        buffer = _buffer(log, way, rates[way], delay_ms)
        packets = 1000 if buffer is None else max(2, round(buffer / PACKET))
        managed = kind in AQMS and (way in log.flows or log.shaped)
        queue = {"kind": kind} if managed else {"kind": "fifo", "limit": f"{packets} packets"}
        line[way] = {"rate": f"{round(rates[way])} bit/s", "queue": queue}
    flows = log.flows or dict.fromkeys(log.rate_bps, 1)
    tables = {
        "scenario": {
            "title": "Fitted to a log",
            "duration": f"{min(max(log.loaded_s, LENGTHS_S[0]), LENGTHS_S[1]):.1f} s",
        },
        "link": line,
        "flow": [
            {"name": f"{_NAMES[way]}{number}", "direction": way}
            for way, count in flows.items()
            for number in range(1, count + 1)
        ],
    }
    return Scenario.build(tables, "fit")


def _statistics(log: Log) -> dict[str, float]:
    found = {way: math.log(rate) / RATE_TOLERANCE for way, rate in log.goodput_bps.items()}
    if len(log.loaded_ms) >= FEWEST:
        found["rtt"] = math.log(float(np.quantile(log.loaded_ms, 0.95))) / DELAY_TOLERANCE
    return found


def _simulated(found: Row) -> dict[str, float]:
    values = {"down": found["down_goodput_bps"], "up": found["up_goodput_bps"], "rtt": found["rtt_p95_ms"]}
    tolerances = {"down": RATE_TOLERANCE, "up": RATE_TOLERANCE, "rtt": DELAY_TOLERANCE}
    return {name: math.log(value) / tolerances[name] for name, value in values.items() if value}


def _parameters(log: Log, best: _Line, possible: Sequence[str], delay_ms: tuple[float, float] | None) -> list[Row]:
    found: list[Row] = []

    def add(name: str, value: float | None, unit: str, *, known: bool) -> None:
        status = "log" if known else "unknown"
        found.append({"parameter": name, "value": value, "unit": unit, "status": status, "explained": 0.0})

    for way in WAYS:
        add(f"rate.{way}", best.rates[way], "bit/s", known=way in log.rate_bps)
    add("rtt_floor", log.floor_ms or PLACEHOLDER_MS, "ms", known=log.floor_ms is not None)
    for way in WAYS:
        # If both directions were loaded, the RTT contains the sum of two queueing delays.
        known = list(possible) == ["fifo"] and list(log.flows) == [way] and delay_ms is not None
        add(f"buffer.{way}", _buffer(log, way, best.rates[way], delay_ms), "B", known=known)
        add(f"framing.{way}", None, "B", known=False)
    return found


def _notes(log: Log, delay_ms: tuple[float, float] | None, *, standing: bool) -> list[str]:
    said = [
        f"The values come from a log of {log.kind}. The log shows no losses and no congestion controls: senders are "
        "simulated as CUBIC."
    ]
    if delay_ms is None:
        return [*said, "The log does not show the delay under load."]
    said.append(f"Under load, packets waited {units.millis(delay_ms[0])} (median), {units.millis(delay_ms[1])} (95 %).")
    if len(log.flows) == 2:
        said.append("Both directions were loaded: the scenario assigns half of this delay to each direction.")
    if standing:
        said.append("This queue is longer than an AQM allows: it is drop-tail.")
    return said
