"""Draws the figures and builds the tables of chapters 5 and 6 that depend on the uplink buffer. Figures over time are
in `traces`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl

from lopsided import metrics
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Comparison, Figure
from lopsided.papers.framework.plots import Line, Lines, Panel
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.papers.merritt2010.pipeline import FIGURES as CAPTURED
from lopsided.papers.merritt2010.setup import BUFFERS, LINES, MAIN, AccessLine
from lopsided.papers.merritt2010.shared import (
    AGAINST_BUFFER,
    BUFFER,
    SWEEP,
    at,
    by_link,
    crossing,
    curve,
    main,
    printed_at,
    printed_size,
    threshold,
)
from lopsided.papers.merritt2010.traces import FIGURES as OVER_TIME
from lopsided.views.plot import style

Pick: TypeAlias = Callable[[Iterable[float]], float]

_IN_TEXT = (
    (MAIN, "Section 6.3", "2400/196 at the largest measured buffer (50 packets)"),
    (LINES[2], "Section 6.5", "worst link at 50 packets"),
)
"""Links for which the text states the performance with a buffer of 50 packets. Each entry ends with the place and the
item in `published.csv`."""


def _performance(column: str) -> Lines:
    lines = by_link(column)

    def drawn(m: Measurements) -> Iterable[Line]:
        yield from lines(m)
        find = m.published.find
        of_table = [
            (line, printed_size(m, line).number, find("Table 6.2", "performance_at_estimate", link=line.name).number)
            for line in LINES
        ]
        of_text = [(line, 50.0, find(where, "performance", item=item).number / 100) for line, where, item in _IN_TEXT]
        yield from printed_at((*of_table, *of_text))

    return drawn


def _bounds(_m: Measurements) -> Iterable[tuple[float, str]]:
    return ((metrics.two_way_performance_bound(line.down_bps, line.up_bps), line.ink) for line in LINES)


def _extreme(m: Measurements, column: str, pick: Pick, up_to_estimate: bool = False) -> Spread:
    """Returns the best or worst point of a curve, separately for medians, minimums and maximums."""
    found = [
        curve(m, line, column).at(packets)
        for line in LINES
        for packets in BUFFERS
        if not up_to_estimate or packets <= printed_size(m, line).number
    ]
    return Spread.over(pick, found)


def _comparisons_5_1(m: Measurements) -> Iterable[Comparison]:
    find = m.published.find
    worst, best = (
        find("Section 1", "performance", item="worst case stated in the introduction"),
        find("Section 6.3", "performance", item="buffers below the estimate, best case"),
    )
    logged = _extreme(m, "logged_performance", min).median * 100
    yield compare(worst, _extreme(m, "performance", min), f"lowest point; window over RTT: {logged:.0f}", 100)
    for line, where, item in _IN_TEXT:
        logged = at(m, line, 50, "logged_performance").median * 100
        remark = f"window over RTT: {logged:.0f}"
        yield compare(find(where, "performance", item=item), at(m, line, 50, "performance"), remark, 100)
    logged = _extreme(m, "logged_performance", max, up_to_estimate=True).median * 100
    remark = f"best of the sizes up to the printed estimates; window over RTT: {logged:.0f}"
    yield compare(best, _extreme(m, "performance", max, up_to_estimate=True), remark, 100)


FIGURE_5_1 = AGAINST_BUFFER.but(
    title="Performance against uplink buffer",
    subtitle="The smaller of the two throughputs, each over its link's rate (merritt2010 figure 5.1); diamonds: "
    "printed values",
    panels=(
        Panel(
            "share of the link",
            _performance("performance"),
            "goodput: bytes delivered to the application; dashed: upper bound with all ACKs sent, as assumed",
            2.9,
            limits=(0, 1.08),
            levels=_bounds,
        ),
        Panel(
            "share of the link",
            _performance("logged_performance"),
            "throughput as the thesis's scripts E and F estimate it: mean window over mean RTT",
            2.9,
            limits=(0, 1.08),
        ),
    ),
    comparisons=_comparisons_5_1,
    notes=(
        "Diamonds: values printed in table 6.2, section 6.3 and section 6.5; the figure itself could not be read.",
        "The thesis does not say which of the two it plots, so claims about performance are judged by both.",
    ),
)

FIGURE_5_12 = AGAINST_BUFFER.but(
    title="RTT variability against uplink buffer",
    subtitle="Standard deviation of the download's RTT while both flows are active (merritt2010 figure 5.12)",
    panels=(
        Panel("ms", by_link("rtt_std_ms"), "RTT of single packets"),
        Panel("ms", by_link("rtt_std_logged_ms"), "smoothed RTT, one row per write, as the thesis logged it"),
    ),
    notes=("The thesis computes the deviation of the logged, smoothed RTT (appendix J); that of packets is larger.",),
)


def _components(m: Measurements) -> Iterable[Line]:
    down, up = main(m, "wait_down_ms"), main(m, "wait_up_ms")
    bar = partial(Line, look="bar", width=3)
    yield bar(down.x, down.median, style.DOWN[0], label="wait in R1 (downlink)", column="wait_r1_ms")
    yield bar(up.x, up.median, style.UP[0], label="wait in R2 (uplink)", column="wait_r2_ms", base=down.median)
    rtt = main(m, "rtt_ms")
    yield Line(rtt.x, rtt.median, style.INK, mark="o", size=4, label="RTT of packets, mean", column="rtt_ms")
    full = [metrics.drain_time_s(packets, MAIN.up_bps) * 1e3 for packets in rtt.x]
    label = "R2 full of 1500-byte packets (table 5.1)"
    yield Line(rtt.x, full, style.MUTED, style="--", label=label, column="r2_full_ms")


FIGURE_6_1 = AGAINST_BUFFER.but(
    title="Components of the download's round-trip time",
    subtitle="Mean waits in the two buffers on 2400/196 while both flows are active (merritt2010 section 6.2, "
    "figure 6.1)",
    panels=(Panel("ms", _components, height=2.9, legend=("upper left", 1)),),
    small_print=(
        "waits are means over time and the RTT is a mean over packets; few packets are sent while waits are long, so "
        "the RTT may be below the sum of the waits",
        "both flows active (120 s)",
    ),
)


def _estimates(column: str, experiment: str = "sweep") -> Lines:
    lines = by_link(column, experiment)

    def drawn(m: Measurements) -> Iterable[Line]:
        yield Line([0, 55], [0, 55], style.MUTED, style="--", width=1)
        yield from lines(m)
        for line in LINES:
            crossed = threshold(m, line, column, experiment)
            if np.isfinite(crossed):
                yield Line([crossed], [crossed], line.ink, look="points", mark="x", size=10)
        printed = ((line, printed_size(m, line).number) for line in LINES)
        yield from printed_at((line, size, size) for line, size in printed)

    return drawn


def _estimate_limits(column: str, experiment: str = "sweep") -> Callable[[Measurements], tuple[float, float]]:
    def limits(m: Measurements) -> tuple[float, float]:
        low, high = (np.array(m.table(experiment)[f"{column}{end}"]) for end in ("_low", "_high"))
        return min(float(low.min()), 0.0) - 3, min(max(float(high.max()), 52.0), 120.0) + 3

    return limits


def _estimate_panel(column: str, caption: str) -> Panel:
    return Panel("estimate (packets)", _estimates(column), caption, 2.9, limits=_estimate_limits(column))


FIGURE_6_2 = AGAINST_BUFFER.but(
    title="Actual against estimated uplink buffer",
    subtitle="Eq 6.6 for every configured size; a curve crosses the diagonal at its threshold (merritt2010 figure 6.2)",
    x="configured uplink buffer (packets)",
    panels=(
        _estimate_panel("estimate_packets", "largest windows of the whole run, as in the thesis"),
        _estimate_panel("estimate_both_packets", "largest windows while both flows are active"),
    ),
    small_print=("dashed: estimate = configured; crosses: measured thresholds, diamonds: printed",),
    notes=(
        "The largest window of the whole run is usually the overshoot of the download's first slow start. "
        "The lower panel excludes it.",
    ),
)


def table_5_1(m: Measurements) -> Artifact:
    """Returns the time to drain each buffer at 196 kbit/s (MER-E05). All times equal the published times."""
    printed = {
        packets: m.published.find("Table 5.1", "drain_time_at_196kbps", **{BUFFER: packets}) for packets in BUFFERS
    }
    columns: Columns[int] = {
        BUFFER: lambda packets: packets,
        "drain_s": lambda packets: metrics.drain_time_s(packets, MAIN.up_bps),
        "published_s": lambda packets: printed[packets].number,
    }
    compared = tuple(compare(row, metrics.drain_time_s(packets, MAIN.up_bps)) for packets, row in printed.items())
    return Artifact(
        table(BUFFERS, columns), None, compared, ("Computed: 1500-byte packets at 196 kbit/s, no framing.",)
    )


def table_6_1(m: Measurements) -> Artifact:
    """Returns the mean RTT before the upload (MER-E08), per packet and as the thesis logged it."""

    def printed(line: AccessLine) -> PublishedValue:
        return m.published.find("Table 6.1", "average_rtt_download_only", link=line.name)

    columns: Columns[AccessLine] = {
        "link": lambda line: line.name,
        "asymmetry": lambda line: round(line.asymmetry, 2),
        "published_ms": lambda line: printed(line).number,
        "smoothed_as_logged_ms": lambda line: at(m, line, 50, "rtt_alone_logged_ms"),
        "per_packet_ms": lambda line: at(m, line, 50, "rtt_alone_ms"),
        "full_buffer_ms": lambda line: metrics.drain_time_s(50, line.down_bps) * 1e3,
    }
    compared = tuple(
        compare(
            printed(line),
            at(m, line, 50, "rtt_alone_logged_ms"),
            f"per packet {at(m, line, 50, 'rtt_alone_ms').median:.0f} ms",
        )
        for line in LINES
    )
    note = "Print is compared with the smoothed RTT: logged column 2 is the kernel's, one row per write."
    return Artifact(table(LINES, columns), None, compared, (note,))


def _at_printed_size(m: Measurements, line: AccessLine, column: str = "performance") -> Spread:
    return at(m, line, printed_size(m, line).number, column)


def _own_threshold(m: Measurements, line: AccessLine) -> Spread:
    """Returns the buffer size at which the median estimate equals the configured size, with the range over the
    repetitions."""
    single = [threshold(m.repetition(repetition), line) for repetition in m.repetitions]
    known = [packets for packets in single if np.isfinite(packets)] or [float("nan")]
    return Spread(threshold(m, line), min(known), max(known))


def _remark(m: Measurements, line: AccessLine) -> str:
    whole, both = crossing(m, line), crossing(m, line, "estimate_both_packets")
    parts = [] if whole.side == "crosses" else [f"the curve stays {whole.side} the diagonal"]
    where = f"{both.side} the diagonal" if both.packets is None else f"{both.packets:.1f}"
    return "; ".join([*parts, f"with windows while both active {where}"])


def table_6_2(m: Measurements) -> Artifact:
    """Returns each link's buffer threshold, and its performance at the published threshold (MER-E09)."""
    find = m.published.find
    columns: Columns[AccessLine] = {
        "link": lambda line: line.name,
        "published_packets": lambda line: printed_size(m, line).number,
        "measured_packets": lambda line: threshold(m, line),
        "curve": lambda line: crossing(m, line).side,
        "measured_both_active_packets": lambda line: threshold(m, line, "estimate_both_packets"),
        "published_performance": lambda line: find("Table 6.2", "performance_at_estimate", link=line.name).number,
        "performance_at_published_size": lambda line: _at_printed_size(m, line),
        "window_over_rtt_at_published_size": lambda line: _at_printed_size(m, line, "logged_performance"),
        "performance_at_measured_size": lambda line: at(m, line, threshold(m, line), "performance"),
    }
    compared: list[Comparison] = []
    for line in LINES:
        logged = _at_printed_size(m, line, "logged_performance").median
        remark = f"at {printed_size(m, line).number:.0f} packets; window over RTT: {logged:.2f}"
        compared.append(compare(printed_size(m, line), _own_threshold(m, line), _remark(m, line)))
        printed = find("Table 6.2", "performance_at_estimate", link=line.name)
        compared.append(compare(printed, _at_printed_size(m, line), remark))
    note = "Only multiples of 5 packets were run, in the thesis and here. Values between them are interpolated."
    return Artifact(table(LINES, columns), None, (*compared, *_said_again(m)), (note,))


