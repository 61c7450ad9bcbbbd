"""Defines the numbers that show how sensitive the results are to the assumptions."""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.setup import LINES, RENO
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.model import KeyResult

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
    KeyResult("reno-lossy", "Reno, case B", "Mbit/s", lambda m: lossy(m, RENO, "throughput_bps").median / 1e6),
)
