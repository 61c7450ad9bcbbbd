"""Mohammed Yahya, *TCP Fairness*, MSc project report, University of Alberta, 2011.

Two FTP downloads with unequal delays share a 100 Mbit/s laboratory path. The report asks whether Reno with SACK, CUBIC,
HighSpeed and Westwood share the path fairly, with and without a loss period of 100 ms. This study reproduces all 32
tests. Comments cite parts of the report by label: YAH-E01 is experiment 1, YAH-M05 mechanism 5, YAH-A12 gap or error
12.
"""

from __future__ import annotations

from lopsided.papers.framework.claims import MORE
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper
from lopsided.papers.yahya2011 import setup
from lopsided.papers.yahya2011.claims import CLAIMS
from lopsided.papers.yahya2011.coverage import COVERAGE
from lopsided.papers.yahya2011.figures import FIGURES
from lopsided.papers.yahya2011.key_results import KEY_RESULTS
from lopsided.papers.yahya2011.setup import COMBOS, DELAYED, SECOND_DELAY_MS
from lopsided.papers.yahya2011.shared import mbit


def answer(m: Measurements) -> str:
    """Summarises how fairly the variants share the path, and what limits them at 100 ms."""
    leads = {test: mbit(m, test, "S2") / mbit(m, test) for test in COMBOS}
    even = sum(1 / MORE < lead < MORE for lead in leads.values())
    unequal = [lead if test.delay_ms > SECOND_DELAY_MS else 1 / lead for test, lead in leads.items() if not test.even]
    alone = ", ".join(f"{test.variant} {mbit(m, test):.0f}" for test in DELAYED)
    return (
        f"In {even} of the {len(COMBOS)} combinations, the throughputs of the two flows differ by less than 10 %. At "
        f"unequal delays, the flow with the shorter delay leads in {sum(lead >= MORE for lead in unequal)} of "
        f"{len(unequal)} combinations, by a factor of up to {max(unequal):.0f}. Alone with 100 ms of delay, the "
        f"variants get {alone} Mbit/s. The reason for the differences is the reaction of each variant to one packet "
        "that the sender's own netem rejects."
    )


PAPER = Paper(
    key="yahya2011",
    title="TCP Fairness",
    authors="Mohammed Yahya",
    year=2011,
    summary="Do SACK-Reno, CUBIC, HighSpeed and Westwood share 100 Mbit/s fairly at unequal delays?",
    **files_beside(__file__),
    experiments=(
        setup.PREFLIGHT,
        setup.ALONE,
        setup.INTENDED,
        setup.OBSERVED,
        setup.WITHOUT_SACK,
        setup.LOGGED_IN,
        setup.IN_NETWORK,
        setup.COURSE,
        setup.KERNEL,
        setup.PAIR,
    ),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=COVERAGE,
    key_results=KEY_RESULTS,
    repeat=3,
    varied=("baselines", "combos"),
    paired=3,
    answer=answer,
    answer_needs=("baselines", "combos"),
)
