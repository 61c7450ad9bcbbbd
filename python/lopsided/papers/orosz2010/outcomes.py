"""Tables and figures of what the three phases leave: as assumed, and against what the letter does not give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.drawing import caption, column, compare, legend, name_curves, provenance
from lopsided.papers.framework.model import Comparison, Exhibit
from lopsided.papers.orosz2010.exhibits import INKS, MARKS, OTHERS, collection, mean_over, of_flavour, value
from lopsided.papers.orosz2010.testbed import (
    ASSUMED_BUFFER,
    BUFFERS,
    DEEP_BUFFER,
    FLAVOURS,
    LINUX_RECORD,
    PHASES,
    UPLINKS,
    WINDOWS,
    flavour,
)
from lopsided.views.plot import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab


@collection.table("E01", "Three phases for each variant", needs=("phases",))
def table_e01(lab: Lab) -> Exhibit:
    """Throughput, share, fluctuation and RTT of the download in each phase (ORO-E01)."""
    import polars as pl

    table = lab.table("phases")
    data = table.select(
        pl.Series("variant", [flavour(key).title for key in table["variant"]]),
        *((pl.col(f"throughput_{phase}_bps") / 1e3).alias(f"kbit/s_in_phase_{phase}") for phase in PHASES),
        *((pl.col(f"share_{phase}") * 100).alias(f"%_left_in_phase_{phase}") for phase in (2, 3)),
        *(pl.col(f"fluctuation_{phase}").alias(f"fluctuation_in_phase_{phase}") for phase in PHASES),
        *(pl.col(f"rtt_{phase}_ms").alias(f"RTT_ms_in_phase_{phase}") for phase in PHASES),
        pl.col("retransmits").alias("sent_again"),
    )
    busy = [min(value(lab, each, f"downlink_busy_1{end}") for each in FLAVOURS) for end in ("", "_low", "_high")]
    vegas = flavour("vegas")
    highest = [
        max(value(lab, vegas, f"throughput_{phase}_bps{end}") for phase in (2, 3)) for end in ("", "_low", "_high")
    ]
    find = lab.published.find
    comparisons = (
        compare(find("Section IV", "downlink_load", phase=1), busy, "share of time that packets wait, the least", 100),
        _share_comparison(lab, 2),
        _share_comparison(lab, 3),
        compare(find("Section V", "downstream_throughput_bound"), highest, "the higher of both phases", 1e-3),
    )
    notes = (
        "Throughput counts IP octets on the line, shares are of phase 1, fluctuation is the standard deviation over "
        "the mean in bins of a second.",
        "With what is assumed the mean share of phase 2 is as printed and that of phase 3 is not; figure W shows a "
        "setting in which both are.",
    )
    return Exhibit(data, None, comparisons, notes)


def _share_comparison(lab: Lab, phase: int) -> Comparison:
    """Vegas, of which the letter speaks apart, is left out of the second phase's mean and given beside the third's."""
    printed = lab.published.find("Section V", "downstream_throughput_share_of_link", phase=phase)
    but_vegas = mean_over(lab, OTHERS, f"share_{phase}")
    if phase == 2:
        return compare(printed, but_vegas, "mean of five variants, without Vegas", 100)
    remark = f"mean of all six; without Vegas {but_vegas[0] * 100:.0f}"
    return compare(printed, mean_over(lab, FLAVOURS, f"share_{phase}"), remark, 100)


@collection.table("E02", "Bandwidth-delay products", needs=())
def table_e02(lab: Lab) -> Exhibit:
    """Arithmetic of section III, which must agree to the last digit (ORO-E02)."""
    import polars as pl

    rows, comparisons = [], []
    for path, rtt_s in (("local ADSL link", 0.02), ("full path", 0.03)):
        rate, product = 512e3 / 8 / 1e3, metrics.bandwidth_delay_product_bytes(512e3, rtt_s) / 1e3
        for metric, computed in (("rate", rate), ("bdp", product)):
            comparisons.append(compare(lab.published.find("Section III", metric, path=path), (computed,) * 3))
        rows.append({"path": path, "rtt_s": rtt_s, "rate_kB/s": rate, "bdp_kB": product})
    return Exhibit(pl.DataFrame(rows), None, tuple(comparisons), ("Computed: 512 kbit/s times the delay.",))


def _draw_sweep(panel: Axes, lab: Lab, experiment: str, axis: Sequence[float], phase: int) -> None:
    """One curve for each variant: its share of phase 1, medians with the range over the repetitions."""
    ends = []
    for each in FLAVOURS:
        frame = of_flavour(lab, each, experiment)
        middle, low, high = (column(frame, f"share_{phase}{end}") * 100 for end in ("", "_low", "_high"))
        panel.fill_between(axis, low, high, color=INKS[each.key], alpha=0.12, linewidth=0)
        panel.plot(axis, middle, color=INKS[each.key], marker=MARKS[each.key], markersize=4.5, label=each.title)
        ends.append((float(middle[-1]), each.title, INKS[each.key]))
    printed = lab.published.find("Section V", "downstream_throughput_share_of_link", phase=phase)
    panel.axhline(printed.number, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)))
    panel.set_ylim(0, 112)
    panel.set_ylabel("% of phase 1")
    caption(panel, f"phase {phase}; dashed: printed, {printed}")
    name_curves(panel, ends)


def _sweep(lab: Lab, experiment: str, axis: Sequence[float], titles: tuple[str, str, str], log: bool) -> Exhibit:
    title, subtitle, label = titles
    sheet = style.sheet(title, f"{subtitle} (orosz2010 section V; the sweep is ours)", (2.7, 2.7), label)
    for panel, phase in zip(sheet.panels, (2, 3), strict=True):
        _draw_sweep(panel, lab, experiment, axis, phase)
        if log:
            panel.set_xscale("log", base=2)
        panel.minorticks_off()
        panel.set_xticks(list(axis), [f"{each:g}" for each in axis])
        panel.set_xlim(min(axis) * 0.93, max(axis) * 1.04)
    style.small_print(sheet.figure, provenance(lab, experiment))
    names = [name for name in lab.table(experiment).columns if name not in ("variant", "runs")]
    kept = [name for name in names if name.startswith(("share", "throughput", "uplink", "upload_window"))]
    return Exhibit(lab.table(experiment).select("variant", *kept), sheet.figure)


@collection.figure("A", "What is left of the download in each phase", needs=("phases",))
def figure_a(lab: Lab) -> Exhibit:
    """The shares of the three phases by variant, beside the printed ones."""
    sheet = style.sheet(
        "What is left of the download beside one upload and beside two",
        "Throughput against phase 1, 512/128 kbit/s (orosz2010 section V); dashed: printed values",
        (2.8,),
        "phase (number of uploads plus 1)",
    )
    (panel,) = sheet.panels
    width = 0.13
    for place, each in enumerate(FLAVOURS):
        at = np.array(PHASES) + (place - (len(FLAVOURS) - 1) / 2) * width
        shares, low, high = (
            np.array([value(lab, each, f"share_{phase}{end}") * 100 for phase in PHASES])
            for end in ("", "_low", "_high")
        )
        panel.bar(at, shares, width=width * 0.9, color=INKS[each.key], label=each.title)
        panel.vlines(at, low, high, color=style.INK, linewidth=1)
    for phase in (2, 3):
        printed = lab.published.find("Section V", "downstream_throughput_share_of_link", phase=phase)
        panel.hlines(printed.number, phase - 0.45, phase + 0.45, color=style.MUTED, linestyle=(0, (4, 3)))
    panel.set_xticks(list(PHASES), ["1: alone", "2: one upload", "3: two uploads"])
    panel.set_xlim(0.5, 3.5)
    panel.set_ylim(0, 125)
    panel.set_ylabel("% of phase 1")
    legend(panel, "upper left", columns=6)
    style.small_print(sheet.figure, provenance(lab, "phases"))
    data = lab.table("phases").select(
        "variant", *(f"share_{phase}{end}" for phase in PHASES for end in ("", "_low", "_high"))
    )
    return Exhibit(data, sheet.figure)


@collection.figure("B", "Share against the uplink buffer", needs=("buffers",))
def figure_b(lab: Lab) -> Exhibit:
    """What decides phase 2: how long the modem lets ACKs wait (ORO-A08)."""
    titles = (
        "The modem's buffer decides what an upload leaves",
        "Share of the download's throughput by uplink buffer",
        "uplink buffer (packets)",
    )
    exhibit = _sweep(lab, "buffers", BUFFERS, titles, log=True)
    note = (
        f"Assumed elsewhere: {ASSUMED_BUFFER} packets. From the buffer at which the upload's queue outlasts the "
        "download's window, the share falls; the second upload changes little, because the first has filled the buffer."
    )
    return Exhibit(exhibit.data, exhibit.drawing, notes=(note,))


@collection.figure("W", "Share against the windows of the uploads", needs=("windows",))
def figure_w(lab: Lab) -> Exhibit:
    """What makes phase 3 worse than phase 2: uploads that one by one fill a part of a deep buffer."""
    titles = (
        "Bounded uploads before a deep buffer add their waits",
        f"Share of the download's throughput, uplink buffer of {DEEP_BUFFER} packets",
        "send buffer of each upload (KiB)",
    )
    exhibit = _sweep(lab, "windows", WINDOWS, titles, log=False)
    note = (
        "Nothing overflows here: an upload's whole window stands in the modem's buffer and the second doubles the "
        "wait. The letter says that defaults were kept; whether its FTP programs set buffers it does not say."
    )
    return Exhibit(exhibit.data, exhibit.drawing, notes=(note,))


@collection.figure("Ratio", "Share against the ratio of the rates", needs=("ratios",))
def figure_ratio(lab: Lab) -> Exhibit:
    """The letter's conclusion about the ratio, which it measured at 4 only."""
    titles = (
        "The slower the uplink, the less an upload leaves",
        f"Share of the download's throughput, buffers of {ASSUMED_BUFFER} packets",
        "downlink rate over uplink rate",
    )
    return _sweep(lab, "ratios", [512 / rate for rate in UPLINKS], titles, log=True)


