"""The page: every cell, Linux beside the simulator, and what is beyond tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from lopsided.studies.compare import TOLERANCES, Key
from reference.fidelity import (
    BUFFERS,
    CELLS,
    LINES,
    UNEQUAL,
    UNEQUAL_VARIED,
    VARIATION,
    VARIED,
    Cell,
    Measurement,
    two_way,
)
from reference.fidelity.ns3 import MIN_RTO_S, Row

Values = dict[tuple[str, int], dict[Key, float]]
"""By cell and seed."""

_HEAD = """\
# Fidelity: the simulator beside Linux

Made by `make fidelity`; do not edit. Each cell of a fixed set of scenarios (`reference/fidelity/*.toml`) runs on
Linux' own TCP and queue disciplines and in the simulator (profile `linux-6.1`), with the same seeds and so with flows
that start at the same instants. The tables give medians over the seeds, and how far the simulator's median is off.

- Linux: {kernel}.
  In virtual time (`time-travel=inf-cpu`) the clock moves only when every process sleeps: no timer slips, and the
  machine's load does not matter. Measured values: `docs/fidelity/linux.csv`.
- The line: token bucket (1600 B) over a FIFO counted in packets, 50 of them in the downlink; then the delay, 20 ms
  both ways together. Rates count IP packets. Offloads off, static neighbours, no metrics kept between connections.
- Reno with SACK. A download starts within the first second; an upload joins after 19 to 20 s; measured is what lies
  between 22 s and 110 s. Round trips are those of single packets, from a capture at the sender.
