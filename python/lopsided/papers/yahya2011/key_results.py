"""Defines the numbers that show how sensitive the results are to the assumptions."""

from __future__ import annotations

from lopsided.papers.framework.model import KeyResult
from lopsided.papers.yahya2011.setup import COMBOS, DELAYED, Test
from lopsided.papers.yahya2011.shared import mbit


def _throughput(test: Test, flow: str) -> KeyResult:
    return KeyResult(f"{test.name}-{flow}", f"{test.name} {flow}", "Mbit/s", lambda m: mbit(m, test, flow))


KEY_RESULTS = (
    *(_throughput(test, "S1") for test in DELAYED),
    *(_throughput(COMBOS[number - 1], flow) for number in (4, 9, 10, 16, 20) for flow in ("S1", "S2")),
)
