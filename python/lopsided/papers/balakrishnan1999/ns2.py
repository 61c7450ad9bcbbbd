"""Compares this simulator with the authors' own ns-2 classes.

The comparison contains the experiments that Debian's ns-2 runs correctly: Reno, ACK filtering without sender
adaptation, and the two-way transfer. In ns-2.35, ECN marks on ACKs and the burst timer have no effect. For the
experiments that need these features, tables 1 and A use recorded results from a repaired ns-2
(`reference/fidelity/authors.py`).

ns-2's results are recorded in `ns2.csv`, so that the report does not depend on the machine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from lopsided.papers.balakrishnan1999.setup import AF_ALONE, LINES, RENO, RETURN_DELAYS_MS, Scheme
from lopsided.papers.balakrishnan1999.shared import LOCKED_OUT_BPS, locked_out, lossy, two_way
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact

SCRIPT = Path(__file__).with_name("ns2.tcl")
RECORDED = Path(__file__).with_name("ns2.csv")
HEAD = "# Results of Debian's ns-2.35 for table N of balakrishnan1999, recorded by `reference.fidelity.authors`.\n"
EXPERIMENTS = ("one-way", "lossy", "two-way")
"""Experiments of the study that table N compares."""
DURATION_S = 50.0
ZEROED = {"MALLOC_PERTURB_": "255"}
"""Environment in which glibc fills new memory with zeros. ns-2.35's receiver for ACC never initializes the highest
timestamp that its sender echoed (`highest_ts_echo_` in `tcp-asym-sink.cc`). With other contents of the memory, every
packet seems to be a round trip later than the last mark."""
STARTS_S = tuple(5 + 5 * (place * 0.618034 % 1) for place in range(1, 21))
"""Start times of the upload, spread evenly over 5 to 10 s."""

QUANTITIES = ("Mbit/s", "window", "ACKs/s_delivered", "ACKs/s_filtered", "locked_out_%", "up_kbit/s")
Row = Mapping[str, float]


@dataclass(frozen=True)
class Cell:
    """One experiment of the comparison with ns-2: its name, the ns-2 options of each run, and this simulator's
    results."""

    case: str
    scheme: str
    runs: tuple[Mapping[str, object], ...]
    ours: Row


def table_n(m: Measurements) -> Artifact:
    """Returns a table that compares this simulator's results with the recorded results of ns-2, for all experiments."""
    known = pl.read_csv(RECORDED, comment_prefix="#")
    rows: list[dict[str, object]] = []
    for cell in cells(m):
        theirs = known.row(by_predicate=(pl.col("cell") == cell.case) & (pl.col("scheme") == cell.scheme), named=True)
        rows.append(_row(cell, {name: theirs[name] for name in QUANTITIES if theirs[name] is not None}))
    said = "ns-2: recorded results of Debian's ns-2.35."
    left_out = "Cells that it does not run correctly (ACC, SA, AR) are in tables 1 and A, as recorded."
    return Artifact(pl.DataFrame(rows), None, (), (said, left_out))


def cells(m: Measurements) -> list[Cell]:
    """Returns all experiments of the comparison, with this simulator's results."""
    return [*_one_way(m), *_lossy(m), _two_way(m)]


