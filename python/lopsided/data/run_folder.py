"""Run folders: what a run leaves on disk, and how it is read back.

    scenario.toml       the scenario as it ran, every default filled in
    manifest.json       format, version, world, seed, digest, when, where, and the files of the run
    flows.parquet ...   one file per table
    report.html         for people; self-contained
    fairness.parquet    where the scenario asks for it
    pcap/               where captures were asked for

A study of fairness leaves its manifest, of `kind` fairness, with cells.csv, its tables, figures/ and report.html; a
comparison of queue disciplines, of `kind` aqm, its tables as CSV and the same; a suite of them a folder for each of
its sections. A standard suite, of `kind` suite, leaves checks.csv, checks.parquet and report.html.

A folder is known by its manifest, and is complete: it was written elsewhere and moved to its place. Files that the
manifest does not list belong to somebody else and stay when a run is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from lopsided.data import output
from lopsided.errors import FolderError, NoRunFolderError

FORMAT = 2
"""The version of this layout; raised whenever an older reader would misread a new folder."""

STUDY_TABLES = ("cells", "runs", "alone")
"""The tables of a study of fairness."""
AQM_TABLES = ("cells", "users", "runs", "user_runs", "delays")
"""The tables of a comparison of queue disciplines, as CSV."""
MANIFEST = "manifest.json"


@contextmanager
def writing(place: Path, *, overwrite: bool = False) -> Generator[Path]:
    """An empty folder to write a run in; as the block ends it is moved to `place`.

    An earlier run there is replaced only with `overwrite`, and not before this one is whole; other people's files
    never are. A block that raises leaves everything as it was.
    """
    check(place, overwrite)
    with output.staging(place) as folder:
        yield folder
        # Somebody may have written there since.
        check(place, overwrite)
        if not (folder / MANIFEST).is_file():
            raise FolderError(f"nothing was written for {place}")
        output.put(folder, place, _others(place, _files(folder)))


def saving(write: Callable[..., object]) -> Callable[..., Path]:
    """Of a function that writes a study into a folder that `writing` gave, one that saves into any and gives its path.

    It raises FolderError where anything else is there, or an earlier study without `overwrite`.
    """

    def save(found: Any, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        place = Path(folder)
        with writing(place, overwrite=overwrite) as staged:
            write(found, staged, report=report)
        return place

    return save


def check(place: Path, overwrite: bool) -> None:
    """Raises FolderError where a run may not be written to this place."""
    with output.told(place):
        if place.exists() and not place.is_dir():
            raise FolderError(f"{place} is a file; a run needs a folder")
        if not place.is_dir() or not any(place.iterdir()):
            return
        if not (place / MANIFEST).is_file():
            raise FolderError(f"{place} holds files that are not a run; choose another folder")
        if not overwrite:
            raise FolderError(f"{place} already holds a run; choose another folder, or replace it with --overwrite")
        if _listed(place) is None:
            raise FolderError(f"{place} does not say which of its files are the run's; choose another folder")


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def _listed(place: Path) -> set[Path] | None:
    """The files that the manifest calls the run's; None where it does not say."""
    try:
        files = json.loads((place / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {Path(MANIFEST), *map(Path, cast("list[str]", files))}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _others(place: Path, new: set[Path]) -> list[Path]:
    """The files in `place` that are no run's, nor pictures drawn of it; refused where a new one is called so."""
    if not place.is_dir():
        return []
    others = [
        path for path in sorted(_files(place) - (_listed(place) or set())) if not output.is_our_picture(place / path)
    ]
    if taken := [path for path in others if path in new]:
        raise FolderError(f"{place / taken[0]} is not of the run that is there; move it away or choose another folder")
    return others


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest, last: it lists the files that were written before it."""
    files = sorted(str(path) for path in _files(folder))
    text = json.dumps({"format": FORMAT, **manifest, "files": files}, indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _why(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


_KINDS = {"world": str, "digest": str, "made": str, "seed": int, "facts": dict}
"""What the manifest of a run says, by kind."""


def check_run(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises FolderError for the manifest of a run that lacks something, or a file of the folder that is none."""
    for name, kind in _KINDS.items():
        if not isinstance(manifest.get(name), kind):
            raise FolderError(f"{folder / MANIFEST} is damaged: its `{name}` is no {kind.__name__}")
    # A pipe of that name would be waited for.
    for path in (*folder.glob("*.parquet"), folder / "scenario.toml"):
        if not path.is_file():
            raise FolderError(f"{folder} is damaged: {path.name} is not a file")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder, refused with a reason if it is none or of another format."""
    path = folder / MANIFEST
    with output.told(folder, "read"):
        if not folder.exists():
            raise NoRunFolderError(f"{folder} does not exist")
        if not path.is_file():
            raise NoRunFolderError(f"{folder} is not a run folder: it has no {MANIFEST}")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        found = int(manifest["format"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FolderError(f"{path} is damaged: {_why(error)}") from error
    if found != FORMAT:
        age = "a newer" if found > FORMAT else "an older"
        raise FolderError(
            f"{folder} was written by {age} lopsided (run format {found}; this one reads {FORMAT}): "
            "run its scenario.toml again"
        )
    if manifest.get("kind", "run") != "run":
        raise FolderError(f"{folder} holds a study of {manifest['kind']}, not a run: report.html shows it")
    return manifest
