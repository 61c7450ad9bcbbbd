"""The page of the grid: in short, by control, by line, the windows over time, and every cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from . import BUFFERS, CELLS, COMMON, CONTROLS, LINES, OTHERS, Cell, Line, Measurement, Values

MEDIAN_BOUNDS = {"goodput_bps": 0.03, "rtt_mean_ms": 0.05}
"""The project's own: for the median over cells."""
TAIL_BOUND = 0.10
"""And for their 95th percentile."""

_NAMES = {"goodput_bps": "goodput", "rtt_mean_ms": "mean RTT"}
_TRAFFIC = {"alone": "alone", "cross": "with other traffic"}

_HEAD = """\
# Congestion controls beside Linux

Made by `make fidelity`; do not edit. Every congestion control that Linux and the simulator both have, on the same lines
in both worlds, over the same seconds.

- Linux: {kernels}, in virtual time, its own congestion controls; each run's values are `docs/fidelity/variants.csv`.
  The simulator: profile `linux-6.1`. [The other page](../fidelity.md) says how a line is built and checked.
- *Alone*: one download.
- *With other traffic*: after a third of the time a Reno download joins, on the asymmetric lines a Reno upload too. Each
  carries half of what its direction could carry in a third of the time and leaves. So the tested flow is alone,
  shares, and takes back what is free again; its acknowledgements meet a full queue where lines are asymmetric.
- Goodput and mean RTT (of single packets, from captures) are the tested flow's, of the whole run with its slow start;
  of several runs with other start times the median.
- Bounds: median at most {goodput_bound:.0f} % in goodput and {rtt_bound:.0f} % in mean RTT, 95th percentile at most
  {tail_bound:.0f} %. What is beyond is **bold**.

| line | buffers of the downlink: 0.3, 1 and 4 BDP | of the uplink | seconds | runs with other traffic |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class _Off:
    """How far the simulator is off in a cell, as a share of Linux' value."""

    cell: Cell
    linux: dict[str, float]
    error: dict[str, float]


def render(linux: Iterable[Measurement], simulated: dict[tuple[str, int], Values], closing: str) -> str:
    """The whole page as Markdown, of what is measured."""
    measured = list(linux)
    cells = list(_errors(measured, simulated))
    grid = [off for off in cells if off.cell.control in CONTROLS]
    parts = [
        _head(measured),
        _in_short(grid),
        _by("congestion control", ((control, lambda cell, c=control: cell.control == c) for control in CONTROLS), grid),
        _by("line", ((line.name, lambda cell, here=line: cell.line == here) for line in LINES), grid),
        _by("buffer", ((f"{buffer:g} BDP", lambda cell, b=buffer: cell.buffer == b) for buffer in BUFFERS), grid),
        _windows(),
        _others([off for off in cells if off.cell.control in OTHERS]),
        _beyond(cells),
        closing,
        *(_line(line, grid) for line in LINES),
    ]
    return "\n".join(part for part in parts if part)


def _errors(linux: list[Measurement], simulated: dict[tuple[str, int], Values]) -> Iterator[_Off]:
    of_cell: dict[str, list[Measurement]] = {}
    for one in linux:
        if (one.cell, one.seed) in simulated:
            of_cell.setdefault(one.cell, []).append(one)
    for cell in CELLS:
        if cell.name not in of_cell:
            continue
        values, errors = {}, {}
        for quantity in _NAMES:
            values[quantity] = median(one.values["tested"][quantity] for one in of_cell[cell.name])
            ours = median(simulated[one.cell, one.seed]["tested"][quantity] for one in of_cell[cell.name])
            errors[quantity] = ours / values[quantity] - 1
        yield _Off(cell, values, errors)


def _head(measured: list[Measurement]) -> str:
    text = _HEAD.format(
        kernels=", ".join(sorted({one.kernel for one in measured})),
        goodput_bound=100 * MEDIAN_BOUNDS["goodput_bps"],
        rtt_bound=100 * MEDIAN_BOUNDS["rtt_mean_ms"],
        tail_bound=100 * TAIL_BOUND,
    )
    for line in LINES:
        buffers = ", ".join(f"{line.packets(buffer)}" for buffer in BUFFERS)
        columns = (
            line.name,
            f"{buffers} packets",
            f"{line.uplink_packets}",
            f"{line.duration_s}",
            f"{line.cross_seeds}",
        )
        text += f"| {' | '.join(columns)} |\n"
    return text


