"""Writes `docs/fidelity.md`: the values of every scenario on Linux and in the simulator, and the errors that exceed
their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from lopsided.papers.framework import claims
from lopsided.studies.compare import TOLERANCES
from reference.fidelity import (
    BUFFERS,
    CELLS,
    LINES,
    UNEQUAL,
    UNEQUAL_VARIED,
    VARIATION,
    VARIED,
    Cell,
    promises,
    two_way,
)
from reference.fidelity.chance import Both, Value
from reference.fidelity.ns3 import MIN_RTO_S, minimum_rto
from reference.fidelity.promises import Promise
from reference.fidelity.records import Key, Measurement, Values
from reference.fidelity.tables import percent, section, table
from reference.fidelity.texts import page_text

ByRun = dict[tuple[str, int], Values]
"""The values of each run. The keys are pairs of a cell's name and a seed."""

_HEAD = page_text("page-head")


_LOCK = page_text("page-lock")


def render(linux: Sequence[Measurement], simulated: ByRun, ns3: Sequence[Measurement], closing: str) -> str:
    """Returns the page as Markdown. `closing` is the text of its last section."""
    errors = _Errors(Both(linux, simulated))
    kernels, seeds = sorted({one.source for one in linux}), sorted({one.seed for one in linux})
    bounds = " and ".join(f"{_NAMES[name]} {100 * bound:.0f} %" for name, bound in TOLERANCES.items())
    lines = [
        _HEAD.format(kernel=f"{', '.join(kernels)}, seeds {', '.join(map(str, seeds))}", bounds=bounds),
        *promises.rows(_promised(errors)),
        *_summary(errors),
        *_single(errors),
        *(text for line in LINES for text in _line(errors, *line)),
        *_varied(errors),
        *(_beside_ns3(errors, ns3) if ns3 else ()),
        *_beyond(errors),
    ]
    return "\n".join([*lines, closing] if closing else lines)


_NAMES = {
    "goodput_bps": "goodput",
    "rtt_mean_ms": "mean RTT",
    "rtt_std_ms": "deviation of RTT",
    "retransmits": "retransmits",
    "dropped_packets": "drops",
    "mean_backlog_packets": "queue",
}
_SCALES = {"goodput_bps": 1e-3}
_JUDGED = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms")
_HEADS = "goodput Linux | sim | error | RTT Linux | sim | error | deviation Linux | sim | error"


class _Errors:
    """Computes the errors of the simulator's medians, and formats them as table cells."""

    def __init__(self, both: Both) -> None:
        self._both = both

    def value(self, cell: str, key: Key) -> Value:
        return self._both.value(cell, key)

    def of_kind(self, cells: Iterable[Cell], flow: str, quantity: str) -> list[float]:
        found = [abs(self.value(cell.name, (flow, quantity)).median_error) for cell in cells]
        return [error for error in found if not math.isnan(error)]

    def cell(self, cell: str, key: Key) -> str:
        """Returns three table cells: Linux's median, the simulator's median, and the error."""
        value = self.value(cell, key)
        if not value.linux:
            return "- | - | -"
        scale, bound = _SCALES.get(key[1], 1.0), TOLERANCES.get(key[1])
        error = value.median_error
        text = percent(error, signed=True, bold=bound is not None and abs(error) > bound, unknown="-")
        return " | ".join([*(_figure(each * scale) for each in value.medians), text])

    def cells(self, cell: str, flow: str) -> list[str]:
        """Returns the table cells with a flow's goodput, mean RTT and RTT deviation."""
        return [self.cell(cell, (flow, quantity)) for quantity in _JUDGED]


def _two_way_cells() -> list[Cell]:
    return [two_way(*line, buffer) for line in LINES for buffer in BUFFERS]


def _summary(errors: _Errors) -> list[str]:
    found = {
        f"{flow}, {_NAMES[quantity]}": errors.of_kind(_two_way_cells(), flow, quantity)
        for flow in ("download", "upload")
        for quantity in _JUDGED
    }
    rows = ((name, _spread(known)) for name, known in found.items() if known)
    shown = table("| median | 95th percentile | largest", rows)
    return section("Summary", "The table summarizes the absolute errors in the two-way cells:", shown)


def _spread(errors: list[float]) -> str:
    return " | ".join(percent(float(np.quantile(errors, share))) for share in (0.5, 0.95, 1.0))


