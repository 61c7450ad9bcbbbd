"""The report of a comparison of remedies for the way of the ACKs, and what it leaves in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.view import view
from lopsided.studies.verdicts.ackpath import verdict
from lopsided.views import ackpath, html
from lopsided.views.plot import remedies, style

if TYPE_CHECKING:
    from lopsided.studies.ackpath import AckPath


def render(found: AckPath) -> str:
    """The whole page."""
    return html.template("ackpath.html.j2").render(
        title=ackpath.title(found),
        verdict=verdict(found),
        facts=[
            ("simulated", units.seconds(found.scenario.duration_s)),
            ("remedies at the uplink of", found.link),
            ("seeds", f"{found.repeat} from {found.seed}"),
            ("digest of all", found.digest),
        ],
        figure=style.svg(remedies.draw(found), salt=f"remedies-{found.digest}"),
        goodput=ackpath.goodput(found),
        acks=ackpath.acks(found),
        senders=ackpath.senders(found),
        limits=ackpath.limits(found),
        meanings=ackpath.meanings(found),
        caption=ackpath.CAPTION,
        cells=view(found.cells, keys=1, most=400, where=" in the table files"),
        scenario_toml=found.scenario.to_toml(),
    )


def write(found: AckPath, folder: Path, *, report: bool = True) -> None:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
    (folder / "scenario.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
    found.cells.write(folder / "cells.csv")
    found.runs.write(folder / "runs.csv")
    if report:
        (folder / "report.html").write_text(render(found), encoding="utf-8")
    folders.write_manifest(folder, found.manifest())


save = folders.saving(write)
"""Writes the study into a folder and returns its path."""
