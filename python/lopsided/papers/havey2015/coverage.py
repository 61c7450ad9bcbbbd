"""Measured counterparts of published values that no figure, table or statement compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.coverage import Reader, column, constant, judged, measured
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.havey2015.chapter2 import FEW
from lopsided.papers.havey2015.chapter3.shared import share_curve
from lopsided.papers.havey2015.setup import CHAPTER_6, EVENING_RTTS, NAMES, RTTS
from lopsided.papers.havey2015.shared import value
from lopsided.papers.havey2015.traces import at_mesh

AQMS = {name: key for key, name in NAMES.items()}
KEPT = 0.95
"""A discipline keeps its throughput at a larger RTT if it has this fraction of the throughput at 100 ms."""


def _of_row(experiment: str, column: str, scale: float = 1.0, *, above_base: bool = False) -> Reader:
    """Returns a reader of a column at the published row's discipline and RTT."""

    def read(m: Measurements, row: PublishedValue) -> Spread | None:
        aqm, rtt = AQMS.get(row.conditions.get("aqm", "")), row.conditions.get("base_rtt_ms", "")
        if aqm is None or not rtt.isdigit():
            return None
        base = float(rtt) if above_base else 0.0
        return value(m, experiment, column, aqm, int(rtt)).map(lambda each: (each - base) * scale)

    return read


def _above_base(m: Measurements, _row: PublishedValue) -> float:
    return value(m, "night", "rtt_mean_ms", "codel", 100).median - 100


def _rank(m: Measurements, row: PublishedValue) -> float:
    """The rank of the row's discipline by throughput at 100 ms; 1 is the fastest."""
    rates = {aqm: value(m, "delays-100", "throughput_bps", aqm, 100).median for aqm in CHAPTER_6}
    order = sorted(rates, key=lambda aqm: -rates[aqm])
    return 1.0 + order.index(AQMS[row.conditions["aqm"]])


def _loses_from(aqms: Iterable[str]) -> Reader:
    """Returns a reader of the largest RTT at which all these disciplines keep their throughput."""

    def read(m: Measurements, _row: PublishedValue) -> float:
        def keeps(rtt: int) -> bool:
            rates = ((value(m, "delays", "throughput_bps", each, at).median for at in (rtt, 100)) for each in aqms)
            return all(later >= KEPT * before for later, before in rates)

        return float(max(rtt for rtt in RTTS if keeps(rtt)))

    return read


def _over_all(pick: Callable[..., float]) -> Reader:
    """Returns a reader of the minimum or maximum throughput over all disciplines, at 100 to 500 ms."""
    return lambda m, _row: pick(
        value(m, "delays", "throughput_bps", aqm, rtt).median * 1e-6 for aqm in CHAPTER_6 for rtt in (100, 250, 500)
    )


def _rdra_to_single(loss: float) -> Reader:
    def read(m: Measurements, _row: PublishedValue) -> float:
        rdra, single = (m.value("receivers", "goodput_bps", kind=kind, loss=loss).median for kind in ("rdra", "single"))
        return rdra / single

    return read


def _resembles(m: Measurements, _row: PublishedValue) -> float:
    """The number of parallel TCP streams with the goodput nearest to RDRA's, at 1 % loss."""
    rdra = m.value("receivers", "goodput_bps", kind="rdra", loss=0.01).median
    found = {n: m.value("parallel", "goodput_bps", streams=n, loss=0.01).median for n in FEW}
    return float(min(found, key=lambda n: abs(found[n] - rdra)))


def _fullest(m: Measurements, _row: PublishedValue) -> float:
    return max(m.value("queue-use", "queue_use", kind=kind).median for kind in ("single", "rdra"))


def _from_half(m: Measurements, _row: PublishedValue) -> float:
    """The largest distance of Compatible TCP's share of the rate from 50 %, in percentage points."""
    curve = share_curve(m, "literal")
    return float(np.max(np.abs(curve.median - 50)))


EQ_2_1 = metrics.padhye_throughput_bps(1500, 0.1, 0.01) * 1e-6

_BELOW = "throughput_p10_bps"
_ABOVE = "throughput_p95_bps"

