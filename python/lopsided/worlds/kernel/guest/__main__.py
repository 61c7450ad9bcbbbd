"""`python -m guest FOLDER`: runs the job in FOLDER. In user-mode Linux, this is the first process."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

POWER_OFF = 0x4321FEDC
MS_NOSUID = 2
RNDRESEEDCRNG = 0x5207

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(kind: str, target: str, data: str = "") -> None:
    if _libc.mount(kind.encode(), target.encode(), kind.encode(), MS_NOSUID, data.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} on {target}")


def _run(folder: Path) -> None:
    try:
        from .agent import Agent
        from .job import Job
        from .topology import CannotBuild
        from .tun import PathGone, TooLate

        job = Job.load(folder / "job.json")
        if job.virtual_time:
            _stir(job.seed)
        try:
            Agent(job, folder).run()
        except CannotBuild as error:
            (folder / "lacking.txt").write_text(str(error))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            (folder / "lacking.txt").write_text(f"a process may open {most} files only; raise the limit (`ulimit -n`)")
        except TooLate:
            (folder / "late.txt").write_text("")
        except PathGone:
            # The process that emulates the path reports itself why it ended.
            sys.exit(1)
    except BaseException:
        (folder / "error.txt").write_text(traceback.format_exc())


def _stir(seed: int) -> None:
    """Mixes the seed into the kernel's random numbers. In virtual time, there is no other source of randomness."""
    with Path("/dev/urandom").open("wb", buffering=0) as pool:
        pool.write(seed.to_bytes(8, "little"))
        fcntl.ioctl(pool, RNDRESEEDCRNG)


def _run_as_first_process(folder: Path) -> None:
    """Runs as a guest's first process. Only the job's folder is writable."""
    _mount("proc", "/proc")
    _mount("sysfs", "/sys")
    _mount("hostfs", str(folder), str(folder))
    # The first process ignores signals without handlers, and must outlive all others. A child process therefore does
    # the work.
    child = os.fork()
    if child == 0:
        _run(folder)
        os._exit(0)
    while os.wait()[0] != child:
        pass
    os.sync()
    _libc.reboot(POWER_OFF)


def _end(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(143)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    job_folder = Path(sys.argv[1])
    if os.getpid() == 1:
        _run_as_first_process(job_folder)
    else:
        signal.signal(signal.SIGTERM, _end)
        _run(job_folder)
