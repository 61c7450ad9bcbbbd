"""Builds the report's tables: published values, results with intended and observed windows, and the path checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from lopsided import metrics
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Comparison
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.papers.yahya2011.setup import (
    BASELINES,
    BUFFER_ALONE,
    BUFFERS,
    COMBOS,
    DELAYED,
    DIALOGUE,
    FILE_BYTES,
    IPERF_S,
    LEGS,
    LOSS_S,
    NO_LOSS,
    PAIRED,
    START_S,
    Test,
    intended,
    observed,
    transfer_start_s,
)
from lopsided.papers.yahya2011.shared import (
    ELAPSED,
    MBIT,
    PACKETS,
    RETRANSMITTED,
    RTT,
    THROUGHPUT,
    WINDOW,
    printed,
    printed_number,
    value,
)

Place: TypeAlias = tuple[Test, str]
"""A test, and the name of the flow that a table row describes."""

_FLOW: Columns[Place] = {
    "test": lambda place: place[0].name,
    "flow": lambda place: place[1],
    "variant": lambda place: place[0].flow_variant(place[1]),
    "delay_ms": lambda place: place[0].flow_delay_ms(place[1]),
}


def _flow(*names: str) -> Columns[Place]:
    return {name: _FLOW[name] for name in names}


def places(tests: Iterable[Test]) -> list[Place]:
    """Returns each test with each of its flows."""
    return [(test, flow) for test in tests for flow in test.flows]


def _printed(m: Measurements, metric: str) -> Callable[[Place], float]:
    return lambda place: printed_number(m, *place, metric)


_QUANTITIES = (
    (ELAPSED, "elapsed_s", "s", 1.0),
    (THROUGHPUT, "throughput_bps", "Mbit_s", 1 / MBIT),
    (RTT, "rtt_ms", "rtt_ms", 1.0),
    (RETRANSMITTED, "retransmitted_packets", "retransmits", 1.0),
)
"""Published quantities of a flow: name of the metric, measured column, heading, and the factor that converts the
unit."""


def _measured(m: Measurements, column: str, experiment: str = "", scale: float = 1.0) -> Callable[[Place], float]:
    return lambda place: value(m, place[0], column, place[1], experiment).median * scale


def section_3_1_1(m: Measurements) -> Artifact:
    """Returns the results of baselines 1 to 8 (YAH-E01)."""
    columns: Columns[Place] = {
        **_flow("test", "variant", "delay_ms"),
        "printed_s": _printed(m, ELAPSED),
        "elapsed_s": _measured(m, "elapsed_s"),
        "printed_Mbit_s": _printed(m, THROUGHPUT),
        "throughput_Mbit_s": _measured(m, "throughput_bps", scale=1 / MBIT),
        "printed_rtt_ms": _printed(m, RTT),
        "rtt_ms": _measured(m, "rtt_ms"),
        "end_to_end_rtt_ms": _measured(m, "end_to_end_rtt_ms"),
        "retransmits": _measured(m, "retransmitted_packets"),
        "refused_by_netem_times": _measured(m, "local_congestion"),
        "printed_packets": _printed(m, PACKETS),
        "packets": _measured(m, "total_packets"),
        "outstanding_mean_kB": _measured(m, "outstanding_mean_bytes", scale=1e-3),
        "outstanding_max_kB": _measured(m, "outstanding_max_bytes", scale=1e-3),
    }
    note = (
        "rtt: tcptrace's average of a capture at the sender, which is taken behind netem; end to end: the RTT of the "
        "sender's TCP. Refused by netem: the number of packets beyond its limit of 1000 packets, which reduce the "
        "window without a loss."
    )
    return Artifact(table(places(BASELINES), columns), None, tuple(_compared(m, BASELINES)), (note,))


def combinations(m: Measurements, tests: tuple[Test, ...]) -> Artifact:
    """Returns the results of Combos 1 to 12 (YAH-E02) or 13 to 24 (YAH-E03)."""
    columns: Columns[Place] = dict(_FLOW)
    for metric, column, unit, scale in _QUANTITIES:
        if metric != RETRANSMITTED or tests[0].loss:
            columns[f"printed_{unit}"] = _printed(m, metric)
        columns[f"intended_{unit}"] = _measured(m, column, scale=scale)
        columns[f"observed_{unit}"] = _measured(m, column, "observed", scale)
    columns["end_to_end_rtt_ms"] = _measured(m, "end_to_end_rtt_ms")
    if tests[0].loss:
        columns["without_sack_Mbit_s"] = _measured(m, "throughput_bps", "without-sack", 1 / MBIT)
    notes = (
        "Intended: the windows of section 2.2.3. Observed: the windows that the printed numbers imply (table W). The "
        "throughput of a flow limited by an observed window is no evidence; the other values of its row and of the "
        "other flow's row are. Without SACK: at S2.",
        "The comparisons use the intended windows; remarks give the values with the observed windows.",
    )
    return Artifact(table(places(tests), columns), None, tuple(_compared(m, tests)), notes)


def _compared(m: Measurements, tests: Iterable[Test]) -> Iterable[Comparison]:
    for test, flow in places(tests):
        for metric, column, _, scale in _QUANTITIES[1:]:
            found = printed(m, test, flow, metric)
            if found is not None:
                differs = not test.alone and observed(test) != intended(test)
                other = value(m, test, column, flow, "observed").median * scale if differs else 0.0
                remark = f"as observed {other:.3g}" if differs else ""
                yield compare(found, value(m, test, column, flow), remark, scale)


def windows(m: Measurements) -> Artifact:
    """Returns a table of published throughput times RTT. If a flow is limited by its window, this product is the window
    (YAH-M02, YAH-A12)."""

    def product(place: Place) -> float:
        elapsed, rtt = (printed_number(m, *place, metric) for metric in (ELAPSED, RTT))
        return round(FILE_BYTES / elapsed * (place[0].flow_delay_ms(place[1]) + rtt) / 1e3)

    columns: Columns[Place] = {
        **_FLOW,
        "printed_throughput_x_rtt_bytes": product,
        "intended_bytes": lambda place: intended(place[0])[place[1]],
        "observed_bytes": lambda place: observed(place[0])[place[1]],
        "printed_own_window_bytes": _printed(m, WINDOW),
    }
    found = m.published.find("Section 3.2.1", "average_window_advertised_other_direction", test="Combo11")
    notes = (
        "Linux does not advertise 25 % of a receive buffer: the only printed window of a receiver, "
        f"{found.value} bytes in Combo 11, is {100 * found.number / BUFFERS[400]:.0f} % of its buffer.",
        "The printed window is the one that a sender of data advertises: 5840 bytes rounded up to its window scale. It "
        "shows the scale, and so the buffer of a host: 5840 for a scale of 4 or less, 5856 for 5, 5888 for 6 or more. "
        "S2 of Combos 4 to 6 and S1 of Combos 22 to 24 ran with other buffers than listed.",
        f"Without delay the default of {BUFFER_ALONE[0]} bytes gives a window of 65535 bytes.",
    )
    return Artifact(table(places((*BASELINES, *COMBOS)), columns), None, (), notes)


def outstanding(m: Measurements) -> Artifact:
    """Returns a table of the times at which the outstanding data is largest. The report assumes that the loss happens
    at this time (YAH-E05)."""
    spans = list(_printed_spans(m))

    def span(test: Test) -> tuple[float, float]:
        return next(
            (low, high)
            for low, high, names in spans
            if test.name in names.split() or ("Combo4 to Combo12" in names and test.number >= 4)
        )

    columns: Columns[Test] = {
        "test": lambda test: test.name,
        "variant": lambda test: test.variant,
        "delay_ms": lambda test: test.delay_ms,
        "printed_from_s": lambda test: span(test)[0],
        "printed_to_s": lambda test: span(test)[1],
    }
    for flow in ("S1", "S2"):
        for name, column, scale in (
            ("mean_kB", "outstanding_mean_bytes", 1e-3),
            ("most_kB", "outstanding_max_bytes", 1e-3),
            ("most_after_s", "outstanding_max_after_s", 1.0),
        ):
            columns[f"{flow}_{name}"] = lambda test, flow=flow, column=column, scale=scale: (
                value(m, test, column, flow).median * scale
            )
    note = (
        "Outstanding data in a capture behind netem excludes packets that wait in netem: it is the backlog on the "
        "path, and is largest at the end of slow start, in the first seconds. The report read its maximum off a graph "
        "by eye."
    )
    return Artifact(table(NO_LOSS, columns), None, (), (note,))


def _printed_spans(m: Measurements) -> Iterable[tuple[float, float, str]]:
    for low in m.published:
        if low.metric == "maximum_outstanding_data_from":
            item = low.conditions["item"]
            high = m.published.find("Section 2.2.3", "maximum_outstanding_data_to", item=item)
            yield low.number, high.number, item


def position(m: Measurements) -> Artifact:
    """Returns a table that compares netem on the sender with a delay on the wire. Netem's limit of 1,000 packets
    affects TCP."""
    columns: Columns[Place] = dict(_FLOW)
    for metric, column, unit, scale in _QUANTITIES[1:]:
        if metric != RETRANSMITTED:
            columns[f"printed_{unit}"] = _printed(m, metric)
        columns[f"at_sender_{unit}"] = _measured(m, column, scale=scale)
        columns[f"on_wire_{unit}"] = _measured(m, column, "in-network", scale)
    return Artifact(table(places((*DELAYED, *PAIRED)), columns))


def kernel(m: Measurements) -> Artifact:
    """Returns a table that compares simulated tests with recorded runs of Linux 6.1 in virtual time."""

    def simulated(place: Place, column: str = "completion_s") -> float:
        return value(m, place[0], column, place[1], "kernel" if place[0].alone else "kernel-pair").median

    columns: Columns[Place] = {
        **_flow("test", "flow", "variant"),
        "printed_s": _printed(m, ELAPSED),
        "linux_6_1_s": lambda place: recorded(*place)["completion_s"],
        "simulated_6_1_s": simulated,
        "gap_percent": lambda place: (simulated(place) / recorded(*place)["completion_s"] - 1) * 100,
        "linux_retransmits": lambda place: recorded(*place)["retransmits"],
        "simulated_retransmits": lambda place: simulated(place, "retransmitted_packets"),
    }
    note = (
        "Linux still treats a full netem at the sender as congestion without a loss. The runs were recorded with "
        "kernel.toml and kernel-pair.toml in the paper's folder, which explain how to repeat them. Their network card "
        "has no ring, so times differ from those of the tests above."
    )
    return Artifact(table(places((*DELAYED, *PAIRED)), columns), None, (), (note,))


def recorded(test: Test, flow: str) -> dict[str, Any]:
    """Returns the recorded result of a test on Linux. Results are recorded because such a run takes minutes."""
    rows = pl.read_csv(Path(__file__).with_name("kernel.csv"))
    return rows.row(by_predicate=(pl.col("test") == test.name) & (pl.col("flow") == flow), named=True)


def iperf_mbit(m: Measurements, leg: str) -> float:
    """Returns iperf's rate in Mbit/s: the bytes that its sender accepted in 10 s and that also reach the receiver."""
    return m.value("preflight", "delivered_bytes", leg=leg).median * 8 / IPERF_S / MBIT


