"""The temporary folder of a run, and the removal of what earlier runs left behind.

A run that ends, fails or is interrupted removes its folder itself. If the run is killed, its watchdog removes the
folder. The folder, and perhaps a running guest, are left behind only if the run and its watchdog are killed. The kernel
releases a lock when the process that holds it ends, so a free lock marks a folder that no run uses any more.
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
    """Yields a folder for one run, after removing what earlier runs left behind."""
    remove_abandoned()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        Path(name, LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned() -> None:
    """Ends the guests and removes the folders of runs that no longer exist."""
    # A run whose guest has started holds the lock.
    for found in (path.parent for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{GUEST}")):
        # The folder may belong to another user, or be removed at this moment.
        with contextlib.suppress(OSError), _opened(found / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_guest(found)
            shutil.rmtree(found, ignore_errors=True)


def _opened(path: Path) -> IO[bytes]:
    """Opens a regular file of this user. Raises OSError if it is not one.

    In the shared folder for temporary files, another user can create something else with this name, such as a pipe
    without a writer.
    """
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(number)
        raise PermissionError(f"{path} is not a file of this user")
    return os.fdopen(number, "rb+")


def end_guest(of: Path) -> None:
    """Ends all processes of the guest in the given folder, if the guest still runs."""
    with contextlib.suppress(OSError, ValueError):
        with _opened(of / GUEST) as file:
            leader = int(file.read(20))
        # The process number may have been reused by another program.
        if str(of).encode() in Path(f"/proc/{leader}/cmdline").read_bytes():
            os.killpg(leader, signal.SIGKILL)
