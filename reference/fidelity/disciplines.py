"""Managed queues beside Linux', in whole runs.

`python -m reference.fidelity.disciplines` writes docs/fidelity/disciplines.md. Each discipline stands before the same
line on Linux and in the simulator, with the same seeds, at several round trips, with and without ECN. What was measured
on Linux is kept in `docs/fidelity/disciplines.csv` run by run, and only what is missing there is measured, for
`--minutes` at most; with `--recorded` nothing is, but the simulator.

A cell is held to its bounds by medians over the seeds that both have. Where it is beyond, more seeds of the simulator
say whether that is chance (`reference/fidelity/chance.py`): the difference of the means in its standard errors.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

import lopsided as lop
from lopsided.data import units
from lopsided.papers.framework import claims
from lopsided.settings import Tables, setting_text
from lopsided.studies.aqm.disciplines import Discipline
from reference.fidelity import promises, stamps
from reference.fidelity.chance import STANDARD_ERRORS, Value
from reference.fidelity.promises import Promise
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import percent, table

DOCS = Path(__file__).parents[2] / "docs" / "fidelity"
RECORDS = DOCS / "disciplines.csv"
_RED = {"kind": "red", "limit": "150 kB", "min": "15 kB", "max": "45 kB", "probability": 0.1, "avpkt": "1000 B"}
_CHOKE = {"kind": "choke", "limit": "200 packets", "min": "20 packets", "max": "60 packets", "probability": 0.1}
QUEUES: Mapping[str, str | Tables] = {
    **{name: name for name in ("codel", "fq_codel", "pie", "cake", "fq_pie")},
    "red": _RED,
    "choke": _CHOKE,
    "sfq": "sfq",
    "fq": "fq",
    "fifo": "100 packets",
}
"""Each by its name on the page: its defaults, but where these hold nothing back or Linux counts otherwise."""
HERE: Mapping[str, str | Tables] = {
    **QUEUES,
    "pie": {"kind": "pie", "tupdate": "20 ms"},
    "fq_pie": {"kind": "fq_pie", "tupdate": "20 ms"},
    "red": {**_RED, "idle_decay": False},
    "choke": {**_CHOKE, "idle_decay": False},
}
"""What the simulator runs instead: Linux' timer makes 20 ms of PIE's 15 between updates (docs/fidelity/queues.md), and
the kernel world's htb asks RED and CHOKe for no packet where there is none, so that they learn of no idle time."""
WITHOUT_ECN = ("sfq", "fq", "fifo")
GRID = ((100, False), (20, False), (500, False), (100, True), (20, True), (500, True), (200, False), (200, True))
"""Round trips in ms, and whether ECN is used, the most telling first."""
SEEDS = (1, 2, 3, 4)
"""On Linux; the simulator runs those that are recorded, and"""
SIM_SEEDS = tuple(range(1, 13))
"""these, for what chance gives."""
DRAWN = ("pie", "fq_pie", "red", "choke")
"""Those that draw at random."""
BOUNDS = {"goodput_bps": 0.03, "sojourn_mean_ms": 0.10, "sojourn_p95_ms": 0.10, "signals": 0.15}
"""How far the simulator's median may be from Linux', as a share. Signals are drops, with ECN marks and drops."""


def line(rtt: int, duration: int) -> lop.Scenario:
    """Two CUBIC downloads over a line with this round trip in ms, for this number of seconds."""
    tables = {
        "scenario": {"title": "Two CUBIC downloads", "duration": f"{duration} s"},
        "link": {
            "rtt": f"{rtt} ms",
            "framing": "ethernet",
            "down": {"rate": "20 Mbit/s"},
            "up": {"rate": "2 Mbit/s"},
        },
        "stack": {"cc": "cubic"},
        "flow": [{"name": "download", "direction": "down", "count": 2, "start_jitter": "1 s"}],
    }
    return lop.Scenario.build(tables, f"{rtt}-ms")


Row = dict[str, Any]
Key = tuple[str, int, bool]


def measured(world: str, queue: str, rtt: int, ecn: bool, seed: int) -> Row:
    """What one run of a discipline gives."""
    found = lop.aqm(
        line(rtt, 20 if rtt < 200 else 30),
        [Discipline(queue, setting_text((QUEUES if world == "kernel" else HERE)[queue]))],
        direction="down",
        probe=False,
        ecn=ecn,
        repeat=1,
        seed=seed,
        world=world,
        workers=1,
    )
    row = next(iter(found.runs.rows()))
    return {
        "queue": queue,
        "rtt_ms": rtt,
        "ecn": ecn,
        "seed": seed,
        "goodput_bps": round(row["goodput_bps"]),
        "sojourn_mean_ms": round(row["sojourn_mean_ms"], 4),
        "sojourn_p95_ms": round(row["sojourn_p95_ms"], 4),
        "drops": round(row["dropped_packets"]),
        "marks": round(row["marked_packets"]),
        "signals": round(row["dropped_packets"] + row["marked_packets"]),
    }


