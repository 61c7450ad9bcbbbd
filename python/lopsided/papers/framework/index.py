"""Writes one page about all studies: the result, the number of statements that hold, the figures and the run time of
each study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.papers.framework import page, report_folder

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Claim
    from lopsided.papers.framework.reproduction import Entry


def write(entries: Sequence[Entry], seconds: float, folder: Path) -> Path:
    """Writes index.html into `folder` and returns its path.

    Existing reports are kept. `seconds` is the wall-clock time of all studies.
    """
    with report_folder.writing(folder, "all") as temporary:
        (temporary / "index.html").write_text(render(entries, seconds), encoding="utf-8")
    return folder / "index.html"


def render(entries: Sequence[Entry], seconds: float) -> str:
    """Returns the page as HTML."""
    return page.template("index.html.j2").render(
        studies=[_study(entry) for entry in entries], version=page.version(), seconds=f"{seconds:.0f}"
    )


def _study(entry: Entry) -> dict[str, Any]:
    paper, found = entry.paper, entry.reproduction
    of_paper = [each for each in found.claims if each.claim.origin == "paper"] if found else []
    return {
        "key": paper.key,
        "title": paper.title,
        "authors": paper.authors,
        "year": paper.year,
        "summary": paper.summary,
        "seconds": f"{entry.seconds:.1f}",
        "failure": entry.failure,
        "opening": found.opening() if found else [],
        "counts": [each for each in found.counts() if each not in " ".join(found.opening())] if found else [],
        "surprises": entry.beside_the_record,
        "runs": sum(found.measurements.runs(key).height for key in found.digests) if found else 0,
        "held_in_short": found.held_of_paper if found else "",
        "held": [_said(each.claim) for each in of_paper if each.verdict.holds],
        "not_held": [(_said(each.claim), each.verdict.why_not) for each in of_paper if not each.verdict.holds],
        "figures": [
            {"name": figure.name, "title": figure.title, "slug": figure.slug, "drawn": artifact.drawing is not None}
            for figure, artifact in (found.artifacts if found else ())
        ],
    }


def _said(claim: Claim) -> str:
    return f"{claim.statement} (read as {claim.reading})" if claim.reading else claim.statement