def preflight(m: Measurements) -> Artifact:
    """Returns the iperf results of the path checks: one direction only, and both legs of `iperf -r` (YAH-M09,
    YAH-E04)."""
    find = m.published.find
    step = "Section 2.5.2 step 6"
    columns: Columns[str] = {
        "leg": lambda leg: leg,
        "from": lambda leg: LEGS[leg][0],
        "to": lambda leg: LEGS[leg][1],
        "window_kB": lambda leg: find(step, "size", item=LEGS[leg][2]).number,
        "printed_Mbit_s": lambda leg: find(step, "throughput", item=leg).number,
        "Mbit_s": lambda leg: iperf_mbit(m, leg),
    }
    compared = [
        compare(find(step, metric, item=leg), m.value("preflight", "delivered_bytes", leg=leg), "", scale)
        for leg in LEGS
        for metric, scale in (("throughput", 8 / IPERF_S / MBIT), ("transferred", 1 / 2**20))
    ]
    note = (
        "A full link of 100 Mbit/s carries 94.1 Mbit/s of payload with timestamps. iperf counts the bytes written in "
        "10 s; its megabytes have 2^20 bytes."
    )
    return Artifact(table(LEGS, columns), None, tuple(compared), (note,))


_SIZED = (
    ("1: 100 ms, 100 Mbit/s", 100, 100),
    *((f"{group}: S1 {delay} ms, 50 Mbit/s share", delay, 50) for group in (2, 3) for delay in BUFFERS),
)
_EXAMPLE = (45, 30)
"""Rate in Mbit/s and RTT in ms of the example in section 2.2.1."""