COVERAGE = (
    measured("retrieval_time", constant(5 * 0.2)),
    measured("theoretical_throughput", constant(EQ_2_1), remark="eq 2.1 with a loss of 1 % and an RTO of 200 ms"),
    measured("throughput_ratio", constant(8), item="8 plain streams against 1"),
    measured("throughput_ratio", _rdra_to_single(0.01), needs=("receivers",), remark="at 1 % loss"),
    judged("streams packet_loss", by="four-suffice", where="Section 2.3.1"),
    measured("streams", _resembles, needs=("receivers", "parallel"), where="Section 2.4.5", remark="of 1, 4 and 8"),
    measured(
        "rtt_estimate",
        column("clock", "rtt_mean_ms", load="half"),
        needs=("clock",),
        item="TCP clock, about 50 percent queue utilisation, 100 ms path",
    ),
    measured(
        "rtt_estimate",
        column("clock", "rtt_p95_ms", load="full"),
        needs=("clock",),
        item="TCP clock, 100 percent queue utilisation, 100 ms path",
    ),
    measured(
        "throughput_share",
        lambda m, _row: m.curve("shares", "share", "streams").at(1),
        needs=("shares",),
        where="Section 2.4.5",
    ),
    measured("queue_utilisation", _fullest, needs=("queue-use",), item="RDRA and single-stream Cubic, high"),
    measured(
        "throughput",
        lambda m, _row: at_mesh(m, "single") * 1e-3,
        needs=("mesh",),
        where="Section 2.4.5 / Figure 2.16",
        remark="the loss was chosen by this value",
    ),
    measured(
        "throughput_increase", lambda m, _row: 100 * (at_mesh(m, "rdra") / at_mesh(m, "single") - 1), needs=("mesh",)
    ),
    measured("throughput", constant(4.0), item="worked example: 8 Mbps single stream after one loss"),
    measured("throughput", constant(0.5), item="worked example: 8 streams of 1 Mbps after one loss, hit stream"),
    measured("throughput", constant(7.5), item="worked example: 8 streams of 1 Mbps after one loss, total"),
    measured("deviation_from_50_percent", _from_half, needs=("fwp-sharing",), remark="largest from 30 to 70 ms"),
    measured("queue_at_the_knee", constant(metrics.bandwidth_delay_product_bytes(1e6, 0.1))),
    measured(
        "throughput_at_the_knee",
        lambda m, _row: m.curve("knee", "throughput_bps", "queue_bytes").at(12500).map(lambda each: each * 1e-6),
        needs=("knee",),
    ),
    measured("delay", _loses_from(("codel", "pie")), needs=("delays",), where="Section 4.4.2", remark="kept up to"),
    measured("oversize_factor", constant(50 / 2)),
    measured("delay", constant(0.1 * 50 / 2), where="Section 5.1"),
    measured(
        "throughput",
        column("night", "throughput_bps", 1e-6, aqm="asqm", rtt_ms=100),
        needs=("night",),
        where="Section 5.4",
        item="non-peak, per modem, expected",
    ),
    measured(
        "share_of_measurements",
        lambda m, _row: 100 * min(value(m, "night", "share_rtt_within_25_ms", "pie", r).median for r in EVENING_RTTS),
        needs=("night",),
        remark="the lowest of three round trips",
    ),
    measured("queue_delay", _above_base, needs=("night",), remark="mean round trip above the base of 100 ms"),
    measured(
        "overhead", column("night", "sensing_share", 100, aqm="asqm", rtt_ms=100), needs=("night",), where="Section 5."
    ),
    judged("share", by="asqm-is-unaffected", where="Section 5.1"),
    judged("rtt", by="unusable-at-500"),
    measured("measured_rtt_low", _of_row("night", "rtt_p1_ms"), needs=("night",), where="Section 5.4.1"),
    measured("measured_rtt_high", _of_row("night", "rtt_p90_ms"), needs=("night",), where="Section 5.4.1"),
    measured(
        "measured_rtt_excess_over_base",
        _of_row("night", "rtt_p90_ms", above_base=True),
        needs=("night",),
        remark="of 90 % of the packets",
    ),
    *(
        measured(
            "measured_rtt_low",
            column("evening", "rtt_p1_ms", aqm=aqm, rtt_ms=50),
            needs=("evening",),
            aqm=NAMES[aqm],
            where="Section 5.4.2",
            remark="of 1 % of the packets, at a base of 50 ms",
        )
        for aqm in ("codel", "pie")
    ),
    measured("expected_throughput_low", _over_all(min), needs=("delays",), aqm="any", base_rtt_ms="100 to 500"),
    measured("expected_throughput_high", _over_all(max), needs=("delays",), aqm="any", base_rtt_ms="100 to 500"),
    measured(
        "expected_throughput_low",
        column("alone", "throughput_p25_bps", 1e-6, aqm="pie", rtt_ms=750),
        needs=("alone",),
        where="Section 6.4 / Figure 6.6",
        remark="one flow alone under PIE, 25 %",
    ),
    measured(
        "temporary_throughput_low",
        _of_row("borrowing", "throughput_p95_bps", 1e-6),
        needs=("borrowing",),
        remark="of 95 % of the packets, with borrowing",
    ),
    measured(
        "temporary_throughput_high",
        _of_row("borrowing", "throughput_p99_bps", 1e-6),
        needs=("borrowing",),
        remark="of 99 % of the packets, with borrowing",
    ),
    measured("rank", _rank, needs=("delays-100",)),
    measured(
        "throughput_low",
        _of_row("delays", _BELOW, 1e-6),
        needs=("delays",),
        base_rtt_ms="250",
        remark="of 10 % of the packets",
    ),
    measured(
        "throughput_low",
        _of_row("delays", "throughput_p25_bps", 1e-6),
        needs=("delays",),
        where="Section 6.4",
        remark="of 25 % of the packets",
    ),
    measured(
        "throughput_high",
        _of_row("delays", _ABOVE, 1e-6),
        needs=("delays",),
        where="Section 6.4",
        remark="of 95 % of the packets",
    ),
    measured(
        "share_of_packets_at_or_above_12_mbps",
        lambda m, row: value(m, "delays", "share_below_12_mbps", AQMS[row.conditions["aqm"]], 250).map(
            lambda each: 100 * (1 - each)
        ),
        needs=("delays",),
    ),
    measured(
        "slow_start_share_of_packets share_of_packets_below_12_mbps",
        _of_row("delays", "share_below_12_mbps", 100),
        needs=("delays",),
        remark="of the packets, in seconds below 12 Mbit/s",
    ),
    measured("throughput_for_50_percent_of_packets", _of_row("delays", "throughput_p50_bps", 1e-6), needs=("delays",)),
    measured("flow_rate_met", _of_row("delays", "throughput_p50_bps", 1e-6), needs=("delays",)),
    measured(
        "rtt_above_which_throughput_is_lost", _loses_from(("codel", "pie")), needs=("delays",), remark="kept up to"
    ),
    judged("rtt_high", by="all-are-good-at-100", base_rtt_ms="small delays"),
    judged("rtt_low rtt_high", by="bdp-is-best-at-500", base_rtt_ms="large delays"),
)
