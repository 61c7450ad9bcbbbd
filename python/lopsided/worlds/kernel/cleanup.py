"""A run's temporary folder, and the end of what an earlier run left behind.

A run that ends, fails or is interrupted removes its folder itself, one that is killed has its watchdog do so. Only
where both were killed is there something left: the guest, if it still runs, and the folder. A lock that the kernel
lets go of with its holder tells which folders nobody waits for any more.
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
    """A folder for one run; what earlier runs left is removed first."""
    remove_abandoned()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        Path(name, LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned() -> None:
    """Ends the guests and removes the folders that no run holds."""
    # A run that has started its guest holds the lock.
    for found in (path.parent for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{GUEST}")):
        # Another user's, or gone in this very moment.
        with contextlib.suppress(OSError), _opened(found / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_guest(found)
            shutil.rmtree(found, ignore_errors=True)


def _opened(path: Path) -> IO[bytes]:
    """A plain file of ours: in the shared folder for temporary files anybody may make another thing of its name, such
    as a pipe that nobody writes to. Raises OSError otherwise."""
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(number)
        raise PermissionError(f"{path} is not a file of this user")
    return os.fdopen(number, "rb+")


def end_guest(of: Path) -> None:
    """Ends all processes of the guest that works in a folder, if it still runs."""
    with contextlib.suppress(OSError, ValueError):
        with _opened(of / GUEST) as file:
            leader = int(file.read(20))
        # The number may be another's by now.
        if str(of).encode() in Path(f"/proc/{leader}/cmdline").read_bytes():
            os.killpg(leader, signal.SIGKILL)