def window_base(delay_ms: int, rate_mbit: int) -> int:
    """Returns the bandwidth-delay product in bytes, rounded to whole KiB. The report's windows are twice this value."""
    return int(metrics.bandwidth_delay_product_bytes(rate_mbit * MBIT, delay_ms / 1e3) // 1024) * 1024


def products(m: Measurements) -> Artifact:
    """Returns a table of the bandwidth-delay products in sections 2.2.1 and 2.2.3. All of them match the report
    (YAH-M02, YAH-E06)."""

    def printed_window(group: str, metric: str) -> PublishedValue:
        return m.published.find("Section 2.2.3", metric, group=group, setting="RWIN/BDP")

    columns: Columns[tuple[str, int, int]] = {
        "group": lambda row: row[0],
        "delay_ms": lambda row: row[1],
        "rate_Mbit_s": lambda row: row[2],
        "bdp_bytes": lambda row: metrics.bandwidth_delay_product_bytes(row[2] * MBIT, row[1] / 1e3),
        "base_bytes": lambda row: window_base(*row[1:]),
        "window_bytes": lambda row: 2 * window_base(*row[1:]),
        "printed_window_bytes": lambda row: printed_window(row[0], "window").number,
    }
    rate, rtt = _EXAMPLE
    bits = metrics.bandwidth_delay_product_bytes(rate * MBIT, rtt / 1e3) * 8
    find = m.published.find
    compared = [
        compare(find("Section 2.2.1", "bdp", item="BDP example"), bits),
        compare(find("Section 2.2.1", "bdp_in_kib", item="BDP example"), bits / 8 / 1024),
    ]
    for group, delay, share in _SIZED:
        compared.append(compare(printed_window(group, "base"), window_base(delay, share)))
        compared.append(compare(printed_window(group, "window"), 2 * window_base(delay, share)))
    note = (
        "The base is the product cut to whole KiB, and the window is twice the base (derived; it fits every case with "
        "a delay). The case without delay rounds 4062 bytes up to 4096."
    )
    return Artifact(table(_SIZED, columns), None, tuple(compared), (note,))


def harness(m: Measurements) -> Artifact:
    """Returns the table of the test procedure (YAH-M06, M08, M10).

    For each capture, the table contains the file name, the time at which cron starts the script, the start of the
    transfer after the FTP dialogue, and the loss period.
    """

    def loss(place: Place) -> str | None:
        return f"{START_S + LOSS_S:.1f} to {START_S + LOSS_S + 0.1:.1f}" if place[0].loss else None

    columns: Columns[Place] = {
        **_flow("test", "flow"),
        "capture": lambda place: place[0].file_name(place[1]),
        "cron_s": lambda place: START_S,
        "transfer_begins_s": lambda place: transfer_start_s(*place),
        "loss_s": loss,
        "printed_Mbit_s": _printed(m, THROUGHPUT),
        "both_at_once_Mbit_s": _measured(m, "throughput_bps", scale=1 / MBIT),
        "after_dialogue_Mbit_s": _measured(m, "throughput_bps", "dialogue", 1 / MBIT),
    }
    note = (
        f"lftp needs {len(DIALOGUE)} round trips before it opens the data connection ({', '.join(DIALOGUE)}; RFC "
        "959), so the slower path starts later. cron starts both scripts and the script of the loss at the same time."
    )
    return Artifact(table(places(COMBOS), columns), None, (), (note,))
