"""The report of a fairness study, and what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.view import view
from lopsided.errors import UsageError
from lopsided.studies.verdicts.fairness import verdict
from lopsided.views import html
from lopsided.views.plot import heat_maps, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.studies.fairness import Matrix

_MOST_ROWS = 400


def render(matrix: Matrix, figures: Mapping[str, Figure] | None = None) -> str:
    """The whole page; with the `figures` where they are drawn already."""
    drawn = [
        {"title": heat_maps.MAPS[metric].title, "svg": style.svg(figure, salt=f"{metric}-{matrix.digest}")}
        for metric, figure in (figures or _figures(matrix)).items()
    ]
    return html.template("fairness.html.j2").render(
        title=title(matrix),
        verdict=verdict(matrix),
        facts=_facts(matrix),
        plots=drawn,
        cells=view(matrix.cells, keys=4, most=_MOST_ROWS, where=" in the table files"),
        scenario_toml=_example(matrix),
    )


def write(matrix: Matrix, folder: Path, *, report: bool = True) -> None:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
    matrix.cells.write(folder / "cells.csv")
    for name in folders.STUDY_TABLES:
        getattr(matrix, name).write(folder / f"{name}.parquet")
    (folder / "figures").mkdir()
    figures = _figures(matrix)
    style.save_all(figures, lambda: _figures(matrix), folder / "figures")
    if report:
        (folder / "report.html").write_text(render(matrix, figures), encoding="utf-8")
    folders.write_manifest(folder, matrix.manifest())


save = folders.saving(write)
"""Writes the study into a folder and returns its path."""


def title(matrix: Matrix) -> str:
    """What the study is of, in a line."""
    study, line = matrix.study, matrix.study.bottleneck
    where = units.rate(line.rate_bps)
    rtts = ", ".join(f"{rtt:g}" for rtt in study.rtts_ms)
    return f"Fairness of {', '.join(study.ccs)} at {where} and {rtts} ms"


def _figures(matrix: Matrix) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
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