def probes() -> list[Probe]:
    """A few of the lines, which tell whether the page is of the simulator of today."""
    wanted = ("codel", "red", "cake")
    return [Probe(name, line(20, 20).with_(**{"link.down.queue": HERE[name]})) for name in wanted]


def simulated(run: tuple[str, int, bool, int]) -> Row:
    """The same in the simulator, for a pool of processes."""
    return measured("sim", *run)


def to_measure(known: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int, bool, int]]:
    """The runs that are not recorded yet, those first that give each cell its first seeds."""
    there = {(row["queue"], row["rtt_ms"], row["ecn"], row["seed"]) for row in known}
    for rtt, ecn in GRID:
        for seed in SEEDS:
            for queue in QUEUES:
                run = (queue, rtt, ecn, seed)
                if run not in there and not (ecn and queue in WITHOUT_ECN):
                    yield run


def medians(rows: Iterable[Mapping[str, Any]]) -> dict[Key, dict[str, float]]:
    """The median over the seeds of each quantity."""
    from statistics import median

    cells: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(_key(row), []).append(row)
    names = (*BOUNDS, "drops", "marks")
    return {key: {name: median(row[name] for row in group) for name in names} for key, group in cells.items()}


def beyond(theirs: Mapping[Key, Mapping[str, float]], ours: Mapping[Key, Mapping[str, float]]) -> dict[Key, list[str]]:
    """Of each cell what is beyond its bound."""
    return {
        key: [name for name, bound in BOUNDS.items() if abs(_off(cell[name], ours[key][name])) > bound]
        for key, cell in theirs.items()
    }


def page(linux: list[Row], sim: list[Row]) -> str:
    """The document: Linux' runs beside the simulator's, which has those of all its seeds too."""
    seeds = Counter(_key(row) for row in linux)
    shared = {(_key(row), row["seed"]) for row in linux}
    theirs, ours = medians(linux), medians(row for row in sim if (_key(row), row["seed"]) in shared)
    keys = sorted(theirs, key=lambda key: (list(QUEUES).index(key[0]), key[1:]))
    off = beyond(theirs, ours)
    values = {key: {name: _value(key, name, linux, sim) for name in off[key]} for key in keys}
    rows: list[list[str]] = []
    for key in keys:
        queue, rtt, ecn = key
        cells = [queue, str(rtt), "on" if ecn else "off", str(seeds[key])]
        for name in BOUNDS:
            expected, found = theirs[key][name], ours[key][name]
            text = percent(_off(expected, found), signed=True, bold=name in off[key])
            cells += [_text(name, expected), _text(name, found), text]
        rows.append([*cells, _chance(values[key])])
    within = ", ".join(f"{label} {sum(name not in off[key] for key in keys)}" for name, label in _LABELS.items())
    chance = [key for key in keys if off[key] and all(value.by_chance for value in values[key].values())]
    head = _HEAD.format(
        seeds=max(seeds.values()),
        sim_seeds=len(SIM_SEEDS),
        cells=len(keys),
        within=within,
        whole=sum(not off[key] for key in keys),
        chance=len(chance),
        apart=(apart := sum(bool(off[key]) for key in keys) - len(chance)),
        errors=f"{STANDARD_ERRORS:g}",
        promised="\n".join(promises.rows([promised(apart)])),
    )
    together = table("queue | goodput | wait | p95 | signals", _together(keys, linux, sim))
    return head + "\n".join([*table(_COLUMNS, rows), _TOGETHER, *together])


def promised(apart: int) -> Promise:
    """That the seeds explain what is beyond a bound."""
    return Promise(
        "Every cell is within its bounds, or beyond them by chance.",
        claims.at_most(0, [claims.number("cells that the seeds do not explain", apart)]),
    )


def _together(keys: Iterable[Key], linux: list[Row], sim: list[Row]) -> Iterator[list[str]]:
    """Rows of the disciplines that draw: the mean error of each quantity over all their cells, and Stouffer's sum."""
    for queue in DRAWN:
        texts: list[str] = []
        for name, bound in BOUNDS.items():
            values = [_value(key, name, linux, sim) for key in keys if key[0] == queue]
            error = fmean(value.error for value in values)
            errors = sum(value.in_standard_errors for value in values) / math.sqrt(len(values))
            text = f"{percent(error, signed=True)} ({errors:+.1f})"
            texts.append(f"**{text}**" if abs(error) > bound and abs(errors) > STANDARD_ERRORS else text)
        yield [queue, *texts]