def _said_again(m: Measurements) -> Iterable[Comparison]:
    """Compares the published estimates that sections 1, 6.3 and 6.5 of the thesis repeat."""
    find = m.published.find
    at_estimate = {line: _at_printed_size(m, line) for line in LINES}
    again = "as in table 6.2"
    item = "model-sized buffer, all three links"
    worst = min(at_estimate.values())
    yield compare(find("Section 1", "performance", item=item), worst, "worst of the three at the published sizes", 100)
    yield compare(find("Section 6.3", "maximum_uplink_buffer", item="2400/196"), _own_threshold(m, MAIN), again)
    item = "2400/196 at the estimated threshold"
    yield compare(find("Section 6.3", "performance", item=item), at_estimate[MAIN], again, 100)
    item = "worst link at the recommended size (3000/100 by Table 6.2)"
    yield compare(find("Section 6.5", "performance", item=item), at_estimate[LINES[2]], again, 100)


def _field(m: Measurements) -> Iterable[Line]:
    yield from _estimates("estimate_packets", "field")(m)
    for line in LINES:
        full = curve(m, line, "estimate_packets")
        yield Line(full.x, full.median, line.ink, look="points", mark=line.mark, hollow=True)


def _advice(m: Measurements, line: AccessLine, packets: int, rtt_s: float) -> dict[str, object]:
    """Returns a row for one setting with three estimates: from the field procedure after 30 s and after the full run,
    and from the second procedure."""
    short = curve(m, line, "estimate_packets", "field").at(packets).median
    return {
        "link": line.name,
        "configured_packets": packets,
        "estimate_30s_packets": short,
        "estimate_120s_packets": at(m, line, packets, "estimate_packets").median,
        "advice": "keep" if packets < short else "lower it",
        "second_way_packets": second_way_packets(line, packets, rtt_s),
    }


