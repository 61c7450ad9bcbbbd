"""Managed queues beside Linux', in whole runs.

`python -m reference.fidelity.disciplines` writes docs/fidelity/disciplines.md. Each discipline stands before the same
line on Linux and in the simulator, with the same seeds, at several round trips, with and without ECN. What was measured
on Linux is kept in `docs/fidelity/disciplines.csv`, and only what is missing there is measured; with `--recorded`
nothing is, but the simulator.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lopsided as lop
from lopsided.data import units

DOCS = Path(__file__).parents[2] / "docs" / "fidelity"
QUEUES = ("codel", "fq_codel", "pie", "cake")
GRID = ((20, False), (500, False), (100, True), (100, False), (20, True), (500, True))
"""Round trips in ms, and whether ECN is used."""
SEEDS = 1
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


def measured(world: str, queues: Sequence[str], rtt: int, ecn: bool, seeds: int = SEEDS) -> list[Row]:
    """A row for each seed of each discipline at a round trip, with or without ECN."""
    text = LINE.format(rtt=rtt, duration=20 if rtt < 200 else 30)
    scenario = lop.Scenario.from_text(text, f"{rtt}-ms")
    found = lop.aqm(
        scenario, list(queues), direction="down", probe=False, ecn=ecn, repeat=seeds, world=world, workers=1
    )
    return [
        {
            "queue": row["queue"],
            "rtt_ms": rtt,
            "ecn": ecn,
            "seed": row["seed"],
            "goodput_bps": round(row["goodput_bps"]),
            "sojourn_mean_ms": round(row["sojourn_mean_ms"], 4),
            "sojourn_p95_ms": round(row["sojourn_p95_ms"], 4),
            "drops": round(row["dropped_packets"]),
            "marks": round(row["marked_packets"]),
            "signals": round(row["dropped_packets"] + row["marked_packets"]),
        }
        for row in found.runs.rows()
    ]


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
    rows: list[str] = []
    beyond = dict.fromkeys(BOUNDS, 0)
    for key in theirs:
        queue, rtt, ecn = key
        cells = [queue, str(rtt), "on" if ecn else "off"]
        for name, bound in BOUNDS.items():
            expected, found = theirs[key][name], ours[key][name]
            off = found / expected - 1 if expected else 0.0
            beyond[name] += abs(off) > bound
            text = f"{off:+.1%}".replace("%", " %")
            cells += [_text(name, expected), _text(name, found), f"**{text}**" if abs(off) > bound else text]
        rows.append("| " + " | ".join(cells) + " |")
    within = ", ".join(f"{label} {len(theirs) - beyond[name]}" for name, label in _LABELS.items())
    return (
        _HEAD.format(seeds=max(row["seed"] for row in linux), cells=len(theirs), within=within) + "\n".join(rows) + "\n"
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

Made by `python -m reference.fidelity.disciplines`; do not edit. Two CUBIC downloads over 20 Mbit/s, every queue at its
defaults, on Linux 6.1 in virtual time and in the simulator, with the same seeds (at most {seeds}, medians over them),
20 s (30 s at 500 ms), starts within a second. With ECN both ends use it and the disciplines mark (CAKE marks anyway).
Goodput in Mbit/s, waits in the queue in ms of single packets; signals are drops and marks of the run.

Bounds: goodput 3 %, waits 10 %, signals 15 %; what is beyond is **bold**. Of {cells} cells within them: {within}.

| queue | RTT | ECN | goodput Linux | sim | off by | wait | sim | off by | p95 | sim | off by | signals | sim | off by |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
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
    parser.add_argument("--queues", default=",".join(QUEUES))
    arguments = parser.parse_args()
    queues, kept = arguments.queues.split(","), DOCS / "disciplines.csv"
    linux = _read(kept) if kept.exists() else []
    for rtt, ecn in () if arguments.recorded else GRID:
        if any((row["rtt_ms"], row["ecn"]) == (rtt, ecn) for row in linux):
            continue
        linux += measured("kernel", queues, rtt, ecn)
        _write(kept, linux)
        print(f"Linux: {rtt} ms, ECN {'on' if ecn else 'off'}", flush=True)
    of_linux = list(dict.fromkeys(row["queue"] for row in linux))
    groups: dict[tuple[int, bool], int] = {}
    for row in linux:
        groups[row["rtt_ms"], row["ecn"]] = max(groups.get((row["rtt_ms"], row["ecn"]), 0), row["seed"])
    sim = [row for (rtt, ecn), seeds in groups.items() for row in measured("sim", of_linux, rtt, ecn, seeds)]
    notes = DOCS / "disciplines-causes.md"
    text = page(linux, sim)
    (DOCS / "disciplines.md").write_text(text + ("\n" + notes.read_text() if notes.exists() else ""))


if __name__ == "__main__":
    main()
