"""Figures of a run. Every one says its units, window and smoothing and carries the digest of the run it shows.

run.plot("goodput")            a matplotlib Figure
plot(run, "cwnd", flows=["download"])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lopsided.errors import UsageError
from lopsided.views.plot import over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.run import Run


KINDS: dict[str, Callable[..., Figure]] = {
    "goodput": over_time.goodput,
    "cwnd": over_time.cwnd,
    "rtt": over_time.rtt,
    "queue": over_time.queue,
    "drops": over_time.drops,
}
"""The kinds of figure, by the name that `Run.plot` and `lopsided plot` take."""


def plot(run: Run, kind: str, **options: Any) -> Figure:
    """Draws `kind` of the run."""
    draw = KINDS.get(kind)
    if draw is None:
        raise UsageError(f"no plot called {kind!r}; there are {', '.join(KINDS)}")
    try:
        inspect.signature(draw).bind(run, **options)
    except TypeError as error:
        raise UsageError(f"plot {kind!r}: {error}") from None
    return draw(run, **options)
