"""Builds tables 1 to 6 with published and measured values, and the table of section 4's calculations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import polars as pl

from lopsided import metrics
from lopsided.papers.balakrishnan1999 import printed
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA_CODE,
    CODE_SCHEMES,
    CONNECTIONS,
    DATA_MARKED,
    FORWARD_BPS,
    HOPS,
    LINES,
    PACKET_BYTES,
    RADIO_SCHEMES,
    RENO,
    SCHEMES,
    TWO_WAY_SCHEMES,
    Line,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import locked_out, lossy, runs_of, two_way
from lopsided.papers.framework import rows
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Comparison
from lopsided.papers.framework.rows import Row
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.scenario import Scenario

AUTHORS_CODE = Path(__file__).parent / "authors-code.csv"
"""Recorded results of the authors' ns-2.35 code: the means over the runs, for the experiments with one flow."""


DURATION_S = 50.0
"""Duration of the simulated transfers, in seconds."""


def authors(case: str, line: str, scheme: Scheme) -> dict[str, float] | None:
    """Returns the recorded result of the authors' code for a case, line and scheme; `None` if there is none."""
    known = pl.read_csv(AUTHORS_CODE, comment_prefix="#")
    if scheme.marked and not scheme.forced:
        return None
    key = scheme.key.removesuffix("_code")
    found = known.filter((pl.col("case") == case) & (pl.col("line") == line) & (pl.col("scheme") == key))
    return found.row(0, named=True) if found.height else None


def table_1(m: Measurements) -> Artifact:
    """Returns table 1: throughput, mean window and mean RTT in case B (BAL-E05)."""

    def cell(column: str, scale: float = 1.0) -> Callable[[Scheme], float]:
        return lambda scheme: lossy(m, scheme, column).median * scale

    def of_authors(column: str) -> Callable[[Scheme], float]:
        return lambda scheme: (authors("B", "28.8C", scheme) or {}).get(column, float("nan"))

    def each_second(column: str) -> Callable[[Scheme], float]:
        def of(scheme: Scheme) -> float:
            row = authors("B", "28.8C", scheme) or {}
            return row.get(column, float("nan")) / row.get("duration_s", 1.0)

        return of

    columns: Columns[Scheme] = {
        "scheme": lambda scheme: scheme.title,
        "Mbit/s": cell("throughput_bps", 1e-6),
        "Mbit/s_ns-2": of_authors("throughput_mbps"),
        "window": cell("cwnd_packets"),
        "window_ns-2": of_authors("cwnd_packets"),
        "RTT_ms": cell("rtt_ms"),
        "RTT_ms_ns-2": of_authors("rtt_ms"),
        "ACKs/s_delivered": cell("acks_delivered", 1 / DURATION_S),
        "ACKs/s_delivered_ns-2": each_second("acks_delivered"),
        "ACKs/s_filtered": cell("acks_filtered", 1 / DURATION_S),
        "ACKs/s_filtered_ns-2": each_second("acks_filtered"),
        "timeouts": cell("timeouts"),
    }
    compared = rows.compared((row for scheme in SCHEMES if 1 in scheme.tables for row in printed.table_1(scheme)), m)
    notes = (
        "Means over five delays of the return line within 0.4 ms of 50 ms; windows in packets. ns-2: recorded results "
        "of the authors' own classes in a repaired ns-2.35. Its AF/AR ran for only 25 s, so its slow start weighs more."
        "",
    )
    return Artifact(table((*SCHEMES, ACC_SA_CODE), columns), None, compared, notes)


def table_a(m: Measurements) -> Artifact:
    """Returns the comparison of case A with the authors' code (BAL-E04)."""
    cells = [(line, scheme) for line in LINES for scheme in CODE_SCHEMES]
    quantities = (
        ("Mbit/s", "throughput_bps", "throughput_mbps", 1e-6),
        ("window", "cwnd_packets", "cwnd_packets", 1),
        ("RTT_ms", "rtt_ms", "rtt_ms", 1),
        ("ACKs_delivered", "acks_delivered", "acks_delivered", 1),
        ("ACKs_filtered", "acks_filtered", "acks_filtered", 1),
    )
    columns: Columns[tuple[Line, Scheme]] = {
        "return_line": lambda cell: cell[0].title,
        "scheme": lambda cell: cell[1].title,
    }
    for name, column, theirs, scale in quantities:
        columns[name] = lambda cell, column=column, scale=scale: (
            m.value("one-way", column, line=cell[0].key, scheme=cell[1].key).median * scale
        )
        columns[f"{name}_ns-2"] = lambda cell, theirs=theirs: (authors("A", cell[0].key, cell[1]) or {}).get(
            theirs, float("nan")
        )
    notes = (
        "ns-2: recorded results of the authors' own classes in a repaired ns-2.35. The paper draws these cells in "
        "figure 8.",
    )
    return Artifact(table(cells, columns), None, (), notes)


