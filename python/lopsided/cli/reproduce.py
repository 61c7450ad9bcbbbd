"""`lopsided reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lopsided import papers
from lopsided.cli.options import PRINTING, Column, Dask, Flag, Printing, on
from lopsided.cli.terminal import out, print_json, silent, staged_progress
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.papers.framework.reproduction import Reproduction


def reproduce(
    paper: str,
    /,
    *,
    chapter: str | None = None,
    figure: str | None = None,
    claims: Flag = False,
    out_folder: Annotated[Path | None, Parameter(name="--out")] = None,
    repeat: int | None = None,
    seed: int | None = None,
    sensitivity: Flag = False,
    full: Flag = False,
    world: str = "sim",
    column: Column = None,
    dask: Dask = None,
    printing: Printing = PRINTING,
) -> int:
    """Re-run a published study.

    Shows every figure, table and claim, with the published values next to the measured values. A claim that does not
    hold is marked, with the reason. The exit code is 1 if the outcome of a claim differs from the recorded one.

    For example:

        lopsided reproduce merritt2010
        lopsided reproduce merritt2010 --figure 5.1 --column single
        lopsided reproduce merritt2010 --claims
        lopsided reproduce havey2015 --chapter 5
        lopsided reproduce havey2015 --chapter 3 --full
        lopsided reproduce balakrishnan1999 --world live
        lopsided reproduce all

    Parameters
    ----------
    paper
        The study, by first author and year, such as merritt2010; `all` for all studies, with an overview page.
    chapter
        Run only the figures and claims of this chapter of a long study.
    figure
        Run only this figure or table, such as 5.1 or "table 6.2". A figure is also written as PDF.
    claims
        Check only the claims.
    out_folder
        The folder of the report; default: `runs/PAPER`, or `runs/reproduced` for all studies.
    repeat
        Number of seeds for each setting; default: the study's own number.
    seed
        The first seed; default: 1. Verdicts are compared with the recorded ones only for the default seeds.
    sensitivity
        Repeat the study with each alternative value of each setting that the paper does not state; takes several times
        as long.
    full
        Run every experiment with the paper's duration and number of repetitions, and experiments beyond the paper;
        takes many times as long. Recorded verdicts do not apply.
    world
        `sim`; or `live`, which runs the part of the study that works with real packets.
    """
    from lopsided.views.plot import style

    every = paper == "all"
    if every and (chapter is not None or figure is not None or claims or world != "sim"):
        raise UsageError("`all` re-runs whole studies: name one study to choose a chapter, figure, claims or world")
    found: list[dict[str, Any]] = []

    def keep(reproduction: Reproduction, page: Path) -> None:
        if printing.as_json:
            found.append({**papers.as_dict(reproduction), "report": page})

    target = out_folder or Path("runs") / ("reproduced" if every else paper)
    console = silent() if printing.quiet else out()
    # The progress bar would hide text that was printed earlier.
    with (
        console.capture() as said,
        on(dask),
        style.for_column(column),
        staged_progress(quiet=printing.silent) as report,
    ):
        if every:
            code = papers.reproduce_all(target, repeat, console, report, sensitivity, seed, full, keep)
        else:
            code = papers.reproduce(
                paper, figure, claims, target, repeat, console, report, chapter, sensitivity, world, seed, full, keep
            )
    if printing.as_json:
        print_json({"studies": found, "code": code, "folder": target} if every else {**found[0], "code": code})
        return code
    sys.stdout.write(said.get())
    return code
