"""Managed queues beside Linux', in whole runs.

`python -m reference.fidelity.disciplines` writes docs/fidelity/disciplines.md. Each discipline stands before the same
line on Linux and in the simulator, with the same seeds, at several round trips, with and without ECN. What was measured
on Linux is kept in `docs/fidelity/disciplines.csv` run by run, and only what is missing there is measured, for
`--minutes` at most; with `--recorded` nothing is, but the simulator.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lopsided as lop
from lopsided.data import units
from lopsided.studies.aqm.disciplines import Discipline

DOCS = Path(__file__).parents[2] / "docs" / "fidelity"
QUEUES: Mapping[str, str] = {
    "codel": '"codel"',
    "fq_codel": '"fq_codel"',
    "pie": '"pie"',
    "cake": '"cake"',
    "fq_pie": '"fq_pie"',
    "red": '{ kind = "red", limit = "150 kB", min = "15 kB", max = "45 kB", probability = 0.1, avpkt = "1000 B" }',
    "choke": '{ kind = "choke", limit = "200 packets", min = "20 packets", max = "60 packets", probability = 0.1 }',
    "sfq": '"sfq"',
    "fq": '"fq"',
    "fifo": '"100 packets"',
}
"""Each by its name on the page: its defaults, but where these hold nothing back or Linux counts otherwise."""
HERE: Mapping[str, str] = {
    "pie": '{ kind = "pie", tupdate = "20 ms" }',
    "fq_pie": '{ kind = "fq_pie", tupdate = "20 ms" }',
    "red": QUEUES["red"].replace(" }", ", idle_decay = false }"),
    "choke": QUEUES["choke"].replace(" }", ", idle_decay = false }"),
}
"""What the simulator runs instead: Linux' timer makes 20 ms of PIE's 15 between updates (docs/fidelity/queues.md), and
the kernel world's htb asks RED and CHOKe for no packet where there is none, so that they learn of no idle time."""
WITHOUT_ECN = ("sfq", "fq", "fifo")
GRID = ((100, False), (20, False), (500, False), (100, True), (20, True), (500, True), (200, False), (200, True))
"""Round trips in ms, and whether ECN is used, the most telling first."""
SEEDS = (1, 2, 3, 4)
"""On Linux; the simulator runs those that are recorded."""
BOUNDS = {"goodput_bps": 0.03, "sojourn_mean_ms": 0.10, "sojourn_p95_ms": 0.10, "signals": 0.15}
"""How far the simulator's median may be from Linux', as a share. Signals are drops, with ECN marks and drops."""

LINE = """
[scenario]
title = "Two CUBIC downloads"
duration = "{duration} s"
[link]
rtt = "{rtt} ms"
framing = "ethernet"
down.rate = "20 Mbit/s"
up.rate = "2 Mbit/s"
[stack]
cc = "cubic"
[[flow]]
name = "download"
direction = "down"
count = 2
start_jitter = "1 s"
"""

Row = dict[str, Any]
Key = tuple[str, int, bool]


def measured(world: str, queue: str, rtt: int, ecn: bool, seed: int) -> Row:
    """What one run of a discipline gives."""
    text = LINE.format(rtt=rtt, duration=20 if rtt < 200 else 30)
    scenario = lop.Scenario.from_text(text, f"{rtt}-ms")
    found = lop.aqm(
        scenario,
        [Discipline(queue, QUEUES[queue] if world == "kernel" else HERE.get(queue, QUEUES[queue]))],
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


def to_measure(known: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int, bool, int]]:
    """The runs that are not recorded yet, those first that give each cell its first seeds."""
    recorded = {(row["queue"], row["rtt_ms"], row["ecn"], row["seed"]) for row in known}
    for rtt, ecn in GRID:
        for seed in SEEDS:
            for queue in QUEUES:
                run = (queue, rtt, ecn, seed)
                if run not in recorded and not (ecn and queue in WITHOUT_ECN):
                    yield run


