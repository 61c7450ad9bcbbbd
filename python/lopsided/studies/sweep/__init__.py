"""Runs a scenario with every combination of the given settings, with several seeds."""

from lopsided.studies.sweep.axes import (
    Arm,
    Axes,
    Grid,
    arms_of,
    axes_of,
    axis_column,
    axis_columns,
    axis_label,
    axis_words,
)
from lopsided.studies.sweep.measures import flow_rows, performance_of, together_goodput
from lopsided.studies.sweep.result import Sweep, summary
from lopsided.studies.sweep.study import sweep

__all__ = [
    "Arm",
    "Axes",
    "Grid",
    "Sweep",
    "arms_of",
    "axes_of",
    "axis_column",
    "axis_columns",
    "axis_label",
    "axis_words",
    "flow_rows",
    "performance_of",
    "summary",
    "sweep",
    "together_goodput",
]
