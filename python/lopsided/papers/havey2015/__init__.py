"""Havey, *Throughput and Delay on the Packet Switched Internet*, dissertation, 2015, chapters 2 to 6.

- RDRA downloads over several connections that together get the bandwidth share of one connection.
- FWP is a Wi-Fi protocol in which the application repairs losses.
- ASQM is a queue discipline that measures the delay of a whole link, so it detects queues below IP.
- BDP limits each flow's queue to the flow's own bandwidth-delay product.

Comments cite parts of the dissertation by label: HAV-E17 is experiment 17, HAV-M31 mechanism 31, HAV-A15 gap or error
15.
"""

from __future__ import annotations

from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper
from lopsided.papers.havey2015 import chapter2, traces
from lopsided.papers.havey2015.chapter3.claims import CLAIMS as CLAIMS_3
from lopsided.papers.havey2015.chapter3.figures import FIGURES as FIGURES_3
from lopsided.papers.havey2015.claims import CLAIMS
from lopsided.papers.havey2015.coverage import COVERAGE
from lopsided.papers.havey2015.figures import FIGURES
from lopsided.papers.havey2015.key_results import KEY_RESULTS
from lopsided.papers.havey2015.setup import CHAPTERS, EXPERIMENTS
from lopsided.papers.havey2015.shared import value


def answer(m: Measurements) -> str:
    """Summarises the benefit of measuring queues below IP, and of BDP on long paths."""
    asqm, codel = (value(m, "evening", "rtt_p90_ms", aqm, 100).median for aqm in ("asqm", "codel"))
    bdp, other = (value(m, "delays", "throughput_bps", aqm, 500).median / 1e6 for aqm in ("bdp", "codel"))
    return (
        "If the channel below IP carries less than the modems' rates, the round trips of 90 % of the packets take up "
        f"to {asqm:.0f} ms with ASQM and {codel:.0f} ms with CoDel (100 ms without queues): the first claim holds. At "
        f"500 ms, BDP gets {bdp:.1f} of 16 Mbit/s and CoDel {other:.1f} Mbit/s: with the traffic mix of the text, no "
        "discipline loses half of the throughput."
    )


PAPER = Paper(
    key="havey2015",
    title="Throughput and Delay on the Packet Switched Internet",
    authors="Daniel Mark Havey",
    year=2015,
    summary="Can a discipline manage a queue below IP that it cannot see, and size its queue without parameters?",
    **files_beside(__file__),
    experiments=EXPERIMENTS,
    figures=(*traces.FIGURES, *chapter2.FIGURES, *FIGURES_3, *FIGURES),
    claims=(*chapter2.CLAIMS, *traces.CLAIMS, *CLAIMS_3, *CLAIMS),
    coverage=COVERAGE,
    key_results=(chapter2.KEY_RESULT, *KEY_RESULTS),
    repeat=2,
    varied=("evening",),
    answer=answer,
    answer_needs=("evening", "delays"),
    chapters=CHAPTERS,
)
