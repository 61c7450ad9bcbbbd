"""Lists the published numbers of tables 1 to 6 and figures 6, 8, 13, 14 and 22, each with the function that measures
the same quantity in the simulation."""

from __future__ import annotations

from functools import partial

from lopsided.papers.balakrishnan1999.setup import COMPRESSED_SLOW, RENO, SLOWEST, UNCOMPRESSED, Scheme
from lopsided.papers.balakrishnan1999.shared import lossy, two_way
from lopsided.papers.framework.measurements import Label, Measurements, Spread
from lopsided.papers.framework.rows import Row

_WAYS = (("forward", "download", "Mbit/s", 1e-6), ("reverse", "upload", "kbit/s", 1e-3))
"""The two directions in table 3 and figure 22: key, name, the paper's unit, and the factor that converts bit/s to this
unit."""


def _value(experiment: str, column: str, **labels: Label) -> partial[Spread]:
    return partial(Measurements.value, experiment=experiment, column=column, **labels)


def table_1(scheme: Scheme) -> tuple[Row, ...]:
    """Returns one scheme's rows of table 1 (case B, with forward loss): throughput, mean window and mean RTT."""
    return tuple(
        Row(
            f"{name} of {scheme.title}",
            partial(lossy, scheme=scheme, column=column),
            "Table 1",
            metric,
            {"protocol": scheme.title},
            unit,
            scale,
        )
        for name, column, metric, unit, scale in (
            ("throughput", "throughput_bps", "throughput", "Mbit/s", 1e-6),
            ("mean window", "cwnd_packets", "average_cwnd", "packets", 1.0),
            ("mean RTT", "rtt_ms", "average_rtt", "ms", 1.0),
        )
    )


def table_2(scheme: Scheme) -> tuple[Row, ...]:
    """Returns the total throughput of two downloads and their fairness index."""
    name = scheme.title.split("/")[0]
    at = partial(_value, "two-downloads", scheme=scheme.key)
    return (
        Row(f"total of {name}", at("total_bps"), "Table 2", "total_throughput", {"protocol": name}, "Mbit/s", 1e-6),
        Row(f"fairness index of {name}", at("fairness_index"), "Table 2", "fairness_index", {"protocol": name}),
    )


def table_3(scheme: Scheme, runs: str = "all", locked: bool | None = None) -> tuple[Row, ...]:
    """Returns the throughputs of a download and a concurrent upload.

    `runs` is the paper's name for a subset of the runs. `locked` selects the simulated runs in which the upload is
    locked out (true), the other runs (false), or all runs (`None`).
    """
    return tuple(
        Row(
            name,
            partial(two_way, scheme=scheme, column=f"{way}_bps", locked=locked),
            "Table 3",
            f"{way}_throughput",
            {"protocol": scheme.title, "runs_share": runs},
            unit,
            scale,
        )
        for way, name, unit, scale in _WAYS
    )


LOCKED_OUT = table_3(RENO, "20 percent of runs", True)
TAKING_TURNS = table_3(RENO, "80 percent of runs", False)


def table_5(scheme: Scheme, hops: int) -> Row:
    """Returns table 5's row for one scheme: its throughput over the given number of packet-radio hops."""
    read = _value("radio", "throughput_bps", hops=hops, scheme=scheme.key)
    conditions = {"hops": hops, "protocol": scheme.title}
    return Row(
        f"{scheme.title}, {hops} hop{'s' * (hops > 1)}", read, "Table 5", "throughput", conditions, "kbit/s", 1e-3
    )


def table_6(scheme: Scheme, connections: int) -> Row:
    """Returns table 6's row for one scheme: the total throughput of all connections over one packet-radio hop."""
    read = _value("radio-many", "throughput_bps", connections=connections, scheme=scheme.key)
    conditions = {"connections": connections, "protocol": scheme.title}
    name = f"{connections} connections"
    return Row(name, read, "Table 6", "aggregate_throughput", conditions, "kbit/s", 1e-3)


FIGURE_6 = tuple(
    Row(name, _value("measured-radio", column, hops=1), f"Section 5.2 / Figure {place}", metric, {}, unit, scale)
    for name, place, metric, column, unit, scale in (
        ("share of time idle", "6a", "share_of_time_idle", "idle_share", "percent", 100),
        ("timeouts", "6a", "coarse_timeouts", "timeouts", "", 1),
        ("fast retransmits", "6a", "losses_recovered_by_fast_retransmit", "fast_retransmits", "", 1),
        ("mean RTT", "6b", "rtt_mean", "rtt_ms", "s", 1e-3),
        ("deviation", "6b", "rtt_std_dev", "rtt_std_ms", "s", 1e-3),
    )
)

FIGURE_8 = tuple(
    Row(
        f"{line.key} kbit/s",
        _value("one-way", "throughput_bps", line=line.key, scheme=RENO.key),
        "Section 7.1.1 / Figure 8",
        "throughput",
        {"case": f"case A, Reno, {case}"},
        "Mbit/s",
        1e-6,
    )
    for line, case in (
        (SLOWEST, "SLIP without header compression, first value printed"),
        (COMPRESSED_SLOW, "9.6 kbps with header compression"),
        (UNCOMPRESSED, "SLIP without header compression, second value printed"),
    )
)


def figure_13(scheme: Scheme) -> tuple[Row, ...]:
    """Returns the rows of figure 13 for one scheme: the mean RTT over two packet-radio hops, and its standard
    deviation."""
    return tuple(
        Row(
            name,
            _value("radio", column, hops=2, scheme=scheme.key),
            "Section 7.2.2 / Figure 13",
            metric,
            {"case": f"{scheme.title}, 2 hops"},
            "s",
            1e-3,
        )
        for name, column, metric in (
            ("mean RTT", "rtt_ms", "rtt_mean"),
            ("standard deviation", "rtt_std_ms", "rtt_std_dev"),
        )
    )


FIGURE_14 = tuple(
    Row(
        f"{connections} connections",
        _value("radio-many", "fairness_index", connections=connections, scheme=RENO.key),
        "Section 7.2.3 / Figure 14",
        "fairness_index",
        {"case": f"Reno, {connections} connections"},
    )
    for connections in (2, 12)
)


def figure_22(experiment: str, case: str, scheme: Scheme, way: str, remark: str = "") -> Row:
    """Returns one direction's throughput in figure 22, in which a download and an upload run concurrently."""
    name, unit, scale = next(each[1:] for each in _WAYS if each[0] == way)
    read = _value(experiment, f"{way}_bps", scheme=scheme.key)
    where = "Section 9.1.3 / Figure 22"
    return Row(f"{scheme.title}, {name}", read, where, f"{way}_throughput", {"case": case}, unit, scale, remark)
