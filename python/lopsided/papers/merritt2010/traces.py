"""Figures over time: throughput, windows and bandwidth-delay product of single runs on 2400/196.

They show the first repetition's run, as the thesis shows its one run. Its upload starts at 120 s (section 1.3),
although figure 1.1's text says about 150 s (MER-A05); compare shapes, not time stamps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.drawing import caption, compare, legend, name_curves
from lopsided.papers.framework.model import Exhibit
from lopsided.papers.merritt2010.exhibits import at_buffer, collection
from lopsided.papers.merritt2010.measure import TwoWay, phase_of
from lopsided.papers.merritt2010.testbed import MAIN
from lopsided.views.plot import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab
    from lopsided.papers.framework.traces import Trace

THROUGHPUT_STEP_S = 1.0
"""Bin of the throughput curves: Wireshark's default interval, with which the thesis drew its own."""

_TIME = "time since the download's start (s)"


def _run(lab: Lab, packets: int) -> TwoWay:
    return TwoWay.of(lab.run("sweep", link=MAIN.name, uplink_buffer_packets=packets))


def _throughput(trace: Trace, run: TwoWay) -> tuple[np.ndarray, np.ndarray]:
    return metrics.rate_series_bps(trace.time_s, trace.delivered_bytes, 0.0, run.end_s, THROUGHPUT_STEP_S)


