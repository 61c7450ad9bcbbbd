"""RFC 3449 (BCP 69), *TCP Performance Implications of Network Path Asymmetry*, 2002, as a study.

Each mechanism of the RFC is simulated on the RFC's paths, with the TCP of 1999 and with Linux 6.1, and on four current
lines, with Linux and QUIC. The RFC contains no measurements. Its statements (section 3) and advice (tables 1 and 2) are
judged by our own criteria, which were fixed before the first results were known.
"""

from __future__ import annotations

from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult, Paper
from lopsided.papers.rfc3449.claims import ADVICE, CLAIMS, STILL
from lopsided.papers.rfc3449.coverage import COVERAGE
from lopsided.papers.rfc3449.figures import FIGURES
from lopsided.papers.rfc3449.setup import EXPERIMENTS, mechanism
from lopsided.papers.rfc3449.shared import mean, ratios


def answer(m: Measurements) -> str:
    """Summarises how often the RFC's advice holds for the TCP of 1999 and today, and the gain of today's best
    mechanisms."""
    then, now = (sum(each.check(m).holds for each in group) for group in (ADVICE, STILL))
    first, flows = (mean(ratios(m, "today", mechanism(key)), "down") for key in ("acks-first", "per-flow"))
    return (
        f"The RFC's advice is right for {then} of {len(ADVICE)} mechanisms with the TCP of 1999, and for {now} of "
        f"{len(STILL)} with Linux on today's lines. On these lines, a download next to an upload is {flows:.1f} times "
        f"as fast with a queue for each flow, and {first:.1f} times as fast with ACKs first."
    )


PAPER = Paper(
    key="rfc3449",
    title="TCP Performance Implications of Network Path Asymmetry",
    authors="Hari Balakrishnan, Venkata N. Padmanabhan, Godred Fairhurst and Mahesh Sooriyabandara",
    year=2002,
    summary="Is the advice of BCP 69 for slow return lines still good?",
    **files_beside(__file__),
    experiments=tuple(EXPERIMENTS.values()),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=COVERAGE,
    key_results=tuple(
        KeyResult(key, mechanism(key).title, "", lambda m, key=key: mean(ratios(m, "then", mechanism(key)), "down"))
        for key in ("vj", "filter-paced", "per-flow", "acks-first")
    ),
    repeat=3,
    varied=("then",),
    answer=answer,
    answer_needs=("then", "today"),
)
