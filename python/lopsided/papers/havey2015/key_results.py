"""Defines the numbers that show how sensitive the results are to the assumptions."""

from __future__ import annotations

from lopsided.papers.framework.model import KeyResult
from lopsided.papers.havey2015.shared import value

KEY_RESULTS = (
    KeyResult(
        "asqm-evening", "ASQM's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "asqm", 100).median,
    ),
    KeyResult(
        "codel-evening", "CoDel's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "codel", 100).median,
    ),
)  # fmt: skip