def record(program: str, m: Measurements) -> None:
    """Runs every experiment on ns-2, in two processes, and writes `ns2.csv`."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        rows = [
            {"cell": cell.case, "scheme": cell.scheme, **_mean(list(pool.map(partial(run, program), cell.runs)))}
            for cell in cells(m)
        ]
    schema = {"cell": pl.String, "scheme": pl.String, **dict.fromkeys(QUANTITIES, pl.Float64)}
    RECORDED.write_text(HEAD + pl.DataFrame(rows, schema).write_csv(float_precision=6), encoding="utf-8")


def _row(cell: Cell, found: Row) -> dict[str, object]:
    row: dict[str, object] = {"cell": cell.case, "scheme": cell.scheme}
    for name in QUANTITIES:
        row |= {name: cell.ours.get(name, np.nan), f"{name}_ns-2": found.get(name, np.nan)}
    return row


def _one_way(m: Measurements) -> Iterable[Cell]:
    for line in LINES:
        for scheme in (RENO, AF_ALONE):

            def of(column: str, key: str = line.key, scheme: str = scheme.key) -> float:
                return m.value("one-way", column, line=key, scheme=scheme).median

            run = {"scheme": scheme.key, "rate": line.rate_bps, "ack": line.ack_bytes}
            yield Cell(f"A, {line.title}", scheme.title, (run,), _download(of))


def _lossy(m: Measurements) -> Iterable[Cell]:
    case_b = {"window": 120, "edge": 10, "down": 10}
    for scheme in (RENO, AF_ALONE):

        def of(column: str, scheme: Scheme = scheme) -> float:
            return lossy(m, scheme, column).median

        runs = tuple({"scheme": scheme.key, "delay": delay, **case_b} for delay in RETURN_DELAYS_MS)
        yield Cell("B, forward loss", scheme.title, runs, _download(of))


def _download(of: Callable[[str], float]) -> Row:
    return {
        "Mbit/s": of("throughput_bps") / 1e6,
        "window": of("cwnd_packets"),
        "ACKs/s_delivered": of("acks_delivered") / DURATION_S,
        "ACKs/s_filtered": of("acks_filtered") / DURATION_S,
    }


def _two_way(m: Measurements) -> Cell:
    ours = {
        "locked_out_%": locked_out(m, RENO) * 100,
        "Mbit/s": two_way(m, RENO, "forward_bps", locked=False).median / 1e6,
        "up_kbit/s": two_way(m, RENO, "reverse_bps", locked=False).median / 1e3,
    }
    runs = tuple({"scheme": RENO.key, "edge": 100, "down": 30, "upload": start} for start in STARTS_S)
    return Cell("beside an upload, taking turns", RENO.title, runs, ours)


def printed(program: str, settings: Mapping[str, object]) -> dict[str, float]:
    """Runs ns-2 once with the given options and returns the numbers that `ns2.tcl` prints."""
    words = [word for key, value in settings.items() for word in (f"-{key}", str(value))]
    command = [program, str(SCRIPT), *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | ZEROED).stdout
    return {key: float(value) for key, value in (pair.split("=") for pair in said.split())}


def run(program: str, settings: Mapping[str, object]) -> Row:
    """Runs ns-2 once and returns its numbers under the names of `QUANTITIES`."""
    found = printed(program, settings)
    row = {"Mbit/s": found["down_bps"] / 1e6}
    if "upload" in settings:
        return row | {"up_kbit/s": found["up_bps"] / 1e3}
    return row | {
        "window": found["window"],
        "ACKs/s_delivered": found["delivered"] / DURATION_S,
        "ACKs/s_filtered": filtered(found, str(settings["scheme"])) / DURATION_S,
    }


def filtered(found: Mapping[str, float], scheme: str) -> float:
    """Returns the number of filtered ACKs. ACKs that are still in the queue are included, because ns-2 has no event for
    a filtered ACK."""
    return found["arrived"] - found["dropped"] - found["delivered"] if scheme.startswith("af") else 0.0


def _mean(rows: list[Row]) -> Row:
    """Returns the mean of each quantity over the runs. The mean excludes runs in which the upload is locked out, and
    `locked_out_%` reports their percentage."""
    locked = [row for row in rows if row.get("up_kbit/s", np.inf) * 1e3 < LOCKED_OUT_BPS]
    others = [row for row in rows if row not in locked]
    mean = {name: float(np.mean([row[name] for row in others])) for name in (others or rows)[0]}
    return mean | ({"locked_out_%": 100 * len(locked) / len(rows)} if "up_kbit/s" in rows[0] else {})
