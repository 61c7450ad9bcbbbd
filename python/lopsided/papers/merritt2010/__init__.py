"""Sears Merritt, *Understanding Asymmetric Links, Buffers and Bi-Directional TCP Performance*, MS thesis, 2010.

A download and an upload share an asymmetric access line. The routers limit their buffers in packets. The thesis asks
how large the uplink buffer can be before performance collapses. This study covers chapters 1, 3, 5 and 6. Comments cite
parts of the thesis by label: MER-E01 is experiment 1, MER-M08 mechanism 8, MER-A16 gap or error 16.
"""

from __future__ import annotations

from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper
from lopsided.papers.merritt2010.claims import CLAIMS
from lopsided.papers.merritt2010.coverage import COVERAGE
from lopsided.papers.merritt2010.figures import FIGURES
from lopsided.papers.merritt2010.key_results import KEY_RESULTS
from lopsided.papers.merritt2010.setup import ACKS, BUFFERS, FIELD, LINES, POLICED, SWEEP
from lopsided.papers.merritt2010.shared import GOODPUT, WINDOWS, curve


def answer(m: Measurements) -> str:
    """Answers the thesis's question from the buffer sweep."""
    best: list[str] = []
    left: list[str] = []
    for line in LINES:
        goodput, windows = (curve(m, line, reading.performance).median * 100 for reading in (GOODPUT, WINDOWS))
        best.append(f"{BUFFERS[int(goodput.argmax())]} packets on {line.name} ({goodput.max():.0f} % of the link)")
        left.append(f"{goodput[-1]:.0f} % ({windows[-1]:.0f})")
    return (
        f"Performance by goodput is best with an uplink buffer of {_listed(best)}. With {BUFFERS[-1]} packets it falls "
        f"to {_listed(left)} (in brackets: performance by mean window over mean RTT)."
    )


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


PAPER = Paper(
    key="merritt2010",
    title="Understanding Asymmetric Links, Buffers and Bi-Directional TCP Performance",
    authors="Sears Merritt",
    year=2010,
    summary="One download and one upload share an asymmetric line: how large may the uplink buffer be?",
    **files_beside(__file__),
    experiments=(SWEEP, FIELD, ACKS, POLICED),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=COVERAGE,
    key_results=KEY_RESULTS,
    repeat=5,
    varied=("sweep",),
    answer=answer,
    answer_needs=("sweep",),
)
