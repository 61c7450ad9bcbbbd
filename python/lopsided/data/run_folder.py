"""Run folders: what a run leaves on disk, and how it is read back.

    scenario.toml       the scenario as it ran, every default filled in
    manifest.json       format, version, world, seed, digest, when and where
    flows.parquet ...   one file per table
    report.html         for people; self-contained
    fairness.parquet    where the scenario asks for it

A study of fairness leaves its manifest, of `kind` fairness, with cells.csv, its tables, figures/ and report.html; a
comparison of queue disciplines, of `kind` aqm, its tables as CSV and the same; a suite of them a folder for each of
its sections.

A folder is known by its manifest. A folder that holds anything else is never written into.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from lopsided.data.catalogue import run_tables
from lopsided.errors import FolderError

FORMAT = 2
"""The version of this layout; raised whenever an older reader would misread a new folder."""

STUDY_TABLES = ("cells", "runs", "alone")
"""The tables of a study of fairness."""
AQM_TABLES = ("cells", "users", "runs", "user_runs", "delays")
"""The tables of a comparison of queue disciplines, as CSV."""
MANIFEST = "manifest.json"


def prepare(folder: Path, *, overwrite: bool = False) -> Path:
    """Makes `folder` ready to be written.

    An earlier run there is replaced only with `overwrite`; other people's files never are.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file; a run needs a folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MANIFEST).is_file():
            raise FolderError(f"{folder} holds files that are not a run; choose another folder")
        if not overwrite:
            raise FolderError(f"{folder} already holds a run; choose another folder or ask to overwrite it")
        _remove_run(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"cannot make {folder}: {error.strerror}") from error
    return folder


def abandon(folder: Path) -> None:
    """Removes what a run that came to nothing left in a folder that `prepare` made ready."""
    if not (folder / MANIFEST).exists():
        _remove_run(folder)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove_run(folder: Path) -> None:
    ours = ["scenario.toml", MANIFEST, "report.html", *(f"{table}.csv" for table in AQM_TABLES)]
    ours += [f"{table}.parquet" for table in (*run_tables(), *STUDY_TABLES, "repeats", "fairness")]
    for name in ours:
        (folder / name).unlink(missing_ok=True)
    for name in ("pcap", "figures"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for section in folder.iterdir() if folder.is_dir() else ():
        if (section / MANIFEST).is_file():
            _remove_run(section)
            section.rmdir()


def free_name(parent: Path, name: str) -> Path:
    """`parent/name`, or `parent/name-2`, `-3`, ... if a run of that name is there already."""
    folder, number = parent / name, 1
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest, last and in one step: a folder with a manifest is complete."""
    temporary = folder / f".{MANIFEST}.{os.getpid()}"
    temporary.write_text(json.dumps({"format": FORMAT, **manifest}, indent=2) + "\n")
    temporary.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder, refused with a reason if it is none or of another format."""
    path = folder / MANIFEST
    if not folder.exists():
        raise FolderError(f"{folder} does not exist")
    if not path.is_file():
        raise FolderError(f"{folder} is not a run folder: it has no {MANIFEST}")
    try:
        manifest = json.loads(path.read_text())
        found = int(manifest["format"])
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(f"{path} is damaged: {error}") from error
    if found != FORMAT:
        age = "a newer" if found > FORMAT else "an older"
        raise FolderError(
            f"{folder} was written by {age} lopsided (run format {found}; this one reads {FORMAT}): "
            "run its scenario.toml again"
        )
    if manifest.get("kind", "run") != "run":
        raise FolderError(f"{folder} holds a study of {manifest['kind']}, not a run: report.html shows it")
    return manifest
