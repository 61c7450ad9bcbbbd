"""Assigns measured values to the published values that no figure, table or statement covers."""

from __future__ import annotations

import numpy as np

from lopsided import metrics
from lopsided.papers.balakrishnan1999 import setup
from lopsided.papers.balakrishnan1999.setup import DIALUP, FORWARD_BPS, PACKET_BYTES, RENO, Line
from lopsided.papers.balakrishnan1999.shared import locked_out, lossy, runs_of, two_way
from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.traces import traces_of

_RADIO = {"Reno": "reno", "ACC/SA": "acc_sa", "AF/SA": "af_sa"}
_SCHEMES = {each.key: each for each in (*setup.SCHEMES, *setup.TWO_WAY_SCHEMES)}
_PICK = {"min": min, "max": max}
PACKET_MS = PACKET_BYTES * 8 / DIALUP.rate_bps * 1e3


def _k(line: Line) -> float:
    return metrics.normalised_bandwidth_ratio(FORWARD_BPS, line.rate_bps, PACKET_BYTES, line.ack_bytes)


def gain_with_loss(m: Measurements, _row: PublishedValue, pick: str, *schemes: str) -> float:
    """Returns the highest (`pick` is `max`) or lowest (`min`) throughput of the schemes in case B (forward loss), as a
    relative gain over Reno."""
    rates = (lossy(m, _SCHEMES[scheme], "throughput_bps").median for scheme in schemes)
    return _PICK[pick](rates) / lossy(m, RENO, "throughput_bps").median - 1


def over_hops(m: Measurements, _row: PublishedValue, scheme: str, hops: int) -> float:
    return m.value("radio", "throughput_bps", hops=hops, scheme=scheme).median


def gain_over_hops(m: Measurements, row: PublishedValue, scheme: str, hops: int) -> float:
    return over_hops(m, row, scheme, hops) / over_hops(m, row, "reno", hops) - 1


def gain_of_row(m: Measurements, row: PublishedValue) -> float:
    return gain_over_hops(m, row, _RADIO[row.conditions["protocol"]], int(row.conditions["hops"]))


def many(m: Measurements, row: PublishedValue) -> Spread:
    scheme, number = _RADIO[row.conditions["protocol"]], int(row.conditions["connections"])
    return m.value("radio-many", "throughput_std_bps", scheme=scheme, connections=number)


def over_counts(m: Measurements, _row: PublishedValue, pick: str, scheme: str) -> float:
    """Returns a scheme's minimum or maximum total throughput over the simulated numbers of connections."""
    found = (m.value("radio-many", "throughput_bps", scheme=scheme, connections=each) for each in setup.CONNECTIONS)
    return _PICK[pick](each.median for each in found)


def timer(m: Measurements, _row: PublishedValue) -> float:
    mean, deviation = (m.value("measured-radio", name, hops=1).median for name in ("rtt_ms", "rtt_std_ms"))
    return mean + 4 * deviation


def best_buffer(m: Measurements, _row: PublishedValue) -> float:
    curve = m.curve("measured", "throughput_bps", "buffer_kb", line="Ethernet")
    return float(setup.BUFFERS_KB[int(np.argmax(curve.median))])


def gap_ms(m: Measurements, _row: PublishedValue) -> float:
    """Returns the median time in ms between bursts of the download's ACKs, under ACC with acks-first scheduling."""
    trace = traces_of(m.run("two-way", scheme="acc_sa_first", series=0), ("forward",))["forward"]
    moves = trace.time_s[1:][np.diff(trace.acked_bytes) > 0]
    # The upload starts between 5 and 10 s. After 15 s, both flows are active.
    pauses = np.diff(moves[moves > 15.0])
    return float(np.median(pauses[pauses > 0.15])) * 1e3


def locked(m: Measurements, _row: PublishedValue) -> float:
    return locked_out(m, RENO)


def unlocked(m: Measurements, _row: PublishedValue) -> float:
    return 1 - locked_out(m, RENO)


def locked_runs(m: Measurements, _row: PublishedValue) -> float:
    return locked_out(m, RENO) * runs_of(m, RENO)


def on_two_way(m: Measurements, _row: PublishedValue, scheme: str, column: str, locked: bool | None = None) -> Spread:
    return two_way(m, _SCHEMES[scheme], column, locked=locked)


def shortfall(m: Measurements, _row: PublishedValue, scheme: str, rate_bps: float) -> Spread:
    return m.value("implemented-two-way", "reverse_bps", scheme=scheme).map(lambda each: 1 - each / rate_bps)


COVERAGE = load(
    __file__,
    *(gain_with_loss, over_hops, gain_over_hops, gain_of_row, many, over_counts, timer, best_buffer, gap_ms),
    *(locked, unlocked, locked_runs, on_two_way, shortfall),
    raw_ratio=FORWARD_BPS / 100e3,
    packet_ratio=PACKET_BYTES / 40,
    packet_ms=PACKET_MS,
    blocked_s=2 * PACKET_MS / 1e3,
    k_slip=_k(setup.SLOWEST),
    k_compressed=_k(setup.COMPRESSED_SLOW),
    queued_ack_bytes=10 * setup.COMPRESSED_BYTES,
    dialup_kb=DIALUP.rate_bps * 0.5 / 8e3,
)
