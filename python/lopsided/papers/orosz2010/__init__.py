"""Orosz, Sztrik and Kim, *Dynamics and Congestion Control of Alternative TCP Variants on Asymmetric Lines*, 2010.

What does upload traffic on an ADSL line of 512/128 kbit/s do to a download, under each of six TCP variants? Labels such
as ORO-E01 (experiments), ORO-M03 (mechanisms) and ORO-A08 (gaps and slips of the text) number the letter's parts.
"""

from __future__ import annotations

from pathlib import Path

from lopsided.papers.framework.model import Paper
from lopsided.papers.orosz2010 import claims, outcomes, traces
from lopsided.papers.orosz2010.assumptions import ASSUMPTIONS, KEY_RESULTS
from lopsided.papers.orosz2010.exhibits import collection
from lopsided.papers.orosz2010.testbed import ACKS, BUFFERED, MODERN, PHASED, RATIOS, WINDOWED

__all__ = ["PAPER", "claims", "outcomes", "traces"]

PAPER = Paper(
    key="orosz2010",
    title="Dynamics and Congestion Control of Alternative TCP Variants on Asymmetric Lines",
    authors="Peter Orosz, Janos Sztrik and Chesoong Kim",
    year=2010,
    summary="What do uploads on an ADSL line do to a download, under each of six TCP variants?",
    folder=Path(__file__).parent,
    experiments=(PHASED, BUFFERED, WINDOWED, RATIOS, ACKS, MODERN),
    figures=collection.ordered_figures(),
    claims=tuple(collection.claims),
    assumptions=ASSUMPTIONS,
    key_results=KEY_RESULTS,
    repeat=5,
    varied=("phases",),
)
