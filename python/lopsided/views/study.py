"""Writes a study's report and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.data import run_folder as folders
from lopsided.data.view import View
from lopsided.errors import UsageError
from lopsided.scenario import Run
from lopsided.studies.study import Drawing, paragraphs
from lopsided.views import html, plot, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.studies.study import Block, Study


def render(found: Study, drawn: Mapping[str, Figure] | None = None) -> str:
    """Returns a study's HTML page. `drawn` contains figures that have been drawn already."""
    figures = dict(_figures(found) if drawn is None else drawn)
    return html.template("study.html.j2").render(
        found=found,
        lead=paragraphs(found.conclusions()),
        conditions=found.conditions(),
        blocks=list(_blocks(found, figures)),
    )


def notebook(found: Study) -> str:
    """Returns a study's HTML for a notebook: its conclusions, its tables, and its first figure."""
    blocks = _blocks(found, {})
    drawing = next(((block.title, drawn) for _, block, drawn in blocks if isinstance(block, Drawing)), None)
    return html.template("notebook.html.j2").render(
        title=found.title,
        details=found.details,
        lead=paragraphs(found.conclusions()),
        tables=[block for block in found.shown() if isinstance(block, View)],
        figures=[drawing] if drawing else [],
    )


def _blocks(found: Study, figures: Mapping[str, Figure]) -> Iterator[tuple[str, Block | View, str]]:
    """Yields each block of the study's page: the name of its type, the block, and its SVG if it is a figure. Figures
    without data are omitted."""
    for number, block in enumerate(found.page()):
        drawing = ""
        if isinstance(block, Drawing):
            of = found if block.of is None else block.of
            figure = figures.get(block.kind) if of is found else None
            drawing = _svg(of, block.kind, figure, f"{number}-{found.manifest().get('digest', '')}")
            if not drawing:
                continue
        yield type(block).__name__, block, drawing


def _svg(found: Study | Run, kind: str, figure: Figure | None, salt: str) -> str:
    if isinstance(found, Run):
        return svg.svg(plot.chart(found, kind), salt=f"{salt}-{found.digest}")
    from lopsided.views.plot import style

    if figure is None:
        try:
            figure = found.plot(kind)
        except UsageError:
            return ""  # The study has no data for this figure.
    return style.svg(figure, salt=f"{kind}-{salt}")


def write(found: Study, folder: Path, *, report: bool = True, more: Mapping[str, Any] | None = None) -> None:
    """Writes a study into a folder that `lopsided.data.run_folder.writing` created. `more` adds entries to the
    manifest."""
    for name, content in found.files().items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            place.write_text(content, encoding="utf-8")
        else:
            content.write(place)
    for name, part in found.parts().items():
        (folder / name).mkdir()
        write(part, folder / name, report=report)
    drawn = _figures(found)
    if drawn:
        from lopsided.views.plot import style

        (folder / "figures").mkdir(exist_ok=True)
        style.save_all(drawn, lambda: _figures(found), folder / "figures")
    if report:
        (folder / "report.html").write_text(render(found, drawn), encoding="utf-8")
    folders.write_manifest(folder, {**found.manifest(), **(more or {})})


def save(found: Study, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
    """Writes a study to a folder and returns the folder's path; see `Study.save`."""
    place = Path(folder)
    with folders.writing(place, overwrite=overwrite) as staged:
        write(found, staged, report=report)
    return place


def _figures(found: Study) -> dict[str, Figure]:
    drawn: dict[str, Figure] = {}
    for kind in found.drawn():
        try:
            drawn[kind] = found.plot(kind)
        except UsageError:
            continue  # The study has no data for this figure.
    return drawn
