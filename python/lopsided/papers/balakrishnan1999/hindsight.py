"""What was chosen or put on record after results had been seen, and the numbers by which assumptions are judged."""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.setup import LINES, RENO
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult

HINDSIGHT = (
    "ACC's RED: dropping above the upper threshold (harddrop) was tried first, then left out, and taken again with the "
    "authors' code at hand.",
    "Until AR paced as the authors' code does, and the upload was connected before it sends, AF/AR got 4.4 Mbit/s in "
    "case B and the upload was locked out in 76 % of the runs.",
    "Case A: the queue of the source's LAN had 100 packets at first, and 19 after results.",
    "Figures 2 to 4: the modem's buffer had 10 packets and the two-way hosts' buffers 16 kB at first; 32 packets and "
    "64 kB came after a first look.",
)

KEY_RESULTS = (
    *(
        KeyResult(
            f"reno-{line.key}",
            f"Reno, {line.title}",
            "Mbit/s",
            lambda m, key=line.key: m.value("one-way", "throughput_bps", line=key, scheme=RENO.key).median / 1e6,
        )
        for line in LINES
    ),
    KeyResult("reno-lossy", "Reno, case B", "Mbit/s", lambda m: _lossy(m)),
)


def _lossy(m: Measurements) -> float:
    return lossy(m, RENO, "throughput_bps").median / 1e6
