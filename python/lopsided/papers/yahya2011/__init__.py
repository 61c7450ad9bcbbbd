"""Mohammed Yahya, *TCP Fairness*, MSc project report, University of Alberta, 2011.

Two FTP downloads share a 100 Mbit/s path in a laboratory of Linux machines; do Reno with SACK, CUBIC, HighSpeed and
Westwood share it fairly at unequal delays, with and without a loss of everything for 100 ms? Reproduced are all 32
tests. Labels such as YAH-E01 (experiments), YAH-M05 (mechanisms) and YAH-A12 (gaps and slips of the text) number the
report's parts.
"""

from __future__ import annotations

from pathlib import Path

from lopsided.papers.framework.model import Paper
from lopsided.papers.yahya2011 import claims, figures, tables
from lopsided.papers.yahya2011.assumptions import ASSUMPTIONS, KEY_RESULTS
from lopsided.papers.yahya2011.exhibits import collection
from lopsided.papers.yahya2011.testbed import ALONE, COURSE, IN_NETWORK, INTENDED, KERNEL, OBSERVED, PAIR

__all__ = ["PAPER", "claims", "figures", "tables"]

PAPER = Paper(
    key="yahya2011",
    title="TCP Fairness",
    authors="Mohammed Yahya",
    year=2011,
    summary="Do SACK-Reno, CUBIC, HighSpeed and Westwood share 100 Mbit/s fairly at unequal delays?",
    folder=Path(__file__).parent,
    experiments=(ALONE, INTENDED, OBSERVED, IN_NETWORK, COURSE, KERNEL, PAIR),
    figures=collection.ordered_figures(),
    claims=tuple(collection.claims),
    assumptions=ASSUMPTIONS,
    key_results=KEY_RESULTS,
    repeat=3,
    varied=("baselines", "combos"),
)
