"""Draws the congestion windows over time. The simulator's curves are drawn on top of Linux's curves.

Linux's curves are stored in a file with one curve per line: the window in segments at each sample.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series
from lopsided.studies.jobs import run_jobs
from lopsided.views.plot import style
from lopsided.worlds.base import Job

from . import CELLS, COMMON, Cell

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.scenario import Run
    from lopsided.views.plot.style import LabFigure

COLUMNS = ("control", "scenario_sha256", "interval_s", "segments")
MSS = 1448
COLUMNS_OF_PANELS = 3

CURVES = {cell.control: cell for cell in CELLS if (cell.line, cell.buffer, cell.traffic) == (COMMON, 1.0, "alone")}
"""For each congestion control, the cell whose congestion window is drawn."""


class Windows:
    """Stores Linux's congestion window over time, for each congestion control."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, tuple[str, str, str]] = {}
        if path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    self._rows[row["control"]] = (row["scenario_sha256"], row["interval_s"], row["segments"])

    def get(self, cell: Cell) -> tuple[Floats, Floats] | None:
        """Returns the times in seconds and the congestion windows in segments; `None` if the cell's present scenario
        has not been recorded."""
        sha256, interval_s, segments = self._rows.get(cell.control, ("", "0", ""))
        if sha256 != cell.fingerprint():
            return None
        value = np.array(segments.split(), dtype=np.float64)
        return float(interval_s) * np.arange(1, 1 + len(value), dtype=np.float64), value

    def add(self, cell: Cell, run: Run) -> None:
        """Stores the congestion window of a run in the file if the figure shows the cell."""
        if CURVES.get(cell.control) != cell:
            return
        _, value = _curve(run)
        segments = " ".join(f"{window:.0f}" for window in value)
        self._rows[cell.control] = (cell.fingerprint(), f"{run.scenario.interval_s:g}", segments)
        with self._path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows((control, *self._rows[control]) for control in CURVES if control in self._rows)


def _curve(run: Run) -> tuple[Floats, Floats]:
    found = series.flow_column(run, "tested", "cwnd_bytes")
    return found.time_s, found.value / MSS


def figure(linux: Windows) -> LabFigure:
    """Simulates the cells, and returns a figure with one small panel per congestion control."""
    cells = list(CURVES.values())
    ours = run_jobs([Job(cell.scenario(), 1) for cell in cells], lambda _, run: _curve(run))
    drawn, panels = style.small_panels(
        "The congestion window, Linux and the simulator",
        f"one download alone, {COMMON.name}, buffer 1 BDP ({COMMON.packets(1.0)} packets); segments over seconds",
        [cell.control for cell in cells],
        COLUMNS_OF_PANELS,
    )
    for panel, cell, (time_s, value) in zip(panels, cells, ours, strict=True):
        recorded = linux.get(cell)
        if recorded is not None:
            panel.plot(*recorded, color=style.INK, linewidth=2.0)
        panel.plot(time_s, value, color=style.DOWN[1], linewidth=0.9)
        panel.set_xlim(0, COMMON.duration_s)
        # Limit the axis, because the first slow start may exceed all later values by a large factor.
        panel.set_ylim(0, 1.25 * float(np.quantile(value, 0.98)))
    style.small_print(drawn, "black: Linux 6.1 in virtual time", "blue: lopsided", "sampled every 100 ms")
    return drawn