def second_way_packets(line: AccessLine, uplink_packets: int, rtt_s: float) -> float:
    """Estimates the buffer by the second procedure of section 6.4, which the thesis does not test.

    The window of each direction is its BDP: its rate times the sum of `rtt_s` and the drain time of its full buffer.
    Eq 6.6 then uses the download's RTT.

    Parameters
    ----------
    line
        The access line.
    uplink_packets
        Uplink buffer in packets of 1500 bytes.
    rtt_s
        Typical round-trip time without access buffers, in seconds.

    Returns
    -------
    float
        Estimated uplink buffer in packets.
    """
    down_s = rtt_s + metrics.drain_time_s(50, line.down_bps)
    up_s = rtt_s + metrics.drain_time_s(uplink_packets, line.up_bps)
    window_down = metrics.bandwidth_delay_product_bytes(line.down_bps, down_s)
    window_up = metrics.bandwidth_delay_product_bytes(line.up_bps, up_s)
    return metrics.uplink_buffer_bound_packets(window_down, window_up, down_s, line.up_bps)


def _advices(m: Measurements) -> pl.DataFrame:
    rows = [_advice(m, line, packets, _typical_rtt_s(m)) for line in LINES for packets in BUFFERS]
    return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)


FIELD_PROCEDURE = AGAINST_BUFFER.but(
    title="Advice of the field procedure for each configured buffer",
    subtitle="Eq 6.6 after 30 s of download alone and 30 s of both (filled), and from the full runs (hollow; "
    "merritt2010)",
    x="configured uplink buffer (packets)",
    panels=(Panel("estimate (packets)", _field, height=3.2, limits=_estimate_limits("estimate_packets", "field")),),
    small_print=("dashed: estimate = configured; diamonds: printed thresholds",),
    experiments=("field",),
    data=_advices,
    notes=(
        "The last column is section 6.4's second procedure, which the thesis does not test: windows from the BDP of a "
        "typical RTT of 110 ms and full access buffers. It needs no measurement and ignores the actual windows.",
    ),
)


