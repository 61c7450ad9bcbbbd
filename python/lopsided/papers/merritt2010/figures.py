"""Figures and tables of chapters 5 and 6 that are read against the uplink buffer.

Figures over time are in `traces`. Every function returns the data that it draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lopsided import metrics
from lopsided.papers.framework.drawing import caption, column, compare, legend, provenance, published_mark
from lopsided.papers.framework.model import Comparison, Exhibit
from lopsided.papers.merritt2010.exhibits import (
    BUFFER_AXIS,
    INKS,
    MARKS,
    at_buffer,
    collection,
    draw_band,
    draw_lines,
    of_line,
)
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, MAIN, Line
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab

_BOTH = "both flows active (120 s)"


@collection.figure("5.1", "Performance against uplink buffer", needs=("sweep",))
def figure_5_1(lab: Lab) -> Exhibit:
    """The smaller normalised goodput for each link and buffer (MER-E01)."""
    sheet = style.sheet(
        "Performance against uplink buffer",
        "The smaller of the two throughputs, each over its link's rate (merritt2010 figure 5.1); diamonds: printed "
        "values",
        (2.9, 2.9),
        BUFFER_AXIS,
    )
    delivered, logged = sheet.panels
    for panel, name, text in (
        (
            delivered,
            "performance",
            "goodput: bytes delivered to the application; dotted: most that fits beside all ACKs",
        ),
        (
            logged,
            "logged_performance",
            "throughput as the thesis's scripts E and F estimate it: mean window over mean RTT",
        ),
    ):
        panel.set_ylim(0, 1.08)
        panel.set_ylabel("share of the link")
        caption(panel, text)
        draw_lines(panel, lab, name)
        for line in LINES:
            size = lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name)
            value = lab.published.find("Table 6.2", "performance_at_estimate", link=line.name)
            published_mark(panel, size.number, value.number, INKS[line.name])
        for line, where, item, at in _printed_performance():
            value = lab.published.find(where, "performance", item=item)
            published_mark(panel, at, value.number / 100, INKS[line.name])
    for line in LINES:
        bound = metrics.two_way_performance_bound(line.down_bps, line.up_bps)
        delivered.axhline(bound, color=INKS[line.name], linewidth=1, linestyle=":")
    style.small_print(sheet.figure, _BOTH, provenance(lab, "sweep"))
    data = lab.table("sweep").select(
        "link",
        "uplink_buffer_packets",
        "performance",
        "performance_low",
        "performance_high",
        "down_share",
        "up_share",
        "logged_performance",
        "logged_performance_low",
        "logged_performance_high",
        "runs",
    )
    return Exhibit(
        data,
        sheet.figure,
        _comparisons_5_1(lab),
        (
            "Diamonds: values printed in table 6.2, section 6.3 and section 6.5; the figure itself could not be read.",
            "Which of the two the thesis plots it does not say (MER-A08). Beside the ACKs of a full download no "
            "upload can have the goodput that some printed values would need, unless many ACKs are lost.",
        ),
    )


def _comparisons_5_1(lab: Lab) -> tuple[Comparison, ...]:
    comparisons = []
    lowest = tuple(
        min(float(column(of_line(lab, line), f"performance{end}").min()) for line in LINES)
        for end in ("", "_low", "_high")
    )
    printed = lab.published.find("Section 1", "performance", item="worst case stated in the introduction")
    comparisons.append(compare(printed, lowest, "lowest point of the figure", 100))
    for line, where, item, at in _printed_performance():
        printed = lab.published.find(where, "performance", item=item)
        logged = at_buffer(lab, line, at, "logged_performance")[0]
        values = at_buffer(lab, line, at, "performance")
        comparisons.append(compare(printed, values, f"window over RTT: {logged * 100:.0f}", scale=100))
    printed = lab.published.find("Section 6.3", "performance", item="buffers below the estimate, best case")
    best = tuple(
        max(float(column(of_line(lab, line), f"performance{end}").max()) for line in LINES)
        for end in ("", "_low", "_high")
    )
    logged = max(float(np.nanmax(column(of_line(lab, line), "logged_performance"))) for line in LINES)
    comparisons.append(compare(printed, best, f"best point of the figure; window over RTT: {logged * 100:.0f}", 100))
    return tuple(comparisons)


def _printed_performance() -> tuple[tuple[Line, str, str, int], ...]:
    return (
        (MAIN, "Section 6.3", "2400/196 at the largest measured buffer (50 packets)", 50),
        (LINES[2], "Section 6.5", "worst link at 50 packets", 50),
    )


@collection.table("5.1", "Uplink buffer in packets and seconds", needs=())
def table_5_1(lab: Lab) -> Exhibit:
    """How long each buffer takes to drain at 196 kbit/s (MER-E05): arithmetic, so it must agree to the last digit."""
    import polars as pl

    seconds = [metrics.drain_time_s(packets, MAIN.up_bps) for packets in BUFFERS]
    printed = [
        lab.published.find("Table 5.1", "drain_time_at_196kbps", uplink_buffer_packets=packets) for packets in BUFFERS
    ]
    data = pl.DataFrame(
        {"uplink_buffer_packets": BUFFERS, "drain_s": seconds, "published_s": [row.number for row in printed]}
    )
    comparisons = tuple(compare(row, (value, value, value)) for row, value in zip(printed, seconds, strict=True))
    return Exhibit(data, None, comparisons, ("Computed: 1500-byte packets at 196 kbit/s, no framing.",))


@collection.figure("5.12", "RTT variability against uplink buffer", needs=("sweep",))
def figure_5_12(lab: Lab) -> Exhibit:
    """Standard deviation of the RTT that host A sees, by link and buffer (MER-E07)."""
    sheet = style.sheet(
        "RTT variability against uplink buffer",
        "Standard deviation of the download's RTT while both flows are active (merritt2010 figure 5.12)",
        (2.6, 2.6),
        BUFFER_AXIS,
    )
    for panel, name, text in zip(
        sheet.panels,
        ("rtt_std_ms", "rtt_std_logged_ms"),
        ("RTT of single packets", "smoothed RTT, one row per write, as the thesis logged it"),
        strict=True,
    ):
        highest = max(float(np.nanmax(column(lab.table("sweep"), f"{name}_high"))), 1.0)
        panel.set_ylim(0, highest * 1.08)
        panel.set_ylabel("ms")
        caption(panel, text)
        draw_lines(panel, lab, name)
    style.small_print(sheet.figure, _BOTH, provenance(lab, "sweep"))
    data = lab.table("sweep").select(
        "link",
        "uplink_buffer_packets",
        "rtt_ms",
        "rtt_std_ms",
        "rtt_std_ms_low",
        "rtt_std_ms_high",
        "rtt_std_logged_ms",
    )
    return Exhibit(
        data,
        sheet.figure,
        notes=(
            "The thesis takes its deviation from the logged, smoothed RTT (appendix J); the per-packet one is larger.",
        ),
    )


@collection.figure("6.1", "Components of the RTT", needs=("sweep",))
def figure_6_1(lab: Lab) -> Exhibit:
    """Where the download's RTT comes from on 2400/196 (eqs 6.1-6.4, MER-M09); the thesis draws it without numbers."""
    frame = of_line(lab, MAIN)
    sizes = column(frame, "uplink_buffer_packets")
    down, up = column(frame, "wait_down_ms"), column(frame, "wait_up_ms")
    sheet = style.sheet(
        "Where the download's round-trip time comes from",
        "Mean waits in the two buffers on 2400/196 while both flows are active (merritt2010 section 6.2, figure 6.1)",
        (2.9,),
        BUFFER_AXIS,
    )
    (panel,) = sheet.panels
    panel.bar(sizes, down, width=3, color=style.DOWN[0], label="wait in R1 (downlink)")
    panel.bar(sizes, up, width=3, bottom=down, color=style.UP[0], label="wait in R2 (uplink)")
    panel.plot(sizes, column(frame, "rtt_ms"), color=style.INK, marker="o", markersize=4, label="RTT per packet, mean")
    panel.plot(
        sizes,
        [metrics.drain_time_s(packets, MAIN.up_bps) * 1e3 for packets in sizes],
        color=style.MUTED,
        linestyle="--",
        label="R2 full of 1500-byte packets (table 5.1)",
    )
    panel.set_xlim(BUFFERS[0] - 2, BUFFERS[-1] + 2)
    panel.set_xticks(BUFFERS)
    panel.set_ylabel("ms")
    legend(panel, "upper left")
    style.small_print(
        sheet.figure, "waits: mean over time of each 100 ms interval's mean", _BOTH, provenance(lab, "sweep")
    )
    data = frame.select(
        "uplink_buffer_packets",
        "rtt_ms",
        "wait_down_ms",
        "wait_up_ms",
        "uplink_backlog_packets",
        "downlink_backlog_packets",
        "downlink_empty_share",
    )
    return Exhibit(data, sheet.figure)


