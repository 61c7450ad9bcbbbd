"""Measured counterparts of the published results that no figure or statement compares."""

from __future__ import annotations

from lopsided.papers.framework.coverage import column, judged, measured

COVERAGE = (
    measured(
        "induced_delay",
        column("real-time", "delay_p5_ms", queue="fq_codel"),
        needs=("real-time",),
        item="oscillation, low end",
        remark="5th percentile",
    ),
    measured(
        "induced_delay",
        column("real-time", "delay_p95_ms", queue="fq_codel"),
        needs=("real-time",),
        item="oscillation, high end",
        remark="95th percentile",
    ),
    judged("isolation", by="diffserv-isolates"),
    judged("background", by="background-yields"),
    judged("shaping", by="compensation-moves-the-queue"),
    judged("ack_filtering", by="filters-help-steep-lines"),
    measured(
        "download_goodput",
        column("filters", "down_bps", 1e-6, filter="conservative"),
        needs=("filters",),
        item="with filter",
    ),
    measured(
        "download_goodput",
        column("filters", "down_bps", 1e-6, filter="none"),
        needs=("filters",),
        remark="without a filter",
    ),
)
