"""Draws figures of a run. The footnote of a figure states the averaging interval and the run's digest.

run.plot("goodput")            a matplotlib Figure
plot(run, "cwnd", flows=["download"])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.views.plot import over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.scenario import Run
    from lopsided.views.chart import Chart


KINDS: dict[str, Callable[..., Chart]] = {
    "goodput": over_time.goodput,
    "cwnd": over_time.cwnd,
    "rtt": over_time.rtt,
    "queue": over_time.queue,
    "drops": over_time.drops,
}
"""Maps each kind of figure of `Run.plot` and `lopsided plot` to the function that returns its chart."""


def plot(run: Run, kind: str, *, column: str | None = None, **options: Any) -> Figure:
    """Draws a figure of the run. `column` selects the style of a journal's columns, `single` or `double`."""
    from lopsided.views.plot import drawn, style

    said = chart(run, kind, **options)
    if column is None:
        return drawn.figure(said)
    with style.for_column(column):
        return drawn.figure(said)


def chart(run: Run, kind: str, **options: Any) -> Chart:
    """Returns the chart of this kind. Raises UsageError if the kind or an option is unknown."""
    make = KINDS.get(kind)
    if make is None:
        raise UsageError(f"no plot called {kind!r}; {choices(kind, KINDS)}")
    try:
        inspect.signature(make).bind(run, **options)
    except TypeError as error:
        raise UsageError(f"plot {kind!r}: {error}") from None
    return make(run, **options)