@collection.table("L", "The same on Linux of today", needs=("phases", "modern"))
def table_l(lab: Lab) -> Exhibit:
    """The simulator under both profiles beside Linux 6.1's own TCP, one run each variant (see `kernel`)."""
    import polars as pl

    linux = {row["variant"]: row for row in pl.read_csv(LINUX_RECORD).rows(named=True)}
    rows = [
        {
            "variant": each.title,
            **{
                f"{heading}_phase_{phase}": source(f"share_{phase}") * 100
                for phase in (2, 3)
                for heading, source in (
                    ("%_left_linux-2.6", lambda name, each=each: value(lab, each, name)),
                    ("%_left_linux-6.1", lambda name, each=each: value(lab, each, name, "modern")),
                    ("%_left_Linux_itself", lambda name, each=each: linux[each.key][name]),
                )
            },
            "RTT_ms_linux-6.1_phase_2": value(lab, each, "rtt_2_ms", "modern"),
            "RTT_ms_Linux_itself_phase_2": linux[each.key]["rtt_2_ms"],
        }
        for each in FLAVOURS
    ]
    kernel = linux[FLAVOURS[0].key]["kernel"]
    notes = (
        f"Linux itself: Linux {kernel} in virtual time (the kernel world), one run with the first seed, recorded; the "
        "others are simulated, medians of the seeds. CUBIC is the old one under linux-2.6 and today's elsewhere.",
    )
    return Exhibit(pl.DataFrame(rows), None, (), notes)
