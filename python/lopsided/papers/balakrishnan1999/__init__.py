"""Balakrishnan, Padmanabhan and Katz, *The Effects of Asymmetry on TCP Performance*, MONET 4(3), 1999.

The paper studies TCP over a slow return line and over half-duplex packet radio, with these remedies:

- ACK congestion control (ACC), ACK filtering (AF), sender adaptation (SA) and ACK reconstruction (AR);
- acks-first scheduling.

Comments cite parts of the paper by label: BAL-E01 is experiment 1, BAL-M03 mechanism 3, BAL-A08 gap or error 8.
"""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.bursts import BURST_SWEEP, DELAY_SWEEP
from lopsided.papers.balakrishnan1999.claims import CLAIMS
from lopsided.papers.balakrishnan1999.coverage import COVERAGE
from lopsided.papers.balakrishnan1999.figures import FIGURES
from lopsided.papers.balakrishnan1999.key_results import KEY_RESULTS
from lopsided.papers.balakrishnan1999.live import LIVE
from lopsided.papers.balakrishnan1999.section9 import IMPLEMENTED_TWO_WAY
from lopsided.papers.balakrishnan1999.setup import EXPERIMENTS, RENO
from lopsided.papers.balakrishnan1999.shared import locked_out, lossy
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper


def answer(m: Measurements) -> str:
    """Summarises Reno's throughput, and the percentage of runs in which the download's ACKs keep the upload from
    sending."""
    slow, compressed = (
        m.value("one-way", "throughput_bps", line=line, scheme=RENO.key).median / 1e6 for line in ("28.8", "28.8C")
    )
    return (
        f"Reno gets {slow:.1f} of 10 Mbit/s over a return line of 28.8 kbit/s, {compressed:.1f} Mbit/s if headers are "
        f"compressed, and {lossy(m, RENO, 'throughput_bps').median / 1e6:.1f} Mbit/s if all buffers are small too. "
        f"A download next to an upload locks the upload out in {100 * locked_out(m, RENO):.0f} % of the runs."
    )


PAPER = Paper(
    key="balakrishnan1999",
    title="The Effects of Asymmetry on TCP Performance",
    authors="Hari Balakrishnan, Venkata N. Padmanabhan and Randy H. Katz",
    year=1999,
    summary="How do slow return lines and packet radio affect TCP, and which remedies help?",
    **files_beside(__file__),
    experiments=(*EXPERIMENTS, BURST_SWEEP, DELAY_SWEEP, IMPLEMENTED_TWO_WAY),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=COVERAGE,
    key_results=KEY_RESULTS,
    repeat=10,
    varied=("one-way", "lossy"),
    answer=answer,
    answer_needs=("one-way", "lossy", "two-way"),
    live=LIVE,
)
