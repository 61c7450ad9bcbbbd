"""Assigns measured values to the published values that no figure, table or statement covers."""

from __future__ import annotations

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.havey2015.chapter2 import FEW
from lopsided.papers.havey2015.chapter3.shared import share_curve
from lopsided.papers.havey2015.setup import CHAPTER_6, EVENING_RTTS, NAMES, RTTS
from lopsided.papers.havey2015.shared import value
from lopsided.papers.havey2015.traces import at_mesh

AQMS = {name: key for key, name in NAMES.items()}
KEPT = 0.95
"""A discipline keeps its throughput at a larger RTT if its throughput there is at least this fraction of its throughput
at an RTT of 100 ms."""


def of_row(
    m: Measurements, row: PublishedValue, experiment: str, column: str, above_base: bool = False
) -> Spread | None:
    """Returns a measured column for the discipline and the RTT of a published row."""
    aqm, rtt = AQMS.get(row.conditions.get("aqm", "")), row.conditions.get("base_rtt_ms", "")
    if aqm is None or not rtt.isdigit():
        return None
    base = float(rtt) if above_base else 0.0
    return value(m, experiment, column, aqm, int(rtt)).map(lambda each: each - base)


def on_curve(m: Measurements, _row: PublishedValue, experiment: str, column: str, over: str, x: float) -> Spread:
    return m.curve(experiment, column, over).at(x)


def above_base(m: Measurements, _row: PublishedValue) -> float:
    return value(m, "night", "rtt_mean_ms", "codel", 100).median - 100


def rank(m: Measurements, row: PublishedValue) -> float:
    """Returns the rank of the row's discipline by throughput at 100 ms; 1 is the fastest."""
    rates = {aqm: value(m, "delays-100", "throughput_bps", aqm, 100).median for aqm in CHAPTER_6}
    order = sorted(rates, key=lambda aqm: -rates[aqm])
    return 1.0 + order.index(AQMS[row.conditions["aqm"]])


def loses_from(m: Measurements, _row: PublishedValue, *aqms: str) -> float:
    """Returns the largest base RTT at which all the given disciplines keep their throughput."""

    def keeps(rtt: int) -> bool:
        rates = ((value(m, "delays", "throughput_bps", each, at).median for at in (rtt, 100)) for each in aqms)
        return all(later >= KEPT * before for later, before in rates)

    return float(max(rtt for rtt in RTTS if keeps(rtt)))


def over_all(m: Measurements, _row: PublishedValue, pick: str) -> float:
    """Returns the minimum or maximum throughput over all disciplines and base RTTs from 100 to 500 ms."""
    return {"min": min, "max": max}[pick](
        value(m, "delays", "throughput_bps", aqm, rtt).median for aqm in CHAPTER_6 for rtt in (100, 250, 500)
    )


def share_above(m: Measurements, row: PublishedValue) -> Spread:
    return value(m, "delays", "share_below_12_mbps", AQMS[row.conditions["aqm"]], 250).map(lambda each: 1 - each)


def least_within(m: Measurements, _row: PublishedValue) -> float:
    return min(value(m, "night", "share_rtt_within_25_ms", "pie", rtt).median for rtt in EVENING_RTTS)


def rdra_to_single(m: Measurements, _row: PublishedValue, loss: float) -> float:
    rdra, single = (m.value("receivers", "goodput_bps", kind=kind, loss=loss).median for kind in ("rdra", "single"))
    return rdra / single


def resembles(m: Measurements, _row: PublishedValue) -> float:
    """Returns the number of parallel TCP streams whose goodput is nearest to RDRA's goodput, at 1 % loss."""
    rdra = m.value("receivers", "goodput_bps", kind="rdra", loss=0.01).median
    found = {n: m.value("parallel", "goodput_bps", streams=n, loss=0.01).median for n in FEW}
    return float(min(found, key=lambda n: abs(found[n] - rdra)))


def fullest(m: Measurements, _row: PublishedValue) -> float:
    return max(m.value("queue-use", "queue_use", kind=kind).median for kind in ("single", "rdra"))


def single_at_mesh(m: Measurements, _row: PublishedValue) -> float:
    return at_mesh(m, "single")


def mesh_gain(m: Measurements, _row: PublishedValue) -> float:
    return at_mesh(m, "rdra") / at_mesh(m, "single") - 1


def from_half(m: Measurements, _row: PublishedValue) -> float:
    """Returns how far Compatible TCP's share of the rate is from 50 %, in percentage points; the largest of all
    settings."""
    return float(np.max(np.abs(share_curve(m, "literal").median - 50)))


COVERAGE = load(
    __file__,
    *(of_row, on_curve, above_base, rank, loses_from, over_all, share_above, least_within, rdra_to_single, resembles),
    *(fullest, single_at_mesh, mesh_gain, from_half),
    eq_2_1=metrics.padhye_throughput_bps(1500, 0.1, 0.01) * 1e-6,
    knee_bytes=metrics.bandwidth_delay_product_bytes(1e6, 0.1),
)
