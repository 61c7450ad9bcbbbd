"""Draws the goodput and RTT of the same flows in several worlds."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series, units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.data.series import Series
    from lopsided.scenario import Run
    from lopsided.studies.compare import Comparison
    from lopsided.views.plot.style import LabFigure

_LINES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)))
_OTHERS = (style.INK, style.RED, *style.OTHER)
"""Colours of all worlds except the first. In the first world, each curve has the colour of its flow."""
_MOST_FLOWS = 6


def figure(found: Comparison) -> LabFigure:
    """Draws the goodput and the RTT of the first `_MOST_FLOWS` flows, with one line style per world."""
    scenario, runs = found.scenario, found.examples
    window = max(scenario.interval_s or 0, scenario.duration_s / 160)
    names = scenario.flow_names[:_MOST_FLOWS]
    kinds: list[tuple[str, float, Callable[[Run, str], Series]]] = [
        ("goodput\n(kbit/s)", 1e3, lambda run, name: series.goodput(run, name, window)),
        ("RTT\n(ms)", 1.0, series.rtt),
    ]
    seeds = sorted({run.seed for run in runs.values()})
    subtitle = f"{scenario.name}: {' against '.join(runs)}, seed {', '.join(map(str, seeds))}"
    heights = (1.5,) * (len(names) * len(kinds))
    sheet = style.sheet("The same flows in each world", subtitle, heights, "time since the run began (s)")
    panels = iter(sheet.panels)
    for index, name in enumerate(names):
        for label, scale, curve_of in kinds:
            panel = next(panels)
            labels: list[style.EndLabel] = []
            for number, world in enumerate(runs):
                curve = curve_of(runs[world], name)
                line = _LINES[number % len(_LINES)]
                ink = style.colour(curve.direction, index) if not number else _OTHERS[(number - 1) % len(_OTHERS)]
                time, value = style.thin_out(curve.time_s, curve.value / scale)
                panel.plot(time, value, color=ink, linestyle=line, linewidth=1.1)
                known = value[~np.isnan(value)]
                labels.append((float(known[-1]) if len(known) else 0.0, world, ink))
            panel.set_xlim(0, scenario.duration_s)
            panel.set_ylim(bottom=0)
            panel.set_title(name, loc="left", fontsize=9, pad=2, color=style.INK)
            panel.set_ylabel(label)
            style.end_labels(panel, labels)
    style.small_print(
        sheet.figure, f"goodput in windows of {units.seconds(window)}; RTT: mean of each sampling interval"
    )
    return sheet.figure
