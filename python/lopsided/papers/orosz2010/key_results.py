"""Defines the numbers that show how sensitive the results are to the assumptions."""

from __future__ import annotations

from lopsided.papers.framework.model import KeyResult
from lopsided.papers.orosz2010.setup import HIGH_SPEED, OTHERS, VEGAS
from lopsided.papers.orosz2010.shared import mean_over, value


def _mean_share(phase: int) -> KeyResult:
    title = f"phase {phase} mean except Vegas"
    return KeyResult(f"share-{phase}", title, "of phase 1", lambda m: mean_over(m, OTHERS, f"share_{phase}").median)


def _vegas(phase: int) -> KeyResult:
    column = f"throughput_{phase}_bps"
    return KeyResult(f"vegas-{phase}", f"Vegas phase {phase}", "kbit/s", lambda m: value(m, VEGAS, column).median / 1e3)


KEY_RESULTS = (
    _mean_share(2),
    _mean_share(3),
    _vegas(2),
    _vegas(3),
    KeyResult(
        "fluctuation-3",
        "fluctuation phase 3, high-speed variants",
        "",
        lambda m: mean_over(m, HIGH_SPEED, "fluctuation_3").median,
    ),
)
