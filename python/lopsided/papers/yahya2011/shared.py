"""Reads the published and the measured values of a test's flow."""

from __future__ import annotations

from collections.abc import Iterable

from lopsided.papers.framework.claims import number
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Measured
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.yahya2011.setup import Test
from lopsided.views.plot import style

INKS = {"SACK": style.MUTED, "CUBIC": style.DOWN[0], "HIGHSPEED": style.UP[0], "WESTWOOD": style.OTHER[0]}
MBIT = 1e6

ELAPSED, THROUGHPUT, RTT = "elapsed_time", "throughput_printed", "rtt_average"
RETRANSMITTED, PACKETS, WINDOW = "retransmitted_data_packets", "total_packets", "average_window_advertised"

_LOGS = ("Section 3.1.1", "Section 3.2.1", "Section 3.3.1")


def printed(m: Measurements, test: Test, flow: str, metric: str) -> PublishedValue | None:
    """Returns a published value of a test's flow; `None` if the value is lost or was not recorded."""
    metrics = (metric, "throughput_reconstructed") if metric == THROUGHPUT else (metric,)
    for row in m.published:
        same = row.conditions.get("test") == test.name and row.conditions.get("flow") == flow
        if same and row.where in _LOGS and row.metric in metrics:
            return row
    return None


def printed_number(m: Measurements, test: Test, flow: str, metric: str) -> float:
    """Returns the published number; NaN if there is none."""
    found = printed(m, test, flow, metric)
    return float("nan") if found is None else found.number


def experiment_of(test: Test) -> str:
    """Returns the experiment that runs a test with the intended windows."""
    return "baselines" if test.alone else "combos"


def value(m: Measurements, test: Test, column: str, flow: str = "S1", experiment: str = "") -> Spread:
    """Returns a measured column of one flow, by default with the intended windows."""
    return m.value(experiment or experiment_of(test), f"{flow}_{column}", **test.labels)


def mbit(m: Measurements, test: Test, flow: str = "S1", experiment: str = "") -> float:
    """Returns the throughput of one flow of a test, in Mbit/s."""
    return value(m, test, "throughput_bps", flow, experiment).median / MBIT


def rates(m: Measurements, tests: Iterable[Test], flow: str = "S1", experiment: str = "") -> list[Measured]:
    """Returns one flow's measured throughputs in Mbit/s, with the published throughputs."""
    return [
        number(
            f"{test.name} {test.flow_variant(flow)} {flow}",
            mbit(m, test, flow, experiment),
            "Mbit/s",
            published=printed(m, test, flow, THROUGHPUT),
        )
        for test in tests
    ]
