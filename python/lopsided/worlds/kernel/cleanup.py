"""A run's temporary folder, and removal of leftovers.

A run removes its folder itself; if it is killed, its watchdog does. If both are killed, the folder and perhaps a guest
stay. A lock ends with its process, so a free lock marks an abandoned folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PREFIX = "lopsided-kernel-"
LOCK, GUEST = "lock", "guest.pid"


@contextmanager
def folder() -> Generator[Path]:
    """Yields a run's folder, after removing leftovers."""
    remove_abandoned()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        Path(name, LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned() -> None:
    """Ends guests and removes folders of runs that no longer exist."""
    # A run with a guest holds the lock.
    for found in (path.parent for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{GUEST}")):
        # The folder may be another user's, or just removed.
        with contextlib.suppress(OSError), _opened(found / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_guest(found)
            shutil.rmtree(found, ignore_errors=True)


def _opened(path: Path) -> IO[bytes]:
    """Opens a regular file of this user, or raises OSError.

    Another user may create something else with this name in the shared folder, such as a pipe.
    """
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(number)
        raise PermissionError(f"{path} is not a file of this user")
    return os.fdopen(number, "rb+")


def end_guest(of: Path) -> None:
    """Ends all processes of the guest in a folder."""
    with contextlib.suppress(OSError, ValueError):
        with _opened(of / GUEST) as file:
            leader = int(file.read(20))
        # Another program may have the process number by now.
        if str(of).encode() in Path(f"/proc/{leader}/cmdline").read_bytes():
            os.killpg(leader, signal.SIGKILL)
