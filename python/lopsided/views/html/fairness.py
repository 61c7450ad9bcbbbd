"""The report of a fairness study, and what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.errors import FolderError, UsageError
from lopsided.views import html
from lopsided.views.plot import heat_maps, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.studies.fairness import Matrix

_COLUMNS = (
    ("cc", "control", "the side that the row speaks of"),
    ("rtt_ms", "RTT", "its base round-trip time"),
    ("against_cc", "against", "the side that it met"),
    ("against_rtt_ms", "its RTT", "base round-trip time of the other side"),
    ("goodput_bps", "goodput", "of all flows of the side"),
    ("share", "share", "of what both sides got"),
    ("share_least", "least", "over orders of arrival and seeds"),
    ("share_most", "most", "over orders of arrival and seeds"),
    ("ratio", "ratio", "goodput over the other side's"),
    ("jain", "Jain", "Jain's index of all flows of both sides"),
    ("utilisation", "link used", "goodput of both sides over the rate"),
    ("rtt_mean_ms", "RTT mean", "round trips of the side's packets, queueing counted"),
    ("resent", "sent again", "part of the segments that the side sent"),
    ("converged_s", "fair after", "after the side joined the other, until both stay near half"),
    ("settled_s", "settled after", "after the side joined the other, until both stay near their final share"),
    ("harm_rate", "harm: goodput", "part of its goodput alone that it lost"),
    ("harm_rate_own", "by its own kind", "the same, done by another of its kind at the other's round-trip time"),
    ("harm_rtt", "harm: delay", "part of its round-trip time that the other added"),
    ("harm_resent", "harm: loss", "part of what it sent again that the other caused"),
    ("rtt_exponent", "RTT exponent", "a where goodput goes as 1 / RTT^a"),
)
_SHARES = ("share", "share_least", "share_most", "utilisation", "harm_rate", "harm_rate_own", "harm_rtt", "harm_resent")
_MOST_ROWS = 400


def render(matrix: Matrix, figures: Mapping[str, Figure] | None = None) -> str:
    """The whole page; with the `figures` where they are drawn already."""
    drawn = [
        {"title": heat_maps.MAPS[metric].title, "svg": style.svg(figure, salt=f"{metric}-{matrix.digest}")}
        for metric, figure in (figures or _figures(matrix)).items()
    ]
    rows = list(matrix.cells.rows())
    present = [column for column in _COLUMNS if column[0] in matrix.cells.columns]
    numeric = [not name.endswith("cc") for name, _, _ in present]
    return html.template("fairness.html.j2").render(
        title=title(matrix),
        facts=_facts(matrix),
        plots=drawn,
        cells={
            "headings": [((head, said), number) for (_, head, said), number in zip(present, numeric, strict=True)],
            "rows": [
                [(text(name, row[name]), number) for (name, _, _), number in zip(present, numeric, strict=True)]
                for row in rows[:_MOST_ROWS]
            ],
            "more": max(0, len(rows) - _MOST_ROWS),
        },
        scenario_toml=_example(matrix),
    )


def save(matrix: Matrix, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
    """Writes into the folder, which is made ready first."""
    return write(matrix, folders.prepare(Path(folder), overwrite=overwrite), report=report)


def write(matrix: Matrix, folder: Path, *, report: bool = True) -> Path:
    """Writes into a folder that `lopsided.data.run_folder.prepare` made ready."""
    try:
        matrix.cells.write(folder / "cells.csv")
        for name in folders.STUDY_TABLES:
            getattr(matrix, name).write(folder / f"{name}.parquet")
        (folder / "figures").mkdir(exist_ok=True)
        figures = _figures(matrix)
        for metric, figure in figures.items():
            style.save(figure, folder / "figures" / f"{metric}.png")
        if report:
            (folder / "report.html").write_text(render(matrix, figures), encoding="utf-8")
        folders.write_manifest(folder, matrix.manifest())
    except OSError as error:
        raise FolderError(f"cannot write {folder}: {error.strerror or error}") from error
    return folder


def title(matrix: Matrix) -> str:
    """What the study is of, in a line."""
    study, line = matrix.study, matrix.study.bottleneck
    where = units.rate(line.rate_bps)
    rtts = ", ".join(f"{rtt:g}" for rtt in study.rtts_ms)
    return f"Fairness of {', '.join(study.ccs)} at {where} and {rtts} ms"


def text(column: str, value: Any) -> str:
    """A value of a cell for people."""
    from lopsided.data import table

    if column in _SHARES:
        return units.percent(value)
    if column.endswith("_s") and value is not None:
        return f"{value:.1f} s"
    if column == "resent" and value is not None:
        return f"{100 * value:.2f} %"
    if column in ("ratio", "jain", "rtt_exponent") and value is not None:
        return f"{value:.2f}"
    return table.text(column, value)


def _figures(matrix: Matrix) -> dict[str, Figure]:
    figures = {}
    for metric in heat_maps.MAPS:
        try:
            figures[metric] = matrix.plot(metric)
        except UsageError:
            continue  # Nothing of this kind was measured.
    return figures


def _facts(matrix: Matrix) -> list[tuple[str, str]]:
    study, line = matrix.study, matrix.study.bottleneck
    start, stop = line.window_s
    facts = [
        ("world", matrix.world),
        ("downlink", units.rate(line.down_bps)),
        ("uplink", units.rate(line.up_bps)),
        ("data goes", line.direction),
        ("buffer", line.buffer),
        ("flows on each side", str(line.flows)),
        ("stack", line.stack),
        ("socket buffers", line.socket_buffer or "never decide"),
        ("first alone for", units.seconds(line.lead_s)),
        ("both for", units.seconds(line.both_s)),
        ("measured", f"the last {units.seconds(stop - start)}"),
        ("seeds", str(study.repeat)),
        ("runs", units.count(len(study))),
        ("near a share", f"within {units.percent(study.within)} for {units.seconds(study.hold_s)}"),
        ("digest of all", matrix.digest),
    ]
    return facts


def _example(matrix: Matrix) -> str:
    first, second = next((pair for pair in matrix.study.pairs if pair[0] != pair[1]), matrix.study.pairs[0])
    return matrix.study.scenario(first, second).to_toml()
