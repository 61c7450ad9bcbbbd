"""The report of a capture's analysis, and what it leaves in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lopsided._native import __version__
from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.view import view
from lopsided.studies.verdicts.analyze import name, sentences
from lopsided.views import analyze as shown
from lopsided.views import html
from lopsided.views.plot import style, time_sequence

if TYPE_CHECKING:
    from lopsided.studies.analyze import Capture

_MOST_DRAWN = 4
_MOST_ROWS = 400


def render(found: Capture) -> str:
    """The whole page: sentences, tables and diagrams of the directions with most data."""
    drawn = set(found.points["direction"].unique().to_list())
    parts = [
        {
            "name": name(row),
            "said": sentences(row),
            "tables": [shown.limits(row), shown.path(row), shown.acks(row)],
            "timeline": shown.timeline(found.stretches(row["direction"]), most=_MOST_ROWS),
            "figure": style.svg(time_sequence.figure(found, row), salt=f"flow-{row['direction']}")
            if row["direction"] in drawn
            else "",
        }
        for row in found.largest[:_MOST_DRAWN]
    ]
    facts = [
        ("capture", Path(found.source).name),
        ("length", units.seconds(found.facts["elapsed_s"])),
        ("packets", f"{found.facts['frames']:,}"),
        ("lopsided", __version__),
    ]
    return html.template("analyze.html.j2").render(
        title=shown.title(found),
        facts=facts,
        warnings=found.warnings,
        overview=shown.overview(found, most=_MOST_ROWS),
        parts=parts,
        directions=view(found.directions, keys=1, most=_MOST_ROWS, where=" in directions.csv"),
    )


def write(found: Capture, folder: Path, *, report: bool = True) -> None:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
    for table in ("directions", "timeline", "points"):
        getattr(found, table).write(folder / f"{table}.csv")
        getattr(found, table).write(folder / f"{table}.parquet")
    if report:
        (folder / "report.html").write_text(render(found), encoding="utf-8")
    folders.write_manifest(folder, {"kind": "analysis", "lopsided": __version__, "capture": Path(found.source).name})


save = folders.saving(write)
"""Writes the analysis into a folder and returns its path."""
