"""Heusse, Merritt, Brown and Duda, *Two-way TCP Connections: Old Problem, New Insight*, CCR 41(2), 2011.

A download and an upload share a line with a buffer at each end. Data and ACKs swing between the buffers like a
pendulum, and the buffer sizes determine which flow gets more throughput. Only two texts were available: the abstract,
and a paragraph in merritt2010, section 2.6. Lines, buffers, hosts and the expression for the throughput ratio are our
own.
"""

from __future__ import annotations

from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult, Paper
from lopsided.papers.heusse2011.claims import CLAIMS, value
from lopsided.papers.heusse2011.figures import FIGURES
from lopsided.papers.heusse2011.setup import ACKS, DOWNLINK_BUFFER, MIDDLE, REMEDIES, STEEP, SWEEP, AccessLine


def answer(m: Measurements) -> str:
    """Summarises each flow's share of its line, with buffers of equal size and with buffers of equal drain time."""

    def shares(line: AccessLine, size: int) -> str:
        down, up = (value(m, line, f"{way}_share", size).median * 100 for way in ("down", "up"))
        return f"{down:.0f} % of the downlink and {up:.0f} % of the uplink"

    return (
        "Judged by the abstract and a co-author's thesis, because the paper's text was not available. On "
        f"{MIDDLE.name} kbit/s, data fills {shares(MIDDLE, DOWNLINK_BUFFER)} with equal byte buffers, and "
        f"{shares(MIDDLE, MIDDLE.matched)} with buffers that drain equally fast."
    )


def _ratio(line: AccessLine, size: int, unit: str) -> KeyResult:
    return KeyResult(
        f"ratio-{line.name}-{size}-{unit}",
        f"download over upload {line.name}, {size} packets in {unit}",
        "",
        lambda m: value(m, line, "ratio", size, unit).median,
    )


PAPER = Paper(
    key="heusse2011",
    title="Two-way TCP Connections: Old Problem, New Insight",
    authors="Martin Heusse, Sears A. Merritt, Timothy X. Brown and Andrzej Duda",
    year=2011,
    summary="How do the buffers at both ends of a line divide it between a download and an upload? "
    "(From the abstract: the text was not available.)",
    **files_beside(__file__),
    experiments=(SWEEP, ACKS, REMEDIES),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=load(__file__),
    key_results=tuple(
        _ratio(line, size, unit) for line in (MIDDLE, STEEP) for size in (17, 50) for unit in ("bytes", "packets")
    ),
    repeat=3,
    varied=("sweep",),
    answer=answer,
    answer_needs=("sweep",),
)
