"""What a search leaves behind while it is under way, so that it goes on after an interruption or a kill.

The folder has a manifest, the scenario, and `runs.parquet`, written anew in one step after each batch. A search is
known by its fingerprint: the same scenario, keys, goals and limits; more trials are the same search.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.data import output
from lopsided.data import run_folder as folders
from lopsided.errors import FolderError
from lopsided.studies.search.study import Done, Key, Searcher

if TYPE_CHECKING:
    import polars as pl

RUNS = "runs.parquet"


@contextmanager
def kept(folder: Path, searcher: Searcher, *, overwrite: bool = False) -> Generator[int]:
    """Within the block finished runs are kept in `folder`; gives how many were there already.

    Raises FolderError where the folder holds anything but the beginning of this search. Another search is replaced
    with `overwrite`.
    """
    mark = searcher.fingerprint()
    if _mark_of(folder) != mark:
        with folders.writing(folder, overwrite=overwrite) as staged:
            (staged / "scenario.toml").write_text(searcher.scenario.to_toml(), encoding="utf-8")
            _frame(searcher, {}).write_parquet(staged / RUNS)
            said = {"kind": "search", "name": searcher.scenario.name, "lopsided": _native.__version__}
            folders.write_manifest(staged, {**said, "fingerprint": mark})
    with output.alone(folder):
        searcher.done.update(_read(folder, searcher))
        searcher.log = lambda done: _write(folder, searcher, done)
        yield len(searcher.done)


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


def _read(folder: Path, searcher: Searcher) -> dict[Key, Done]:
    import polars as pl

    try:
        rows = pl.read_parquet(folder / RUNS).rows()
        return {
            (tuple(sorted(json.loads(settings).items())), seed): Done(digest, tuple(values))
            for settings, seed, digest, *values in rows
        }
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FolderError(f"{folder / RUNS} is damaged: {error}") from None