def table_2(m: Measurements) -> Artifact:
    """Returns table 2: two downloads (BAL-E06)."""

    def cell(column: str, scale: float = 1.0) -> Callable[[Scheme], object]:
        return lambda scheme: m.value("two-downloads", column, scheme=scheme.key).median * scale

    columns: Columns[Scheme] = {
        "scheme": lambda scheme: scheme.title,
        "Mbit/s_both": cell("total_bps", 1e-6),
        "Mbit/s_first": cell("first_bps", 1e-6),
        "Mbit/s_second": cell("second_bps", 1e-6),
        "fairness_index": cell("fairness_index"),
    }

    compared = rows.compared((row for scheme in SCHEMES if 2 in scheme.tables for row in printed.table_2(scheme)), m)
    return Artifact(table(SCHEMES, columns), None, compared)


def table_3(m: Measurements) -> Artifact:
    """Returns table 3: a download and an upload (BAL-E07)."""
    columns: Columns[Scheme] = {
        "scheme": lambda scheme: scheme.title,
        "runs": lambda scheme: runs_of(m, scheme),
        "%_locked_out": lambda scheme: locked_out(m, scheme) * 100,
        "down_Mbit/s": lambda scheme: two_way(m, scheme, "forward_bps").median / 1e6,
        "up_kbit/s": lambda scheme: two_way(m, scheme, "reverse_bps").median / 1e3,
        "down_Mbit/s_if_not": lambda scheme: two_way(m, scheme, "forward_bps", locked=False).median / 1e6,
        "up_kbit/s_if_not": lambda scheme: two_way(m, scheme, "reverse_bps", locked=False).median / 1e3,
        "queue_if_not": lambda scheme: two_way(m, scheme, "backlog_packets", locked=False),
    }

    shown = [row for scheme in TWO_WAY_SCHEMES if 3 in scheme.tables for row in _table_3(scheme)]
    compared = rows.compared((*shown, *_DATA_MARKED), m)

    notes = (
        "Locked out: the upload makes no progress. Values are means over the runs; the queue is the return line's.",
    )
    return Artifact(table(TWO_WAY_SCHEMES, columns), None, compared, notes)


def _table_3(scheme: Scheme) -> tuple[Row, ...]:
    return (*printed.TAKING_TURNS, *printed.LOCKED_OUT) if scheme is RENO else printed.table_3(scheme)


_DATA_MARKED = tuple(
    Row(
        name,
        partial(two_way, scheme=DATA_MARKED, column=f"{way}_bps"),
        "Section 7.1.3",
        f"{way}_throughput",
        {"case": "RED marks data only, acks exempt (ACC disabled)"},
        scale=scale,
    )
    for way, name, scale in (("forward", "download", 1e-6), ("reverse", "upload", 1e-3))
)


def table_4(m: Measurements) -> Artifact:
    """Returns table 4: the parameters of the packet radio in the scenario (BAL-M16)."""
    medium = Scenario.load(Path(__file__).parent / "scenarios" / "radio-1.toml").resolved["media"][0]
    if medium["kind"] != "packet_radio":
        raise ValueError(f"radio-1.toml has the medium {medium['kind']}")
    parameters = (
        ("link_bandwidth", "rate, kbit/s", medium["rate_bps"] / 1e3),
        ("fixed_link_latency", "latency, ms", medium["latency_s"] * 1e3),
        ("turnaround_transmit_to_receive", "transmit to receive, ms", medium["transmit_to_receive_s"] * 1e3),
        ("turnaround_receive_to_transmit", "receive to transmit, ms", medium["receive_to_transmit_s"] * 1e3),
        ("receiver_buffer_size", "receive buffer, kB", 33 * 0.96),
    )
    columns: Columns[tuple[str, str, float]] = {"parameter": lambda row: row[1], "here": lambda row: row[2]}
    compared = tuple(compare(m.published.find("Table 4", "value", case=key), value) for key, _, value in parameters)
    note = "A queue of 10 packets holds 9, as in the authors' simulator."
    return Artifact(table(parameters, columns), None, compared, (note,))


