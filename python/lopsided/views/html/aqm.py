"""The report of a comparison of queue disciplines, and what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.view import View, view
from lopsided.studies.verdicts.aqm import suite_verdict, verdict
from lopsided.views import disciplines, html
from lopsided.views.plot import disciplines as figures
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.data.table import Table
    from lopsided.studies.aqm import Aqm, Suite


def render(found: Aqm, drawn: Mapping[str, Figure] | None = None) -> str:
    """The whole page; with the figures where they are drawn already."""
    plots = [
        {"title": figures.KINDS[kind], "svg": style.svg(figure, salt=f"{kind}-{found.digest}")}
        for kind, figure in (drawn or _figures(found)).items()
    ]
    return html.template("aqm.html.j2").render(
        title=disciplines.title(found),
        verdict=verdict(found),
        facts=_facts(found),
        plots=plots,
        directions={way: disciplines.cells(found, way) for way in found.links},
        users=disciplines.users(found) if disciplines.feels_anything(found) else None,
        all_cells=_all(found.cells, keys=3),
        all_users=_all(found.users, keys=2),
        queues=[(each.label, each.queue or "as in the file") for each in found.disciplines],
        scenario_toml=found.scenario.to_toml(),
    )


def write(found: Aqm, folder: Path, *, report: bool = True) -> None:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
    (folder / "scenario.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
    for name in folders.AQM_TABLES:
        getattr(found, name).write(folder / f"{name}.csv")
    (folder / "figures").mkdir(exist_ok=True)
    drawn = _figures(found)
    style.save_all(drawn, lambda: _figures(found), folder / "figures")
    if report:
        (folder / "report.html").write_text(render(found, drawn), encoding="utf-8")
    folders.write_manifest(folder, found.manifest())


save = folders.saving(write)
"""Writes the study into a folder and returns its path."""


def _all(table: Table, keys: int) -> View:
    """Every column; without the world's, which comes first, where there is but one."""
    columns = table.columns
    if len(set(table["world"])) == 1:
        columns, keys = [name for name in columns if name != "world"], keys - 1
    return view(table, columns, keys=keys, most=400, where=" in the table files")


def _figures(found: Aqm) -> dict[str, Figure]:
    return {kind: figures.draw(found, kind) for kind in figures.KINDS}


def _facts(found: Aqm) -> list[tuple[str, str]]:
    return [
        ("world", ", ".join(found.worlds)),
        ("simulated", units.seconds(found.scenario.duration_s)),
        ("queues before", ", ".join(f"{link} {way}" for way, link in found.links.items())),
        ("workload", found.workload or "the scenario's own flows"),
        ("ECN", "on" if found.ecn else "as in the file"),
        ("seeds", f"{found.repeat} from {found.seed}"),
        ("digest of all", found.digest),
    ]


def write_suite(suite: Suite, folder: Path) -> None:
    """Writes every section into a folder of its own, and a page and a table of all of them."""
    import polars as pl

    for number, found in suite.sections.items():
        part = folder / number
        part.mkdir()
        write(found, part)
    pl.DataFrame(list(suite.rows()), infer_schema_length=None).write_csv(folder / "cells.csv")
    (folder / "report.html").write_text(_suite_page(suite), encoding="utf-8")
    first = next(iter(suite.sections.values())).manifest()
    kept = {name: first[name] for name in ("lopsided", "kind", "queues", "ecn", "repeat", "seed")}
    digests = {number: found.digest for number, found in suite.sections.items()}
    folders.write_manifest(folder, {**kept, "suite": suite.name, "digests": digests})


def _suite_page(suite: Suite) -> str:
    sections = [
        {
            "number": number,
            "title": found.scenario.title,
            "verdict": verdict(found),
            "tables": [(way, disciplines.cells(found, way)) for way in found.links],
            "users": disciplines.users(found) if disciplines.feels_anything(found) else None,
            "svg": style.svg(found.plot("ellipse"), salt=f"{number}-{found.digest}"),
        }
        for number, found in suite.sections.items()
    ]
    said = suite_verdict(list(suite.sections.values()))
    return html.template("aqm_suite.html.j2").render(name=suite.name, verdict=said, sections=sections)
