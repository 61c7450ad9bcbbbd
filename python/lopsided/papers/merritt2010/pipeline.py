"""Repeats the measurement pipeline of the thesis (sections 4.6 and 4.7, MER-M26).

Both hosts capture packets. The captures are merged, and the throughput of each flow is computed. NTP is not modelled,
because simulated hosts share one clock. Throughput counts all bytes that arrive at a receiver, including
retransmissions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from lopsided import metrics
from lopsided.data import captures
from lopsided.papers.framework.measurements import Array, Measurements
from lopsided.papers.framework.model import Figure
from lopsided.papers.framework.plots import Line
from lopsided.papers.merritt2010.measure import TwoWay
from lopsided.papers.merritt2010.setup import MAIN
from lopsided.papers.merritt2010.shared import BUFFER, SWEEP
from lopsided.papers.merritt2010.traces import FLOWS, THROUGHPUT_STEP_S, throughput, throughput_panel
from lopsided.scenario import Run

PACKETS = 20
"""Uplink buffer of the run in packets, as in figure 5.3."""

_read: dict[str, dict[str, tuple[Array, Array]]] = {}
"""Cache of each flow's arrivals, by the run's digest. Capturing packets requires a second run."""


def _of(m: Measurements) -> Run:
    return m.run("sweep", link=MAIN.name, **{BUFFER: PACKETS})


def merged(run: Run) -> dict[str, tuple[Array, Array]]:
    """Repeats a run with captures at both hosts and reads each flow's arrivals.

    Returns
    -------
    dict[str, tuple[Array, Array]]
        For each flow: arrival times at the receiver in seconds, and the total number of bytes that have arrived at each
        time.
    """
    if run.digest not in _read:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            run.scenario.run(seed=run.seed, pcap=folder, pcap_at=("merged",))
            listed = captures.read_index(folder)
            arrived = {flow.flow: captures.arrivals(folder, flow) for flow in listed}
        _read[run.digest] = {name: (times, np.cumsum(octets)) for name, (times, octets) in arrived.items()}
    return _read[run.digest]


def _throughput(m: Measurements) -> Iterable[Line]:
    run = _of(m)
    end_s = TwoWay.of(run).end_s
    for name, ink in FLOWS:
        times, octets = merged(run)[name]
        bins = (np.append(times, end_s), np.append(octets, octets[-1]), 0.0, end_s, THROUGHPUT_STEP_S)
        time, rate = metrics.rate_series_bps(*bins)
        yield Line(time, rate / 1e3, ink, column=f"{name}_kbps_captured", label=name)
        yield Line([time[-1]], [rate[-20:].mean() / 1e3], ink, end=name)


def _beside_goodput(m: Measurements) -> str:
    run = _of(m)
    both = TwoWay.of(run)
    told: list[str] = []
    for name, _ in FLOWS:
        times, octets = merged(run)[name]
        inside = np.interp((both.start_s, both.end_s), times, octets)
        captured = 8 * (inside[1] - inside[0]) / (both.end_s - both.start_s)
        goodput = getattr(both, name).goodput_bps(both.start_s, both.end_s)
        told.append(f"{name} {captured / 1e3:.1f} kbit/s, its application {goodput / 1e3:.1f}")
    return f"while both are active: {'; '.join(told)}  ·  digest {run.digest}"


CAPTURED = throughput(PACKETS, "5.3").but(
    title=f"Throughput with a {PACKETS}-packet uplink buffer, from the merged captures",
    subtitle="2400/196 kbit/s; captures at both hosts merged by time (merritt2010 sections 4.6 and 4.7)",
    panels=(replace(throughput_panel(PACKETS), lines=_throughput),),
    small_print=(f"data that arrives at each receiver, in bins of {THROUGHPUT_STEP_S:g} s", _beside_goodput),
)

FIGURES = (Figure("M26", "Throughput read from the merged captures of both hosts", SWEEP, CAPTURED),)