@collection.table("6.1", "Average RTT of a download alone", needs=("sweep",))
def table_6_1(lab: Lab) -> Exhibit:
    """Mean RTT before the upload joins (MER-E08), per packet and as the thesis logged it."""
    import polars as pl

    rows, comparisons = [], []
    for line in LINES:
        printed = lab.published.find("Table 6.1", "average_rtt_download_only", link=line.name)
        alone, logged = (at_buffer(lab, line, 50, name) for name in ("rtt_alone_ms", "rtt_alone_logged_ms"))
        rows.append(
            {
                "link": line.name,
                "asymmetry": round(line.asymmetry, 2),
                "published_ms": printed.number,
                "smoothed_as_logged_ms": logged[0],
                "per_packet_ms": alone[0],
                "full_buffer_ms": metrics.drain_time_s(50, line.down_bps) * 1e3,
            }
        )
        comparisons.append(compare(printed, logged, f"per packet {alone[0]:.0f} ms"))
    return Exhibit(
        pl.DataFrame(rows),
        None,
        tuple(comparisons),
        ("Logged column 2 is the kernel's smoothed RTT, one row per write (MER-M15), so that is what is compared.",),
    )


def estimates(lab: Lab, line: Line, experiment: str = "sweep", name: str = "estimate_packets") -> metrics.Crossing:
    """Where eq 6.6's estimate meets the configured size."""
    frame = of_line(lab, line, experiment)
    return metrics.diagonal_crossing(column(frame, "uplink_buffer_packets"), column(frame, name))


