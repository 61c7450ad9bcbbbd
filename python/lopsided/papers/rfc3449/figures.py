"""Draws the figures and builds the tables: the sweep over k, the mechanisms' gains, the verdicts, and all goodputs and
delays."""

# matplotlib's stubs do not declare the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, side_by_side
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.papers.rfc3449 import setup
from lopsided.papers.rfc3449.setup import ALL, DEEP, IN_TABLES, KS, PATHS, Mechanism, Path, mechanism
from lopsided.papers.rfc3449.shared import HARMS_DOWN, HARMS_UP, HELPS, mean, ratios, word
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- The problem


def _sweep(m: Measurements) -> Iterable[Line]:
    free = m.value("ratio", "down_bps", k=KS[0], d=2, compression="none", uplink_buffer_packets=DEEP).median * 1e-6
    axis = np.geomspace(KS[0], KS[-1], 100)
    for d, scheme, ink in ((1, "none", style.UP[0]), (2, "none", style.DOWN[0]), (2, "cslip", style.OTHER[0])):
        found = m.curve("ratio", "down_bps", "k", d=d, compression=scheme, uplink_buffer_packets=DEEP)
        label = f"an ACK for {d}{', RFC 1144' if scheme != 'none' else ''}"
        yield Line.of(found, ink, 1e-6, label=label, column=f"d{d}_{scheme}_mbps")
        if scheme == "none":
            yield Line(axis, free * np.minimum(1, d / axis), ink, style=(0, (4, 3)), width=0.9)


FIGURE_K = Plot(
    "The download against the normalised bandwidth ratio",
    "10 Mbit/s down, 60 ms, deep uplink buffer (rfc3449 section 3.1); dashed: d / k",
    "normalised bandwidth ratio k",
    (Panel("Mbit/s", _sweep, height=3.0, legend=("best", 1)),),
    ("ratio",),
    log_x=True,
    ticks=KS,
    axis="k",
)

# --- The mechanisms

ADVISED = ("then", "linux", "today", "quic")
SETS = (
    ("then", "1999's TCP, the RFC's paths", style.UP[0]),
    ("linux", "Linux, the RFC's paths", style.OTHER[0]),
    ("today", "Linux, today's lines", style.DOWN[0]),
)


def _doublings(axes: Axes, _m: Measurements) -> None:
    axes.set_yscale("log", base=2)
    axes.set_yticks([2.0**power for power in range(-3, 5)], ["1/8", "1/4", "1/2", "1", "2", "4", "8", "16"])


def _gains(m: Measurements, way: str) -> Iterable[Line]:
    groups = [
        (title, ink, [Spread.of(mean(ratios(m, experiment, each), way)) for each in ALL])
        for experiment, title, ink in SETS
    ]
    yield from side_by_side(range(len(ALL)), groups)


FIGURE_GAINS = Plot(
    "Goodput with each mechanism over goodput without",
    "Download next to an upload, geometric mean over the paths (rfc3449 sections 4 and 5); dashed: bounds of the rule",
    "mechanism, numbered as in the notes",
    tuple(
        Panel(
            f"{name} ratio",
            partial(_gains, way=way),
            height=2.6,
            limits=(1 / 8, 16),
            finish=_doublings,
            levels=lambda _m, harm=harm: ((HELPS, style.MUTED), (harm, style.RED)),
            legend=("upper left", 3) if way == "down" else None,
        )
        for way, name, harm in (("down", "download", HARMS_DOWN), ("up", "upload", HARMS_UP))
    ),
    ("then", "linux", "today"),
    ticks=tuple(range(len(ALL))),
    tick_names=tuple(str(number) for number in range(1, len(ALL) + 1)),
    notes=tuple(f"{number}: {each.title} (section {each.section})" for number, each in enumerate(ALL, 1)),
    data=lambda m: table(ALL, {"mechanism": lambda each: each.key, **_means(m, [key for key, _, _ in SETS])}),
)


def _mean(m: Measurements, experiment: str, way: str, load: str, each: Mechanism) -> float:
    return mean(ratios(m, experiment, each), way, load)


def _means(m: Measurements, experiments: Iterable[str]) -> Columns[Mechanism]:
    return {f"{key}_{way}": partial(_mean, m, key, way, "both") for key in experiments for way in ("down", "up")}


