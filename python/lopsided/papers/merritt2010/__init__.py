"""Sears Merritt, *Understanding Asymmetric Links, Buffers and Bi-Directional TCP Performance*, MS thesis, 2010.

One download and one upload share an asymmetric access line whose routers count their buffers in packets: how large may
the uplink buffer be before performance collapses? Reproduced are the figures and tables of chapters 1, 5 and 6. Labels
such as MER-E01 (experiments), MER-M08 (mechanisms) and MER-A16 (gaps and slips of the text) number the thesis's parts.
"""

from __future__ import annotations

from pathlib import Path

from lopsided.papers.framework.model import Paper
from lopsided.papers.merritt2010 import claims, figures, traces
from lopsided.papers.merritt2010.assumptions import ASSUMPTIONS, KEY_RESULTS
from lopsided.papers.merritt2010.exhibits import collection
from lopsided.papers.merritt2010.testbed import ACKS, FIELD, SWEEP

__all__ = ["PAPER", "claims", "figures", "traces"]

PAPER = Paper(
    key="merritt2010",
    title="Understanding Asymmetric Links, Buffers and Bi-Directional TCP Performance",
    authors="Sears Merritt",
    year=2010,
    summary="One download and one upload share an asymmetric line: how large may the uplink buffer be?",
    folder=Path(__file__).parent,
    experiments=(SWEEP, FIELD, ACKS),
    figures=collection.ordered_figures(),
    claims=tuple(collection.claims),
    assumptions=ASSUMPTIONS,
    key_results=KEY_RESULTS,
    repeat=5,
    varied=("sweep",),
)
