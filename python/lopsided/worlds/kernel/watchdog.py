"""Starts a program, and kills it with all its processes when the caller has ended, even by kill -9.

Run as a script: `python watchdog.py TIME FOLDER PROGRAM ARGUMENTS...`. TIME is `real` for a program that runs in real
time and needs priority, otherwise `virtual`. Standard input is a pipe to which nothing is written. When the caller's
end of this pipe closes, the watchdog kills the program and removes the folder, which only the caller would have read.
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


def prepare(time: str) -> None:
    """Sets attributes that the program inherits: priority over other processes (in real time, if the user has the
    permission), and the same memory addresses in every run."""
    if time == "real":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(URGENCY))
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def main(folder: str, command: list[str]) -> int:
    """Runs the command until it ends, or until the caller has ended."""
    # A separate process group, because user-mode Linux consists of many processes, which must end together. The program
    # inherits the descriptors that this process inherited.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, close_fds=False)
    Path(folder, "guest.pid").write_text(str(process.pid))
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(os.pidfd_open(process.pid), select.POLLIN)
    abandoned = any(fd == 0 for fd, _ in poll.poll())
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    prepare(sys.argv[1])
    sys.exit(main(sys.argv[2], sys.argv[3:]))