def _key(row: Mapping[str, Any]) -> Key:
    return row["queue"], row["rtt_ms"], row["ecn"]


def _value(key: Key, name: str, linux: Iterable[Row], sim: Iterable[Row]) -> Value:
    """A quantity of a cell in both worlds, by seed."""
    of_linux, of_sim = (tuple(float(row[name]) for row in rows if _key(row) == key) for rows in (linux, sim))
    return Value(of_linux, of_sim)


def _chance(values: Mapping[str, Value]) -> str:
    """What is beyond its bound, in standard errors; bold where the seeds do not explain it."""
    texts = [f"{_SHORT[name]} {value.in_standard_errors:+.1f}" for name, value in values.items()]
    return ", ".join(
        text if value.by_chance else f"**{text}**" for text, value in zip(texts, values.values(), strict=True)
    )


def _off(expected: float, found: float) -> float:
    return found / expected - 1 if expected else 0.0


_LABELS = {
    "goodput_bps": "goodput",
    "sojourn_mean_ms": "mean wait",
    "sojourn_p95_ms": "95th percentile of the wait",
    "signals": "drops and marks",
}


_SHORT = {"goodput_bps": "goodput", "sojourn_mean_ms": "wait", "sojourn_p95_ms": "p95", "signals": "signals"}


def _text(name: str, value: float) -> str:
    if name == "goodput_bps":
        return f"{value / 1e6:.2f}"
    return units.count(value) if name == "signals" else f"{value:.2f}"


_TOGETHER = """\
One cell has few seeds. So those disciplines that draw at random, all cells of each together: the mean difference of
the means, and how many standard errors the cells come to (their sum over the square root of their number; **bold**
beyond the bound and 3).
"""
_COLUMNS = (
    "queue | RTT | ECN | seeds | goodput Linux | sim | off | wait | sim | off | p95 | sim | off | signals | sim | off"
    " | by chance?"
)
_HEAD = """\
# Managed queues beside Linux'

Made by `python -m reference.fidelity.disciplines`; do not edit. Two CUBIC downloads over 20 Mbit/s, queues at their
defaults (RED 15 to 45 kB, CHOKe 20 to 60 packets, FIFO 100 packets), on Linux 6.1 in virtual time and in the simulator,
with the same seeds (up to {seeds}, medians over them), 20 s (30 s from 200 ms on), starts within a second. With ECN
both ends use it and the disciplines mark (CAKE marks anyway). Goodput in Mbit/s, waits in the queue in ms of single
packets; signals are drops and marks of the run.

Bounds: goodput 3 %, waits 10 %, signals 15 %; what is beyond is **bold**. Of {cells} cells within them: {within};
in all four: {whole}. The last column says how far what is beyond is by chance: the difference between the mean of
Linux' runs and that of {sim_seeds} seeds of the simulator, in standard errors, **bold** above {errors}. So the seeds
explain {chance} more cells, and {apart} they do not.

{promised}
"""


def _write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def recorded() -> list[Row]:
    """What was measured on Linux."""
    with RECORDS.open() as text:
        return [
            {name: value == "True" if name == "ecn" else _number(value) for name, value in row.items()}
            for row in csv.DictReader(text)
        ]


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="take Linux' values from the file")
    parser.add_argument("--minutes", type=float, default=60, help="start no run on Linux later than this")
    parser.add_argument("--workers", type=int, help="processes of the simulator; default: one for each core")
    arguments = parser.parse_args()
    began, linux = time.monotonic(), recorded()
    for run in () if arguments.recorded else list(to_measure(linux)):
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        linux.append(measured("kernel", *run))
        # At once, so that what was measured is not lost with what is still to be.
        _write(RECORDS, linux)
        print("Linux:", *run, flush=True)
    # Not forked: the runs on Linux have begun threads, whose locks a fork would hold for good.
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
        cells = dict.fromkeys(_key(row) for row in linux)
        sim = list(pool.map(simulated, ((*cell, seed) for cell in cells for seed in SIM_SEEDS), chunksize=4))
    notes = DOCS / "disciplines-causes.md"
    text = page(linux, sim)
    stamps.write(DOCS, "disciplines.md", probes())
    (DOCS / "disciplines.md").write_text(text + ("\n" + notes.read_text() if notes.exists() else ""))


if __name__ == "__main__":
    main()
