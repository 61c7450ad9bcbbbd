"""The figure of `lopsided size`: performance against the buffer, and the model's estimates.

After merritt2010 figures 5.1 and 6.2.
"""

# matplotlib leaves out the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.studies.sizing import Sizing

_MODEL = style.OTHER[1]
_MEASURED = style.OTHER[0]


def draw(sizing: Sizing) -> Figure:
    """Both panels."""
    line = sizing.line
    subtitle = (
        f"{units.rate(line.down_bps)} down, {units.rate(line.up_bps)} up, RTT {units.millis(line.rtt_s * 1e3)}, "
        f"{line.queue_down} down, {line.cc}, {line.stack}"
    )
    sheet = style.sheet("Uplink buffer", subtitle, (2.5, 1.9), "uplink buffer (packets of 1500 bytes)")
    _performance(sheet.panels[0], sizing)
    _estimates(sheet.panels[1], sizing)
    for panel in sheet.panels:
        panel.set_xlim(0, float(sizing.curve["buffer_packets"][-1]) * 1.02)
    seeds, band = (f"medians of {sizing.repeat} seeds", "; band: all seeds") if sizing.repeat > 1 else ("one seed", "")
    style.small_print(
        sheet.figure,
        f"{seeds} over {units.seconds(sizing.both_s)} with both flows active{band}",
        "sim",
        f"digest of all runs {sizing.digest}",
    )
    return sheet.figure


def _performance(panel: Axes, sizing: Sizing) -> None:
    curve = sizing.curve
    packets = curve["buffer_packets"].to_numpy()
    down = curve["goodput_down_bps"].to_numpy() / sizing.line.down_bps
    up = curve["goodput_up_bps"].to_numpy() / sizing.line.up_bps
    performance = curve["performance"].to_numpy()
    least, greatest = curve["performance_least"].to_numpy(), curve["performance_greatest"].to_numpy()
    panel.plot(packets, down, color=style.DOWN[1], linewidth=1)
    panel.plot(packets, up, color=style.UP[1], linewidth=1)
    panel.fill_between(packets, least, greatest, color=style.INK, alpha=0.12, linewidth=0)
    panel.plot(packets, performance, color=style.INK, linewidth=1.8, marker="o", markersize=3)
    panel.set_ylim(0, 1)
    panel.set_ylabel("share of the link's rate")
    measured = sizing.measured
    _mark(panel, measured.knee_packets, _MEASURED)
    if sizing.model.packets is not None:
        _mark(panel, sizing.model.packets, _MODEL)
    labels = [
        (float(down[-1]), "download", style.DOWN[0]),
        (float(up[-1]), "upload", style.UP[0]),
        (float(performance[-1]), "the smaller", style.INK),
    ]
    style.end_labels(panel, labels)


def _estimates(panel: Axes, sizing: Sizing) -> None:
    packets = sizing.curve["buffer_packets"].to_numpy()
    estimates = sizing.curve["estimate_packets"].to_numpy()
    panel.plot(packets, packets, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    panel.plot(packets, estimates, color=_MODEL, linewidth=1.6, marker="o", markersize=3)
    both = sizing.curve["estimate_both_packets"].to_numpy()
    panel.plot(packets, both, color=_MODEL, linewidth=1, linestyle=(0, (1, 1.5)))
    top = max(float(packets[-1]), float(estimates.max())) * 1.05
    panel.set_ylim(max(-0.15 * top, min(0.0, float(both.min()))), top)
    panel.set_ylabel("model's estimate (packets)")
    labels = [
        (float(packets[-1]), "estimate = buffer", style.MUTED),
        (float(estimates[-1]), "eq 6.6", _MODEL),
    ]
    if abs(float(both[-1] - estimates[-1])) > 0.05 * top:
        labels.append((float(both[-1]), "windows while\nboth active", _MODEL))
    style.end_labels(panel, labels)
    _mark(panel, sizing.measured.knee_packets, _MEASURED, f"measured {sizing.measured.knee_packets}")
    if sizing.model.packets is not None:
        _mark(panel, sizing.model.packets, _MODEL, f"model {sizing.model.packets}", low=True)


def _mark(panel: Axes, packets: float, ink: str, text: str = "", *, low: bool = False) -> None:
    panel.axvline(packets, color=ink, linewidth=1, alpha=0.8)
    if text:
        panel.annotate(
            text,
            (packets, 0.82 if low else 0.94),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=8,
            color=ink,
            va="center",
        )
