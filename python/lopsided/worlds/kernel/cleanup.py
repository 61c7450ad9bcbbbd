"""Creates a run's temporary folder, and removes folders of killed runs.

At its end, a run removes its folder. If the run is killed, its watchdog removes the folder. If both are killed, the
folder and perhaps a guest remain. A lock ends with its process, so an unlocked folder is abandoned.
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
    """Removes the folders of killed runs, then yields a folder for this run."""
    remove_abandoned()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        Path(name, LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned() -> None:
    """Ends the guests and removes the folders of runs that no longer exist."""
    # A run holds the lock of its folder while its guest runs.
    for found in (path.parent for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{GUEST}")):
        # The folder may belong to another user, or may just have been removed.
        with contextlib.suppress(OSError), _opened(found / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_guest(found)
            shutil.rmtree(found, ignore_errors=True)


def _opened(path: Path) -> IO[bytes]:
    """Opens a regular file of this user, or raises OSError.

    Under this name, the system's temporary folder may contain something else, such as another user's pipe.
    """
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(number)
        raise PermissionError(f"{path} is not a file of this user")
    return os.fdopen(number, "rb+")


def end_guest(of: Path) -> None:
    """Ends all processes of the guest whose process number is stored in a run's folder."""
    with contextlib.suppress(OSError, ValueError):
        with _opened(of / GUEST) as file:
            leader = int(file.read(20))
        # The process number may belong to another program by now.
        if str(of).encode() in Path(f"/proc/{leader}/cmdline").read_bytes():
            os.killpg(leader, signal.SIGKILL)
