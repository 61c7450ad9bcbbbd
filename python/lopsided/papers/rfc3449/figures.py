"""The sweep over k, the gains of the mechanisms, the verdicts, and the goodput and delay of every cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Artifact, Figure
from lopsided.papers.framework.plots import Line, Panel, Plot, side_by_side
from lopsided.papers.framework.tables import Columns, compare, table
from lopsided.papers.rfc3449 import setup
from lopsided.papers.rfc3449.coverage import LEFT_OUT
from lopsided.papers.rfc3449.setup import ALL, DEEP, KS, MECHANISMS, PATHS, Mechanism, Path, mechanism
from lopsided.papers.rfc3449.shared import HARMS_DOWN, HARMS_UP, HELPS, mean, ratios, word
from lopsided.views.plot import style

# --- The problem

SCHEMES = ((1, "none", "an ACK for 1", style.UP[0]), (2, "none", "an ACK for 2", style.DOWN[0]))


def _of_sweep(m: Measurements, d: int, compression: str, ink: str, label: str, mark: str = "o") -> Iterable[Line]:
    labels = {"d": d, "compression": compression, "uplink_buffer_packets": DEEP}
    found = m.curve("ratio", "down_bps", "k", **labels)
    yield Line.of(found, ink, 1e-6, mark=mark, label=label, column=f"d{d}_{compression}_mbps")


def _sweep(m: Measurements) -> Iterable[Line]:
    free = m.value("ratio", "down_bps", k=KS[0], d=2, compression="none", uplink_buffer_packets=DEEP).median * 1e-6
    axis = np.geomspace(KS[0], KS[-1], 100)
    for d, scheme, label, ink in SCHEMES:
        yield from _of_sweep(m, d, scheme, ink, label)
        yield Line(axis, free * np.minimum(1, d / axis), ink, style=(0, (4, 3)), width=0.9)
    yield from _of_sweep(m, 2, "cslip", style.OTHER[0], "an ACK for 2, RFC 1144", "s")


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

SETS = (
    ("then", "1999's TCP, the RFC's paths", style.UP[0]),
    ("linux", "Linux, the RFC's paths", style.OTHER[0]),
    ("today", "Linux, today's lines", style.DOWN[0]),
)


def _gains(m: Measurements, way: str) -> Iterable[Line]:
    groups = [
        (title, ink, [Spread.of(mean(ratios(m, experiment, each), way)) for each in ALL])
        for experiment, title, ink in SETS
    ]
    yield from side_by_side(range(len(ALL)), groups)


def _data(m: Measurements) -> object:
    columns: Columns[Mechanism] = {"mechanism": lambda each: each.key}
    for experiment, _, _ in SETS:
        for way in ("down", "up"):
            columns[f"{experiment}_{way}_ratio"] = partial(_mean, m, experiment, way, "both")
    return table(ALL, columns)


FIGURE_GAINS = Plot(
    "Goodput with each mechanism over goodput without",
    "Download next to an upload, geometric mean over the paths (rfc3449 sections 4 and 5); dashed: bounds of the rule",
    "section of the RFC",
    tuple(
        Panel(
            f"{name} ratio",
            partial(_gains, way=way),
            height=2.6,
            levels=lambda _m, harm=harm: ((HELPS, style.MUTED), (harm, style.RED)),
            legend=("upper left", 3) if way == "down" else None,
        )
        for way, name, harm in (("down", "download", HARMS_DOWN), ("up", "upload", HARMS_UP))
    ),
    ("then", "linux", "today"),
    ticks=tuple(range(len(ALL))),
    tick_names=tuple(each.section.replace(", ", "\n") for each in ALL),
    notes=tuple(f"{each.section}: {each.title}" for each in ALL),
    data=_data,  # type: ignore[arg-type]
)


def _mean(m: Measurements, experiment: str, way: str, load: str, each: Mechanism) -> float:
    return mean(ratios(m, experiment, each), way, load)


def _verdicts(rows: Sequence[Mechanism], m: Measurements) -> Artifact:
    """The table of the verdicts: the RFC's advice, the mean ratios, and what follows by the rule."""
    columns: Columns[Mechanism] = {
        "section": lambda each: each.section,
        "mechanism": lambda each: each.title,
        "the RFC": lambda each: each.advice,
        "then_alone": partial(_mean, m, "then", "down", "alone"),
    }
    for experiment in ("then", "linux", "today", "quic"):
        columns[f"{experiment}_down"] = partial(_mean, m, experiment, "down", "both")
        columns[f"{experiment}_up"] = partial(_mean, m, experiment, "up", "both")
    for experiment in ("then", "today", "quic"):
        columns[f"verdict_{experiment}"] = partial(word, m, experiment)
    notes = (
        "Numbers: goodput with the mechanism over goodput without, geometric means. then: the TCP of 1999 on the RFC's "
        "paths; linux: Linux 6.1 there; today and quic: Linux 6.1 and QUIC on four lines of today. down and up: next "
        "to each other; alone: no upload.",
        f"Rule (ours): good if one mean is at least {HELPS} and on no path the download falls below {HARMS_DOWN} or "
        f"the upload below {HARMS_UP}.",
    )
    return Artifact(table(rows, columns), None, (), notes)


