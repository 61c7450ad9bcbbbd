"""Writes files and folders completely or not at all, and replaces only lopsided's own files.

A folder is written and locked under a hidden name next to its final path, and then renamed in one step. A single file
first goes into such a folder. If a process is killed, the next command that writes to the parent folder removes the
hidden folder and prints a warning. Images contain the name lopsided, so that this module recognises them later.

Without `renameat2`, exchanging two folders takes two steps. If the process is killed between them, the next run
restores the earlier folder.
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
from lopsided.errors import FolderError, LeftoverWarning, OccupiedError

MARK = "Drawn by lopsided"
"""Text in the metadata of lopsided's images."""

_FULL = 64 * 1024
"""A disk counts as full if it has fewer free bytes than this, because even a small table needs more."""
_WRITING, _OLD = ".lopsided-writing", ".lopsided-old"
_SETTLED_S = 10.0
"""An unlocked hidden folder counts as abandoned after this number of seconds without a change. A new folder is locked
immediately."""
_LONGEST = 200
"""A hidden name contains at most this many bytes of the original name, because file systems limit a name to 255
bytes."""
_MARK_WITHIN = 8192
"""Number of bytes at the start and at the end of an image that are searched for `MARK`. matplotlib writes metadata at
the start of PNG and SVG, and at the end of PDF."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


# --- single files -------------------------------------------------------------------------------------------------


def check_free(path: Path, *, overwrite: bool = False) -> None:
    """Raises OccupiedError if `path` is a folder, or if it exists and `overwrite` is false.

    The rule also protects files that lopsided wrote, because these files may show another study.
    """
    with told(path):
        if path.is_dir():
            raise OccupiedError(f"{path} is a folder; a file is written here")
        if path.exists() and not overwrite:
            raise OccupiedError(f"{path} already exists; choose another name, or replace it with --overwrite")


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Yields a temporary file that replaces `path` if the block succeeds. A symbolic link is kept, and its target is
    replaced."""
    path = real(path)
    with staging(path) as folder, told(path):
        temporary = folder / path.name
        yield temporary
        temporary.replace(path)


def real(place: Path) -> Path:
    """Resolves a symbolic link. A write then replaces the link's target, and the link stays."""
    with told(place):
        return place.resolve() if place.is_symlink() else place


def is_our_picture(path: Path) -> bool:
    if path.suffix not in (".png", ".svg", ".pdf"):
        return False
    with path.open("rb") as file:
        head = file.read(_MARK_WITHIN)
        file.seek(max(0, path.stat().st_size - _MARK_WITHIN))
        return MARK.encode() in head + file.read()


# --- folders ------------------------------------------------------------------------------------------------------


@contextmanager
def staging(place: Path) -> Generator[Path]:
    """Yields an empty, locked folder next to `place`, and removes the folder after the block.

    The block writes to the folder, and `put` moves the folder to `place`. If `place` is a symbolic link, the folder is
    next to the link's target. Raises FolderError if another process is writing the folder, or if the file system
    reports an error.
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
        # `rmdir` fails if the folder contains files.
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()


def _hidden(place: Path, kind: str) -> Path:
    """Returns the path of a hidden folder next to `place`: a dot, the name of `place`, and the suffix `kind`."""
    name = os.fsdecode(os.fsencode(place.name)[:_LONGEST])
    return place.parent / f".{name}{kind}"


def _clear_abandoned(parent: Path) -> None:
    """Removes hidden folders of killed processes."""
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
    """Creates and locks the folder, and returns its descriptor. The lock ends with the process."""
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
        # The previous owner may remove the folder after we open it and before we lock it.
        with contextlib.suppress(FileNotFoundError):
            if locks.is_of(lock, folder):
                return lock
        os.close(lock)


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Locks a folder during the block. Raises FolderError if another process has locked it."""
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
    """Adds the files of `place` with the relative paths `keep` to the written folder. Then the folder replaces `place`
    in one step."""
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
        # Without renameat2, the exchange takes two steps.
        old = _hidden(place, _OLD)
        if place.exists():
            place.replace(old)
        folder.replace(place)
        shutil.rmtree(old, ignore_errors=True)


def _also(source: Path, target: Path) -> None:
    """Creates a hard link to the file, or copies the file if hard links are not supported."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _exchange(one: Path, other: Path) -> None:
    """Exchanges the names of two folders atomically. Raises OSError if the system does not support this."""
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
    """Restores the earlier folder if the process was killed between the steps of `put`."""
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
    """Converts file system errors, from any library, into FolderError."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"cannot {verb} {_short(place)}: {error.strerror or error}") from error
    except ValueError as error:
        # Python raises ValueError for a NUL byte in a name.
        if "null" not in str(error):
            raise
        raise FolderError(f"cannot {verb} {_short(place)}: a name cannot contain the character NUL") from error
    except Exception as error:
        # Polars raises its own errors for a full disk. Importing polars to compare types would be slow.
        if type(error).__module__.partition(".")[0] != "polars":
            raise
        why = os.strerror(errno.ENOSPC) if _is_full(place) else error
        raise FolderError(f"cannot {verb} {_short(place)}: {why}") from error


def _is_full(place: Path) -> bool:
    """Returns true if the disk is full. Some libraries do not report a full disk."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(place if place.exists() else place.parent).free < _FULL
    return False


def _short(place: Path) -> str:
    text = str(place).replace("\0", "\\0")
    return text if len(text) <= 100 else f"{text[:60]}...{text[-20:]}"
