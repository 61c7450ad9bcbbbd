"""Figures over time, one for each variant: throughput of both directions, the download's window and RTT.

They show the first repetition's run, as the letter shows its one run. Two of the letter's figures are labelled 2
(ORO-A02), and H-TCP and Reno have none (ORO-A03).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.drawing import caption, name_curves
from lopsided.papers.framework.model import Exhibit
from lopsided.papers.orosz2010.exhibits import collection
from lopsided.papers.orosz2010.measure import BIN_S, Phased
from lopsided.papers.orosz2010.testbed import DOWN_BPS, UP_BPS, Flavour, flavour
from lopsided.views.plot import style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab


def _draw_throughput(panel: Axes, phased: Phased) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    end = phased.bounds_s[-1]
    time, down = phased.series_bps("down", 0.0, end)
    _, up = phased.series_bps("up", 0.0, end)
    panel.plot(time, down / 1e3, color=style.DOWN[0], linewidth=1.1)
    panel.plot(time, up / 1e3, color=style.UP[0], linewidth=1.1)
    for rate in (DOWN_BPS, UP_BPS):
        panel.axhline(rate / 1e3, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    panel.set_ylim(0, DOWN_BPS / 1e3 * 1.05)
    panel.set_ylabel("kbit/s")
    ends = ((down, "down", style.DOWN[0]), (up, "up", style.UP[0]))
    name_curves(panel, [(float(rate[-30:].mean()) / 1e3, name, ink) for rate, name, ink in ends])
    return time, down, up


def _draw_steps(panel: Axes, time: np.ndarray, value: np.ndarray, label: str) -> None:
    panel.step(time, value, where="post", color=style.DOWN[0], linewidth=1.1)
    panel.set_ylim(0, max(float(np.nanmax(value)), 1.0) * 1.08)
    panel.set_ylabel(label)


def _figure(lab: Lab, each: Flavour, number: str) -> Exhibit:
    import polars as pl

    run = lab.run("phases", variant=each.key)
    phased = Phased.of(run)
    download = phased.download
    place = f"orosz2010 figure {number}" if number.isdigit() else "not drawn in orosz2010"
    sheet = style.sheet(
        f"{each.title}: a download alone, beside one upload, and beside two",
        f"512/128 kbit/s ADSL line; a dotted line where an upload joins ({place})",
        (2.5, 1.6, 1.6),
        "time since the download's start (s)",
    )
    rates, window, delay = sheet.panels
    time, down, up = _draw_throughput(rates, phased)
    caption(rates, "throughput of both directions: IP octets on the line, dashed: its rates")
    _draw_steps(window, download.time_s, download.cwnd_bytes / 1e3, "cwnd (kB)")
    caption(window, "the download's congestion window")
    _draw_steps(delay, download.time_s, download.srtt_ms / 1e3, "RTT (s)")
    caption(delay, "the download's smoothed round-trip time")
    for panel in sheet.panels:
        panel.set_xlim(0, phased.bounds_s[-1])
        for start in phased.bounds_s[1:3]:
            panel.axvline(start, color=style.MUTED, linewidth=0.9, linestyle=":")
    style.small_print(
        sheet.figure, f"throughput in bins of {BIN_S:g} s, no smoothing", f"seed {run.seed}  ·  digest {run.digest}"
    )
    return Exhibit(pl.DataFrame({"time_s": time, "down_bps": down, "up_bps": up}), sheet.figure)


def _enter(number: str, key: str) -> Callable[[Lab], Exhibit]:
    each = flavour(key)

    @collection.figure(number, f"{each.title} throughput", needs=("phases",))
    def figure(lab: Lab) -> Exhibit:
        return _figure(lab, each, number)

    return figure


figure_1, figure_2, figure_3, figure_4, figure_h, figure_r = (
    _enter(number, key)
    for number, key in (
        ("1", "cubic"),
        ("2", "vegas"),
        ("3", "bic"),
        ("4", "highspeed"),
        ("H", "htcp"),
        ("R", "reno"),
    )
)
