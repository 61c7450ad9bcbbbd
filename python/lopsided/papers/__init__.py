"""Reproduces published studies and compares the results.

A paper is a package in this folder, named by first author and year. A new paper needs:

- `published.csv`: the numbers that the paper prints;
- `scenarios/*.toml`;
- `assumptions.toml`: settings that the paper does not state;
- an `__init__.py` that defines `PAPER` (see `lopsided.papers.framework.model`).
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided._native import __version__
from lopsided.data.output import told
from lopsided.data.suggestions import choices
from lopsided.errors import LopsidedError, UsageError
from lopsided.papers.framework import report_folder
from lopsided.studies.jobs import run_jobs, seeds

if TYPE_CHECKING:
    from rich.console import Console

    from lopsided.papers.framework.model import Figure, Paper
    from lopsided.papers.framework.reproduction import Entry, Progress, Reproduction

    Keep = Callable[[Reproduction, Path], object]

_YEAR = 2026
"""Release year of this version of lopsided, for its BibTeX entry."""

_SIDE_BY_SIDE = 2
"""Number of studies that `reproduce_all` runs in parallel."""
_LONGEST_FIRST = (
    "havey2015",
    "rfc3449",
    "balakrishnan1999",
    "yahya2011",
    "merritt2010",
    "orosz2010",
    "lakshman2000",
)
"""The studies that take the most CPU time, in descending order. `reproduce_all` starts them first, so that the last
studies are short and leave few processors idle."""
_DRAWING = threading.Lock()
"""Only one study draws at a time, because matplotlib's settings belong to the whole process."""


def available() -> list[str]:
    return sorted(
        module.name for module in pkgutil.iter_modules(__path__) if module.ispkg and module.name != "framework"
    )


def load(key: str) -> Paper:
    """Returns the paper with the given key, such as `merritt2010`.

    Raises
    ------
    UsageError
        If there is no such paper. The message suggests the closest key.
    """
    if key not in available():
        raise UsageError(f"no paper called {key!r}; {choices(key, available())}")
    paper: Paper = importlib.import_module(f"{__name__}.{key}").PAPER
    return paper


def as_dict(reproduction: Reproduction) -> dict[str, Any]:
    """Returns the results of a reproduction as a dict that can be written as JSON."""
    from lopsided.papers.framework import page

    tables = {name: frame.to_dicts() for name, frame in page.summaries(reproduction).items()}
    return {
        "study": reproduction.paper.key,
        "title": reproduction.paper.title,
        "world": reproduction.paper.world,
        "only": reproduction.only or None,
        "seed": reproduction.seed,
        "repetitions": reproduction.repetitions,
        "opening": reproduction.opening(),
        "failing": [asdict(each) for each in reproduction.failing()],
        "unexpected": reproduction.surprises,
        "judged_with_full": [each.key for each in reproduction.paper.left_to_full],
        "figures": [figure.number for figure, _ in reproduction.artifacts],
        "digests": dict(reproduction.digests),
        **tables,
    }


def bibtex(key: str) -> str:
    return (load(key).folder / "citation.bib").read_text(encoding="utf-8")


def own_bibtex() -> str:
    """Returns lopsided's own BibTeX entry. Its type is `misc`, which every bibliography style supports."""
    return (
        "@misc{lopsided,\n"
        "  author = {{The lopsided authors}},\n"
        "  title = {lopsided: a laboratory for {TCP} over asymmetric access links},\n"
        "  howpublished = {Computer software},\n"
        f"  note = {{Version {__version__}}},\n"
        f"  year = {{{_YEAR}}},\n"
        "}\n"
    )


def reproduce(
    paper: str,
    figure: str | None,
    claims_only: bool,
    out: Path,
    repeat: int | None,
    console: Console,
    progress: Progress = lambda _what, _share: None,
    chapter: str | None = None,
    sensitivity: bool = False,
    world: str = "sim",
    seed: int | None = None,
    full: bool = False,
    keep: Keep = lambda _reproduction, _report: None,
) -> int:
    """Reproduces a paper, writes the report into `out` and prints a summary.

    Parameters
    ----------
    paper
        Key of the paper.
    figure
        Number or name of the only figure to reproduce, such as `5.1` or `table 6.2`; all figures and claims if `None`.
    claims_only
        True to judge the claims without drawing figures.
    out
        Folder of the report. A partial report goes to a subfolder, so that it does not replace the full report.
    repeat
        Number of seeds for each setting; the paper's own number if `None`.
    console
        Prints the summary.
    progress
        Called with the current activity and its completed fraction, from 0 to 1.
    chapter
        Only the figures and claims of this chapter.
    sensitivity
        True to repeat the experiments with each alternative value of the settings that the paper does not state.
    world
        `sim`, or `live` for the part that runs on real packets.
    seed
        First seed; 1 if `None`.
    full
        True to use the paper's durations and repetitions. False skips the experiments that are `only_in_full`, unless
        `figure` needs them.
    keep
        Called with the outcome and the path of its report.

    Returns
    -------
    int
        Exit code: 1 if a verdict at the paper's own seeds differs from the recorded one, else 0.

    Raises
    ------
    UsageError
        For an unknown paper, figure, chapter or world.
    FolderError
        If `out` contains files that are not part of an earlier report.
    """
    from lopsided.papers.framework import console as on_console

    known = _in_world(load(paper), world)
    out = out if known.world == "sim" else out / known.world
    known = known if chapter is None else _chapter(known, chapter)
    known = known.at_full_length if full else known.by_default if figure is None else known
    out = out if chapter is None else out / f"chapter-{chapter}"
    wanted = None if figure is None else _figure(known, figure)
    everything = wanted is None and not claims_only
    folder = out if everything else out / ("claims" if wanted is None else wanted.slug)
    figures = known.figures if everything else () if wanted is None else (wanted,)
    asked = _Asked(figures, wanted is None, sensitivity and everything, repeat, seed, full, wanted)
    reproduction, report = _reproduce(known, asked, folder, progress)
    keep(reproduction, report)
    on_console.show(reproduction, console, report, in_full=not everything)
    return 1 if reproduction.surprises else 0


