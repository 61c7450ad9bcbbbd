"""`lopsided fairness`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lopsided.cli.options import ANSWER, NOTHING, Answer, Dask, Json, Kernel, OwnCode, Quiet, Workers, World, on
from lopsided.cli.terminal import heading, out, print_json, print_path, print_prose, progress
from lopsided.data import run_folder as folders
from lopsided.data import units
from lopsided.data.units import parse_time
from lopsided.data.view import Heading, Styled, View
from lopsided.studies.options import FairnessOptions
from lopsided.studies.verdicts.fairness import verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from lopsided.studies.fairness import Matrix, Study
    from lopsided.studies.fairness.matrix import HeatMapGrid

USUAL = FairnessOptions()
_MOST_PAIRS = 30
_MOST_COLUMNS = 14


def fairness(
    *,
    cc: str = "reno,cubic,bbr",
    rtt: str = "20ms,100ms",
    options: Annotated[FairnessOptions, Parameter(name="*")] = USUAL,
    answer: Answer = ANSWER,
    own: OwnCode = NOTHING,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    dask: Dask = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show who takes what from whom: congestion controls and round-trip times against each other.

    Each pair meets at one bottleneck in both orders of arrival, and each side runs alone too, which harm is measured
    against. The folder holds the tables, heat maps and report.html; by default it is made under `runs/`.

    For example:

        lopsided fairness
        lopsided fairness --cc cubic,westwood,vegas,bbr --rtt 20ms,100ms,400ms \\
          --link 100M
        lopsided fairness --cc cubic,bbr --rtt 40ms --link 20M --buffer "8 BDP" \\
          --repeat 5
        lopsided fairness --cc cubic,quic:cubic --rtt 40ms --link 20M
        lopsided fairness --cc reno,Gentle --controller gentle.py:Gentle
        lopsided fairness --cc reno,cubic --rtt 20ms,200ms --link 50M --up 5M \\
          --direction up --pairs full

    Parameters
    ----------
    cc
        The congestion controls, with commas between them; quic:cubic is CUBIC over QUIC.
    rtt
        Base round-trip times with commas between them, such as 20ms,100ms; a number alone is in ms.
    """
    from lopsided.studies import fairness as fair
    from lopsided.views.html import fairness as page

    study = fair.plan(_names(cc), _milliseconds(rtt), options, own.load())
    study.check()
    folder = answer.folder("fairness")
    with folders.writing(folder, overwrite=answer.overwrite) as staged:
        with on(dask, workers), progress(f"fairness, {_runs(study)}", quiet=quiet or as_json) as show:
            matrix = study.run(world=world, kernel=kernel, workers=workers, progress=show)
        with answer.drawing():
            page.write(matrix, staged, report=answer.report)
    if as_json:
        print_json({**matrix.to_dict(), "folder": folder})
    elif not quiet:
        _show(matrix)
        print_path(*answer.page(folder))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _milliseconds(text: str) -> list[float]:
    """`20,100` in ms, or with units: `20ms,0.1s`."""
    found: list[float] = []
    for part in _names(text):
        try:
            found.append(float(part))
        except ValueError:
            found.append(parse_time(part) * 1e3)
    return found


def _show(matrix: Matrix) -> None:
    from lopsided.views.html.fairness import title

    study = matrix.study
    heading(title(matrix), f"{matrix.world} · {_runs(study)} · digest of all {matrix.digest}")
    print_prose(" ".join(verdict(matrix)) + "\n")
    for squares in study.squares():
        for square in squares:
            if len(square.sides) <= _MOST_COLUMNS:
                out().print(_square(matrix, square))
    out().print(_pairs(matrix))
    print_prose(_caption(study) + "\n")


def _runs(study: Study) -> str:
    return "1 run" if len(study) == 1 else f"{len(study):,} runs"


def _square(matrix: Matrix, square: HeatMapGrid) -> View:
    """The shares of one square."""
    values, share = matrix.values("share"), matrix.cells.column("share")
    against = [Heading(f"vs {label}") for label in square.labels]
    rows = [
        [label, *(Styled(share.text(part), _style(part)) for part in (values.get((side, o)) for o in square.sides))]
        for side, label in zip(square.sides, square.labels, strict=True)
    ]
    return View([Heading(f"{square.heading}: share", numeric=False), *against], rows)


def _style(share: float | None) -> str:
    if share is None or 0.4 <= share <= 0.6:
        return ""
    return "yellow" if share < 0.4 else "blue"


def _pairs(matrix: Matrix) -> View:
    """A row for each pair, the least fair ones where there are many."""
    from lopsided.studies.fairness import Contender

    cells = {
        (Contender(row["cc"], row["rtt_ms"]), Contender(row["against_cc"], row["against_rtt_ms"])): row
        for row in matrix.cells.rows()
    }
    pairs = list(matrix.study.pairs)
    least_fair = sorted(pairs, key=lambda pair: cells[pair]["jain"] or 0.0)[:_MOST_PAIRS]

    def text(name: str, row: dict[str, Any]) -> str:
        return matrix.cells.column(name).text(row[name])

    rows: list[list[str]] = []
    for one, other in [pair for pair in pairs if pair in least_fair]:
        mine, theirs = cells[one, other], cells[other, one]
        rows.append(
            [
                *(f"{side.cc} {side.rtt_ms:g} ms" for side in (one, other)),
                *(text("goodput_bps", cell) for cell in (mine, theirs)),
                f"{text('share_least', mine)} to {text('share_most', mine)}",
                *_mean_share(mine, text),
                text("jain", mine),
                " / ".join(units.seconds(_whole(cell["converged_s"])) for cell in _once(mine, theirs)),
                *(text("harm_rate", cell) for cell in (mine, theirs)),
            ]
        )
    headings = ("goodput", "other's", "share", "mean", "95 %", "Jain", "fair after", "harm", "to other")
    many = f"the {_MOST_PAIRS} least fair of {len(pairs)} pairs; all stand in the folder's tables"
    sides = [Heading(side, numeric=False) for side in ("one", "other")]
    return View([*sides, *map(Heading, headings)], rows, keys=2, caption=many if len(pairs) > _MOST_PAIRS else "")


def _mean_share(cell: dict[str, Any], text: Callable[[str, dict[str, Any]], str]) -> tuple[str, str]:
    """The mean share, and how far its 95 % interval reaches to each side."""
    return text("share_mean", cell), "–" if cell["share_ci95"] is None else f"± {text('share_ci95', cell)}"


def _whole(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds)


def _once(mine: dict[str, Any], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    return [mine] if mine is theirs else [mine, theirs]


def _caption(study: Study) -> str:
    seeds = f"{study.repeat} seed{'s' if study.repeat > 1 else ''}"
    return (
        f"medians of both orders of arrival and {seeds}; share: of one, least to most, then the mean of both orders "
        "and its 95 % interval; fair after: when one joins the other / when the other joins; harm: part of its goodput "
        "alone that one lost to the other"
    )
