"""Reads the measurements that this chapter's statements and figures use."""

from __future__ import annotations

from lopsided.papers.framework.measurements import Curve, Measurements
from lopsided.papers.havey2015.chapter3.setup import OBJECT, PARTS


def speedup(m: Measurements, experiment: str, error: float, rivals: int) -> float:
    """Returns FWP's throughput divided by A-MPDU's throughput."""
    fwp, ampdu = (m.value(experiment, "tested_bps", mode=mode, error=error, rivals=rivals).median for mode in PARTS)
    return fwp / ampdu


def overhead(m: Measurements, error: float) -> float:
    """Returns the additional bytes on the Internet path, in percent of a loss-free transfer."""
    sent = [m.value("fwp-repair", "sent_bytes", error=each).median for each in (error, 0.0)]
    return 100 * (sent[0] / sent[1] - 1)


def curl_overhead(m: Measurements, error: float) -> float:
    """Returns the additional bytes that the station sends if one curl process fetches each missing range, in percent of
    the object's size."""
    sent = [m.value("fwp-repair-curl", "up_bytes", error=each).median for each in (error, 0.0)]
    return 100 * (sent[0] - sent[1]) / OBJECT


def share_curve(m: Measurements, rule: str) -> Curve:
    """Returns Compatible TCP's percentage of the total rate under a rule, as a function of the base RTT in ms."""
    experiment = "fwp-sharing" if rule == "literal" else "fwp-sharing-rules"
    return m.curve(experiment, "share_percent", "rtt_ms", rule=rule)