@collection.figure("6.2", "Actual against estimated buffer", needs=("sweep",))
def figure_6_2(lab: Lab) -> Exhibit:
    """Eq 6.6 for every configured buffer, and where it meets the diagonal (MER-E09)."""
    sheet = style.sheet(
        "Actual against estimated uplink buffer",
        "Eq 6.6 for every configured size; where a curve crosses the diagonal is its threshold (merritt2010 figure "
        "6.2)",
        (2.9, 2.9),
        "configured uplink buffer (packets)",
    )
    for panel, name, text in zip(
        sheet.panels,
        ("estimate_packets", "estimate_both_packets"),
        ("largest windows of the whole run, as the thesis says", "largest windows while both flows are active"),
        strict=True,
    ):
        panel.plot([0, 55], [0, 55], color=style.MUTED, linewidth=1, linestyle="--")
        frame = lab.table("sweep")
        low, high = float(column(frame, f"{name}_low").min()), float(column(frame, f"{name}_high").max())
        panel.set_ylim(min(low, 0) - 3, min(max(high, 52), 120) + 3)
        panel.set_ylabel("estimate (packets)")
        caption(panel, text)
        draw_lines(panel, lab, name)
        for line in LINES:
            crossing = estimates(lab, line, name=name).packets
            if crossing is not None:
                panel.plot(
                    [crossing], [crossing], marker="x", markersize=10, markeredgewidth=2.2, color=INKS[line.name]
                )
            printed = lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name).number
            published_mark(panel, printed, printed, INKS[line.name])
    style.small_print(
        sheet.figure,
        "dashed: estimate = configured; crosses: measured thresholds, diamonds: printed",
        provenance(lab, "sweep"),
    )
    data = lab.table("sweep").select(
        "link",
        "uplink_buffer_packets",
        "estimate_packets",
        "estimate_packets_low",
        "estimate_packets_high",
        "estimate_both_packets",
        "max_cwnd_down_bytes",
        "max_cwnd_down_both_bytes",
        "max_cwnd_up_bytes",
        "rtt_alone_ms",
    )
    return Exhibit(
        data,
        sheet.figure,
        notes=(
            "The largest window of the whole run usually is the slow-start overshoot of the download's first second "
            "(MER-A19); the lower panel leaves it out.",
        ),
    )


