"""Computes goodput, RTT and retransmissions of flows over part of a run, and their shares over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.data import series

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.scenario import Run


@dataclass(frozen=True)
class Means:
    """Total goodput in bit/s, mean RTT, and retransmitted fraction; NaN if not measured."""

    goodput_bps: float
    rtt_ms: float
    retransmit_ratio: float


def means(run: Run, flows: Sequence[str], start_s: float, stop_s: float) -> Means:
    goodput = sum(series.goodput_between(run, flow, start_s, stop_s) for flow in flows)
    names = ("rtt_count", "rtt_sum_ms", "retransmits", "sent_bytes")
    rtts, rtt_ms, retransmits, sent_bytes = ([series.flow_column(run, flow, name) for flow in flows] for name in names)
    count, total = (sum(curve.total(start_s, stop_s) for curve in curves) for curves in (rtts, rtt_ms))
    again, sent = (sum(curve.growth(start_s, stop_s) for curve in curves) for curves in (retransmits, sent_bytes))
    segments = sent / _segment_bytes(run, flows)
    return Means(goodput, total / count if count else math.nan, again / segments if segments > 0 else math.nan)


def harms(alone: Means, in_company: Means) -> dict[str, float | None]:
    """Returns the harm that other flows cause to rate, delay and loss, from 0 to 1; `None` if not measured."""
    rate = alone.goodput_bps
    return {
        "harm_rate": metrics.harm_to_rate(rate, in_company.goodput_bps) if rate > 0 else None,
        "harm_rtt": _harm_to_cost(alone.rtt_ms, in_company.rtt_ms),
        "harm_retransmits": _harm_to_cost(alone.retransmit_ratio, in_company.retransmit_ratio),
    }


def known(value: float) -> float | None:
    """Returns the value for a table, with `None` instead of NaN."""
    return None if math.isnan(value) else value


def shares(run: Run, sides: Sequence[Sequence[str]], start_s: float, window_s: float) -> tuple[Floats, Floats]:
    """Returns times from `start_s` on, and each side's share of the bytes in the averaging period before each time."""
    columns: list[Floats] = []
    time: Floats = np.empty(0)
    for flows in sides:
        curves = [series.flow_column(run, flow, "delivered_bytes") for flow in flows]
        time = max((curve.time_s for curve in curves), key=len) if not len(time) else time
        # A flow has no rows before it starts.
        delivered = [np.interp(time, curve.time_s, curve.value, left=0.0) for curve in curves if len(curve.value)]
        columns.append(np.sum(delivered, axis=0) if delivered else np.zeros_like(time))
    return metrics.shares_over_time(time, np.column_stack(columns), start_s, float(time[-1]), window_s)


def share_window_s(rtt_s: float, interval_s: float) -> float:
    """Returns the averaging period of shares in seconds. The period is longer than one sawtooth of the window."""
    return max(5.0, 10 * rtt_s, 2 * interval_s)


def _harm_to_cost(alone: float, in_company: float) -> float | None:
    return None if math.isnan(alone) or math.isnan(in_company) else metrics.harm_to_cost(alone, in_company)


def _segment_bytes(run: Run, flows: Sequence[str]) -> float:
    """Returns the mean payload per data packet, in bytes."""
    rows = [row for row in run.flows.rows() if row["name"] in flows]
    packets = sum(row["data_segments_out"] or 0 for row in rows)
    return sum(row["sent_bytes"] or 0 for row in rows) / packets if packets else 1.0
