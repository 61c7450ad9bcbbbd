"""Defines the numbers that show how sensitive the results are to the assumptions."""

from __future__ import annotations

from lopsided.papers.framework.model import KeyResult
from lopsided.papers.merritt2010.setup import LINES, AccessLine
from lopsided.papers.merritt2010.shared import BOTH_READINGS, Reading, at, threshold


def _performance(line: AccessLine, packets: int, reading: Reading) -> KeyResult:
    return KeyResult(
        f"performance{reading.suffix}-{line.name}-{packets}",
        f"{reading.name} {line.name}, {packets} packets",
        "",
        lambda m: at(m, line, packets, reading.performance).median,
    )


def _rtt(line: AccessLine) -> KeyResult:
    title = f"RTT alone {line.name}"
    return KeyResult(f"rtt-{line.name}", title, "ms", lambda m: at(m, line, 50, "rtt_alone_logged_ms").median)


def _estimate(line: AccessLine) -> KeyResult:
    return KeyResult(f"estimate-{line.name}", f"estimate {line.name}", "packets", lambda m: threshold(m, line))


KEY_RESULTS = (
    *(_performance(line, packets, reading) for reading in BOTH_READINGS for line in LINES for packets in (5, 20, 50)),
    *(_rtt(line) for line in LINES),
    *(_estimate(line) for line in LINES),
)
