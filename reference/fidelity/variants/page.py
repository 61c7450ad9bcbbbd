"""Writes the page `docs/fidelity/variants.md`, which compares congestion controls on Linux and in the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.papers.framework import claims
from reference.fidelity import promises
from reference.fidelity.chance import Both
from reference.fidelity.promises import Promise
from reference.fidelity.records import Measurement, Values
from reference.fidelity.tables import percent, section, table
from reference.fidelity.texts import page_text

from . import BUFFERS, CELLS, COMMON, CONTROLS, LINES, OTHERS, Cell, Line

MEDIAN_BOUNDS = {"goodput_bps": 0.03, "rtt_mean_ms": 0.05}
"""For each quantity, the largest accepted median of all cells' relative errors."""
TAIL_BOUND = 0.10
"""Largest accepted 95th percentile of all cells' relative errors."""

_NAMES = {"goodput_bps": "goodput", "rtt_mean_ms": "mean RTT"}
_TRAFFIC = {"alone": "single download", "cross": "with other traffic"}

_HEAD = page_text("variants-head")


@dataclass(frozen=True)
class _Off:
    """Linux's values for a cell, and the relative errors of the simulator's values."""

    cell: Cell
    linux: dict[str, float]
    error: dict[str, float]


def render(linux: Iterable[Measurement], simulated: dict[tuple[str, int], Values], closing: str) -> str:
    """Returns the page as Markdown. `closing` is an additional section."""
    measured = list(linux)
    cells = list(_errors(measured, simulated))
    grid = [off for off in cells if off.cell.control in CONTROLS]
    lines = [
        *_head(measured),
        *promises.rows(promised(grid)),
        *_in_short(grid),
        *_by(
            "congestion control", ((control, lambda cell, c=control: cell.control == c) for control in CONTROLS), grid
        ),
        *_by("line", ((line.name, lambda cell, here=line: cell.line == here) for line in LINES), grid),
        *_by("buffer", ((f"{buffer:g} BDP", lambda cell, b=buffer: cell.buffer == b) for buffer in BUFFERS), grid),
        _WINDOWS,
        *_others([off for off in cells if off.cell.control in OTHERS]),
        *_beyond(cells),
        *([closing] if closing else ()),
        *(text for line in LINES for text in _line(line, grid)),
    ]
    return "\n".join(lines)


def _errors(linux: list[Measurement], simulated: dict[tuple[str, int], Values]) -> Iterator[_Off]:
    both = Both(linux, simulated)
    known = set(both.cells)
    for cell in (cell for cell in CELLS if cell.name in known):
        values = {quantity: both.value(cell.name, ("tested", quantity)) for quantity in _NAMES}
        yield _Off(
            cell,
            {quantity: value.medians[0] for quantity, value in values.items()},
            {quantity: value.median_error for quantity, value in values.items()},
        )


def _head(measured: list[Measurement]) -> list[str]:
    text = _HEAD.format(
        kernels=", ".join(sorted({one.source for one in measured})),
        goodput_bound=100 * MEDIAN_BOUNDS["goodput_bps"],
        rtt_bound=100 * MEDIAN_BOUNDS["rtt_mean_ms"],
        tail_bound=100 * TAIL_BOUND,
    )
    heads = "line | buffers of the downlink: 0.3, 1 and 4 BDP | of the uplink | seconds | runs with other traffic"
    rows = (
        (
            line.name,
            f"{', '.join(str(line.packets(buffer)) for buffer in BUFFERS)} packets",
            line.uplink_packets,
            line.duration_s,
            line.cross_seeds,
        )
        for line in LINES
    )
    return [text, *table(heads, rows)]


def promised(cells: Sequence[_Off]) -> list[Promise]:
    """Returns the accuracy targets for the median and the 95th percentile of the errors."""
    found: list[Promise] = []
    for quantity, bound in MEDIAN_BOUNDS.items():
        errors = _known(cells, quantity)
        for words, share, most in (("Median", 0.5, bound), ("95th percentile", 0.95, TAIL_BOUND)):
            value = claims.percent("error", float(np.quantile(errors, share)) if errors else math.nan)
            found.append(
                Promise(
                    f"{words} of the {_NAMES[quantity]} errors over the cells.", claims.at_most(100 * most, [value])
                )
            )
    return found


def _known(cells: Iterable[_Off], quantity: str) -> list[float]:
    """Returns the absolute errors of a quantity in all cells. Unknown errors are skipped."""
    return [abs(off.error[quantity]) for off in cells if not math.isnan(off.error[quantity])]