def reproduce_all(
    out: Path,
    repeat: int | None,
    console: Console,
    progress: Progress = lambda _what, _share: None,
    sensitivity: bool = False,
    seed: int | None = None,
    full: bool = False,
    keep: Keep = lambda _reproduction, _report: None,
) -> int:
    """Reproduces every paper into a separate subfolder of `out`, and writes one page about all papers.

    The parameters have the same meaning as in `reproduce`. If a paper fails, the page shows the error, and the other
    papers still run.

    Returns
    -------
    int
        Exit code: 1 if a paper failed or a verdict differs from the recorded one, else 0.
    """
    from lopsided.papers.framework import console as on_console
    from lopsided.papers.framework import index

    report_folder.check(out)
    begun = time.monotonic()
    papers = [load(key).at_full_length if full else load(key).by_default for key in available()]
    shares = dict.fromkeys((each.key for each in papers), 0.0)
    stopped = threading.Event()

    def reproduced(known: Paper) -> Entry:
        def within(what: str, share: float) -> object:
            if stopped.is_set():
                raise LopsidedError("stopped")
            shares[known.key] = share
            return progress(f"{known.key}: {what}", sum(shares.values()) / len(shares))

        return _entry(known, _Asked(known.figures, True, sensitivity, repeat, seed, full), out / known.key, within)

    # The runs of one study keep the processors busy while the other study is planned, judged or drawn.
    with _few_collections(), ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        # The copied context carries the caller's `--column` setting into the worker threads.
        found = {
            each.key: pool.submit(copy_context().run, reproduced, each)
            for each in sorted(papers, key=lambda each: _place(each.key))
        }
        try:
            entries = [found[each.key].result() for each in papers]
        except BaseException:
            # Ctrl-C interrupts only this thread. The workers' runs end at their next progress report.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for entry in entries:
        if entry.reproduction is not None:
            keep(entry.reproduction, out / entry.paper.key / "report.html")
    page = index.write(entries, time.monotonic() - begun, out)
    on_console.show_all(entries, console, page)
    return 1 if any(entry.failure or entry.surprises for entry in entries) else 0


@contextmanager
def _few_collections() -> Generator[None]:
    """Runs Python's cyclic garbage collector less often. At its default interval, the collector takes 3 % of the CPU
    time, although only matplotlib's figures create reference cycles."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _place(key: str) -> int:
    return _LONGEST_FIRST.index(key) if key in _LONGEST_FIRST else len(_LONGEST_FIRST)


def _entry(known: Paper, asked: _Asked, folder: Path, progress: Progress) -> Entry:
    from lopsided.papers.framework.reproduction import Entry

    begun = time.monotonic()
    try:
        found, _ = _reproduce(known, asked, folder, progress)
    except LopsidedError as error:
        return Entry(known, time.monotonic() - begun, failure=str(error))
    return Entry(known, time.monotonic() - begun, found)


@dataclass(frozen=True)
class _Asked:
    figures: tuple[Figure, ...]
    claims: bool
    sensitivity: bool
    repeat: int | None
    seed: int | None
    full: bool = False
    only: Figure | None = None
    """The requested figure, if the user requested only one. Statements about this figure are judged too."""


def _reproduce(known: Paper, asked: _Asked, folder: Path, progress: Progress) -> tuple[Reproduction, Path]:
    from lopsided.papers.framework import page
    from lopsided.papers.framework import reproduction as study

    repetitions = known.repeat if asked.repeat is None else asked.repeat
    seeds(1 if asked.seed is None else asked.seed, repetitions)
    report_folder.check(folder)
    found = study.run(
        known,
        partial(run_jobs, world=known.world),
        figures=asked.figures,
        claims=asked.claims,
        sensitivity=asked.sensitivity,
        repetitions=repetitions,
        seed=asked.seed,
        on_record=not asked.full,
        progress=progress,
    )
    if asked.only is not None:
        own = repetitions == known.repeat and asked.seed in (None, 1)
        judged = study.judge(study.about(known, asked.only), found.measurements, recorded=own)
        found = replace(found, claims=judged, only=asked.only.number)
    with _DRAWING:
        whole = study.drawn(found, asked.figures)
        with told(folder):
            return whole, page.write(whole, folder)


def _in_world(study: Paper, world: str) -> Paper:
    if world == study.world:
        return study
    if world != "live":
        raise UsageError(f"no world {world!r} for studies; there are sim and live")
    if study.live is None:
        able = [key for key in available() if load(key).live is not None]
        raise UsageError(f"no part of {study.key} runs on real packets; parts of {', '.join(able)} do")
    return study.live


def _chapter(study: Paper, chapter: str) -> Paper:
    if chapter not in study.chapters:
        raise UsageError(f"{study.key} has no chapter {chapter!r}; {choices(chapter, study.chapters or ('none',))}")
    return study.only(chapter)


def _figure(study: Paper, number: str) -> Figure:
    plain = re.sub(r"^\s*(?:figure|fig\.?)\s*", "", number, flags=re.IGNORECASE)
    found = study.figure(number) or study.figure(plain)
    if found is None:
        numbers = [each.name.lower() if each.name.startswith("Table") else each.number for each in study.figures]
        raise UsageError(f"{study.key} has no figure {number!r}; {choices(number, numbers)}")
    return found