def _single(errors: _Errors) -> list[str]:
    cells = ((CELLS[0], "download"), (UNEQUAL, "near"), (UNEQUAL, "far"))
    return section(
        "One flow alone, and two flows with unequal RTTs",
        "The line runs at 3000/1000 kbit/s with buffers of 50 packets. With unequal RTTs, downloads at 20 ms and 100 ms"
        " share the bottleneck.",
        table(f"cell | flow | {_HEADS}", ((cell.name, flow, *errors.cells(cell.name, flow)) for cell, flow in cells)),
    )


def _varied(errors: _Errors) -> list[str]:
    cells = ((cell, flow) for cell in VARIED for flow in _flows(cell))
    return section(
        "Without phase locking",
        _LOCK.format(variation=f"{100 * VARIATION:.0f}"),
        table(f"cell | flow | {_HEADS}", ((cell.name, flow, *errors.cells(cell.name, flow)) for cell, flow in cells)),
    )


def _flows(cell: Cell) -> tuple[str, ...]:
    if cell in (UNEQUAL, UNEQUAL_VARIED):
        return ("near", "far")
    return ("download",) if cell.file == "alone.toml" else ("download", "upload")


def _line(errors: _Errors, down: int, up: int) -> list[str]:
    def of(flow: str) -> list[str]:
        names = {buffer: two_way(down, up, buffer).name for buffer in BUFFERS}
        rows = (
            (buffer, *errors.cells(name, flow), errors.cell(name, (flow, "retransmits")))
            for buffer, name in names.items()
        )
        return table(f"{flow}, buffer | {_HEADS} | retransmits Linux | sim | error", rows)

    told = "Goodput is in kbit/s, round-trip times are in ms, and buffers are in packets."
    return section(f"Two-way, {down}/{up} kbit/s", told, of("download"), of("upload"))


def _beside_ns3(errors: _Errors, ns3: Sequence[Measurement]) -> list[str]:
    flows = {"download": "goodput_down_kbps", "upload": "goodput_up_kbps"}

    def off(rto: float, flow: str, column: str) -> str:
        found: list[float] = []
        for one in ns3:
            linux, _ = errors.value(one.cell, (flow, "goodput_bps")).medians
            if linux:
                found.append(abs(one.values[minimum_rto(rto), column] * 1e3 / linux - 1))
        known = [error for error in found if not math.isnan(error)]
        return _spread(known) if known else "- | - | -"

    rows = [
        *((f"ns-3, minimum RTO {rto:g} s", *(off(rto, *each) for each in flows.items())) for rto in MIN_RTO_S),
        ("lopsided", *(_spread(errors.of_kind(_two_way_cells(), flow, "goodput_bps")) for flow in flows)),
    ]
    return section(
        "ns-3 on the same cells",
        "ns-3 3.37 ran the same cells (`bench/peers/ns3_twoway.cc`: TcpLinuxReno with SACK and timestamps, one start\n"
        "time), with Linux's minimum RTO and with its own default. The table shows the absolute errors against Linux\n"
        "over the two-way cells:",
        table("| download: median | 95th percentile | largest | upload: median | 95th percentile | largest", rows),
    )


def _promised(errors: _Errors) -> list[Promise]:
    off = [quantity for _, _, quantity, _ in _off(errors)]
    counted = [
        claims.number(f"{_NAMES[quantity]} medians beyond the bound", off.count(quantity)) for quantity in TOLERANCES
    ]
    return [Promise("No median is beyond its bound.", claims.at_most(0, counted))]


def _beyond(errors: _Errors) -> list[str]:
    found = [
        f"- {cell.name}, {flow}: {_NAMES[quantity]} {percent(error, signed=True)}"
        for cell, flow, quantity, error in _off(errors)
    ]
    return section("Differences above the accuracy targets", "\n".join(found or ["Nothing."]))


def _off(errors: _Errors) -> Iterator[tuple[Cell, str, str, float]]:
    """Yields the cell, flow, quantity and error of each value whose error exceeds its bound."""
    for cell in CELLS:
        for flow in _flows(cell):
            for quantity, bound in TOLERANCES.items():
                if abs(error := errors.value(cell.name, (flow, quantity)).median_error) > bound:
                    yield cell, flow, quantity, error


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
