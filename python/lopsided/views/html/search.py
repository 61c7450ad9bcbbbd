"""The report of a search, and what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.view import view
from lopsided.errors import UsageError
from lopsided.views import html
from lopsided.views import search as shown
from lopsided.views.plot import search as figures
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.studies.search import Search

_MOST_ROWS = 200


def render(found: Search, drawn: Mapping[str, Figure] | None = None) -> str:
    """The whole page; with the figures where they are drawn already."""
    plots = [
        {"title": figures.KINDS[kind], "svg": style.svg(figure, salt=f"{kind}-{found.digest}")}
        for kind, figure in (_figures(found) if drawn is None else drawn).items()
    ]
    return html.template("search.html.j2").render(
        title=shown.title(found),
        facts=_facts(found),
        answer=shown.answer(found),
        best=shown.best(found),
        plots=plots,
        trials=view(found.trials, keys=1 + len(found.space.keys), most=_MOST_ROWS, where=" in trials.csv"),
        keys=[(key.key, key.told) for key in found.space.keys],
        scenario_toml=found.scenario.to_toml(),
    )


def write(
    found: Search,
    folder: Path,
    *,
    report: bool = True,
    also: Callable[[Path], object] | None = None,
    mark: str = "",
) -> list[Path]:
    """Writes into a folder that `lopsided.data.run_folder.writing` gave; `also` writes what else belongs there.

    Returns the scenario files of the best, relative to the folder.
    """
    (folder / "scenario.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
    found.trials.write(folder / "trials.csv")
    found.trials.write(folder / "trials.parquet")
    if also is not None:
        also(folder)
    best = _best(found, folder)
    drawn = _figures(found)
    if drawn:
        (folder / "figures").mkdir(exist_ok=True)
    style.save_all(drawn, lambda: _figures(found), folder / "figures")
    if report:
        (folder / "report.html").write_text(render(found, drawn), encoding="utf-8")
    folders.write_manifest(folder, {**found.manifest(), **({"fingerprint": mark} if mark else {})})
    return best


save = folders.saving(write)
"""Writes the study into a folder and returns its path."""


def _best(found: Search, folder: Path) -> list[Path]:
    """The best as scenario files: one of one goal, those on the front of several."""
    names = {trial.number: Path("best.toml") for trial in found.front[:1]}
    if len(found.goals) > 1:
        digits = len(str(len(found.tried)))
        names = {trial.number: Path("front", f"trial-{trial.number:0{digits}}.toml") for trial in found.front}
    for number, name in names.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(found.scenario_of(number).to_toml(), encoding="utf-8")
    return list(names.values())


def _figures(found: Search) -> dict[str, Figure]:
    drawn: dict[str, Figure] = {}
    for kind in figures.kinds(found):
        try:
            drawn[kind] = figures.draw(found, kind)
        except UsageError:
            continue  # Nothing to draw: no trial has a value.
    return drawn


def _facts(found: Search) -> list[tuple[str, str]]:
    return [
        ("wanted", ", ".join(map(str, found.goals))),
        ("where", ", ".join(map(str, found.limits)) or "no limits"),
        ("trials", f"{units.count(len(found.tried))} of {units.count(found.asked)}"),
        ("proposed by", "every combination in turn" if found.whole else "Optuna's TPE sampler"),
        ("simulated", f"{units.seconds(found.scenario.duration_s)} in each run"),
        ("seeds", f"{found.repeat} from {found.scenario.seed}"),
        ("digest of all", found.digest),
    ]