@collection.table("6.2", "Estimated buffer and performance there", needs=("sweep",))
def table_6_2(lab: Lab) -> Exhibit:
    """The threshold of each link and the performance at the published one, beside print (MER-E09)."""
    import polars as pl

    rows, comparisons = [], []
    for line in LINES:
        size = lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name)
        value = lab.published.find("Table 6.2", "performance_at_estimate", link=line.name)
        crossing = estimates(lab, line)
        both_active = estimates(lab, line, name="estimate_both_packets")
        at_published = at_buffer(lab, line, size.number, "performance")
        logged = at_buffer(lab, line, size.number, "logged_performance")[0]
        own = float("nan") if crossing.packets is None else at_buffer(lab, line, crossing.packets, "performance")[0]
        rows.append(
            {
                "link": line.name,
                "published_packets": size.number,
                "measured_packets": crossing.packets,
                "curve": crossing.side,
                "measured_both_active_packets": both_active.packets,
                "published_performance": value.number,
                "performance_at_published_size": at_published[0],
                "window_over_rtt_at_published_size": logged,
                "performance_at_measured_size": own,
            }
        )
        every = [estimates(lab.only(repetition), line).packets for repetition in lab.repetitions]
        found = [packets for packets in every if packets is not None]
        measured = crossing.packets if crossing.packets is not None else float("nan")
        spread = (measured, min(found, default=float("nan")), max(found, default=float("nan")))
        comparisons.append(compare(size, spread, _estimate_remark(crossing, both_active)))
        remark = f"at {size.number:.0f} packets; window over RTT: {logged:.2f}"
        comparisons.append(compare(value, at_published, remark))
    comparisons += _comparisons_in_text(lab)
    return Exhibit(
        pl.DataFrame(rows),
        None,
        tuple(comparisons),
        ("Only multiples of five were run, in the thesis and here: values between them are interpolated (MER-A06).",),
    )


def _comparisons_in_text(lab: Lab) -> list[Comparison]:
    """What sections 1, 6.3 and 6.5 say again about the estimates."""
    at_estimate = {
        line.name: at_buffer(
            lab, line, lab.published.find("Table 6.2", "estimated_uplink_buffer", link=line.name).number, "performance"
        )
        for line in LINES
    }
    own = estimates(lab, MAIN).packets
    own = float("nan") if own is None else own
    worst = min(at_estimate.values())
    find = lab.published.find
    item = "worst link at the recommended size (3000/100 by Table 6.2)"
    return [
        compare(
            find("Section 1", "performance", item="model-sized buffer, all three links"),
            worst,
            "worst of the three at the published sizes",
            100,
        ),
        compare(find("Section 6.3", "maximum_uplink_buffer", item="2400/196"), (own, own, own), "as in table 6.2"),
        compare(
            find("Section 6.3", "performance", item="2400/196 at the estimated threshold"),
            at_estimate[MAIN.name],
            "as in table 6.2",
            100,
        ),
        compare(find("Section 6.5", "performance", item=item), at_estimate[LINES[2].name], "as in table 6.2", 100),
    ]


def _estimate_remark(whole: metrics.Crossing, both: metrics.Crossing) -> str:
    parts = [] if whole.side == "crosses" else [f"the curve stays {whole.side} the diagonal"]
    if both.packets is None:
        return "; ".join([*parts, f"with windows while both active {both.side} the diagonal"])
    return "; ".join([*parts, f"with windows while both active {both.packets:.1f}"])


