"""Reads the measurements that this chapter's statements and figures use."""

from __future__ import annotations

import numpy as np
import polars as pl

from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.havey2015.chapter3.setup import ERRORS, LOSS, LOSS_REST, OBJECT, PARTS, RIVALRY, RIVALRY_40

LOSSES = (LOSS.key, LOSS_REST.key)
"""The experiments of figure 3.7."""
RIVALRIES = (RIVALRY.key, RIVALRY_40.key)
"""The experiments of figure 3.8."""


def tested(m: Measurements, keys: tuple[str, ...], mode: str, error: float, rivals: int) -> Spread:
    """Returns the throughput of the station under test, from the only experiment among `keys` with this case."""
    row = together(m, keys).row(
        by_predicate=(pl.col("mode") == mode) & (pl.col("error") == error) & (pl.col("rivals") == rivals), named=True
    )
    return Spread(*(float(row[f"tested_bps{end}"]) for end in ("", "_low", "_high")))


def together(m: Measurements, keys: tuple[str, ...]) -> pl.DataFrame:
    """Returns the medians of several experiments in one table."""
    return pl.concat([m.table(key) for key in keys]).sort("mode", "error", "rivals", descending=(True, False, False))


def loss_curve(m: Measurements, mode: str) -> Curve:
    """Returns the throughput of the station under test among nine others as a function of the frame error rate."""
    found = [tested(m, LOSSES, mode, error, 9) for error in ERRORS]
    return Curve(np.array(ERRORS), *(np.array(each) for each in zip(*found, strict=True)))


def speedup(m: Measurements, keys: tuple[str, ...], error: float, rivals: int) -> float:
    """Returns FWP's throughput divided by A-MPDU's throughput."""
    fwp, ampdu = (tested(m, keys, mode, error, rivals).median for mode in PARTS)
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
