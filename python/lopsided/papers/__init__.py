"""Published studies, re-run by one command and shown beside what was printed.

A paper is a package in this folder named by first author and year. To add one: `published.csv` (the printed numbers),
`scenarios/*.toml`, and an `__init__.py` that defines `PAPER` (see `lopsided.papers.framework.model`); nothing else has
to know of it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.errors import FolderError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from lopsided.papers.framework.model import Figure, Paper
    from lopsided.papers.framework.reproduction import Progress


def available() -> list[str]:
    """The keys of all papers."""
    return sorted(
        module.name for module in pkgutil.iter_modules(__path__) if module.ispkg and module.name != "framework"
    )


def load(key: str) -> Paper:
    """The paper of this key; raises UsageError for an unknown one."""
    if key not in available():
        raise UsageError(f"no paper called {key!r}{_meant(key, available())}")
    paper: Paper = importlib.import_module(f"{__name__}.{key}").PAPER
    return paper


def reproduce(
    paper: str,
    figure: str | None,
    claims_only: bool,
    out: Path,
    repeat: int | None,
    console: Console,
    progress: Progress = lambda _what, _share: None,
    chapter: str | None = None,
) -> int:
    """Re-runs a paper, writes the report into `out` and prints what came out; returns the exit code.

    Everything by default; `figure` ("5.1", "table 6.2") only that one, `claims_only` only the claims: these go into a
    folder of their own inside `out`, so that a full report there stays; so does a `chapter`. `repeat` is the
    number of seeds per setting. `progress(what, share)` is told how far it is. The code is 1 if a claim, at the paper's
    own number of seeds, is not as recorded, else 0.
    """
    from lopsided.papers.framework import console as on_console
    from lopsided.papers.framework import page, report_folder
    from lopsided.papers.framework import reproduction as study
    from lopsided.studies.jobs import run_jobs

    known = load(paper) if chapter is None else _chapter(load(paper), chapter)
    out = out if chapter is None else out / f"chapter-{chapter}"
    if repeat is not None and repeat < 1:
        raise UsageError(f"cannot repeat a run {repeat} times")
    wanted = None if figure is None else _figure(known, figure)
    everything = wanted is None and not claims_only
    folder = out if everything else out / ("claims" if wanted is None else wanted.slug)
    report_folder.check(folder)
    reproduction = study.reproduce(
        known,
        run_jobs,
        figures=known.figures if everything else () if wanted is None else (wanted,),
        claims=wanted is None,
        sensitivity=everything,
        repetitions=repeat or known.repeat,
        progress=progress,
    )
    try:
        report = page.write(reproduction, folder)
    except OSError as error:
        raise FolderError(f"cannot write {folder}: {error.strerror or error}") from error
    on_console.show(reproduction, console, report, in_full=not everything)
    surprised = repeat in (None, known.repeat) and any(outcome.surprising for outcome in reproduction.claims)
    return 1 if surprised else 0


def _chapter(study: Paper, chapter: str) -> Paper:
    if chapter not in study.chapters:
        raise UsageError(f"{study.key} has no chapter {chapter!r}{_meant(chapter, list(study.chapters) or ['none'])}")
    return study.only(chapter)


def _figure(study: Paper, number: str) -> Figure:
    found = study.figure(number)
    if found is None:
        numbers = [each.number for each in study.figures]
        raise UsageError(f"{study.key} has no figure {number!r}{_meant(number, numbers)}")
    return found


def _meant(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"
