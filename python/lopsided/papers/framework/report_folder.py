"""Writes a report into a folder with a temporary name, and then renames the folder.

A report's `manifest.json` lists the files of the report. A folder that contains other files is never overwritten.
Partial reports are written to subfolders, and a new full report keeps these subfolders.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from lopsided.data import output
from lopsided.errors import OccupiedError

MANIFEST = "manifest.json"
KIND = "reproduction"


def check(folder: Path) -> None:
    """Raises OccupiedError if the folder contains a file that is not part of an earlier report."""
    if folder.exists() and not folder.is_dir():
        raise OccupiedError(f"{folder} is a file; a report needs a folder")
    strangers = sorted(str(path) for path in _strangers(folder)) if folder.is_dir() else []
    if strangers:
        more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
        raise OccupiedError(f"{folder} holds files that no report wrote ({strangers[0]}{more}); choose another folder")


def _files(folder: Path) -> set[Path] | None:
    """Returns the files of the report in this folder; `None` if there is no report."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = {Path(name) for name in manifest["files"]} if manifest["kind"] == KIND else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if known is None else known | {Path(MANIFEST)}


def _parts(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.is_dir() and _files(each) is not None]


def _of_parts(folder: Path) -> list[Path]:
    parts = _parts(folder) if folder.is_dir() else []
    return [path for part in parts for path in part.rglob("*") if not path.is_dir()]


def _strangers(folder: Path) -> Iterator[Path]:
    known = _files(folder) or set()
    parts = _parts(folder)
    for path in folder.rglob("*"):
        inside = next((part for part in parts if part in path.parents), None)
        if not path.is_dir() and inside is None and path.relative_to(folder) not in known:
            yield path
    for part in parts:
        yield from _strangers(part)


@contextmanager
def writing(folder: Path, paper: str) -> Generator[Path]:
    """Yields an empty folder that replaces `folder` if the block succeeds. Partial reports are kept.

    Raises
    ------
    OccupiedError
        If `folder` contains a file that is not part of an earlier report.
    """
    with output.staging(folder) as temporary:
        check(folder)
        yield temporary
        files = sorted(str(path.relative_to(temporary)) for path in temporary.rglob("*") if path.is_file())
        manifest = {"kind": KIND, "paper": paper, "files": files}
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        # Another program may have written to the folder in the meantime.
        check(folder)
        output.put(temporary, folder, keep=[path.relative_to(folder) for path in _of_parts(folder)])