@collection.table("E10", "Field procedure (section 6.4)", needs=("field", "sweep"))
def table_field_procedure(lab: Lab) -> Exhibit:
    """What the 30 s + 30 s procedure recommends from any one configured buffer (MER-M23, MER-E10)."""
    import polars as pl

    rows = []
    for line in LINES:
        field, full = of_line(lab, line, "field"), of_line(lab, line)
        for short, long in zip(field.rows(named=True), full.rows(named=True), strict=True):
            packets = short["uplink_buffer_packets"]
            rows.append(
                {
                    "link": line.name,
                    "configured_packets": packets,
                    "estimate_30s_packets": short["estimate_packets"],
                    "estimate_120s_packets": long["estimate_packets"],
                    "advice": "keep" if packets < short["estimate_packets"] else "lower it",
                }
            )
    data = pl.DataFrame(rows)
    sheet = style.sheet(
        "The field procedure: what it advises from one configured buffer",
        "Eq 6.6 after 30 s of download alone and 30 s of both (filled), and from the full runs (hollow)",
        (3.2,),
        "configured uplink buffer (packets)",
    )
    (panel,) = sheet.panels
    panel.plot([0, 55], [0, 55], color=style.MUTED, linewidth=1, linestyle="--")
    answers = np.concatenate((column(data, "estimate_30s_packets"), column(data, "estimate_120s_packets")))
    panel.set_ylim(min(float(answers.min()), 0) - 3, min(max(float(answers.max()), 52), 120) + 3)
    draw_lines(panel, lab, "estimate_packets", experiment="field")
    for line in LINES:
        part = data.filter(pl.col("link") == line.name)
        panel.plot(
            part["configured_packets"],
            part["estimate_120s_packets"],
            linestyle="",
            marker=MARKS[line.name],
            markerfacecolor="none",
            color=INKS[line.name],
        )
    panel.set_ylabel("estimate (packets)")
    style.small_print(sheet.figure, "dashed: estimate = configured", provenance(lab, "field"))
    return Exhibit(data, sheet.figure)


@collection.figure(
    "E04", "ACK compression and interference against buffer (sections 5.1.2, 5.1.3)", needs=("sweep", "acks")
)
def figure_interference(lab: Lab) -> Exhibit:
    """What the thesis reads off figures 5.2 to 5.5 and 5.8 by eye, measured (MER-E04); 2400/196."""
    sweep, acks = of_line(lab, MAIN), of_line(lab, MAIN, "acks")
    sheet = style.sheet(
        "ACK compression and interference against uplink buffer",
        "2400/196 kbit/s, both flows active (merritt2010 sections 5.1.2 and 5.1.3, measured instead of seen)",
        (1.9, 1.9, 1.9),
        BUFFER_AXIS,
    )
    compression, period, phase = sheet.panels
    for name, ink, label in (
        ("compressed_share_up", style.UP[0], "upload"),
        ("compressed_share_down", style.DOWN[0], "download"),
    ):
        draw_band(compression, acks, name, ink, label)
    draw_band(period, sweep, "period_strength", style.DOWN[0], "strength of its cycle (autocorrelation peak)")
    draw_band(period, sweep, "dip_share", style.OTHER[1], "time below half of the link's rate")
    period.axhline(0.25, color=style.MUTED, linewidth=0.9, linestyle="--")
    draw_band(phase, sweep, "phase_correlation", style.OTHER[0], "correlation of their levels")
    draw_band(phase, sweep, "phase_agreement", style.OTHER[2], "agreement in direction (kappa)")
    phase.axhline(0, color=style.MUTED, linewidth=0.9)
    for panel, text, label in (
        (compression, "share of acknowledged bytes whose ACK arrives compressed", "share"),
        (period, "the download's goodput", "share, strength"),
        (phase, "the two windows: above zero they move together (in phase), below against each other", "phase"),
    ):
        caption(panel, text)
        panel.set_ylabel(label)
        legend(panel, "upper left", columns=2)
    compression.set_ylim(0, 1.02)
    period.set_ylim(0, 1.45)
    phase.set_ylim(-0.6, 0.75)
    bins = "goodput in bins of 0.5 s; ACKs in samples of 10 ms"
    style.small_print(sheet.figure, bins, provenance(lab, "sweep"))
    data = sweep.select(
        "uplink_buffer_packets",
        "period_strength",
        "period_s",
        "line_share",
        "dip_share",
        "dip_interval_variation",
        "goodput_variation",
        "phase_correlation",
        "phase_agreement",
        "falls_together_lift",
    ).with_columns(
        *(
            acks[name]
            for name in (
                "compressed_share_up",
                "compressed_share_down",
                "burst_up_bytes",
                "burst_down_bytes",
                "silent_share_up",
                "longest_silence_up_s",
                "longest_silence_down_s",
            )
        )
    )
    return Exhibit(data, sheet.figure)
