"""What the report leaves to tables, drawn: shares, round trips, and the window behind netem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided.papers.framework.drawing import caption, legend, provenance
from lopsided.papers.framework.model import Exhibit
from lopsided.papers.yahya2011.exhibits import (
    INKS,
    MBIT,
    RTT,
    THROUGHPUT,
    collection,
    experiment_of,
    number,
    printed,
    row,
)
from lopsided.papers.yahya2011.testbed import BASELINES, COMBOS, Test
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lopsided.papers.framework.lab import Lab

_HOLLOW = {"markerfacecolor": "none", "markeredgewidth": 1.6, "linestyle": ""}
_SEGMENT_BYTES = 1448
_NETEM_PACKETS = 1000


@collection.figure("A", "Who gets what", needs=("combos", "observed"))
def shares(lab: Lab) -> Exhibit:
    """Throughput of both flows in all 24 combinations: printed, as intended, as observed."""
    sheet = style.sheet(
        "Who gets what",
        "Throughput of both flows in the 24 combinations (yahya2011 tables 3-1 and 3-2)",
        (2.6, 2.6),
        "combination (number)",
    )
    rows = []
    for panel, flow in zip(sheet.panels, ("S1", "S2"), strict=True):
        series = {
            "printed": [number(printed(lab, test, flow, THROUGHPUT)) for test in COMBOS],
            "windows as intended": [row(lab, "combos", test)[f"{flow}_throughput_bps"] / MBIT for test in COMBOS],
            "windows as observed": [row(lab, "observed", test)[f"{flow}_throughput_bps"] / MBIT for test in COMBOS],
        }
        numbers = [test.number for test in COMBOS]
        panel.plot(numbers, series["printed"], "D", color=style.INK, markersize=8, label="printed", **_HOLLOW)
        panel.plot(numbers, series["windows as intended"], "o", color=style.DOWN[0], label="windows as intended")
        panel.plot(numbers, series["windows as observed"], "_", color=style.UP[0], markersize=13, markeredgewidth=2.2)
        panel.plot([], [], "_", color=style.UP[0], markersize=10, markeredgewidth=2.2, label="windows as observed")
        panel.set_ylim(0, 108)
        panel.set_ylabel("Mbit/s")
        _groups(panel)
        what = "S1: the variant and delay of the test" if flow == "S1" else "S2: Reno with SACK, 100 ms"
        caption(panel, what)
        rows += [
            {"test": test.name, "flow": flow, **{f"{name} (Mbit/s)": values[place] for name, values in series.items()}}
            for place, test in enumerate(COMBOS)
        ]
    legend(sheet.panels[0], columns=3)
    style.small_print(sheet.figure, provenance(lab, "combos").replace(", band: their range", ""))
    return Exhibit(pl.DataFrame(rows), sheet.figure)


def _groups(panel: Axes) -> None:
    """Delays as bands, and where the loss begins."""
    panel.set_xlim(0.3, 24.7)
    panel.set_xticks(range(1, 25))
    for first in range(1, 25, 3):
        test = COMBOS[first - 1]
        if (first // 3) % 2:
            panel.axvspan(first - 0.5, first + 2.5, color=style.GRID, alpha=0.35, linewidth=0)
        text = f"{test.delay_ms} ms{', loss' if test.loss else ''}"
        panel.annotate(text, (first + 1, 0.82), xycoords=("data", "axes fraction"), ha="center", fontsize=7.5)
    panel.axvline(12.5, color=style.MUTED, linewidth=1)


@collection.figure("B", "The window behind a full netem", needs=("course",))
def course(lab: Lab) -> Exhibit:
    """Congestion window and goodput of baselines 5 to 8: one refusal decides all four (YAH-A17)."""
    sheet = style.sheet(
        "The window behind a full netem",
        "One download, 100 ms of netem at its sender with room for 1000 packets (yahya2011 baselines 5 to 8)",
        (2.7, 2.4),
        "time (s)",
    )
    window, goodput = sheet.panels
    rows = []
    for test in BASELINES[4:]:
        samples = lab.run("course", **test.labels).samples_of["S1"].filter(pl.col("cwnd_bytes") > 0)
        time = samples["time_s"].to_numpy() - 10
        segments = samples["cwnd_bytes"].to_numpy() / _SEGMENT_BYTES
        rate = np.diff(samples["delivered_bytes"].to_numpy(), prepend=0) * 8 / 0.1 / MBIT
        window.plot(time, segments, color=INKS[test.variant], label=test.variant)
        goodput.plot(time, rate, color=INKS[test.variant])
        rows += [
            {"variant": test.variant, "time_s": at, "cwnd_segments": cwnd, "goodput_Mbit_s": mbit}
            for at, cwnd, mbit in zip(time, segments, rate, strict=True)
        ]
    window.axhline(_NETEM_PACKETS, color=style.RED, linewidth=1, linestyle="--")
    window.annotate("netem's room", (46, _NETEM_PACKETS), xytext=(0, -11), textcoords="offset points", ha="right")
    window.set_ylabel("window (segments)")
    window.set_ylim(0, 1300)
    goodput.set_ylabel("goodput (Mbit/s)")
    goodput.set_ylim(0, 105)
    for panel in (window, goodput):
        panel.set_xlim(0, 48)
    caption(
        window,
        "congestion window: it falls once, as the variant says, without a loss",
    )
    caption(goodput, "goodput, each 100 ms")
    legend(window, columns=4)
    style.small_print(sheet.figure, "first repetition", provenance(lab, "course").split("  ·  ")[1])
    return Exhibit(pl.DataFrame(rows), sheet.figure)


@collection.figure("C", "What the RTT column measures", needs=("baselines", "combos"))
def round_trips(lab: Lab) -> Exhibit:
    """Printed average RTTs of S1 beside tcptrace's behind netem, and the round trip that TCP met (YAH-A01)."""
    tests: tuple[Test, ...] = (*BASELINES, *COMBOS)
    sheet = style.sheet(
        "What the RTT column measures",
        "Average RTT of S1 (yahya2011 sections 3.1.1, 3.2.1): a capture at the sender is taken behind its netem",
        (3.4,),
        "baselines 1 to 8, then combinations 1 to 24 (number)",
    )
    (panel,) = sheet.panels
    places = np.arange(len(tests))
    values = {
        "printed": [number(printed(lab, test, "S1", RTT)) for test in tests],
        "tcptrace's average behind netem": [row(lab, experiment_of(test), test)["S1_rtt_ms"] for test in tests],
        "end to end": [row(lab, experiment_of(test), test)["S1_end_to_end_rtt_ms"] for test in tests],
    }
    panel.plot(places, values["printed"], "D", color=style.INK, markersize=7, label="printed", **_HOLLOW)
    behind = "tcptrace's average behind netem"
    panel.plot(places, values[behind], "o", color=style.DOWN[0], label=behind)
    panel.plot(
        places, values["end to end"], "_", color=style.UP[0], markersize=10, markeredgewidth=2, label="end to end"
    )
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_ylim(0.5, 2000)
    panel.set_ylabel("ms")
    panel.set_xlim(-0.7, len(tests) - 0.3)
    panel.set_xticks(places, [str(test.number) for test in tests], fontsize=7.5)
    panel.axvline(7.5, color=style.MUTED, linewidth=1)
    legend(panel, "upper left", columns=3)
    style.small_print(sheet.figure, provenance(lab, "combos").replace(", band: their range", ""))
    data = pl.DataFrame({"test": [test.name for test in tests], **values}).fill_nan(None)
    return Exhibit(data, sheet.figure)
