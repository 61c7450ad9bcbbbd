"""Assigns measured values to the published values of every test's log, and of the test procedure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from lopsided.papers.framework.coverage import Reader, Rule, judged, measured, nothing
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.yahya2011.setup import BASELINES, COMBOS, DELAYED, NO_LOSS, Test
from lopsided.papers.yahya2011.shared import MBIT, mbit, value

TESTS = {test.name: test for test in (*BASELINES, *COMBOS)}
_SCALES = {"Mbit/s": 1 / MBIT, "byte/s": 1 / 8}
"""Factors from bit/s to the published unit."""

NEEDS = ("baselines", "combos")
LOGS = "Section 3."
TABLES = "Table 3-"


def _of_log(column: str) -> Reader:
    """Returns a function that reads a measured column for the test and flow of a published row."""

    def read(m: Measurements, row: PublishedValue) -> Spread | None:
        test = TESTS.get(row.conditions.get("test", ""))
        if test is None:
            return None
        found = value(m, test, column, row.conditions.get("flow", "S1"))
        scale = _SCALES.get(row.unit, 1.0) if column == "throughput_bps" else 1.0
        return found.map(lambda each: each * scale)

    return read


def _logged(metrics: str, column: str, remark: str = "") -> tuple[Rule, ...]:
    return tuple(
        measured(metrics, _of_log(column), needs=NEEDS, where=where, remark=remark) for where in (LOGS, TABLES)
    )


def _mean(tests: Iterable[Test], flow: str) -> Reader:
    return lambda m, _row: statistics.fmean(mbit(m, test, flow) for test in tests)


_RANGES: dict[str, tuple[str, Reader]] = {
    "baselines 1 to 4": ("utilisation", lambda m, _row: min(mbit(m, test) for test in BASELINES[:4])),
    "baselines 5 to 7, fastest": (
        "elapsed_time",
        lambda m, _row: min(value(m, test, "elapsed_s").median for test in DELAYED[:3]),
    ),
    "baselines 5 to 7, slowest": (
        "elapsed_time",
        lambda m, _row: max(value(m, test, "elapsed_s").median for test in DELAYED[:3]),
    ),
    "baselines 5 to 7, lowest": ("throughput", lambda m, _row: min(mbit(m, test) for test in DELAYED[:3])),
    "baselines 5 to 7, highest": ("throughput", lambda m, _row: max(mbit(m, test) for test in DELAYED[:3])),
    "group 2, 20 and 100 ms, flow 1 mean over variants": ("throughput", _mean(NO_LOSS[:6], "S1")),
    "group 2, 20 and 100 ms, flow 2 mean": ("throughput", _mean(NO_LOSS[:6], "S2")),
    "group 2, 200 ms, WESTWOOD, flow 1": ("throughput", _mean(NO_LOSS[8:9], "S1")),
    "group 2, 400 ms, flow 2 mean": ("throughput", _mean(NO_LOSS[9:], "S2")),
    "group 2, 400 ms, CUBIC, flow 1": ("throughput", _mean(NO_LOSS[9:10], "S1")),
    "group 2, 400 ms, HIGHSPEED, flow 1": ("throughput", _mean(NO_LOSS[10:11], "S1")),
    "group 2, 400 ms, WESTWOOD, flow 1": ("throughput", _mean(NO_LOSS[11:], "S1")),
}
"""For published values about several tests: the functions that compute the measured values, each for its item in
`published.csv`."""

COVERAGE = (
    *_logged("elapsed_time elapsed_time_printed", "elapsed_s"),
    *_logged("throughput throughput_printed throughput_reconstructed", "throughput_bps"),
    *_logged("rtt_average", "rtt_ms", "from a capture behind the sender's netem"),
    *_logged("retransmitted_data_packets", "retransmitted_packets"),
    *_logged("total_packets", "total_packets"),
    *_logged(
        "average_window_advertised",
        "window_bytes",
        "window of the data's sender: Linux 2.6 offers four segments until data arrives, the profile its whole buffer",
    ),
    *_logged("average_window_advertised_other_direction", "window_back_bytes", "the receiver's window"),
    *(measured(metric, read, needs=NEEDS, where=LOGS, item=item) for item, (metric, read) in _RANGES.items()),
    judged("repeats", by="slow-without-loss"),
    nothing("offset", "simulated hosts share one clock, so NTP has nothing to correct"),
    nothing(
        "elapsed_time rate", "the speed of dd depends on the disk and does not affect TCP", where="Section 2.5.2 step 3"
    ),
)
