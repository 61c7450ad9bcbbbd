"""What commands write: whole or not at all, and never in place of what somebody else made.

A folder is written beside its place under a hidden name, locked while it is written, and moved there in one step. A
single file is written into such a folder. What a killed process left of one is removed when something is written
beside it, and told. Pictures carry lopsided's name, so that one in a run folder is known to be of the run.

Left out: a folder on a file system that can exchange two folders in no single step (`renameat2`) is moved in two; a
kill between them leaves the earlier folder under its hidden name, from where the next run brings it back.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import time
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from lopsided.data import locks
from lopsided.errors import FolderError, LeftoverWarning

MARK = "Drawn by lopsided"
"""What pictures carry in their metadata."""

_FULL = 64 * 1024
"""Octets: a disk with fewer left has no room for a table."""
_WRITING, _OLD = ".lopsided-writing", ".lopsided-old"
_SETTLED_S = 10.0
"""A folder that nobody has locked and that was not changed for so long is nobody's: a new one is locked at once."""
_LONGEST = 200
"""Octets of a name that a hidden name keeps: a file system has room for 255."""
_MARK_WITHIN = 8192
"""Matplotlib writes the metadata of PNG and SVG into the first octets, those of PDF into the last."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


# --- single files -------------------------------------------------------------------------------------------------


def check_free(path: Path, *, overwrite: bool = False) -> None:
    """Raises FolderError if `path` is taken, by a file of lopsided's too: it may show another study."""
    with told(path):
        if path.is_dir():
            raise FolderError(f"{path} is a folder; a file is written here")
        if path.exists() and not overwrite:
            raise FolderError(f"{path} is there already; choose another name, or replace it with --overwrite")


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Where to write what takes the place of `path` when the block ends well: a file of that name, in a folder beside
    it. Through a symbolic link the file that it points to is written."""
    path = real(path)
    with staging(path) as folder, told(path):
        temporary = folder / path.name
        yield temporary
        temporary.replace(path)


def real(place: Path) -> Path:
    """Where a symbolic link points, if the place is one: what is written replaces no link."""
    with told(place):
        return place.resolve() if place.is_symlink() else place


def is_our_picture(path: Path) -> bool:
    """Whether the file is a picture that lopsided drew."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        return False
    with path.open("rb") as file:
        head = file.read(_MARK_WITHIN)
        file.seek(max(0, path.stat().st_size - _MARK_WITHIN))
        return MARK.encode() in head + file.read()


# --- folders ------------------------------------------------------------------------------------------------------


@contextmanager
def staging(place: Path) -> Generator[Path]:
    """An empty folder beside `place` to write in, for `put`; gone after the block unless it was put there.

    Only one process at a time has it: a second one is refused.
    """
    place = real(place)
    folder = _hidden(place, _WRITING)
    with told(place):
        missing = [parent for parent in place.parents if not parent.exists()]
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = _locked(folder, place)
    try:
        _clear_abandoned(place.parent)
        with told(place):
            _bring_back(place)
            _empty(folder)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        locks.close_folder(lock, folder)
        # Those that hold something by now stay.
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()


def _hidden(place: Path, kind: str) -> Path:
    """The name beside a place under which something is kept for a while."""
    name = os.fsdecode(os.fsencode(place.name)[:_LONGEST])
    return place.parent / f".{name}{kind}"


def _clear_abandoned(parent: Path) -> None:
    """Removes what killed processes left where they were writing, for other places in the same folder."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if entry.name.startswith(".") and entry.name.endswith(_WRITING) and entry.is_dir(follow_symlinks=False):
                _clear_if_abandoned(Path(entry.path))


def _clear_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        lock = locks.open_folder(folder)
        try:
            if time.time() - folder.stat().st_mtime < _SETTLED_S:
                return
            locks.lock(lock)
            shutil.rmtree(folder)
            warnings.warn(
                f"removed {folder}, which a killed command had left unfinished", LeftoverWarning, stacklevel=2
            )
        finally:
            locks.close_folder(lock, folder)


def _locked(folder: Path, place: Path) -> int:
    """An open descriptor of the folder, which is made where it is missing; its lock ends with the process."""
    while True:
        folder.mkdir(exist_ok=True)
        try:
            lock = locks.open_folder(folder)
        except FileNotFoundError:
            continue
        try:
            locks.lock(lock)
        except BlockingIOError:
            os.close(lock)
            raise FolderError(f"{place} is being written by another process; choose another folder") from None
        # The one before may have removed it between the two steps.
        with contextlib.suppress(FileNotFoundError):
            if locks.is_of(lock, folder):
                return lock
        os.close(lock)


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Within the block no other process has this folder in its `alone`. Raises FolderError where another has."""
    with told(folder):
        lock = locks.open_folder(folder.resolve())
        try:
            locks.lock(lock)
        except BlockingIOError:
            os.close(lock)
            raise FolderError(f"{folder} is being written by another process; choose another folder") from None
    try:
        yield
    finally:
        locks.close_folder(lock, folder.resolve())


def put(folder: Path, place: Path, keep: Iterable[Path] = ()) -> None:
    """Puts the staged folder in its place in one step.

    `keep` names files in the folder that is there now, relative to it, which the new one shall have too. If the place
    is a symbolic link, the folder that it points to is replaced.
    """
    place = real(place)
    for name in keep:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _also(place / name, target)
    try:
        _exchange(folder, place)
        shutil.rmtree(folder, ignore_errors=True)
    except FileNotFoundError:
        folder.replace(place)
    except OSError:
        # Two steps where a system cannot exchange two folders in one.
        old = _hidden(place, _OLD)
        if place.exists():
            place.replace(old)
        folder.replace(place)
        shutil.rmtree(old, ignore_errors=True)


def _also(source: Path, target: Path) -> None:
    """The same file in a second place; a copy where a file system has no second names."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _exchange(one: Path, other: Path) -> None:
    """Lets two folders change names at once."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except TypeError:  # Windows
        libc = None
    if libc is None or not hasattr(libc, "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _bring_back(place: Path) -> None:
    """The earlier folder, where a kill between the two steps of `put` has left it."""
    old = _hidden(place, _OLD)
    if old.exists():
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.replace(place)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def told(place: Path, verb: str = "write") -> Generator[None]:
    """Failures of the file system as ours, whichever library they came through."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"cannot {verb} {_short(place)}: {error.strerror or error}") from error
    except ValueError as error:
        # Python's way to refuse a name with a NUL in it.
        if "null" not in str(error):
            raise
        raise FolderError(f"cannot {verb} {_short(place)}: no name may hold the character NUL") from error
    except Exception as error:
        # Polars' own errors of a full disk are no OSError; none of it is imported here for their sake.
        if type(error).__module__.partition(".")[0] != "polars":
            raise
        why = os.strerror(errno.ENOSPC) if _is_full(place) else error
        raise FolderError(f"cannot {verb} {_short(place)}: {why}") from error


def _is_full(place: Path) -> bool:
    """Whether the disk is full, which not every library says."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(place if place.exists() else place.parent).free < _FULL
    return False


def _short(place: Path) -> str:
    text = str(place).replace("\0", "\\0")
    return text if len(text) <= 100 else f"{text[:60]}...{text[-20:]}"