def _typical_rtt_s(m: Measurements) -> float:
    item = "cited: rule-of-thumb RTT for the untested second procedure"
    return m.published.find("Section 6.4", "average_rtt", item=item).number / 1e3


def _pair(*lines: tuple[str, str, str, str]) -> Lines:
    """Returns curves of chapter 5's link, one for each `(experiment, column, ink, label)`."""

    def drawn(m: Measurements) -> Iterable[Line]:
        return [
            Line.of(main(m, column, experiment), ink, label=label, column=column)
            for experiment, column, ink, label in lines
        ]

    return drawn


INTERFERENCE = AGAINST_BUFFER.but(
    title="ACK compression and interference against uplink buffer",
    subtitle="2400/196 kbit/s, both flows active (merritt2010 sections 5.1.2 and 5.1.3, measured, not read by eye)",
    panels=(
        Panel(
            "share",
            _pair(
                ("acks", "compressed_share_up", style.UP[0], "upload"),
                ("acks", "compressed_share_down", style.DOWN[0], "download"),
            ),
            "share of acknowledged bytes whose ACK arrives compressed",
            1.9,
            limits=(0, 1.02),
            legend=("upper left", 2),
        ),
        Panel(
            "share, strength",
            _pair(
                ("sweep", "period_strength", style.DOWN[0], "strength of its cycle (autocorrelation peak)"),
                ("sweep", "dip_share", style.OTHER[1], "time below half of the link's rate"),
            ),
            "the download's goodput",
            1.9,
            limits=(0, 1.45),
            levels=lambda m: ((0.25, style.MUTED),),
            legend=("upper left", 2),
        ),
        Panel(
            "phase",
            _pair(
                ("sweep", "phase_correlation", style.OTHER[0], "correlation of their levels"),
                ("sweep", "phase_agreement", style.OTHER[2], "agreement in direction (kappa)"),
            ),
            "the two windows move together above zero (in phase), and in opposite directions below",
            1.9,
            limits=(-0.6, 0.75),
            legend=("upper left", 2),
        ),
    ),
    small_print=("goodput in bins of 0.5 s; ACKs in samples of 10 ms",),
)


