"""Counterparts of published values that no figure, table or statement compares."""

from __future__ import annotations

from lopsided.papers.framework.coverage import constant, judged, measured
from lopsided.papers.orosz2010.setup import DOWN_BPS

COVERAGE = (
    measured("rate", constant(DOWN_BPS / 8e3)),
    judged("downstream_throughput_ranking", by="phase-1-similar"),
    judged("downlink_load", by="phase-1-similar"),
    judged("throughput_fluctuation", by="high-speed-fluctuates"),
    judged("downstream_throughput_bound", by="vegas-below-uplink"),
)
