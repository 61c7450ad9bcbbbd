"""Locks files and folders. A lock is released when the process that holds it ends."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None


def open_folder(folder: Path) -> int:
    """Returns a descriptor for locking the folder. Raises OSError if it is missing or a symbolic link."""
    if fcntl is not None:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    # Windows cannot open a folder, and cannot rename a folder that contains an open file. On Windows, the lock is
    # therefore a file next to the folder.
    if folder.is_symlink() or not folder.is_dir():
        raise FileNotFoundError(folder)
    return os.open(_lock_file(folder), os.O_RDWR | os.O_CREAT)


def lock(descriptor: int) -> None:
    """Locks the file or folder. Raises BlockingIOError if another process holds the lock."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    assert msvcrt is not None, "a system has one of the two"
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    except OSError as error:
        raise BlockingIOError(*error.args) from None


def is_of(descriptor: int, folder: Path) -> bool:
    """Returns true if the path `folder` still refers to the folder that `descriptor` opened; always true on Windows.
    Raises FileNotFoundError if the path does not exist."""
    found = folder.stat()
    return fcntl is None or os.path.samestat(os.fstat(descriptor), found)


def close_folder(descriptor: int, folder: Path) -> None:
    """Releases the lock of a folder."""
    os.close(descriptor)
    if fcntl is None:
        # Deleting the lock file fails if another process has opened it in the meantime.
        with contextlib.suppress(OSError):
            _lock_file(folder).unlink()


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")