- Bounds: {bounds}. Beyond them a value is **bold**.
- [The congestion controls](fidelity/variants.md), each on seven lines, have a page of their own.
- [FreeBSD's own TCP](fidelity/freebsd.md) beside the profile `freebsd-7` has one too.
"""


def render(linux: Sequence[Measurement], simulated: Values, ns3: Sequence[Row], closing: str) -> str:
    """The whole page as Markdown."""
    measured: Values = {(one.cell, one.seed): one.values for one in linux}
    kernels = sorted({f"{one.kernel} ({one.kernel_kind})" for one in linux})
    seeds = sorted({one.seed for one in linux})
    bounds = " and ".join(f"{_NAMES[name]} {100 * bound:.0f} %" for name, bound in TOLERANCES.items())
    errors = _Errors(measured, simulated)
    parts = [
        _HEAD.format(kernel=f"{', '.join(kernels)}, seeds {', '.join(map(str, seeds))}", bounds=bounds),
        _summary(errors),
        _single(errors),
        *(_line(errors, *line) for line in LINES),
        _varied(errors),
    ]
    if ns3:
        parts.append(_beside_ns3(errors, ns3))
    parts.append(_beyond(errors))
    if closing:
        parts.append(closing)
    return "\n".join(parts)


_NAMES = {
    "goodput_bps": "goodput",
    "rtt_mean_ms": "mean RTT",
    "rtt_std_ms": "deviation of RTT",
    "retransmits": "retransmits",
    "dropped_packets": "drops",
    "mean_backlog_packets": "queue",
}
_SCALES = {"goodput_bps": 1e-3}


class _Errors:
    """Medians of both worlds, and how far apart they are."""

    def __init__(self, measured: Values, simulated: Values) -> None:
        self._measured, self._simulated = measured, simulated

    def pair(self, cell: str, key: Key) -> tuple[float, float]:
        """Linux' median and the simulator's, over the seeds that Linux was measured with."""
        seeds = [seed for name, seed in self._measured if name == cell and (name, seed) in self._simulated]
        if not seeds:
            return math.nan, math.nan
        linux = [self._measured[cell, seed].get(key, math.nan) for seed in seeds]
        ours = [self._simulated[cell, seed].get(key, math.nan) for seed in seeds]
        return median(linux), median(ours)

    def error(self, cell: str, key: Key) -> float:
        linux, ours = self.pair(cell, key)
        return ours / linux - 1 if linux else math.nan

    def of_kind(self, cells: Iterable[Cell], flow: str, quantity: str) -> list[float]:
        found = [abs(self.error(cell.name, (flow, quantity))) for cell in cells]
        return [error for error in found if not math.isnan(error)]

    def cell(self, cell: str, key: Key) -> str:
        """Both medians and the error, for a table."""
        linux, ours = self.pair(cell, key)
        if math.isnan(linux):
            return "- | - | -"
        scale, bound = _SCALES.get(key[1], 1.0), TOLERANCES.get(key[1])
        error = self.error(cell, key)
        text = "-" if math.isnan(error) else f"{100 * error:+.1f} %"
        if bound is not None and abs(error) > bound:
            text = f"**{text}**"
        return f"{_figure(linux * scale)} | {_figure(ours * scale)} | {text}"


def _two_way_cells() -> list[Cell]:
    return [two_way(*line, buffer) for line in LINES for buffer in BUFFERS]


def _summary(errors: _Errors) -> str:
    rows = [
        "## In short",
        "",
        "Absolute errors over the two-way cells:",
        "",
        "| | median | 95th percentile | largest |",
    ]
    rows.append("|---|---|---|---|")
    for flow in ("download", "upload"):
        for quantity in ("goodput_bps", "rtt_mean_ms", "rtt_std_ms"):
            found = errors.of_kind(_two_way_cells(), flow, quantity)
            if found:
                rows.append(f"| {flow}, {_NAMES[quantity]} | {_spread(found)} |")
    return "\n".join([*rows, ""])


def _spread(errors: list[float]) -> str:
    return " | ".join(f"{100 * float(np.quantile(errors, share)):.1f} %" for share in (0.5, 0.95, 1.0))


def _single(errors: _Errors) -> str:
    rows = [
        "## One flow alone, and two of unequal RTT",
        "",
        "3000/1000 kbit/s, both buffers 50 packets. The second: downloads of 20 ms and 100 ms share the bottleneck.",
        "",
        "| cell | flow | goodput Linux | sim | off by | RTT Linux | sim | off by | deviation Linux | sim | off by |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, flow in ((CELLS[0], "download"), (UNEQUAL, "near"), (UNEQUAL, "far")):
        columns = [
            errors.cell(cell.name, (flow, quantity)) for quantity in ("goodput_bps", "rtt_mean_ms", "rtt_std_ms")
        ]
        rows.append(f"| {cell.name} | {flow} | {' | '.join(columns)} |")
    return "\n".join([*rows, ""])


def _varied(errors: _Errors) -> str:
    rows = [
        "## Off the lock",
        "",
        "Where serialisation and round-trip times are multiples of each other, as in 3000/100 kbit/s (4 ms and 120 ms",
        "a packet) and in the cell of unequal RTT, a drop-tail queue drops always from the same flow, and microseconds",
        "decide which that is (Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992). Here",
        f"each seed changes rates and delays by up to {100 * VARIATION:.0f} %, in both worlds alike. Medians over the",
        "seeds.",
        "",
        "| cell | flow | goodput Linux | sim | off by | RTT Linux | sim | off by | deviation Linux | sim | off by |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in VARIED:
        for flow in _flows(cell):
            quantities = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms")
            columns = [errors.cell(cell.name, (flow, quantity)) for quantity in quantities]
            rows.append(f"| {cell.name} | {flow} | {' | '.join(columns)} |")
    return "\n".join([*rows, ""])


def _flows(cell: Cell) -> tuple[str, ...]:
    if cell in (UNEQUAL, UNEQUAL_VARIED):
        return ("near", "far")
    return ("download",) if cell.file == "alone.toml" else ("download", "upload")


def _line(errors: _Errors, down: int, up: int) -> str:
    rows = [f"## Two-way, {down}/{up} kbit/s", "", "Goodput in kbit/s, round trips in ms, buffer in packets.", ""]
    for flow in ("download", "upload"):
        heads = [f"{name} Linux | sim | off by" for name in ("goodput", "RTT", "deviation", "retransmits")]
        rows += [f"| {flow}, buffer | {' | '.join(heads)} |", "|---" * 13 + "|"]
        for buffer in BUFFERS:
            cell = two_way(down, up, buffer).name
            quantities = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms", "retransmits")
            rows.append(f"| {buffer} | {' | '.join(errors.cell(cell, (flow, name)) for name in quantities)} |")
        rows.append("")
    return "\n".join(rows)


def _beside_ns3(errors: _Errors, ns3: Sequence[Row]) -> str:
    rows = [
        "## ns-3 on the same cells",
        "",
        "ns-3 3.37 (`bench/peers/ns3_twoway.cc`: TcpLinuxReno with SACK and time stamps, one start time), with Linux'",
        "minimum RTO and with its own default. Absolute errors against Linux over the two-way cells:",
        "",
        "| | download: median | 95th percentile | largest | upload: median | 95th percentile | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    for rto in MIN_RTO_S:
        columns = []
        for flow, column in (("download", "goodput_down_kbps"), ("upload", "goodput_up_kbps")):
            found = []
            for row in ns3:
                cell = two_way(int(row["down_kbps"]), int(row["up_kbps"]), int(row["buffer"])).name
                linux, _ = errors.pair(cell, (flow, "goodput_bps"))
                if row["min_rto_s"] == rto and linux:
                    found.append(abs(row[column] * 1e3 / linux - 1))
            known = [error for error in found if not math.isnan(error)]
            columns.append(_spread(known) if known else "- | - | -")
        rows.append(f"| ns-3, minimum RTO {rto:g} s | {' | '.join(columns)} |")
    ours = [_spread(errors.of_kind(_two_way_cells(), flow, "goodput_bps")) for flow in ("download", "upload")]
    rows.append(f"| lopsided | {' | '.join(ours)} |")
    return "\n".join([*rows, ""])


def _beyond(errors: _Errors) -> str:
    rows = []
    for cell in CELLS:
        for flow in _flows(cell):
            for quantity, bound in TOLERANCES.items():
                error = errors.error(cell.name, (flow, quantity))
                if abs(error) > bound:
                    rows.append(f"- {cell.name}, {flow}: {_NAMES[quantity]} {100 * error:+.1f} %")
    text = rows or ["Nothing."]
    return "\n".join(["## Beyond the bounds", "", *text, ""])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
