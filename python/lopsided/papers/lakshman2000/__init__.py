"""Lakshman, Madhow and Suter, *TCP/IP Performance with Random Loss and Bidirectional Congestion*, ToN 8(5), 2000.

The paper studies how well TCP uses a forward link if its ACKs return over a slow link. The normalised asymmetry k is
the transmission time of an ACK on the reverse link, divided by the transmission time of a data packet on the forward
link. Only the abstracts of this paper and of its first version were available (*Window-Based Error Recovery and Flow
Control with a Slow Acknowledgement Channel*, INFOCOM 1997). Lines, buffers, hosts and the expressions for the
utilisation are our own.
"""

from __future__ import annotations

from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult, Paper
from lopsided.papers.lakshman2000 import setup
from lopsided.papers.lakshman2000.claims import CLAIMS, utilisation
from lopsided.papers.lakshman2000.figures import FIGURES


def answer(m: Measurements) -> str:
    """Summarises the utilisation if bursts fit into the forward buffer, and if they do not fit."""
    forward = setup.FORWARD_BUFFERS[1]
    found = ", ".join(f"{100 * utilisation(m, forward, k):.0f} % at k = {k:g}" for k in (1, 4, 8, 16, 32))
    return (
        "Judged by the abstracts of 2000 and 1997, because the paper's text was not available. With a forward buffer "
        f"of {forward} packets, a download uses {found}. If k is larger than {forward}, the bursts of data do not fit "
        "into the buffer."
    )


KEY_RESULTS = tuple(
    KeyResult(
        f"utilisation-{forward}-{k}",
        f"utilisation at k = {k}, forward buffer {forward} packets",
        "",
        lambda m, forward=forward, k=k: utilisation(m, forward, k),
    )
    for forward in setup.FORWARD_BUFFERS
    for k in (1, 8, 32)
)

PAPER = Paper(
    key="lakshman2000",
    title="TCP/IP Performance with Random Loss and Bidirectional Congestion",
    authors="T. V. Lakshman, Upamanyu Madhow and Bernhard Suter",
    year=2000,
    summary="How much of a line does TCP use if its ACKs return over a slow link, with and without random loss? "
    "(From the abstracts: the text was not available.)",
    **files_beside(__file__),
    experiments=(setup.REGIMES, setup.FRONT, setup.LOSS, setup.SHARED, setup.TWO_WAY),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=load(__file__),
    key_results=KEY_RESULTS,
    repeat=3,
    varied=("regimes",),
    paired=0,
    answer=answer,
    answer_needs=("regimes",),
)