def medians(rows: Iterable[Mapping[str, Any]]) -> dict[Key, dict[str, float]]:
    """The median over the seeds of each quantity."""
    from statistics import median

    cells: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["queue"], row["rtt_ms"], row["ecn"]), []).append(row)
    names = (*BOUNDS, "drops", "marks")
    return {key: {name: median(row[name] for row in group) for name in names} for key, group in cells.items()}


def page(linux: list[Row], sim: list[Row]) -> str:
    """The document."""
    theirs, ours = medians(linux), medians(sim)
    seeds = Counter((row["queue"], row["rtt_ms"], row["ecn"]) for row in linux)
    rows: list[str] = []
    beyond = dict.fromkeys(BOUNDS, 0)
    for key in sorted(theirs, key=lambda key: (list(QUEUES).index(key[0]), key[1:])):
        queue, rtt, ecn = key
        cells = [queue, str(rtt), "on" if ecn else "off", str(seeds[key])]
        for name, bound in BOUNDS.items():
            expected, found = theirs[key][name], ours[key][name]
            off = _off(expected, found)
            beyond[name] += abs(off) > bound
            text = f"{off:+.1%}".replace("%", " %")
            cells += [_text(name, expected), _text(name, found), f"**{text}**" if abs(off) > bound else text]
        rows.append("| " + " | ".join(cells) + " |")
    within = ", ".join(f"{label} {len(theirs) - beyond[name]}" for name, label in _LABELS.items())
    return (
        _HEAD.format(seeds=len(SEEDS), cells=len(theirs), within=within, whole=_whole(theirs, ours))
        + "\n".join(rows)
        + "\n"
    )


def _off(expected: float, found: float) -> float:
    return found / expected - 1 if expected else 0.0


def _whole(theirs: Mapping[Key, Mapping[str, float]], ours: Mapping[Key, Mapping[str, float]]) -> int:
    """How many cells are within all bounds."""
    return sum(
        all(abs(_off(cell[name], ours[key][name])) <= bound for name, bound in BOUNDS.items())
        for key, cell in theirs.items()
    )


_LABELS = {
    "goodput_bps": "goodput",
    "sojourn_mean_ms": "mean wait",
    "sojourn_p95_ms": "95th percentile of the wait",
    "signals": "drops and marks",
}


def _text(name: str, value: float) -> str:
    if name == "goodput_bps":
        return f"{value / 1e6:.2f}"
    return units.count(value) if name == "signals" else f"{value:.2f}"


_HEAD = """\
# Managed queues beside Linux'

Made by `python -m reference.fidelity.disciplines`; do not edit. Two CUBIC downloads over 20 Mbit/s, queues at their
defaults (RED 15 to 45 kB, CHOKe 20 to 60 packets, FIFO 100 packets), on Linux 6.1 in virtual time and in the simulator,
with the same seeds (up to {seeds}, medians over them), 20 s (30 s from 200 ms on), starts within a second. With ECN
both ends use it and the disciplines mark (CAKE marks anyway). Goodput in Mbit/s, waits in the queue in ms of single
packets; signals are drops and marks of the run.

Bounds: goodput 3 %, waits 10 %, signals 15 %; what is beyond is **bold**. Of {cells} cells within them: {within};
in all four: {whole}.

| queue | RTT | ECN | seeds | goodput Linux | sim | off | wait | sim | off | p95 | sim | off | signals | sim | off |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def _write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _read(path: Path) -> list[Row]:
    with path.open() as text:
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
    arguments = parser.parse_args()
    began, kept = time.monotonic(), DOCS / "disciplines.csv"
    linux = _read(kept) if kept.exists() else []
    for run in () if arguments.recorded else list(to_measure(linux)):
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        linux.append(measured("kernel", *run))
        # At once, so that what was measured is not lost with what is still to be.
        _write(kept, linux)
        print("Linux:", *run, flush=True)
    sim = [measured("sim", row["queue"], row["rtt_ms"], row["ecn"], row["seed"]) for row in linux]
    notes = DOCS / "disciplines-causes.md"
    text = page(linux, sim)
    (DOCS / "disciplines.md").write_text(text + ("\n" + notes.read_text() if notes.exists() else ""))


if __name__ == "__main__":
    main()
