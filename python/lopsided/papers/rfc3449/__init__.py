"""RFC 3449 (BCP 69), *TCP Performance Implications of Network Path Asymmetry*, 2002, as a study.

Each mechanism that the RFC names runs on the paths that it names with the TCP of 1999 and with Linux 6.1, and on four
lines of today with Linux and QUIC. The RFC has no measurements of its own. Its statements about the problem (section 3)
and its advice (tables 1 and 2) are judged by bounds of ours, which were fixed before the first results were seen.
"""

from __future__ import annotations

from pathlib import Path

from lopsided.papers.framework import assumptions, failing
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult, Paper
from lopsided.papers.rfc3449.claims import ADVICE, CLAIMS, STILL
from lopsided.papers.rfc3449.coverage import COVERAGE
from lopsided.papers.rfc3449.figures import FIGURES
from lopsided.papers.rfc3449.setup import EXPERIMENTS, mechanism
from lopsided.papers.rfc3449.shared import mean, ratios

FOLDER = Path(__file__).parent


def answer(m: Measurements) -> str:
    """Returns for how many mechanisms the advice holds then and today, and what the best ones give today."""
    then, now = (sum(each.check(m).holds for each in group) for group in (ADVICE, STILL))
    first, flows = (mean(ratios(m, "today", mechanism(key)), "down") for key in ("acks-first", "per-flow"))
    return (
        f"The advice holds for {then} of {len(ADVICE)} mechanisms with the TCP of 1999, and for {now} of {len(STILL)} "
        f"with Linux on today's lines. There an upload no longer slows the download down with a queue for each flow "
        f"({flows:.1f} times the goodput) or ACKs first ({first:.1f} times)."
    )


def _gain(key: str) -> KeyResult:
    each = mechanism(key)
    return KeyResult(key, each.title, "", lambda m: mean(ratios(m, "then", each), "down"))


PAPER = Paper(
    key="rfc3449",
    title="TCP Performance Implications of Network Path Asymmetry",
    authors="Hari Balakrishnan, Venkata N. Padmanabhan, Godred Fairhurst and Mahesh Sooriyabandara",
    year=2002,
    summary="Is the advice of BCP 69 for slow return lines still good?",
    folder=FOLDER,
    experiments=tuple(EXPERIMENTS.values()),
    figures=FIGURES,
    claims=CLAIMS,
    assumptions=assumptions.load(FOLDER),
    causes=failing.load(FOLDER),
    coverage=COVERAGE,
    key_results=tuple(map(_gain, ("vj", "filter-paced", "per-flow", "acks-first"))),
    repeat=3,
    varied=("then",),
    answer=answer,
    answer_needs=("then", "today"),
)
