"""RFC 3449 (BCP 69), *TCP Performance Implications of Network Path Asymmetry*, 2002, as a study.

Each mechanism of the RFC is simulated on the RFC's paths, with the TCP of 1999 and with Linux 6.1, and on four current
lines, with Linux and QUIC. The RFC has no measurements. Its statements (section 3) and advice (tables 1 and 2) are
judged by criteria of ours, which were fixed before the first results were seen.
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

HINDSIGHT = (
    "The rule of the verdicts was fixed before the first run. After it, settings that contradict the text were mended.",
    "Timestamps were on in the TCP of 1999, so its ACKs had 52 bytes instead of 40.",
    "Pacing sent at ticks of 10 ms, which bounded the rate; it now sends at any time (section 4.6).",
    "The queues for each flow had another buffer than the FIFO; they now have the same, and FQ-CoDel is in table 2.",
    "RED's thresholds were 3 and 12 packets on every line; they are now 15 and 60 % of the buffer.",
    "The large MSS applied to the upload too; it now applies to the forward path alone (section 4.2).",
    "The statement uplink-first also required a full line with an ACK for 16 segments. Section 3.1 says only that the "
    "uplink saturates first if the receiver acknowledges more often than once in k segments, so this was removed.",
)
"""Choices that were made after results had been seen."""


def answer(m: Measurements) -> str:
    """Summarises the RFC's advice then and today, and the gain of today's best mechanisms."""
    then, now = (sum(each.check(m).holds for each in group) for group in (ADVICE, STILL))
    first, flows = (mean(ratios(m, "today", mechanism(key)), "down") for key in ("acks-first", "per-flow"))
    return (
        f"The RFC's advice is right for {then} of {len(ADVICE)} mechanisms with the TCP of 1999, and for {now} of "
        f"{len(STILL)} with Linux on today's lines. There a download next to an upload is {flows:.1f} times as fast "
        f"with a queue for each flow, and {first:.1f} times with ACKs first."
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
    hindsight=HINDSIGHT,
    key_results=tuple(
        KeyResult(key, mechanism(key).title, "", lambda m, key=key: mean(ratios(m, "then", mechanism(key)), "down"))
        for key in ("vj", "filter-paced", "per-flow", "acks-first")
    ),
    repeat=3,
    varied=("then",),
    answer=answer,
    answer_needs=("then", "today"),
)