def _verdicts(rows: Sequence[Mechanism], m: Measurements) -> Artifact:
    """Returns a table with the RFC's advice, the mean goodput ratios, and the verdict."""
    columns: Columns[Mechanism] = {
        "section": lambda each: each.section,
        "mechanism": lambda each: each.title,
        "the RFC": lambda each: each.advice,
        "then_alone": partial(_mean, m, "then", "down", "alone"),
    }
    columns |= _means(m, ADVISED)
    columns |= {f"right_{key}": partial(word, m, key) for key in ADVISED if key != "linux"}
    notes = (
        "Numbers: goodput with the mechanism over goodput without, geometric means. then: the TCP of 1999 on the RFC's "
        "paths; linux: Linux 6.1 there; today and quic: Linux 6.1 and QUIC on four lines of today. down and up: next "
        "to each other; alone: no upload.",
        f"Rule (ours): good if one mean is at least {HELPS} and on no path the download falls below {HARMS_DOWN} or "
        f"the upload below {HARMS_UP}.",
    )
    return Artifact(table(rows, columns), None, (), notes)


def _left_out(_m: Measurements) -> Artifact:
    return Artifact(pl.DataFrame(setup.LEFT_OUT).drop("row"))


# --- The paths and the single settings


def _paths(m: Measurements) -> Artifact:
    """Returns a table of the paths with their ratio k, and the download's goodput without a mechanism."""
    plain = mechanism("delayed")
    experiment = {each.key: name for name in ("then", "today") for each in setup.JUDGED_ON[name]}

    def mbps(load: str, column: str = "down_bps") -> Callable[[Path], Spread]:
        return lambda each: m.value(
            experiment[each.key], column, path=each.key, mechanism=plain.key, arm="without", load=load
        ).map(lambda bps: bps / 1e6)

    columns: Columns[Path] = {
        "path": lambda each: each.title,
        "section": lambda each: each.section,
        "down_kbit/s": lambda each: each.down_kbps,
        "up_kbit/s": lambda each: each.up_kbps,
        "rtt_ms": lambda each: each.rtt_ms,
        "k": lambda each: each.k,
        "download_alone_Mbit/s": mbps("alone"),
        "next_to_upload_Mbit/s": mbps("both"),
        "upload_Mbit/s": mbps("both", "up_bps"),
    }
    found = m.published.find("Section 3.1", "normalised_bandwidth_ratio")
    notes = ("k counts packets of 1,500 bytes (1,000 in section 3.1) and ACKs of 40 bytes.",)
    return Artifact(table(PATHS, columns), None, (compare(found, setup.EXAMPLE.k),), notes)


def _cells(experiment: str, paths: tuple[Path, ...], m: Measurements) -> Artifact:
    """Returns a table with the goodput and delay of every setting on every path."""
    there = [row for row in m.table(experiment).to_dicts() if row["arm"] == "with" or row["mechanism"] == "delayed"]
    titles = {each.key: each.title for each in (*ALL, *paths)}
    columns: Columns[dict[str, Any]] = {
        "path": lambda row: titles[row["path"]],
        "load": lambda row: row["load"],
        "mechanism": lambda row: titles[row["mechanism"]] if row["arm"] == "with" else "none",
        "download_Mbit/s": lambda row: row["down_bps"] / 1e6,
        "upload_Mbit/s": lambda row: row["up_bps"] / 1e6 if row["load"] == "both" else None,
        "rtt_ms": lambda row: row["rtt_ms"],
    }
    # Sort rows "without" before rows "with". The mechanisms keep the order of the RFC's text.
    rows = sorted(there, key=lambda row: (list(titles).index(row["path"]), row["load"], row["arm"] == "with"))
    return Artifact(table(rows, columns), None, (), ("The round trip is the download's median.",))


FIGURES = (
    Figure("1", "The download against k", ("ratio",), FIGURE_K),
    Figure("2", "Gains of the mechanisms", ("then", "linux", "today"), FIGURE_GAINS),
    Figure("1", "The RFC's advice, then and now", ADVISED, partial(_verdicts, IN_TABLES), "Table"),
    Figure("2", "Combinations", ADVISED, partial(_verdicts, setup.COMBINED), "Table"),
    Figure("3", "Mechanisms that were not run", (), _left_out, "Table"),
    Figure("4", "Paths", ("then", "today"), _paths, "Table"),
    Figure("5", "The TCP of 1999 on the RFC's paths", ("then",), partial(_cells, "then", setup.OF_RFC), "Table"),
    Figure("6", "Linux on the RFC's paths", ("linux",), partial(_cells, "linux", setup.OF_RFC), "Table"),
    Figure("7", "Linux on today's lines", ("today",), partial(_cells, "today", setup.OF_TODAY), "Table"),
    Figure("8", "QUIC", ("quic",), partial(_cells, "quic", PATHS), "Table"),
)