def _left_out(_m: Measurements) -> Artifact:
    columns: Columns[tuple[str, str, str, str]] = {
        name: lambda row, place=place: row[place]
        for place, name in enumerate(("section", "mechanism", "the RFC", "reason"))
    }
    return Artifact(table(LEFT_OUT, columns))


# --- The paths and the cells


def _paths(m: Measurements) -> Artifact:
    """The paths with their ratio k, and the download without any mechanism."""
    plain = mechanism("delayed")
    experiment = {each.key: name for name in ("then", "today") for each in setup.PATHS_OF[name]}

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
        "beside_upload_Mbit/s": mbps("both"),
        "upload_Mbit/s": mbps("both", "up_bps"),
    }
    found = m.published.find("Section 3.1", "normalised_bandwidth_ratio")
    notes = ("k counts packets of 1,500 bytes (1,000 in section 3.1) and ACKs of 40 bytes.",)
    return Artifact(table(PATHS, columns), None, (compare(found, setup.EXAMPLE.k),), notes)


def _cells(experiment: str, paths: tuple[Path, ...], m: Measurements) -> Artifact:
    """Goodput and delay of every setting on every path."""
    there = [row for row in m.table(experiment).to_dicts() if row["arm"] == "with" or row["mechanism"] == "delayed"]
    titles = {each.key: each.title for each in (*ALL, *paths)}
    columns: Columns[dict[str, object]] = {
        "path": lambda row: titles[str(row["path"])],
        "load": lambda row: row["load"],
        "mechanism": lambda row: titles[str(row["mechanism"])] if row["arm"] == "with" else "none",
        "download_Mbit/s": lambda row: _scaled(row["down_bps"]),
        "upload_Mbit/s": lambda row: _scaled(row["up_bps"]) if row["load"] == "both" else None,
        "rtt_ms": lambda row: row["rtt_ms"],
    }
    order = {"without": 0, "with": 1}
    rows = sorted(there, key=lambda row: (list(titles).index(row["path"]), row["load"], order[row["arm"]]))
    return Artifact(table(rows, columns), None, (), ("The round trip is the download's median.",))


def _scaled(bps: object) -> float:
    return float(str(bps)) / 1e6


FIGURES = (
    Figure("1", "The download against k", ("ratio",), FIGURE_K),
    Figure("2", "Gains of the mechanisms", ("then", "linux", "today"), FIGURE_GAINS),
    Figure(
        "1",
        "The RFC's advice, then and now",
        ("then", "linux", "today", "quic"),
        partial(_verdicts, MECHANISMS),
        "Table",
    ),
    Figure("2", "Combinations", ("then", "linux", "today", "quic"), partial(_verdicts, setup.COMBINED), "Table"),
    Figure("3", "Mechanisms that were not run", (), _left_out, "Table"),
    Figure("4", "Paths", ("then", "today"), _paths, "Table"),
    Figure("5", "The TCP of 1999 on the RFC's paths", ("then",), partial(_cells, "then", setup.OF_RFC), "Table"),
    Figure("6", "Linux on the RFC's paths", ("linux",), partial(_cells, "linux", setup.OF_RFC), "Table"),
    Figure("7", "Linux on today's lines", ("today",), partial(_cells, "today", setup.OF_TODAY), "Table"),
    Figure("8", "QUIC", ("quic",), partial(_cells, "quic", PATHS), "Table"),
)
