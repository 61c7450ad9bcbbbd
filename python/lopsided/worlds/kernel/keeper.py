"""Starts a program and ends it, with all its processes, when whoever asked for it is gone: also after kill -9.

Run as a file of its own: `python keeper.py FOLDER PROGRAM ARGUMENTS...`. Its standard input is a pipe that nobody
writes to; when the other end closes, the program is killed and the folder, which only that other end would have read,
is removed.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys


def main(folder: str, command: list[str]) -> int:
    """Runs the command to its end, or to that of the one who asked."""
    # A group of its own: user-mode Linux is many processes, which must go together.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
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
    sys.exit(main(sys.argv[1], sys.argv[2:]))
