"""Compares the counts and RTTs of `lopsided analyze` with the results of tcptrace and tshark.

Install both programs first: `apt-get install tcptrace tshark`.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import lopsided as lop

TCPTRACE = {
    "packets": "total_packets",
    "data_packets": "actual_data_pkts",
    "data_bytes": "actual_data_bytes",
    "retransmitted_packets": "rexmt_data_pkts",
    "filled_holes": "outoforder_pkts",
    "acks": "pure_acks_sent",
    "window_min_bytes": "min_win_adv",
    "window_max_bytes": "max_win_adv",
    "initial_window_packets": "initial_window_pkts",
    "rtt_count": "RTT_samples",
    "rtt_min_ms": "RTT_min",
    "rtt_max_ms": "RTT_max",
    "rtt_mean_ms": "RTT_avg",
    "rtt_std_ms": "RTT_stdev",
}
"""The tcptrace field for each column of `directions`. Fields about ACKs and windows refer to the data receiver."""

AGAIN = tuple(f"tcp.analysis.{name}" for name in ("retransmission", "out_of_order"))
"""tshark fields that flag a segment whose sequence number is below the highest sequence number so far."""

OF_RECEIVER = {"acks", "window_min_bytes", "window_max_bytes"}
APPROXIMATE = 0.01
"""Largest relative difference at which RTTs count as equal. RTTs also count as equal if they differ by less than
0.06 ms, because tcptrace prints multiples of 0.1 ms."""


def compare(captures: Iterable[Path]) -> dict[str, list[tuple[str, float, float]]]:
    """Returns, for each program and field, one tuple per captured direction: the capture's name, lopsided's value, and
    the program's value."""
    found: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for path in captures:
        rows = lop.analyze(path).largest
        for row, theirs in _paired(rows, _tcptrace(path)):
            for ours, (name, value) in _tcptrace_values(theirs, row):
                found[f"tcptrace {name}"].append((path.parent.parent.name, ours, value))
        for row, theirs in _paired(rows, _tshark(path)):
            for name, value in theirs["values"].items():
                ours = row[name]
                found[f"tshark {name}"].append((path.parent.parent.name, float("nan") if ours is None else ours, value))
    return found


def table(found: dict[str, list[tuple[str, float, float]]]) -> Iterator[str]:
    """Yields the lines of a Markdown table. A row shows how often a field of a program equals lopsided's value."""
    yield "| program and field | directions | equal, or within 1 % | largest difference |"
    yield "|---|---|---|---|"
    for name, values in sorted(found.items()):
        same = sum(_agrees(name, ours, theirs) for _, ours, theirs in values)
        worst = max(values, key=lambda each: abs(each[1] - each[2]) / max(1.0, abs(each[2])))
        yield f"| {name} | {len(values)} | {same} | {worst[1]:.6g} and {worst[2]:.6g} ({worst[0]}) |"


def _agrees(name: str, ours: float, theirs: float) -> bool:
    if "_ms" in name or ("RTT" in name and "samples" not in name):
        return abs(ours - theirs) <= max(APPROXIMATE * abs(theirs), 0.06)
    return ours == theirs


def _paired(rows: Sequence[Any], others: list[dict[str, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    ends = {(each["from"], each["from_port"], each["to"], each["to_port"]): each for each in others}
    for row in rows:
        other = ends.get((row["from"], row["from_port"], row["to"], row["to_port"]))
        if other is not None:
            yield row, other


def _run(*command: str | Path) -> str:
    if shutil.which(str(command[0])) is None:
        raise FileNotFoundError(f"{command[0]} is not installed")
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def _tcptrace(path: Path) -> list[dict[str, Any]]:
    """Returns the values that tcptrace prints, for each direction of each connection."""
    lines = [line for line in _run("tcptrace", "-l", "-r", "-n", "--csv", path).splitlines() if "," in line]
    head = next(number for number, line in enumerate(lines) if line.startswith("conn_#"))
    names = [name.strip() for name in lines[head].split(",")]
    found: list[dict[str, Any]] = []
    for values in csv.reader(lines[head + 1 :]):
        row = dict(zip(names, (value.strip() for value in values), strict=False))
        ends = [(row[f"host_{end}"], int(row[f"port_{end}"])) for end in "ab"]
        for side, (one, other) in (("a2b", ends), ("b2a", ends[::-1])):
            found.append(
                {"from": one[0], "from_port": one[1], "to": other[0], "to_port": other[1], "side": side, **row}
            )
    return found


def _tcptrace_values(theirs: dict[str, Any], row: Any) -> Iterator[tuple[float, tuple[str, float]]]:
    other = "b2a" if theirs["side"] == "a2b" else "a2b"
    for ours, name in TCPTRACE.items():
        text = theirs.get(f"{name}_{other if ours in OF_RECEIVER else theirs['side']}", "NA")
        if text != "NA" and row[ours] is not None:
            # tcptrace counts a packet that fills a hole as out of order, and not as retransmitted.
            filled = row["filled_holes"] if ours == "retransmitted_packets" else 0
            yield float(row[ours] - filled), (name, float(text))


def _tshark(path: Path) -> list[dict[str, Any]]:
    """Returns the numbers of packets, payload bytes and retransmissions that tshark reports for each direction."""
    fields = ("ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.len", "tcp.flags", *AGAIN)
    listed = [part for name in fields for part in ("-e", name)]
    counts: dict[tuple[str, ...], dict[str, float]] = {}
    for line in _run("tshark", "-r", path, "-T", "fields", *listed).splitlines():
        parts = line.split("\t")
        ends, length, flags, again = parts[:4], parts[4], parts[5], any(parts[6:])
        one = counts.setdefault(tuple(ends), defaultdict(float))
        one["packets"] += 1
        one["data_packets"] += int(length) > 0
        one["data_bytes"] += int(length)
        one["retransmitted_packets"] += again
        one["pure"] += int(length) == 0 and not int(flags, 16) & 0x7
    found: list[dict[str, Any]] = []
    for (source, port, target, to_port), values in counts.items():
        back = counts.get((target, to_port, source, port), {})
        found.append(
            {
                "from": source,
                "from_port": int(port),
                "to": target,
                "to_port": int(to_port),
                "values": {
                    **{
                        name: values[name]
                        for name in ("packets", "data_packets", "data_bytes", "retransmitted_packets")
                    },
                    "packets_back": back.get("packets", 0.0),
                    "acks": back.get("pure", 0.0),
                },
            }
        )
    return found
