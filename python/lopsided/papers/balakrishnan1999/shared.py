"""Reads the measurements that this paper's figures, tables and claims use."""

from __future__ import annotations

import numpy as np

from lopsided import metrics
from lopsided.papers.balakrishnan1999.setup import FORWARD_BPS, PACKET_BYTES, Line, Scheme
from lopsided.papers.framework.measurements import Label, Measurements, Spread
from lopsided.views.plot import style

INKS = {
    "reno": style.UP[0],
    "reno_first": style.UP[1],
    "acc_sa": style.OTHER[1],
    "acc_sa_first": style.OTHER[2],
    "af_sa": style.DOWN[0],
    "af_sa_first": style.DOWN[1],
    "af_ar": style.OTHER[0],
    "af_ar_first": style.OTHER[4],
    "af": style.RED,
}

ENOUGH = 0.95
"""A setting counts as sufficient if its throughput is at least this fraction of the best throughput."""


def least_that_is_enough(m: Measurements, experiment: str, label: str, **where: Label) -> float:
    """Returns the smallest value of the setting `label` at which the throughput reaches `ENOUGH` times its maximum."""
    curve = m.curve(experiment, "throughput_bps", label, **where)
    return float(np.asarray(curve.x)[np.flatnonzero(curve.median >= ENOUGH * np.max(curve.median))[0]])


LOCKED_OUT_BPS = 500.0
"""An upload counts as locked out if its rate in bit/s is below this value. A locked-out upload sends only one or two
packets in 40 s."""


def lossy(m: Measurements, scheme: Scheme, column: str) -> Spread:
    """Returns a measured column in case B (forward loss): its mean, minimum and maximum over the return-line delays."""
    found = m.curve("lossy", column, "return_delay_ms", scheme=scheme.key).median
    return Spread(float(np.mean(found)), float(np.min(found)), float(np.max(found)))


def ack_limit_bps(line: Line) -> float:
    """Returns the download's rate in bit/s at which its ACKs fill the return line."""
    return metrics.ack_limited_bps(FORWARD_BPS, line.rate_bps, PACKET_BYTES, line.ack_bytes, 1)


def two_way(m: Measurements, scheme: Scheme, column: str, *, locked: bool | None = None) -> Spread:
    """Returns the spread of a measured column over a scheme's runs in table 3.

    `locked` selects the runs in which the upload is locked out (true), the other runs (false), or all runs (`None`).
    The spread is NaN if there is no such run.
    """
    rows = m.runs("two-way")
    found = rows.filter(rows["scheme"] == scheme.key)
    if locked is not None:
        found = found.filter((found["reverse_bps"] < LOCKED_OUT_BPS) == locked)
    values = found[column].to_numpy()
    if not len(values):
        return Spread.of(float("nan"))
    return Spread(float(values.mean()), float(values.min()), float(values.max()))


def locked_out(m: Measurements, scheme: Scheme) -> float:
    """Returns the fraction of a scheme's runs in which the upload is locked out."""
    rows = m.runs("two-way")
    found = rows.filter(rows["scheme"] == scheme.key)
    return float((found["reverse_bps"].to_numpy() < LOCKED_OUT_BPS).mean())


def runs_of(m: Measurements, scheme: Scheme) -> int:
    """Returns the number of a scheme's runs in table 3."""
    rows = m.runs("two-way")
    return int((rows["scheme"] == scheme.key).sum())
