"""Writes and reads run folders.

    scenario.toml       the scenario that ran, with every default
    manifest.json       format, version, world, seed, digest, time, platform, and the files of the run
    flows.parquet ...   one file per table
    report.html         a self-contained report for readers
    fairness.parquet    only if the scenario has a `[fairness]` table
    pcap/               only if the run wrote captures

A study writes a manifest with its `kind`. The studies `fairness` and `aqm` write their tables as CSV, figures/ and
report.html. A suite of disciplines has one folder per section. A standard suite writes checks.csv, checks.parquet and
report.html.

A folder is a run folder if it has a manifest. Run folders are always complete, because they are written under another
name and then renamed. Files that the manifest does not list belong to the user, and stay when a run is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from lopsided.data import output
from lopsided.errors import FolderError, NoRunFolderError, OccupiedError

FORMAT = 2
"""Version of the folder's layout. The version increases if older readers would misread a new folder."""

MANIFEST = "manifest.json"


@contextmanager
def writing(place: Path, *, overwrite: bool = False) -> Generator[Path]:
    """Yields an empty folder that replaces `place` if the block succeeds.

    Parameters
    ----------
    place
        The run folder to write. It stays unchanged if the block raises.
    overwrite
        True to replace an earlier run. Files that do not belong to the run are never replaced.

    Raises
    ------
    FolderError
        If `place` must not be written, or if the block did not write a manifest.
    """
    # This check comes first, so that a rejected command changes nothing.
    check(place, overwrite)
    with output.staging(place) as folder:
        check(place, overwrite)
        yield folder
        # Another program may have written to `place` in the meantime.
        check(place, overwrite)
        if not (folder / MANIFEST).is_file():
            raise FolderError(f"nothing was written for {place}")
        output.put(folder, place, keep=_others(place, _files(folder)))


def check(place: Path, overwrite: bool) -> None:
    """Raises OccupiedError if a run must not be written to this path."""
    with output.told(place):
        if place.exists() and not place.is_dir():
            raise OccupiedError(f"{place} is a file; a run needs a folder")
        if not place.is_dir() or not any(place.iterdir()):
            return
        if not (place / MANIFEST).is_file():
            raise OccupiedError(f"{place} holds files that are not a run; choose another folder")
        if not overwrite:
            raise OccupiedError(f"{place} already holds a run; choose another folder, or replace it with --overwrite")
        if _listed(place) is None:
            raise OccupiedError(f"{place} has a manifest without a list of files; choose another folder")


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def _listed(place: Path) -> set[Path] | None:
    """Returns the files that the manifest lists; `None` if the manifest has no list."""
    try:
        files = json.loads((place / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {Path(MANIFEST), *map(Path, cast("list[str]", files))}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _others(place: Path, new: set[Path]) -> list[Path]:
    """Returns the files in `place` that are not part of a run or its figures.

    Raises OccupiedError if the new run has a file with the same name.
    """
    if not place.is_dir():
        return []
    others = [
        path for path in sorted(_files(place) - (_listed(place) or set())) if not output.is_our_picture(place / path)
    ]
    if taken := [path for path in others if path in new]:
        raise OccupiedError(
            f"{place / taken[0]} does not belong to the run there; move it away or choose another folder"
        )
    return others


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest. Call this function last, because the manifest lists the files that exist at the time of the
    call."""
    files = sorted(str(path) for path in _files(folder))
    text = json.dumps({"format": FORMAT, **manifest, "files": files}, indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _why(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


_KINDS = {"world": str, "digest": str, "made": str, "seed": int, "facts": dict}
"""Required entries of a manifest, with their types."""


def check_run(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises FolderError if an entry is missing, or if a table or scenario is not a regular file."""
    for name, kind in _KINDS.items():
        if not isinstance(manifest.get(name), kind):
            raise FolderError(f"{folder / MANIFEST} is damaged: `{name}` is missing or not of type {kind.__name__}")
    # Reading a named pipe would block.
    for path in (*folder.glob("*.parquet"), folder / "scenario.toml"):
        if not path.is_file():
            raise FolderError(f"{folder} is damaged: {path.name} is not a file")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a run folder.

    Raises
    ------
    NoRunFolderError
        If the folder does not exist or has no manifest.
    FolderError
        If the manifest is damaged, has another version, or belongs to a study.
    """
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