def _in_short(cells: list[_Off]) -> list[str]:
    groups = {words: [off for off in cells if off.cell.traffic == traffic] for traffic, words in _TRAFFIC.items()}
    rows = ((name, len(here), *_spreads(here)) for name, here in (*groups.items(), ("all", cells)))
    heads = "| cells | goodput: median | 95th percentile | largest | mean RTT: median | 95th percentile | largest"
    size = sum(cell.control in CONTROLS for cell in CELLS)
    told = (
        f"The table shows absolute errors. {len(cells)} of {size} cells are measured so far; a dash means that no cell"
        " of the row is measured."
    )
    return section("Summary", told, table(heads, rows))


def _spreads(cells: list[_Off], *, largest: bool = True) -> list[str]:
    """Returns table cells with the median, the 95th percentile and the maximum of the errors, first for goodput and
    then for the RTT."""
    return [
        text
        for quantity, bound in MEDIAN_BOUNDS.items()
        for text in _spread(cells, quantity, bound)[: 3 if largest else 2]
    ]


def _spread(cells: list[_Off], quantity: str, bound: float) -> list[str]:
    found = _known(cells, quantity)
    if not found:
        return ["-"] * 3
    middle, tail, most = (float(np.quantile(found, share)) for share in (0.5, 0.95, 1.0))
    return [percent(middle, bold=middle > bound), percent(tail, bold=tail > TAIL_BOUND), percent(most)]


def _by(what: str, groups: Iterable[tuple[str, Callable[[Cell], bool]]], cells: list[_Off]) -> list[str]:
    def columns(belongs: Callable[[Cell], bool]) -> Iterator[str]:
        for traffic in _TRAFFIC:
            here = [off for off in cells if off.cell.traffic == traffic and belongs(off.cell)]
            yield from _spreads(here, largest=False)

    heads = " | ".join(f"{words}: {name} median | 95th" for words in _TRAFFIC.values() for name in _NAMES.values())
    return section(f"By {what}", table(f"{what} | {heads}", ((name, *columns(belongs)) for name, belongs in groups)))


_WINDOWS = f"""\
## The window over time

The figure shows a single download on {COMMON.name} with a buffer of 1 BDP: Linux's congestion window in black, and
the simulator's window on top in blue. BBR's window is only an upper bound; its pacing rate determines its sending rate.

![The congestion window over time, Linux and the simulator](windows.png)
"""


def _others(cells: list[_Off]) -> list[str]:
    if not cells:
        return []
    heads = "congestion control | goodput Linux, Mbit/s | error | mean RTT Linux, ms | error"
    rows = ((off.cell.control, _pair(off, "goodput_bps"), _pair(off, "rtt_mean_ms")) for off in cells)
    return section(f"Single downloads with other congestion controls, {COMMON.name}, 1 BDP", table(heads, rows))


def _pair(off: _Off, quantity: str) -> str:
    """Returns two table cells: Linux's value and the simulator's error."""
    scale = 1e-6 if quantity == "goodput_bps" else 1.0
    value, error = off.linux[quantity] * scale, off.error[quantity]
    return f"{value:.3g} | {percent(error, signed=True, bold=abs(error) > TAIL_BOUND)}"


def _line(line: Line, cells: list[_Off]) -> list[str]:
    found = {(off.cell.line, off.cell.traffic, off.cell.control, off.cell.buffer): off for off in cells}

    def columns(traffic: str, control: str) -> Iterator[str]:
        for buffer in BUFFERS:
            off = found.get((line, traffic, control, buffer))
            yield f"{_pair(off, 'goodput_bps')} | {_pair(off, 'rtt_mean_ms')}" if off else "- | - | - | -"

    heads = " | ".join(f"{buffer:g} BDP: goodput | error | RTT | error" for buffer in BUFFERS)
    tables = (
        table(f"{words} | {heads}", ((control, *columns(traffic, control)) for control in CONTROLS))
        for traffic, words in _TRAFFIC.items()
    )
    told = "The table shows goodput in Mbit/s and mean RTT in ms on Linux, and the errors of the simulator."
    return section(f"Cells: {line.name}", told, *tables)


def _named(cell: str) -> str:
    """Returns a cell's name for the page. A phrase replaces the keyword of the traffic."""
    name, _, traffic = cell.rpartition(", ")
    return f"{name}, {_TRAFFIC[traffic]}"


def _beyond(cells: list[_Off]) -> list[str]:
    found = [
        f"- {_named(off.cell.name)}: {_NAMES[quantity]} {percent(off.error[quantity], signed=True)}"
        for off in cells
        for quantity in _NAMES
        if abs(off.error[quantity]) > TAIL_BOUND
    ]
    return section(f"Cells with an error above {100 * TAIL_BOUND:.0f} %", "\n".join(found or ["None."]))