def _in_short(cells: list[_Off]) -> str:
    rows = [
        "## In short",
        "",
        f"Absolute errors over the {len(cells)} cells measured so far, of {_grid_size()}; a dash: none yet.",
        "",
        "| | cells | goodput: median | 95th percentile | largest | mean RTT: median | 95th percentile | largest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for traffic, words in _TRAFFIC.items():
        rows.append(_spread_row(words, [off for off in cells if off.cell.traffic == traffic]))
    return "\n".join([*rows, _spread_row("all", cells), ""])


def _grid_size() -> int:
    return sum(cell.control in CONTROLS for cell in CELLS)


def _spread_row(name: str, cells: list[_Off]) -> str:
    columns = [f"{len(cells)}"]
    for quantity, bound in MEDIAN_BOUNDS.items():
        columns += _spread(cells, quantity, bound)
    return f"| {name} | {' | '.join(columns)} |"


def _spread(cells: list[_Off], quantity: str, bound: float) -> list[str]:
    found = [abs(off.error[quantity]) for off in cells if not math.isnan(off.error[quantity])]
    if not found:
        return ["-"] * 3
    middle, tail, most = (float(np.quantile(found, share)) for share in (0.5, 0.95, 1.0))
    return [_share(middle, middle > bound), _share(tail, tail > TAIL_BOUND), _share(most, False)]


def _share(value: float, beyond: bool, sign: str = "") -> str:
    text = f"{100 * value:{sign}.1f} %"
    return f"**{text}**" if beyond else text


def _by(what: str, groups: Iterable[tuple[str, Callable[[Cell], bool]]], cells: list[_Off]) -> str:
    heads = [f"{words}: {name} median | 95th" for words in _TRAFFIC.values() for name in _NAMES.values()]
    rows = [f"## By {what}", "", f"| {what} | {' | '.join(heads)} |", "|---" * (1 + 2 * len(heads)) + "|"]
    for name, belongs in groups:
        columns = []
        for traffic in _TRAFFIC:
            here = [off for off in cells if off.cell.traffic == traffic and belongs(off.cell)]
            for quantity, bound in MEDIAN_BOUNDS.items():
                columns += _spread(here, quantity, bound)[:2]
        rows.append(f"| {name} | {' | '.join(columns)} |")
    return "\n".join([*rows, ""])


def _windows() -> str:
    return f"""\
## The window over time

One download alone on {COMMON.name}, buffer 1 BDP: Linux' congestion window in black, the simulator's over it in
blue. BBR's window is a bound; what it sends is set by its pacing rate.

![The congestion window over time, Linux and the simulator](windows.png)
"""


def _others(cells: list[_Off]) -> str:
    if not cells:
        return ""
    rows = [
        f"## Other congestion controls, {COMMON.name}, 1 BDP, alone",
        "",
        "| congestion control | goodput Linux, Mbit/s | off by | mean RTT Linux, ms | off by |",
        "|---|---|---|---|---|",
    ]
    for off in cells:
        rows.append(f"| {off.cell.control} | {_pair(off, 'goodput_bps')} | {_pair(off, 'rtt_mean_ms')} |")
    return "\n".join([*rows, ""])


def _pair(off: _Off, quantity: str) -> str:
    """Linux' value and the error, for a table."""
    scale = 1e-6 if quantity == "goodput_bps" else 1.0
    value, error = off.linux[quantity] * scale, off.error[quantity]
    return f"{value:.3g} | {_share(error, abs(error) > TAIL_BOUND, '+')}"


def _line(line: Line, cells: list[_Off]) -> str:
    rows = [f"## Cells: {line.name}", ""]
    rows += ["Goodput in Mbit/s and mean RTT in ms on Linux, and how far the simulator is off.", ""]
    for traffic, words in _TRAFFIC.items():
        heads = [f"{buffer:g} BDP: goodput | off by | RTT | off by" for buffer in BUFFERS]
        rows += [f"| {words} | {' | '.join(heads)} |", "|---" * (1 + 4 * len(heads)) + "|"]
        for control in CONTROLS:
            found = {
                off.cell.buffer: off
                for off in cells
                if (off.cell.line, off.cell.traffic, off.cell.control) == (line, traffic, control)
            }
            columns = [
                f"{_pair(found[buffer], 'goodput_bps')} | {_pair(found[buffer], 'rtt_mean_ms')}"
                if buffer in found
                else "- | - | - | -"
                for buffer in BUFFERS
            ]
            rows.append(f"| {control} | {' | '.join(columns)} |")
        rows.append("")
    return "\n".join(rows)


def _beyond(cells: list[_Off]) -> str:
    rows = [
        f"- {off.cell.name}: {_NAMES[quantity]} {_share(off.error[quantity], False, '+')}"
        for off in cells
        for quantity in _NAMES
        if abs(off.error[quantity]) > TAIL_BOUND
    ]
    return "\n".join([f"## Cells more than {100 * TAIL_BOUND:.0f} % off", "", *(rows or ["None."]), ""])