def _draw_throughput(panel: Axes, run: TwoWay) -> pl.DataFrame:
    import polars as pl

    time, down = _throughput(run.download, run)
    _, up = _throughput(run.upload, run)
    panel.plot(time, down / 1e3, color=style.DOWN[0], linewidth=1.2)
    panel.plot(time, up / 1e3, color=style.UP[0], linewidth=1.2)
    panel.axvline(run.start_s, color=style.MUTED, linewidth=0.9, linestyle=":")
    for rate in (MAIN.down_bps, MAIN.up_bps):
        panel.axhline(rate / 1e3, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    panel.set_ylim(0, max(MAIN.down_bps, float(down.max())) / 1e3 * 1.05)
    panel.set_xlim(0, run.end_s)
    ends = ((down, "download", style.DOWN[0]), (up, "upload", style.UP[0]))
    name_curves(panel, [(float(rate[-20:].mean()) / 1e3, name, ink) for rate, name, ink in ends])
    return pl.DataFrame({"time_s": time, "download_bps": down, "upload_bps": up})


def _footer(lab: Lab, packets: int) -> str:
    run = lab.run("sweep", link=MAIN.name, uplink_buffer_packets=packets)
    return f"seed {run.seed}  ·  digest {run.digest}"


@collection.figure("1.1", "Throughput with 50 and 15 packet uplink buffers", needs=("sweep",))
def figure_1_1(lab: Lab) -> Exhibit:
    """The introduction's pair: a buffer of 50 packets and one "sized with the model" (15 packets, MER-A06)."""
    import polars as pl

    sheet = style.sheet(
        "Throughput with a large and a small uplink buffer",
        "2400/196 kbit/s; the upload joins at the dotted line (merritt2010 figure 1.1)",
        (2.2, 2.2),
        _TIME,
    )
    parts = []
    for panel, packets, tag in zip(sheet.panels, (50, 15), "ab", strict=True):
        data = _draw_throughput(panel, _run(lab, packets))
        parts.append(data.with_columns(pl.lit(packets).alias("uplink_buffer_packets")))
        panel.set_ylabel("kbit/s")
        caption(panel, f"({tag}) {packets} packets")
    style.small_print(sheet.figure, f"goodput in bins of {THROUGHPUT_STEP_S:g} s, dashed: link rates", _footer(lab, 50))
    printed = lab.published.find("Section 1", "download_throughput_drop_when_upload_starts")
    median, low, high = at_buffer(lab, MAIN, 50, "down_ratio")
    comparison = compare(printed, (1 - median, 1 - high, 1 - low), "over the 120 s of both against 120 s alone", 100)
    return Exhibit(pl.concat(parts), sheet.figure, (comparison,))


def _figure_throughput(lab: Lab, packets: int, number: str) -> Exhibit:
    sheet = style.sheet(
        f"Throughput with a {packets}-packet uplink buffer",
        f"2400/196 kbit/s; the upload joins at the dotted line (merritt2010 figure {number})",
        (2.8,),
        _TIME,
    )
    (panel,) = sheet.panels
    data = _draw_throughput(panel, _run(lab, packets))
    panel.set_ylabel("kbit/s")
    style.small_print(
        sheet.figure, f"goodput in bins of {THROUGHPUT_STEP_S:g} s, dashed: link rates", _footer(lab, packets)
    )
    return Exhibit(data, sheet.figure)


@collection.figure("5.2", "Throughput with a 5 packet uplink buffer", needs=("sweep",))
def figure_5_2(lab: Lab) -> Exhibit:
    """Throughput over time at 5 packets (MER-E02)."""
    return _figure_throughput(lab, 5, "5.2")


@collection.figure("5.3", "Throughput with a 20 packet uplink buffer", needs=("sweep",))
def figure_5_3(lab: Lab) -> Exhibit:
    """Throughput over time at 20 packets (MER-E02)."""
    return _figure_throughput(lab, 20, "5.3")


@collection.figure("5.4", "Throughput with a 25 packet uplink buffer", needs=("sweep",))
def figure_5_4(lab: Lab) -> Exhibit:
    """Throughput over time at 25 packets (MER-E02)."""
    return _figure_throughput(lab, 25, "5.4")


@collection.figure("5.5", "Throughput with a 50 packet uplink buffer", needs=("sweep",))
def figure_5_5(lab: Lab) -> Exhibit:
    """Throughput over time at 50 packets (MER-E02)."""
    return _figure_throughput(lab, 50, "5.5")


def _figure_phase(lab: Lab, packets: int, number: str, expected: str) -> Exhibit:
    import polars as pl

    run = _run(lab, packets)
    phase = phase_of(run)
    sheet = style.sheet(
        f"Congestion windows with a {packets}-packet uplink buffer",
        f"2400/196 kbit/s, both flows active; the thesis finds them {expected} in a detail (merritt2010 figure "
        f"{number})",
        (2.0, 2.0),
        _TIME,
    )
    columns: dict[str, np.ndarray] = {}
    for panel, name, trace, ink in (
        (sheet.panels[0], "download", run.download, style.DOWN[0]),
        (sheet.panels[1], "upload", run.upload, style.UP[0]),
    ):
        inside = (trace.time_s >= run.start_s) & (trace.time_s <= run.end_s)
        columns["time_s"] = trace.time_s[inside]
        columns[f"{name}_cwnd_bytes"] = trace.cwnd_bytes[inside]
        panel.step(trace.time_s, trace.cwnd_bytes / 1e3, where="post", color=ink, linewidth=1.3)
        panel.set_xlim(run.start_s, run.end_s)
        panel.set_ylim(0, _top(trace, run.start_s, run.end_s) / 1e3 * 1.1)
        panel.set_ylabel("cwnd (kB)")
        caption(panel, name)
    style.small_print(
        sheet.figure,
        f"over all 120 s: {phase.verdict} (correlation {phase.correlation:+.2f}, agreement {phase.agreement:+.2f})",
        _footer(lab, packets),
    )
    return Exhibit(pl.DataFrame(columns), sheet.figure)


def _top(trace: Trace, t0_s: float, t1_s: float) -> float:
    return metrics.largest(trace.time_s, trace.cwnd_bytes, t0_s, t1_s)


@collection.figure("5.6", "Out-of-phase windows with a 10 packet uplink buffer", needs=("sweep",))
def figure_5_6(lab: Lab) -> Exhibit:
    """Both windows over time at 10 packets (MER-E03)."""
    return _figure_phase(lab, 10, "5.6", "out of phase")


@collection.figure("5.7", "In-phase windows with a 50 packet uplink buffer", needs=("sweep",))
def figure_5_7(lab: Lab) -> Exhibit:
    """Both windows over time at 50 packets (MER-E03)."""
    return _figure_phase(lab, 50, "5.7", "in phase")


def _figure_tracking(lab: Lab, packets: int, number: str) -> Exhibit:
    """The download's window beside the bandwidth-delay product that its smoothed RTT implies (MER-M16)."""
    import polars as pl

    run = _run(lab, packets)
    trace = run.download
    bdp = MAIN.down_bps * trace.srtt_ms / 8e3
    sheet = style.sheet(
        f"Window against bandwidth-delay product, {packets}-packet uplink buffer",
        f"Download on 2400/196 kbit/s; the upload joins at the dotted line (merritt2010 figure {number})",
        (2.6, 1.5),
        _TIME,
    )
    panel, below = sheet.panels
    panel.plot(trace.time_s, bdp / 1e3, color=style.OTHER[1], linewidth=1.1, label="BDP = downlink rate x smoothed RTT")
    panel.plot(trace.time_s, trace.cwnd_bytes / 1e3, color=style.DOWN[0], linewidth=1.2, label="download's cwnd")
    after = (trace.time_s > 5) & np.isfinite(bdp)
    panel.set_ylim(0, max(float(bdp[after].max()), _top(trace, 5, run.end_s)) / 1e3 * 1.1)
    panel.set_ylabel("kB")
    legend(panel, "upper left")
    below.plot(run.upload.time_s, run.upload.cwnd_bytes / 1e3, color=style.UP[0], linewidth=1.1)
    below.set_ylim(bottom=0)
    below.set_ylabel("cwnd (kB)")
    caption(below, "the upload's window")
    for each in sheet.panels:
        each.axvline(run.start_s, color=style.MUTED, linewidth=0.9, linestyle=":")
        each.set_xlim(0, run.end_s)
    style.small_print(
        sheet.figure, "sampled every 100 ms; the first 5 s may leave the upper panel", _footer(lab, packets)
    )
    return Exhibit(
        pl.DataFrame({"time_s": trace.time_s, "cwnd_bytes": trace.cwnd_bytes, "bdp_bytes": bdp}), sheet.figure
    )


@collection.figure("5.8", "Window and BDP with a 50 packet uplink buffer", needs=("sweep",))
def figure_5_8(lab: Lab) -> Exhibit:
    """BDP tracking at 50 packets (MER-E06)."""
    return _figure_tracking(lab, 50, "5.8")


@collection.figure("5.9", "Window and BDP with a 5 packet uplink buffer", needs=("sweep",))
def figure_5_9(lab: Lab) -> Exhibit:
    """BDP tracking at 5 packets (MER-E06)."""
    return _figure_tracking(lab, 5, "5.9")


@collection.figure("5.10", "Window and BDP with a 20 packet uplink buffer", needs=("sweep",))
def figure_5_10(lab: Lab) -> Exhibit:
    """BDP tracking at 20 packets (MER-E06)."""
    return _figure_tracking(lab, 20, "5.10")


@collection.figure("5.11", "Window and BDP with a 25 packet uplink buffer", needs=("sweep",))
def figure_5_11(lab: Lab) -> Exhibit:
    """BDP tracking at 25 packets (MER-E06)."""
    return _figure_tracking(lab, 25, "5.11")