def table_5(m: Measurements) -> Artifact:
    """Returns table 5: throughput over 1, 2 and 3 hops of packet radio (BAL-E08)."""
    pairs = [(hops, scheme) for hops in HOPS for scheme in RADIO_SCHEMES]

    def cell(column: str, scale: float = 1.0) -> Callable[[tuple[int, Scheme]], float]:
        return lambda pair: m.value("radio", column, hops=pair[0], scheme=pair[1].key).median * scale

    columns: Columns[tuple[int, Scheme]] = {
        "hops": lambda pair: pair[0],
        "scheme": lambda pair: pair[1].title,
        "kbit/s": cell("throughput_bps", 1e-3),
        "RTT_s": cell("rtt_ms", 1e-3),
        "RTT_std_s": cell("rtt_std_ms", 1e-3),
        "timeouts": cell("timeouts"),
        "calls": cell("calls"),
        "unanswered": cell("unanswered"),
    }
    shown = (printed.table_5(scheme, hops) for hops, scheme in pairs if 5 in scheme.tables)
    return Artifact(table(pairs, columns), None, rows.compared(shown, m))


def table_6(m: Measurements) -> Artifact:
    """Returns table 6: the total throughput of all connections over one hop, and their fairness (BAL-E09).

    No interpretation of the text explains the published standard deviations (BAL-A14).
    """
    columns: Columns[int] = {"connections": lambda number: number}
    schemes = [scheme for scheme in RADIO_SCHEMES if 6 in scheme.tables]
    for scheme in schemes:
        columns |= {
            f"kbit/s_{scheme.title}": lambda number, key=scheme.key: (
                m.value("radio-many", "throughput_bps", connections=number, scheme=key).median / 1e3
            ),
            f"fairness_{scheme.title}": lambda number, key=scheme.key: m.value(
                "radio-many", "fairness_index", connections=number, scheme=key
            ),
        }
    shown = (printed.table_6(scheme, number) for number in CONNECTIONS for scheme in schemes)
    return Artifact(table(CONNECTIONS, columns), None, rows.compared(shown, m))


SIZES = (("SLIP", 52), ("CSLIP", 18))
"""Size in bytes of an ACK with timestamps on each measured line (section 4.2.1)."""


def table_k(m: Measurements) -> Artifact:
    """Returns a table with each return line's normalised bandwidth ratio k, and the throughput limit that follows from
    k (BAL-M02, BAL-M03)."""
    lines = [
        *((f"28.8 kbit/s, {name}, ACKs of {octets} B", 28800.0, octets, 2) for name, octets in SIZES),
        *((f"{line.title}, ACKs of {line.ack_bytes} B", line.rate_bps, line.ack_bytes, 1) for line in LINES),
        ("Ethernet, ACKs of 52 B", FORWARD_BPS, 52, 2),
    ]

    def k(row: tuple[str, float, int, int]) -> float:
        return metrics.normalised_bandwidth_ratio(FORWARD_BPS, row[1], PACKET_BYTES, row[2])

    def limit(row: tuple[str, float, int, int]) -> float:
        return metrics.ack_limited_bps(FORWARD_BPS, row[1], PACKET_BYTES, row[2], row[3]) / 1e6

    columns: Columns[tuple[str, float, int, int]] = {
        "return_line": lambda row: row[0],
        "k": k,
        "packets_per_ACK": lambda row: row[3],
        "limit_Mbit/s": limit,
    }

    def compared() -> Iterable[Comparison]:
        section = "Section 4.2.1"
        for row, (name, _) in zip(lines, SIZES, strict=False):
            case = f"10 Mbps forward, 28.8 kbps {name} reverse, 1 KB data"
            yield compare(m.published.find(section, "k", case=case), k(row))
            case = f"28.8 kbps {name} reverse, delayed acks"
            yield compare(m.published.find(f"{section} / Figure 2", "throughput_limit", case=case), limit(row))
        yield compare(m.published.find(section, "k", case="10 Mbps forward, Ethernet reverse"), k(lines[-1]))
        of_100 = metrics.normalised_bandwidth_ratio(FORWARD_BPS, 100e3, 1000, 40)
        yield compare(
            m.published.find(section, "k", case="10 Mbps forward, 100 kbps reverse, 1000 B data, 40 B acks"), of_100
        )
        blocked = metrics.blocked_window_bps(100e3, 1000, 1000 * 8 / 0.28) / 1e6
        case = "upper bound, 100 KB socket buffer, 280 ms reverse packet"
        yield compare(m.published.find("Section 7.1.3", "forward_throughput_bound", case=case), blocked)
        blocked = metrics.blocked_window_bps(150e3, 1424, 28.8e3) / 1e6
        case = "upper bound, 150 KB socket buffer, 1424 B segments"
        where = "Section 9.1.3 / Figure 22"
        remark = "by the paper's own formula"
        yield compare(m.published.find(where, "forward_throughput_bound", case=case), blocked, remark)

    return Artifact(table(lines, columns), None, tuple(compared()), ("Computed.",))
