"""The report of a suite, and what it leaves in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import run_folder as folders
from lopsided.views import html, plot, suite, svg

if TYPE_CHECKING:
    from lopsided.studies.suite.study import SuiteResult


def render(found: SuiteResult) -> str:
    """The whole page."""
    figures = [
        {
            "case": key,
            "line": line,
            "verdict": found.verdict(key, line),
            "svg": svg.svg(plot.chart(run, "goodput"), salt=f"{number}-{run.digest}"),
        }
        for number, ((key, line), run) in enumerate(sorted(found.runs.items()))
        if len(run.samples)
    ]
    return html.template("suite.html.j2").render(
        title=suite.title(found),
        verdict=suite.verdict(found),
        facts=[
            ("source", found.spec.source),
            ("tested", found.tested or "the controls of the files"),
            ("world", found.world),
            ("seeds", f"{found.repeat} from {found.seed}"),
            ("digest of all", found.digest),
        ],
        grid=None if suite.is_forward(found) else suite.grid(found),
        titles=suite.titles(found),
        lines=[(line, suite.checks(found, line, styled=False)) for line in found.lines],
        left_out=suite.left_out(found.spec.left_out) if found.spec.left_out else None,
        figures=figures,
        hidden=len(found.cases) * len(found.lines) - len(figures),
    )


def write(found: SuiteResult, folder: Path, *, report: bool = True) -> None:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
    found.checks.write(folder / "checks.csv")
    found.checks.write(folder / "checks.parquet")
    if report:
        (folder / "report.html").write_text(render(found), encoding="utf-8")
    folders.write_manifest(folder, found.manifest())


save = folders.saving(write)
"""Writes the result into a folder and returns its path."""
