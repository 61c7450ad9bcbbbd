"""The report's tables, with a row for each flow: printed, as intended, and as observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from lopsided.papers.framework.drawing import compare
from lopsided.papers.framework.model import Comparison, Exhibit
from lopsided.papers.yahya2011.exhibits import (
    ELAPSED,
    MBIT,
    PACKETS,
    RETRANSMITTED,
    RTT,
    THROUGHPUT,
    WINDOW,
    collection,
    number,
    printed,
    row,
    three,
)
from lopsided.papers.yahya2011.testbed import (
    BASELINES,
    BUFFER_ALONE,
    BUFFERS,
    COMBOS,
    FILE_BYTES,
    NO_LOSS,
    PAIRED,
    WITH_LOSS,
    Test,
    intended,
    observed,
)

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab


@collection.figure("3.1.1", "One download alone (group 1)", needs=("baselines",), kind="Section")
def section_3_1_1(lab: Lab) -> Exhibit:
    """Baselines 1 to 8 (YAH-E01)."""
    rows, comparisons = [], []
    for test in BASELINES:
        measured = row(lab, "baselines", test)
        rows.append(
            {
                "test": test.name,
                "variant": test.variant,
                "delay_ms": test.delay_ms,
                "printed_s": number(printed(lab, test, "S1", ELAPSED)),
                "elapsed_s": measured["S1_elapsed_s"],
                "printed_Mbit_s": number(printed(lab, test, "S1", THROUGHPUT)),
                "throughput_Mbit_s": measured["S1_throughput_bps"] / MBIT,
                "printed_rtt_ms": number(printed(lab, test, "S1", RTT)),
                "rtt_ms": measured["S1_rtt_ms"],
                "end_to_end_rtt_ms": measured["S1_end_to_end_rtt_ms"],
                "sent_again": int(measured["S1_retransmitted_packets"]),
                "refused_by_netem_times": int(measured["S1_local_reductions"]),
                "printed_packets": number(printed(lab, test, "S1", PACKETS)),
                "packets": measured["S1_total_packets"],
                "outstanding_mean_kB": measured["S1_outstanding_mean_bytes"] / 1e3,
                "outstanding_max_kB": measured["S1_outstanding_max_bytes"] / 1e3,
            }
        )
        comparisons += _comparisons(lab, test, "baselines")
    return Exhibit(
        pl.DataFrame(rows).fill_nan(None),
        None,
        tuple(comparisons),
        (
            "rtt: tcptrace's average of a capture at the sender, which is taken behind netem; end to end: what the "
            "sender's TCP met. Refused by netem: how often its room of 1000 packets was used up, which brings the "
            "window down and loses nothing.",
        ),
    )


@collection.table("3-1", "Two downloads without loss (group 2)", needs=("combos", "observed"))
def table_3_1(lab: Lab) -> Exhibit:
    """Combos 1 to 12 (YAH-E02)."""
    return _combos(lab, NO_LOSS)


@collection.table("3-2", "Two downloads with a loss of everything for 100 ms (group 3)", needs=("combos", "observed"))
def table_3_2(lab: Lab) -> Exhibit:
    """Combos 13 to 24 (YAH-E03)."""
    return _combos(lab, WITH_LOSS)


def _combos(lab: Lab, tests: tuple[Test, ...]) -> Exhibit:
    rows: list[dict[str, Any]] = []
    comparisons: list[Comparison] = []
    for test in tests:
        as_intended, as_observed = row(lab, "combos", test), row(lab, "observed", test)
        for flow in test.flows:
            line: dict[str, Any] = {
                "test": test.name,
                "flow": flow,
                "variant": test.variant if flow == "S1" else "SACK",
                "delay_ms": test.delay_ms if flow == "S1" else 100,
            }
            for metric, name, scale, unit in (
                (ELAPSED, "elapsed_s", 1.0, "s"),
                (THROUGHPUT, "throughput_bps", MBIT, "Mbit_s"),
                (RTT, "rtt_ms", 1.0, "rtt_ms"),
                (RETRANSMITTED, "retransmitted_packets", 1.0, "sent_again"),
            ):
                if metric == RETRANSMITTED and not test.loss:
                    line["sent_again"] = as_intended[f"{flow}_{name}"]
                    continue
                line[f"printed_{unit}"] = number(printed(lab, test, flow, metric))
                line[f"intended_{unit}"] = as_intended[f"{flow}_{name}"] / scale
                line[f"observed_{unit}"] = as_observed[f"{flow}_{name}"] / scale
            line["end_to_end_rtt_ms"] = as_intended[f"{flow}_end_to_end_rtt_ms"]
            rows.append(line)
        comparisons += _comparisons(lab, test, "combos")
    return Exhibit(
        pl.DataFrame(rows).fill_nan(None),
        None,
        tuple(comparisons),
        (
            "Intended: the windows of section 2.2.3. Observed: those that the printed numbers speak for (table W), so "
            "the throughput of a flow that such a window limits is no evidence; everything else in its row and the "
            "other flow's row is.",
            "Below, printed values stand beside those as intended; remarks give those as observed.",
        ),
    )


def _comparisons(lab: Lab, test: Test, experiment: str) -> list[Comparison]:
    measured = row(lab, experiment, test)
    other = row(lab, "observed", test) if experiment == "combos" else None
    found = []
    for flow in test.flows:
        for metric, name, scale in (
            (THROUGHPUT, "throughput_bps", 1 / MBIT),
            (RTT, "rtt_ms", 1.0),
            (RETRANSMITTED, "retransmitted_packets", 1.0),
        ):
            value = printed(lab, test, flow, metric)
            if value is not None:
                remark = ""
                if other is not None and observed(test) != intended(test):
                    remark = f"as observed {other[f'{flow}_{name}'] * scale:.3g}"
                found.append(compare(value, three(measured, f"{flow}_{name}"), remark, scale))
    return found


@collection.table("W", "Windows: intended, and what the printed numbers speak for", needs=())
def windows(lab: Lab) -> Exhibit:
    """Printed throughput times round trip, which a window that limits a flow would equal (YAH-M02, YAH-A12)."""
    rows = []
    for test in (*BASELINES, *COMBOS):
        for flow in test.flows:
            delay = test.delay_ms if flow == "S1" else 100
            elapsed, rtt = (number(printed(lab, test, flow, metric)) for metric in (ELAPSED, RTT))
            rows.append(
                {
                    "test": test.name,
                    "flow": flow,
                    "variant": test.variant if flow == "S1" else "SACK",
                    "delay_ms": delay,
                    "printed_throughput_x_rtt_bytes": round(FILE_BYTES / elapsed * (delay + rtt) / 1e3),
                    "intended_bytes": intended(test)[flow],
                    "observed_bytes": observed(test)[flow],
                    "printed_own_window_bytes": number(printed(lab, test, flow, WINDOW)),
                }
            )
    found = lab.published.find("Section 3.2.1", "average_window_advertised_other_direction", test="Combo11")
    share = found.number / BUFFERS[400]
    return Exhibit(
        pl.DataFrame(rows).fill_nan(None),
        None,
        (),
        (
            "A quarter of a receive buffer is not advertised: the one window of a receiver that is printed, "
            f"{found.value} octets in Combo 11, is {share:.0%} of its buffer.",
            "The printed window is that which a sender of data advertises: 5840 octets rounded up to its scale, so it "
            "tells the scale and with it the buffers that a host ran with: 5840 a scale of 4 or less, 5856 of 5, 5888 "
            "of 6 or more. S2 of Combos 4 to 6 and S1 of Combos 22 to 24 ran with others than listed.",
            f"Without delay the default of {BUFFER_ALONE[0]} octets gives 65535.",
        ),
    )


@collection.table("O", "Outstanding data and the time of the loss", needs=("combos",))
def outstanding(lab: Lab) -> Exhibit:
    """When most data is out, of both flows: the report chose the time of its loss by it (YAH-E05)."""
    rows = []
    for test in NO_LOSS:
        measured = row(lab, "combos", test)
        span = next(
            (lo, hi)
            for lo, hi, names in _printed_spans(lab)
            if test.name in names.split() or ("Combo4 to Combo12" in names and test.number >= 4)
        )
        rows.append(
            {
                "test": test.name,
                "variant": test.variant,
                "delay_ms": test.delay_ms,
                "printed_from_s": span[0],
                "printed_to_s": span[1],
                **{
                    f"{flow}_{name}": measured[f"{flow}_outstanding_{key}"] / scale
                    for flow in test.flows
                    for name, key, scale in (
                        ("mean_kB", "mean_bytes", 1e3),
                        ("most_kB", "max_bytes", 1e3),
                        ("most_after_s", "max_after_s", 1.0),
                    )
                },
            }
        )
    note = (
        "Outstanding data of a capture behind netem leaves out what waits in netem: it is the backlog on the path, and "
        "is most at the end of slow start, in the first seconds. The report sought its maximum by eye in a graph."
    )
    return Exhibit(pl.DataFrame(rows), None, (), (note,))


def _printed_spans(lab: Lab) -> list[tuple[float, float, str]]:
    found = []
    for low in lab.published:
        if low.metric == "maximum_outstanding_data_from":
            item = low.conditions["item"]
            high = lab.published.find("Section 2.2.3", "maximum_outstanding_data_to", item=item)
            found.append((low.number, high.number, item))
    return found


@collection.table("P", "The position of the delay", needs=("baselines", "combos", "in-network"))
def position(lab: Lab) -> Exhibit:
    """netem on the sender, with its room of 1000 packets and TCP told of refusals, against a delay on the wire."""
    rows = []
    for test in (*BASELINES[4:], *NO_LOSS[6:]):
        at_host = row(lab, "baselines" if test.alone else "combos", test)
        on_wire = row(lab, "in-network", test)
        for flow in test.flows:
            rows.append(
                {
                    "test": test.name,
                    "flow": flow,
                    "variant": test.variant if flow == "S1" else "SACK",
                    "delay_ms": test.delay_ms if flow == "S1" else 100,
                    "printed_Mbit_s": number(printed(lab, test, flow, THROUGHPUT)),
                    "at_sender_Mbit_s": at_host[f"{flow}_throughput_bps"] / MBIT,
                    "on_wire_Mbit_s": on_wire[f"{flow}_throughput_bps"] / MBIT,
                    "printed_rtt_ms": number(printed(lab, test, flow, RTT)),
                    "at_sender_rtt_ms": at_host[f"{flow}_rtt_ms"],
                    "on_wire_rtt_ms": on_wire[f"{flow}_rtt_ms"],
                    "at_sender_sent_again": at_host[f"{flow}_retransmitted_packets"],
                    "on_wire_sent_again": on_wire[f"{flow}_retransmitted_packets"],
                }
            )
    return Exhibit(pl.DataFrame(rows).fill_nan(None))


@collection.table("K", "Linux itself behind a netem of 1000 packets", needs=("kernel", "kernel-pair"))
def kernel(lab: Lab) -> Exhibit:
    """Baselines 5 to 8 and some combinations on Linux 6.1 in virtual time (recorded), and simulated."""
    rows = []
    for experiment, tests in (("kernel", BASELINES[4:]), ("kernel-pair", PAIRED)):
        for test in tests:
            for flow in test.flows:
                measured, linux = row(lab, experiment, test), recorded(lab, test, flow)
                simulated = measured[f"{flow}_completion_s"]
                rows.append(
                    {
                        "test": test.name,
                        "flow": flow,
                        "variant": test.variant if flow == "S1" else "SACK",
                        "printed_s": number(printed(lab, test, flow, ELAPSED)),
                        "linux_6_1_s": linux["completion_s"],
                        "simulated_6_1_s": simulated,
                        "gap_percent": (simulated / linux["completion_s"] - 1) * 100,
                        "linux_sent_again": linux["retransmits"],
                        "simulated_sent_again": int(measured[f"{flow}_retransmitted_packets"]),
                    }
                )
    note = (
        "That a full netem at the sender is congestion without a loss is Linux's behaviour to this day. Recorded from "
        "kernel.toml and kernel-pair.toml in the paper's folder, which say how to repeat it; the network card has no "
        "ring there, "
        "so times differ from those of the tests above."
    )
    return Exhibit(pl.DataFrame(rows).fill_nan(None), None, (), (note,))


def recorded(lab: Lab, test: Test, flow: str) -> dict[str, Any]:
    """What Linux did in a test: minutes for each run, so it is recorded."""
    rows = pl.read_csv(lab.paper.folder / "kernel.csv")
    return rows.row(by_predicate=(pl.col("test") == test.name) & (pl.col("flow") == flow), named=True)
