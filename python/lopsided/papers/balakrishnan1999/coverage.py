"""Measured counterparts of the published values that no figure, table or statement compares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lopsided import metrics
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA,
    ACC_SA_FIRST,
    AF_AR,
    AF_SA,
    BUFFERS_KB,
    COMPRESSED_BYTES,
    COMPRESSED_SLOW,
    CONNECTIONS,
    DIALUP,
    FORWARD_BPS,
    PACKET_BYTES,
    RENO,
    SLOWEST,
    Line,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import locked_out, lossy, runs_of, two_way
from lopsided.papers.framework.coverage import Reader, column, constant, judged, measured, nothing
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.traces import traces_of

_RADIO = {"Reno": RENO, "ACC/SA": ACC_SA, "AF/SA": AF_SA}
PACKET_MS = PACKET_BYTES * 8 / DIALUP.rate_bps * 1e3


def _k(line: Line) -> float:
    return metrics.normalised_bandwidth_ratio(FORWARD_BPS, line.rate_bps, PACKET_BYTES, line.ack_bytes)


def _over_reno(
    rate: Callable[[Measurements, Scheme], float], *schemes: Scheme, pick: Callable[..., float] = max
) -> Reader:
    """Returns a reader of the throughput gain over Reno, in percent, of the best scheme. `pick=min`: of the worst."""
    return lambda m, _row: 100 * (pick(rate(m, scheme) for scheme in schemes) / rate(m, RENO) - 1)


def _lossy(m: Measurements, scheme: Scheme) -> float:
    return lossy(m, scheme, "throughput_bps").median


def _hops(hops: int) -> Callable[[Measurements, Scheme], float]:
    return lambda m, scheme: m.value("radio", "throughput_bps", hops=hops, scheme=scheme.key).median


def _gain_of_row(m: Measurements, row: PublishedValue) -> float:
    hops = int(row.conditions["hops"])
    return _over_reno(_hops(hops), _RADIO[row.conditions["protocol"]])(m, row)  # type: ignore[return-value]


def _many(m: Measurements, row: PublishedValue) -> Spread:
    scheme, number = _RADIO[row.conditions["protocol"]], int(row.conditions["connections"])
    found = m.value("radio-many", "throughput_std_bps", scheme=scheme.key, connections=number)
    return found.map(lambda each: each * 1e-3)


def _over_counts(scheme: Scheme, pick: Callable[..., float]) -> Reader:
    """Returns a reader of the minimum or maximum total throughput in kbit/s over all numbers of connections."""

    def read(m: Measurements, _row: PublishedValue) -> float:
        found = (m.value("radio-many", "throughput_bps", scheme=scheme.key, connections=each) for each in CONNECTIONS)
        return pick(each.median for each in found) * 1e-3

    return read


def _best_buffer(m: Measurements, _row: PublishedValue) -> float:
    curve = m.curve("measured", "throughput_bps", "buffer_kb", line="Ethernet")
    return float(BUFFERS_KB[int(np.argmax(curve.median))])


def _gap_ms(m: Measurements, _row: PublishedValue) -> float:
    """Median pause in ms between the download's bursts of ACKs, under ACC with acks-first scheduling."""
    trace = traces_of(m.run("two-way", scheme=ACC_SA_FIRST.key, series=0), ("forward",))["forward"]
    moves = trace.time_s[1:][np.diff(trace.acked_bytes) > 0]
    # The upload starts between 5 and 10 s, so after 15 s both flows are active.
    pauses = np.diff(moves[moves > 15.0])
    return float(np.median(pauses[pauses > 0.15])) * 1e3


def _shortfall(scheme: Scheme, rate_bps: float) -> Reader:
    return lambda m, _row: m.value("implemented-two-way", "reverse_bps", scheme=scheme.key).map(
        lambda each: 100 * (1 - each / rate_bps)
    )


_ONE_HOP = "200 KB transfer, one wireless hop"
_BESIDE = "Section 7.1.3"

