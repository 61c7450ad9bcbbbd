"""Reads the sender logs of merritt2010's program, and computes the results of the scripts in merritt2010's appendices.

Every row of a log has the same weight, as in the scripts. If a log has one row per write, busy periods therefore have
more weight. The formulas are those of `lopsided.metrics`. The scripts also write files for each buffer size; this
module does not write them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.data.output import whole_file
from lopsided.errors import UsageError
from lopsided.studies.probe import THESIS_COLUMNS

Array = NDArray[np.float64]
_TIME, _RTT, _CWND = (THESIS_COLUMNS.index(name) for name in ("Time", "RTT", "CWND"))


@dataclass(frozen=True)
class SenderLog:
    """The columns of a log: times in s, RTTs in microseconds, windows in bytes."""

    path: Path
    time_s: Array
    rtt_us: Array
    cwnd_bytes: Array


@dataclass(frozen=True)
class Rates:
    """The rates of the measured line in bit/s; `None` for an unknown rate."""

    down_bps: float | None
    up_bps: float | None


@dataclass(frozen=True)
class Figure:
    """One result of a script: its name, the appendix that contains the script, its value and its unit."""

    name: str
    appendix: str
    value: float
    unit: str

    @property
    def shown(self) -> str:
        scale, unit = {"bit/s": (1e-3, "kbit/s"), "byte": (1e-3, "kB"), "us": (1e-3, "ms")}.get(
            self.unit, (1, self.unit)
        )
        return f"{self.value * scale:,.4g} {unit}".strip()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def read(path: Path) -> SenderLog:
    """Reads a log. Raises UsageError with the line number if a row does not contain nine numbers."""
    rows: list[list[float]] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or 'not a text file'}") from error
    for number, line in enumerate(lines, 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not cells or (number == 1 and not _is_number(cells[0])):
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            row = []
        if len(row) != len(THESIS_COLUMNS):
            raise UsageError(f"{path}:{number}: a row needs {len(THESIS_COLUMNS)} numbers: {', '.join(THESIS_COLUMNS)}")
        rows.append(row)
    if not rows:
        raise UsageError(f"{path} has no rows")
    table = np.array(rows)
    return SenderLog(path, table[:, _TIME], table[:, _RTT], table[:, _CWND])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def figures(download: SenderLog, upload: SenderLog | None, split_s: float | None, rates: Rates) -> list[Figure]:
    """Returns the results of all scripts, in the order of merritt2010's appendices E to J.

    `split_s` separates the rows of the download alone from the rows with both flows. It is a time in seconds after the
    first row of the download's log; default: the time of the upload's first row. If neither `split_s` nor `upload` is
    given, the log is not split.
    """
    begin = float(download.time_s[0])
    at = begin + split_s if split_s is not None else float(upload.time_s[0]) if upload is not None else None
    found = _download(download, at, rates)
    if upload is not None:
        found += _upload(upload)
    largest = metrics.maximum_cwnd_bytes(download.cwnd_bytes)
    found.append(Figure("largest window of the download", "G", largest, "byte"))
    if upload is not None:
        found += _both(download, upload, at, rates, largest)
    spread = metrics.rtt_variability(download.time_s, download.rtt_us, begin if at is None else at)
    found.append(Figure("variance of the download's RTT", "J", spread.variance_us2, "us^2"))
    found.append(Figure("standard deviation of the download's RTT", "J", spread.std_us, "us"))
    return found


def _download(log: SenderLog, at: float | None, rates: Rates) -> list[Figure]:
    if at is None:
        whole = metrics.upload_averages(log.rtt_us, log.cwnd_bytes)
        found = [
            Figure("mean window of the download", "E", whole.cwnd_bytes, "byte"),
            Figure("mean RTT of the download", "E", whole.rtt_us, "us"),
            Figure("throughput of the download, window over RTT", "E", whole.throughput_bps, "bit/s"),
        ]
        if rates.down_bps is not None:
            found.append(Figure("bandwidth-delay product", "E", whole.rtt_us / 8e6 * rates.down_bps, "byte"))
        return found
    try:
        parts = metrics.download_averages(log.time_s, log.rtt_us, log.cwnd_bytes, at, rates.down_bps or 1.0)
    except ValueError as error:
        raise UsageError(f"{log.path}: no rows on one side of the split, {at - float(log.time_s[0]):g} s in") from error
    found = [
        Figure("mean window, download alone", "E", parts.cwnd_alone_bytes, "byte"),
        Figure("mean window, both active", "E", parts.cwnd_both_bytes, "byte"),
        Figure("throughput, download alone, window over RTT", "E", parts.throughput_alone_bps, "bit/s"),
        Figure("throughput, both active, window over RTT", "E", parts.throughput_both_bps, "bit/s"),
    ]
    if rates.down_bps is not None:
        found.append(Figure("bandwidth-delay product, both active", "E", parts.bdp_both_bytes, "byte"))
        idle = parts.bdp_both_bytes - parts.cwnd_both_bytes
        found.append(Figure("bandwidth-delay product minus mean window", "E", idle, "byte"))
    return found


def _upload(log: SenderLog) -> list[Figure]:
    whole = metrics.upload_averages(log.rtt_us, log.cwnd_bytes)
    return [
        Figure("mean window of the upload", "F", whole.cwnd_bytes, "byte"),
        Figure("mean RTT of the upload", "F", whole.rtt_us, "us"),
        Figure("throughput of the upload, window over RTT", "F", whole.throughput_bps, "bit/s"),
        Figure("largest window of the upload", "G", metrics.maximum_cwnd_bytes(log.cwnd_bytes), "byte"),
    ]


def _both(download: SenderLog, upload: SenderLog, at: float | None, rates: Rates, largest_bytes: float) -> list[Figure]:
    found: list[Figure] = []
    alone = download.rtt_us[download.time_s <= at] if at is not None else download.rtt_us
    if rates.up_bps is not None and alone.size:
        uplink = int(float(alone.mean()) / 8e6 * rates.up_bps)
        most = metrics.maximum_cwnd_bytes(upload.cwnd_bytes)
        packets = metrics.estimated_buffer_packets(int(largest_bytes), int(most), uplink)
        found.append(Figure("uplink buffer by inequality 6.6", "H", packets, "packets"))
    if rates.down_bps is not None and rates.up_bps is not None:
        both = download.time_s > at if at is not None else np.ones(download.time_s.size, dtype=bool)
        down = metrics.upload_averages(download.rtt_us[both], download.cwnd_bytes[both]).throughput_bps
        up = metrics.upload_averages(upload.rtt_us, upload.cwnd_bytes).throughput_bps
        row = metrics.performance_row(down, up, rates.down_bps, rates.up_bps)
        found += [
            Figure("sum of throughputs over sum of rates", "I", 100 * row.net, "%"),
            Figure("download over its rate", "I", 100 * row.down, "%"),
            Figure("upload over its rate", "I", 100 * row.up, "%"),
            Figure("performance, the smaller of these (eq 1.2)", "I", 100 * min(row.down, row.up), "%"),
        ]
    return found


def write_bdp(log: SenderLog, rates: Rates, path: Path) -> None:
    """Writes a CSV file with the time, window and BDP of each row (merritt2010, appendix D). Raises UsageError if the
    downlink's rate is unknown."""
    if rates.down_bps is None:
        raise UsageError("the bandwidth-delay product needs the downlink's rate: --down 2.4M")
    products = log.rtt_us / 8e6 * rates.down_bps
    lines = ["time_s,cwnd_bytes,bdp_bytes"]
    lines += [f"{t:.6f},{w:.0f},{p:.0f}" for t, w, p in zip(log.time_s, log.cwnd_bytes, products, strict=True)]
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