def table_m12(m: Measurements) -> Artifact:
    """Returns a table that compares a shaper with a policer (MER-M12). A shaper delays packets that exceed the rate,
    and a policer drops them."""

    def of(column: str, experiment: str, scale: float = 1.0) -> Callable[[int], float]:
        return lambda packets: main(m, column, experiment).at(packets).median * scale

    columns: Columns[int] = {"packets": lambda packets: packets}
    for name, experiment in (("shaper", "sweep"), ("limiter", "policed")):
        columns |= {
            f"{name}_download_kbps": of("goodput_down_bps", experiment, 1e-3),
            f"{name}_upload_kbps": of("goodput_up_bps", experiment, 1e-3),
            f"{name}_rtt_ms": of("rtt_ms", experiment),
            f"{name}_upload_retransmits": of("retransmits_up", experiment),
        }
    note = (
        "Packets: the buffer of the shaper, or the bucket of the limiter, on the uplink of 2400/196. Nothing waits at "
        "the limiter, so the download keeps its RTT. The limiter drops ACKs and the upload's segments alike."
    )
    return Artifact(table(BUFFERS, columns), None, (), (note,))


FIGURES = (
    *OVER_TIME[:2],
    Figure("5.1", "Performance against uplink buffer", SWEEP, FIGURE_5_1),
    *OVER_TIME[2:],
    Figure("5.12", "RTT variability against uplink buffer", SWEEP, FIGURE_5_12),
    Figure("5.1", "Uplink buffer in packets and seconds", (), table_5_1, "Table"),
    Figure("6.1", "Components of the RTT", SWEEP, FIGURE_6_1),
    Figure("6.1", "Average RTT of a download alone", SWEEP, table_6_1, "Table"),
    Figure("6.2", "Actual against estimated buffer", SWEEP, FIGURE_6_2),
    Figure("6.2", "Estimated buffer and performance there", SWEEP, table_6_2, "Table"),
    *CAPTURED,
    Figure("E04", "ACK compression and interference against buffer", ("sweep", "acks"), INTERFERENCE),
    Figure("M12", "Shaper and rate limiter", ("sweep", "policed"), table_m12, "Table"),
    Figure("E10", "Field procedure (section 6.4)", ("field", "sweep"), FIELD_PROCEDURE, "Table"),
)
