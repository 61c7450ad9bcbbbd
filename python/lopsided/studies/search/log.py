"""Stores finished runs, so that an interrupted search can continue.

A hidden folder next to the result contains `runs.parquet`, which is replaced atomically after each batch. The result is
written at the end of the search, or when the search is interrupted. A fingerprint identifies the search. It covers
scenario, keys, goals and limits, but not the number of trials.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided import interrupts
from lopsided.data import output
from lopsided.data import run_folder as folders
from lopsided.errors import FolderError
from lopsided.studies.search.result import Done, Key
from lopsided.studies.search.study import Searcher

if TYPE_CHECKING:
    import polars as pl

RUNS = "runs.parquet"


@dataclass(frozen=True)
class Kept:
    """`runs` is the number of runs that earlier calls finished. `replace` is true if the result folder may be
    replaced."""

    runs: int
    replace: bool


@contextmanager
def kept(place: Path, searcher: Searcher, *, overwrite: bool = False) -> Generator[Kept]:
    """Stores the finished runs of the `with` block in a hidden folder next to `place`, the result folder.

    Raises FolderError if `place` contains anything except results of this search. With `overwrite`, results of another
    search may be replaced.
    """
    mark = searcher.fingerprint()
    there = _mark_of(place) == mark
    folders.check(place, overwrite or there)
    beside = hidden(place)
    with output.told(place):
        missing = [parent for parent in beside.parents if not parent.exists()]
        beside.mkdir(parents=True, exist_ok=True)
    with output.alone(beside):
        if _mark_of(beside) == mark:
            searcher.done.update(_read(beside))
        elif there:
            searcher.done.update(_read(place))
        _write(beside, searcher, searcher.done)
        with output.whole_file(beside / folders.MANIFEST) as temporary:
            temporary.write_text(json.dumps({"kind": "search", "fingerprint": mark}), encoding="utf-8")
        searcher.log = lambda done: _write(beside, searcher, done)
        try:
            yield Kept(len(searcher.done), overwrite or there)
        finally:
            # If there is no result folder, keep the hidden folder, so that a later call can continue the search.
            if not searcher.done or _mark_of(place) == mark:
                shutil.rmtree(beside, ignore_errors=True)
                # `rmdir` fails if a folder contains other files. The folder then remains.
                with suppress(OSError):
                    for parent in missing:
                        parent.rmdir()


def hidden(place: Path) -> Path:
    """Returns the hidden folder that stores finished runs until the result is written."""
    return place.parent / f".{place.name}.lopsided-search"


def write_runs(folder: Path, searcher: Searcher) -> None:
    """Writes the finished runs as a Parquet file into a result folder."""
    _frame(searcher, searcher.done).write_parquet(folder / RUNS)


def _mark_of(folder: Path) -> str | None:
    """Returns the fingerprint of the search that a folder contains; `None` if the folder contains no search."""
    try:
        manifest = json.loads((folder / folders.MANIFEST).read_text(encoding="utf-8"))
        return str(manifest["fingerprint"]) if manifest["kind"] == "search" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _frame(searcher: Searcher, done: Mapping[Key, Done]) -> pl.DataFrame:
    import polars as pl

    names = [metric.stored.name for metric in searcher.metrics]
    schema: dict[str, Any] = {"settings": pl.String, "seed": pl.UInt64, "digest": pl.String}
    rows = [
        {"settings": json.dumps(dict(settings)), "seed": seed, "digest": run.digest}
        | dict(zip(names, run.values, strict=True))
        for (settings, seed), run in done.items()
    ]
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(names, pl.Float64))


def _write(folder: Path, searcher: Searcher, done: Mapping[Key, Done]) -> None:
    # Delay interrupts: an interrupt during this write would leave the file locked, but `Searcher.run` writes the file
    # again after an interrupt.
    with interrupts.Delayed(), output.whole_file(folder / RUNS) as temporary:
        _frame(searcher, done).write_parquet(temporary)


def _read(folder: Path) -> dict[Key, Done]:
    import polars as pl

    try:
        rows = pl.read_parquet(folder / RUNS).rows()
        return {
            (tuple(sorted(json.loads(settings).items())), seed): Done(digest, tuple(values))
            for settings, seed, digest, *values in rows
        }
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FolderError(f"{folder / RUNS} is damaged: {error}") from None
