"""What a search leaves behind while it is under way, so that it goes on after an interruption or a kill.

Finished runs are kept in a hidden folder beside the place, in `runs.parquet`, written anew in one step after a batch.
The place itself is written when the search ends or is interrupted; until then what was there stays. A search is known
by its fingerprint: the same scenario, keys, goals and limits; more trials are the same search.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """What is known of the place: how many runs were finished, and whether what is there may be replaced."""

    runs: int
    replace: bool


@contextmanager
def kept(place: Path, searcher: Searcher, *, overwrite: bool = False) -> Generator[Kept]:
    """Within the block finished runs are kept beside `place`.

    Raises FolderError where the place holds anything but this search, or another one with `overwrite`.
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
            # Without a result in its place, what was finished waits here.
            if not searcher.done or _mark_of(place) == mark:
                shutil.rmtree(beside, ignore_errors=True)
                # Those that hold something by now stay.
                with suppress(OSError):
                    for parent in missing:
                        parent.rmdir()


def hidden(place: Path) -> Path:
    """Where finished runs wait until there is a result."""
    return place.parent / f".{place.name}.lopsided-search"


def write_runs(folder: Path, searcher: Searcher) -> None:
    """Writes the finished runs into a folder that is being made."""
    _frame(searcher, searcher.done).write_parquet(folder / RUNS)


def _mark_of(folder: Path) -> str | None:
    """The fingerprint of the search in the folder; None where there is none."""
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
    with output.whole_file(folder / RUNS) as temporary:
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
