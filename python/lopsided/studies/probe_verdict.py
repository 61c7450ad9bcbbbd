"""Writes sentences about a probed line: the effect of load on the RTT, and the effect of uploads on downloads.

The idle RTT is the smallest RTT of any sender, because the queue is empty when a probe's first segments arrive. A
sender cannot measure whether the queue is on this line or elsewhere on the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lopsided.data import units

if TYPE_CHECKING:
    from lopsided.studies.probe import Log

_SHORT_MS = 20.0
"""If load raises the RTT by less than this number of ms, calls count as undisturbed."""
_LONG_MS = 100.0
_FELL = 0.8
"""A download counts as slowed if its rate with uploads is below this fraction of its rate without uploads."""
_LEAST_S = 1.0
"""A download is compared only if it runs for at least this number of seconds both before and after the first upload
starts."""


def verdict(logs: Sequence[Log]) -> list[str]:
    """Returns the verdict's sentences; an empty list if there are no samples."""
    return [*_round_trips(logs), *_downloads(logs)]


def _round_trips(logs: Sequence[Log]) -> list[str]:
    rtts_ms = sorted(sample.rtt_us / 1e3 for log in logs for sample in log.samples if sample.rtt_us)
    if not rtts_ms:
        return []
    idle, mean = rtts_ms[0], sum(rtts_ms) / len(rtts_ms)
    slow = rtts_ms[min(len(rtts_ms) - 1, int(0.95 * len(rtts_ms)))]
    if slow - idle < _SHORT_MS:
        return [
            f"Round trips stay short under load: {units.millis(idle)} at minimum, {units.millis(slow)} at the 95th "
            "percentile."
        ]
    said = [
        f"Load raises round trips from {units.millis(idle)} to {units.millis(mean)} on average and "
        f"{units.millis(slow)} at the 95th percentile."
    ]
    if slow - idle >= _LONG_MS:
        rtt = f"{idle:.0f}ms" if idle >= 10 else f"{idle:.1f}ms"
        said.append(
            f"A queue of {units.millis(slow - idle)} is too long for calls. `lopsided size --rtt {rtt}` with "
            "the rates of your line finds a better buffer or queue discipline."
        )
    return said


def _downloads(logs: Sequence[Log]) -> list[str]:
    """Returns one sentence per download: its rate before and after the first upload starts."""
    starts = [log.flow.start_s for log in logs if log.flow.direction == "up"]
    begun = min((log.samples[0].time_s - log.flow.start_s for log in logs if log.samples), default=None)
    if not starts or begun is None:
        return []
    said: list[str] = []
    for log in logs:
        joined = begun + min(starts)
        if log.flow.direction != "down" or not log.samples or joined - log.samples[0].time_s < _LEAST_S:
            continue
        first = log.samples[0].time_s
        # The second value of each pair is the number of bits that were written so far; see `Sample.throughput_bps`.
        sent = [(sample.time_s, sample.throughput_bps * (sample.time_s - first)) for sample in log.samples]
        alone = max((one for one in sent if one[0] <= joined), default=sent[0])
        end = sent[-1]
        if alone[0] - first < _LEAST_S or end[0] - alone[0] < _LEAST_S:
            continue
        before, after = alone[1] / (alone[0] - first), (end[1] - alone[1]) / (end[0] - alone[0])
        if after < _FELL * before:
            said.append(
                f"{log.flow.name} falls from {units.rate(before)} to {units.rate(after)} when uploads start: its ACKs "
                "wait in the same queue."
            )
        else:
            said.append(f"{log.flow.name} keeps {units.percent(after / before)} of its rate while uploads run.")
    return said
