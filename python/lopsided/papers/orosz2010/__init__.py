"""Orosz, Sztrik and Kim, *Dynamics and Congestion Control of Alternative TCP Variants on Asymmetric Lines*, 2010.

The letter measures how uploads on a 512/128 kbit/s ADSL line affect a download, under six TCP variants. Comments cite
parts of the letter by label: ORO-E01 is experiment 1, ORO-M03 mechanism 3, ORO-A08 gap or error 8.
"""

from __future__ import annotations

from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper
from lopsided.papers.orosz2010 import setup
from lopsided.papers.orosz2010.claims import CLAIMS
from lopsided.papers.orosz2010.figures import FIGURES
from lopsided.papers.orosz2010.key_results import KEY_RESULTS
from lopsided.papers.orosz2010.setup import DOWN_BPS, OTHERS, VEGAS
from lopsided.papers.orosz2010.shared import mean_over, value


def answer(m: Measurements) -> str:
    """Summarises the download's throughput with 1 upload and with 2 uploads, relative to the throughput without
    uploads."""
    one, two = (mean_over(m, OTHERS, f"share_{phase}").median * 100 for phase in (2, 3))
    vegas = value(m, VEGAS, "share_2").median * 100
    return (
        f"With a modem buffer of {setup.ASSUMED_BUFFER} packets, the download keeps {one:.0f} % of its throughput next "
        f"to one upload and {two:.0f} % next to two uploads (mean of all variants except Vegas); Vegas keeps "
        f"{vegas:.0f} % next to one upload. The waiting time of ACKs in this buffer affects the result more than the "
        "variant (figure B)."
    )


PAPER = Paper(
    key="orosz2010",
    title="Dynamics and Congestion Control of Alternative TCP Variants on Asymmetric Lines",
    authors="Peter Orosz, Janos Sztrik and Chesoong Kim",
    year=2010,
    summary="How do uploads on an ADSL line affect a download, under each of six TCP variants?",
    **files_beside(__file__),
    experiments=(setup.PHASED, setup.BUFFERED, setup.WINDOWED, setup.RATIOS, setup.ACKS, setup.MODERN),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=load(__file__, down_kb=DOWN_BPS / 8e3),
    key_results=KEY_RESULTS,
    repeat=5,
    varied=("phases",),
    answer=answer,
    answer_needs=("phases",),
)
