"""Draws the dissertation's CDFs of RTT and throughput, figure 4.1, and results of the published formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import polars as pl

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Comparison, Figure
from lopsided.papers.framework.plots import Dashes, Line, Panel, Plot, printed_mark
from lopsided.papers.framework.tables import compare, shown, table
from lopsided.papers.havey2015.measure import PERCENTILES
from lopsided.papers.havey2015.setup import CHAPTER_5, CHAPTER_6, EVENING_RTTS, NAMES, RTTS
from lopsided.papers.havey2015.shared import INKS, value
from lopsided.views.plot import style

DASHES: dict[int, Dashes] = dict(
    zip((50, 100, 200, 250, 500, 750, 1000), (":", "-", "--", "--", "-.", ":", (0, (1, 4))), strict=True)
)


HOURS = ("night", "evening")


def _knee(m: Measurements, column: str, scale: float, ink: str) -> Iterable[Line]:
    curve = m.curve("knee", column, "queue_bytes")
    yield Line.of(curve, ink, scale, column=column)


KNEE = Plot(
    "A queue of one bandwidth-delay product is enough for full throughput",
    "One Reno transfer, 1 Mbit/s, 100 ms (havey2015 figure 4.1); dashed and diamond: as printed",
    "queue (octets)",
    (
        Panel(
            "Mbit/s",
            lambda m: [*_knee(m, "throughput_bps", 1e-6, style.DOWN[0]), printed_mark(12500, 1.0, style.INK)],
            "throughput, IP bytes",
            1.9,
            levels=lambda m: [(1.0, style.MUTED)],
        ),
        Panel(
            "ms",
            lambda m: [
                *_knee(m, "wait_ms", 1.0, style.UP[0]),
                *_knee(m, "longest_wait_ms", 1.0, style.UP[1]),
                printed_mark(12500, 100.0, style.INK),
            ],
            "wait in the queue: mean and longest",
            1.9,
        ),
    ),
    ("knee",),
    axis="queue_bytes",
)


def _by_rtt(
    m: Measurements, experiment: str, column: str, unit: str, scale: float, aqms: Iterable[str], rtts: Iterable[int]
) -> Iterable[Line]:
    for aqm in aqms:
        for rtt in rtts:
            points = [value(m, experiment, f"{column}_p{each}_{unit}", aqm, rtt).median * scale for each in PERCENTILES]
            label = f"{NAMES[aqm]}, {rtt} ms"
            yield Line(points, list(PERCENTILES), INKS[aqm], width=1.4, style=DASHES[rtt], label=label)


def _data(m: Measurements, experiment: str, column: str, unit: str) -> pl.DataFrame:
    return m.table(experiment).select("aqm", "rtt_ms", *(f"{column}_p{each}_{unit}" for each in PERCENTILES))


def _printed_ranges(m: Measurements, peak: bool) -> Iterable[Line]:
    """Marks the published RTT ranges: the low end at 1 % of the packets, the high end at 90 % (99 % at peak hours)."""
    names = {name: key for key, name in NAMES.items()}
    for row in m.published:
        aqm = names.get(row.conditions.get("aqm", ""))
        if aqm is None or (row.conditions.get("traffic") == "peak") != peak:
            continue
        if row.metric in ("measured_rtt_low", "measured_rtt_high"):
            high = 99 if peak else 90
            yield printed_mark(row.number, 1 if row.metric.endswith("low") else high, INKS[aqm])
        elif row.metric == "measured_rtt_excess_over_base":
            yield printed_mark(float(row.conditions["base_rtt_ms"]) + row.number, 90, INKS[aqm])


def _with_ranges(m: Measurements, lines: Callable[[Measurements], Iterable[Line]], peak: bool) -> Iterable[Line]:
    yield from lines(m)
    yield from _printed_ranges(m, peak)


def _evening_panels(
    column: str, unit: str, scale: float, caption: str, experiments: tuple[str, str] = HOURS
) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            "% of packets",
            partial(
                _by_rtt, experiment=experiment, column=column, unit=unit, scale=scale, aqms=CHAPTER_5, rtts=EVENING_RTTS
            ),
            f"{caption}: {when}",
            2.2,
            limits=(0, 102),
            legend=("best", 3) if experiment == experiments[0] else None,
        )
        for experiment, when in zip(
            experiments, ("the channel carries 48 Mbit/s", "the channel carries 21 Mbit/s"), strict=True
        )
    )


RTT_CDFS = Plot(
    "A queue below IP: ASQM senses it, CoDel and PIE do not",
    "CDFs of round trips over packets; modems of 16 Mbit/s (havey2015 figures 5.3 to 5.13); diamonds: printed ranges",
    "round trip (ms)",
    tuple(
        replace(panel, lines=partial(_with_ranges, lines=panel.lines, peak=peak))
        for panel, peak in zip(_evening_panels("rtt", "ms", 1.0, "round trips"), (False, True), strict=True)
    ),
    HOURS,
    data=partial(_data, experiment="evening", column="rtt", unit="ms"),
)

RATE_CDFS = RTT_CDFS.but(
    title="Throughput of a modem at night and in the evening",
    subtitle="CDFs of throughput in bins of a second, over packets (havey2015 figures 5.4 to 5.14)",
    x="Mbit/s of IP bytes",
    panels=_evening_panels("throughput", "bps", 1e-6, "throughput of a modem"),
    data=partial(_data, experiment="evening", column="throughput", unit="bps"),
)

SHARED = ("cable-night", "cable-peak")

_COLUMNS = ("rtt_p50_ms", "rtt_p90_ms", "throughput_bps", "variation", "drops", "sensing_share")
_BY_RTT, _BY_SETTING = ("aqm", "rtt_ms", *_COLUMNS), ("aqm", "setting", *_COLUMNS)
_BY_READING = ("aqm", "rtt_ms", "reading", *_COLUMNS)

CABLE_RTT_CDFS = RTT_CDFS.but(
    title="A shared channel behind token buckets that borrow",
    subtitle="CDFs of round trips over packets; 8 Mbit/s committed, 16 peak (havey2015 figures 5.3 to 5.13)",
    panels=_evening_panels("rtt", "ms", 1.0, "round trips", SHARED),
    experiments=SHARED,
    data=partial(_data, experiment="cable-peak", column="rtt", unit="ms"),
)

CABLE_RATE_CDFS = RATE_CDFS.but(
    title="Throughput of a modem on the shared channel",
    subtitle="CDFs of throughput in bins of a second, over packets; three modems (havey2015 figures 5.4 to 5.14)",
    panels=_evening_panels("throughput", "bps", 1e-6, "throughput of a modem", SHARED),
    experiments=SHARED,
    data=partial(_data, experiment="cable-peak", column="throughput", unit="bps"),
)


_QUANTILES: dict[str, tuple[float, float]] = {
    "share_of_packets_below_12_mbps": (12.0, 1.0),
    "share_of_packets_at_or_above_12_mbps": (12.0, -1.0),
}
"""For each published percentage of packets: the throughput limit in Mbit/s, and +1 if the percentage
counts packets below the limit, or -1 if it counts packets at or above the limit."""


def _printed_at(m: Measurements, rtt: int) -> Iterable[Line]:
    """Marks the published points of a CDF: medians, ranges, and the percentages below 12 Mbit/s."""
    names = {name: key for key, name in NAMES.items()}
    for row in m.published:
        aqm = names.get(row.conditions.get("aqm", ""))
        if not row.where.startswith("Section 6.4 / Figure 6.") or row.conditions.get("base_rtt_ms") != str(rtt):
            continue
        if aqm is None:
            continue
        if row.metric == "throughput_for_50_percent_of_packets":
            yield printed_mark(row.number, 50, INKS[aqm])
        elif row.metric in ("throughput_low", "throughput_high"):
            yield printed_mark(row.number, 25 if row.metric == "throughput_low" else 95, INKS[aqm])
        elif row.metric in ("temporary_throughput_low", "temporary_throughput_high"):
            yield printed_mark(row.number, 95 if row.metric.endswith("low") else 99, INKS[aqm])
        elif row.metric == "slow_start_share_of_packets":
            yield printed_mark(12.0, row.number, INKS[aqm])
        elif row.metric in _QUANTILES:
            place, sign = _QUANTILES[row.metric]
            yield printed_mark(place, row.number if sign > 0 else 100 - row.number, INKS[aqm])


def _at(rtt: int) -> Plot:
    def lines(m: Measurements) -> Iterable[Line]:
        yield from _by_rtt(m, "delays", "throughput", "bps", 1e-6, CHAPTER_6, (rtt,))
        yield from _printed_at(m, rtt)

    return Plot(
        f"Throughput at a base round trip of {rtt} ms",
        "CDFs of throughput in bins of a second, over packets; modem of 16 Mbit/s (section 6.4); diamonds: as printed",
        "Mbit/s of IP bytes",
        (Panel("% of packets", lines, height=2.6, limits=(0, 102), legend=("upper left", 1)),),
        ("delays",),
        x_limits=(0.0, 18.5),
        data=lambda m: _data(m, "delays", "throughput", "bps").filter(pl.col("rtt_ms") == rtt),
    )


def _alone_table(m: Measurements) -> Artifact:
    """Returns a table of the runs with a single flow, next to the values of section 6.4."""
    frame = m.table("alone").select(
        "aqm", "rtt_ms", "throughput_bps", "throughput_p25_bps", "throughput_p50_bps", "rtt_p90_ms", "drops"
    )
    printed = m.published.find("Section 6.4 / Figure 6.5", "throughput_for_50_percent_of_packets", aqm="CoDel")
    found = value(m, "alone", "throughput_p50_bps", "codel", 500)
    return Artifact(frame, comparisons=(compare(printed, found, "CoDel at 500 ms, one flow alone", 1e-6),))


OVERSHOOTS = (("pie", "PIE"), ("codel", "CoDel"), ("ared", "ARED"))


def _borrowing_table(m: Measurements) -> Artifact:
    """Returns a table for modems that may borrow bandwidth from other modems: their measured throughputs, and the
    published short-term throughputs."""
    columns = ("throughput_p50_bps", "throughput_p95_bps", "throughput_p99_bps", "throughput_bps", "rtt_p90_ms")
    where = "Section 6.4 / Figure 6.3"
    compared = tuple(
        compare(
            m.published.find(where, f"temporary_throughput_{end}", aqm=name),
            value(m, "borrowing", f"throughput_p{quantile}_bps", aqm, 100),
            f"of {quantile} % of the packets",
            1e-6,
        )
        for aqm, name in OVERSHOOTS
        for end, quantile in (("low", 95), ("high", 99))
    )
    return Artifact(m.table("borrowing").select("aqm", "rtt_ms", *columns), comparisons=compared)


def _rtts_of(aqm: str) -> Plot:
    def lines(m: Measurements) -> Iterable[Line]:
        for line in _by_rtt(m, "delays", "rtt", "ms", 1.0, (aqm,), RTTS):
            yield replace(line, label=line.label.removeprefix(f"{NAMES[aqm]}, "))

    return Plot(
        f"Round trips under {NAMES[aqm]}",
        "CDFs over packets by base round trip; one modem of 16 Mbit/s (havey2015 section 6.4)",
        "round trip (ms)",
        (Panel("% of packets", lines, height=2.4, limits=(0, 122), legend=("upper left", 5)),),
        ("delays",),
        data=lambda m: _data(m, "delays", "rtt", "ms").filter(pl.col("aqm") == aqm),
    )


def _evening_table(m: Measurements) -> Artifact:
    """Returns a table of RTTs at night and in the evening: published ranges, and the 90th and 99th percentiles."""
    return Artifact(_of_hours(m, HOURS, ("night-up", "evening-up")), comparisons=tuple(_ranges(m)))


def _cable_table(m: Measurements) -> Artifact:
    return Artifact(_of_hours(m, SHARED, ("cable-up-night", "cable-up-peak")))


def _of_hours(m: Measurements, downloads: Iterable[str], uploads: Iterable[str]) -> pl.DataFrame:
    rows = [(experiment, aqm, rtt) for experiment in downloads for aqm in CHAPTER_5 for rtt in EVENING_RTTS]
    rows += [(experiment, aqm, 100) for experiment in uploads for aqm in CHAPTER_5]
    return table(
        rows,
        {
            "when": lambda row: row[0],
            "aqm": lambda row: NAMES[row[1]],
            "base_rtt_ms": lambda row: row[2],
            **{
                f"rtt_p{each}_ms": lambda row, each=each: value(m, row[0], f"rtt_p{each}_ms", row[1], row[2])
                for each in (5, 50, 90, 99)
            },
            "throughput_mbps": lambda row: value(m, row[0], "throughput_bps", row[1], row[2]).median * 1e-6,
            "variation": lambda row: value(m, row[0], "variation", row[1], row[2]),
            "early_drops": lambda row: value(m, row[0], "drops", row[1], row[2]),
        },
    )


def _ranges(m: Measurements) -> Iterable[Comparison]:
    for place, aqm in (("5.3", "codel"), ("5.5", "pie")):
        for rtt in EVENING_RTTS:
            printed = m.published.find(
                f"Section 5.4.1 / Figure {place}", "measured_rtt_high", aqm=NAMES[aqm], base_rtt_ms=rtt
            )
            yield compare(printed, value(m, "night", "rtt_p90_ms", aqm, rtt), f"{NAMES[aqm]} at night, {rtt} ms: 90 %")
    for place, aqm in (("5.9", "codel"), ("5.11", "pie")):
        printed = m.published.find(f"Section 5.4.2 / Figure {place}", "measured_rtt_high", aqm=NAMES[aqm])
        yield compare(printed, value(m, "evening", "rtt_p99_ms", aqm, 100), f"{NAMES[aqm]} in the evening: 99 %")


FIGURES = (
    Figure("4.1", "Throughput and wait against the queue", ("knee",), KNEE),
    Figure("5.3", "Round trips at night and in the evening", HOURS, RTT_CDFS),
    Figure("5.4", "Throughput at night and in the evening", HOURS, RATE_CDFS),
    Figure("5", "Night and evening in numbers", (*HOURS, "night-up", "evening-up"), _evening_table, "Table"),
    Figure("C1", "Round trips on the shared channel", SHARED, CABLE_RTT_CDFS),
    Figure("C2", "Throughput on the shared channel", SHARED, CABLE_RATE_CDFS),
    Figure("C", "The shared channel in numbers", (*SHARED, "cable-up-night", "cable-up-peak"), _cable_table, "Table"),
    *(Figure(f"6.{3 + place}", f"Throughput at {rtt} ms", ("delays",), _at(rtt)) for place, rtt in enumerate(RTTS)),
    *(
        Figure(f"6.{8 + place}", f"Round trips under {NAMES[aqm]}", ("delays",), _rtts_of(aqm))
        for place, aqm in enumerate(CHAPTER_6)
    ),
    Figure("6", "Other round trips", ("wide",), shown("wide", *_BY_RTT), "Table"),
    Figure("U", "Uploads in chapter 6", ("delays-up",), shown("delays-up", *_BY_RTT), "Table"),
    Figure("W", "Other rates and targets", ("wide-settings",), shown("wide-settings", *_BY_SETTING), "Table"),
    Figure("A", "The continuous transfer alone", ("alone",), _alone_table, "Table"),
    Figure("B", "Chapter 6 with borrowing", ("borrowing",), _borrowing_table, "Table"),
    Figure("R5", "ASQM as printed", ("readings-5",), shown("readings-5", *_BY_READING), "Table"),
    Figure("R6", "BDP as printed", ("readings-6",), shown("readings-6", *_BY_READING), "Table"),
)
