"""How figures, tables and claims look things up."""

from __future__ import annotations

import numpy as np

from lopsided import metrics
from lopsided.papers.balakrishnan1999.setup import (
    FORWARD_BPS,
    PACKET_BYTES,
    Line,
    Scheme,
)
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
"""A share of the best throughput that counts as reached."""


def least_that_is_enough(m: Measurements, experiment: str, label: str, **where: Label) -> float:
    """The least value of a swept setting that reaches nearly the best throughput."""
    curve = m.curve(experiment, "throughput_bps", label, **where)
    return float(np.asarray(curve.x)[np.flatnonzero(curve.median >= ENOUGH * np.max(curve.median))[0]])


LOCKED_OUT_BPS = 500.0
"""An upload with less than this, a packet or two in 40 s, made no progress."""


def lossy(m: Measurements, scheme: Scheme, column: str) -> Spread:
    """Case B: the mean, least and greatest over the delays that stand for its repetitions."""
    found = m.curve("lossy", column, "return_delay_ms", scheme=scheme.key).median
    return Spread(float(np.mean(found)), float(np.min(found)), float(np.max(found)))


def ack_limit_bps(line: Line, segments_per_ack: float = 1) -> float:
    """What the return line's ACKs let go forward, each for so many segments."""
    return metrics.ack_limited_bps(FORWARD_BPS, line.rate_bps, PACKET_BYTES, line.ack_bytes, segments_per_ack)


def two_way(m: Measurements, scheme: Scheme, column: str, *, locked: bool | None = None) -> Spread:
    """A column of table 3 over all runs of a scheme: the mean, least and greatest of those that were locked out, of the
    others, or of all; NaN where there is none."""
    rows = m.runs("two-way")
    found = rows.filter(rows["scheme"] == scheme.key)
    if locked is not None:
        found = found.filter((found["reverse_bps"] < LOCKED_OUT_BPS) == locked)
    values = found[column].to_numpy()
    if not len(values):
        return Spread.of(float("nan"))
    return Spread(float(values.mean()), float(values.min()), float(values.max()))


def locked_out(m: Measurements, scheme: Scheme) -> float:
    """The share of a scheme's runs in which the upload made no progress."""
    rows = m.runs("two-way")
    found = rows.filter(rows["scheme"] == scheme.key)
    return float((found["reverse_bps"].to_numpy() < LOCKED_OUT_BPS).mean())


def runs_of(m: Measurements, scheme: Scheme) -> int:
    """How many runs of table 3 a scheme has."""
    rows = m.runs("two-way")
    return int((rows["scheme"] == scheme.key).sum())
