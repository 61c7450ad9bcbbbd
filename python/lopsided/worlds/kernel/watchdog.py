"""Starts a program, and kills all its processes when the caller ends, even if the caller is killed by kill -9.

`python watchdog.py TIME FOLDER PROGRAM ARGUMENTS...`: TIME is `real` (with priority) or `virtual`. Standard input is a
pipe to which the caller writes nothing. When the caller's end of the pipe closes, the watchdog kills the program and
removes the folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ADDR_NO_RANDOMIZE = 0x0040000
URGENCY = 10
CLOSE_MS = 1000
"""After a program has failed, the watchdog waits this long for the end of the caller."""
EXIT_MS = 120_000
"""The same limit if the caller is already exiting. The kernel may need seconds to remove the caller's interfaces."""


def prepare(time: str) -> None:
    """Sets the attributes that the program inherits: memory addresses that are not randomized, and, for `time` "real",
    a real-time priority if the system permits it."""
    if time == "real":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(URGENCY))
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def _is_exiting(pid: int) -> bool:
    """Returns true if the process has ended or is exiting. An exiting process has no command line, because the kernel
    releases the memory of a process before it closes its files (do_exit)."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def main(folder: str, command: list[str]) -> int:
    """Runs the command until it ends or the caller ends."""
    # User-mode Linux consists of many processes, which must end together. The program inherits the descriptors of this
    # process.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, close_fds=False)
    Path(folder, "guest.pid").write_text(str(process.pid))
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    pidfd = os.pidfd_open(process.pid)
    poll.register(pidfd, select.POLLIN)
    abandoned = any(fd == 0 for fd, _ in poll.poll())
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if status != 0 and not abandoned:
        # If the caller is killed, the kernel closes the caller's files one after the other. The program may therefore
        # fail before this end of the pipe is closed.
        poll.unregister(pidfd)
        abandoned = bool(poll.poll(EXIT_MS if _is_exiting(os.getppid()) else CLOSE_MS))
    if abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    prepare(sys.argv[1])
    sys.exit(main(sys.argv[2], sys.argv[3:]))