COVERAGE = (
    measured("raw_bandwidth_ratio", constant(FORWARD_BPS / 100e3)),
    measured("packet_size_ratio", constant(PACKET_BYTES / 40)),
    measured("transmission_time", constant(PACKET_MS)),
    measured("ack_blocking_time", constant(2 * PACKET_MS / 1e3)),
    measured("k", constant(_k(SLOWEST)), case="case A, SLIP without header compression"),
    measured("k", constant(_k(COMPRESSED_SLOW)), case="case A, 9.6 kbps with header compression"),
    measured("queued_ack_bytes", constant(10 * COMPRESSED_BYTES)),
    measured("bandwidth_delay_product", constant(DIALUP.rate_bps * 0.5 / 8e3)),
    measured("socket_buffer_beyond_which_throughput_dips", _best_buffer, needs=("measured",)),
    measured(
        "end_of_large_idle_periods",
        column("measured-two-way", "last_long_pause_s", line="9.6"),
        needs=("measured-two-way",),
        remark="the last pause of more than 5 s",
    ),
    *(
        measured(metric, column("measured-radio", name, scale, hops=1), needs=("measured-radio",), case=_ONE_HOP)
        for metric, name, scale in (
            ("share_of_time_idle", "idle_share", 100.0),
            ("coarse_timeouts", "timeouts", 1.0),
            ("losses_recovered_by_fast_retransmit", "fast_retransmits", 1.0),
            ("timeout_length_shortest", "shortest_pause_s", 1.0),
            ("timeout_length_longest", "longest_pause_s", 1.0),
        )
    ),
    measured(
        "retransmission_timer",
        lambda m, _row: (
            (
                m.value("measured-radio", "rtt_ms", hops=1).median
                + 4 * m.value("measured-radio", "rtt_std_ms", hops=1).median
            )
            * 1e-3
        ),
        needs=("measured-radio",),
        remark="mean plus 4 standard deviations of the round trip",
    ),
    nothing("rtt_samples_plotted", "the authors chose the number of samples in the figure"),
    measured(
        "throughput_gain_printed",
        _over_reno(_lossy, AF_SA, AF_AR, pick=min),
        needs=("lossy",),
        case="case B, AF/SA and AF/AR over Reno, low end",
    ),
    measured(
        "throughput_gain_printed",
        _over_reno(_lossy, AF_SA, AF_AR),
        needs=("lossy",),
        case="case B, AF/SA and AF/AR over Reno, high end",
    ),
    measured("throughput_gain_printed", _over_reno(_lossy, ACC_SA), needs=("lossy",), case="case B, ACC/SA over Reno"),
    measured("improvement_printed", _gain_of_row, needs=("radio",)),
    *(
        measured("throughput_gain_printed", _over_reno(_hops(hops), AF_SA), needs=("radio",), case=case)
        for hops, case in (
            (1, "AF/SA over Reno, 1 hop"),
            (2, "AF/SA over Reno, 2 hops"),
            (3, "AF/SA over Reno, 3 hops"),
        )
    ),
    measured(
        "throughput",
        lambda m, _row: _hops(3)(m, AF_SA) * 1e-3,
        needs=("radio",),
        case="AF, 3 hops, value in the running text",
    ),
    *(
        measured(
            metric,
            column("radio", name, 1e-3, hops=2, scheme=scheme.key),
            needs=("radio",),
            where="Section 7.2.2",
            case=case,
        )
        for scheme, case in ((RENO, "Reno, 2 hops"), (AF_SA, "AF/SA, 2 hops"))
        for metric, name in (("rtt_mean", "rtt_ms"), ("rtt_std_dev", "rtt_std_ms"))
    ),
    measured("throughput_std_dev_printed", _many, needs=("radio-many",), remark="between the connections of a run"),
    *(
        measured("aggregate_throughput", _over_counts(scheme, pick), needs=("radio-many",), case=case)
        for scheme, pick, case in (
            (RENO, min, "Reno, all connection counts, low end"),
            (RENO, max, "Reno, all connection counts, high end"),
            (AF_SA, min, "AF/SA, all connection counts, low end"),
            (AF_SA, max, "AF/SA, all connection counts, high end"),
        )
    ),
    measured(
        "share_of_runs",
        lambda m, _row: 100 * locked_out(m, RENO),
        needs=("two-way",),
        case="Reno, forward acks fill the reverse buffer",
    ),
    measured(
        "share_of_runs",
        lambda m, _row: 100 * (1 - locked_out(m, RENO)),
        needs=("two-way",),
        case="Reno, remaining runs",
    ),
    measured(
        "runs",
        lambda m, _row: locked_out(m, RENO) * runs_of(m, RENO),
        needs=("two-way",),
        remark="of the same number of runs",
    ),
    measured(
        "average_reverse_queue", lambda m, _row: two_way(m, RENO, "backlog_packets", locked=False), needs=("two-way",)
    ),
    *(
        measured(
            f"{way}_throughput",
            lambda m, _row, scheme=scheme, way=way, scale=scale: two_way(m, scheme, f"{way}_bps").map(
                lambda each: each * scale
            ),
            needs=("two-way",),
            where=_BESIDE,
            case=case,
        )
        for scheme, case in ((ACC_SA, "ACC with RED"), (ACC_SA_FIRST, "ACC + acks-first"))
        for way, scale in (("forward", 1e-6), ("reverse", 1e-3))
    ),
    measured(
        "reverse_window", lambda m, _row: two_way(m, ACC_SA, "reverse_cwnd_packets"), needs=("two-way",), where=_BESIDE
    ),
    measured("idle_time", _gap_ms, needs=("two-way",), where=_BESIDE, remark="the median pause of more than 150 ms"),
    judged("maxburst", by="throughput-rises-with-maxburst", case="range where throughput grows almost linearly, start"),
    judged("maxburst", by="throughput-rises-with-maxburst", case="range where throughput grows almost linearly, end"),
    judged("maxburst", by="bursts-of-four-are-enough", case="recommended value, high"),
    measured("burst_size", constant(3), remark="in slow start an ACK for two segments releases three"),
    measured(
        "reverse_throughput_shortfall",
        _shortfall(ACC_SA, 28.8e3),
        needs=("implemented-two-way",),
        case="ACC, FIFO: shortfall from the 28.8 kbps line rate",
    ),
    measured(
        "reverse_throughput_shortfall",
        _shortfall(AF_SA, 28e3),
        needs=("implemented-two-way",),
        case="AF, FIFO: shortfall from the 28.8 kbps line rate",
    ),
)
