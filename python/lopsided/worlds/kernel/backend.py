"""Runs the agent on the running kernel, in Debian's user-mode Linux, or in the time-travel kernel.

User-mode Linux is an ordinary process without privileges. It uses this machine's root file system. Only the job's
folder is writable.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import build, cleanup, host
from .errors import GuestFailed, KernelUnavailable
from .guest.job import Job

MEMORY = "512M"
"""Memory of a guest. The host allocates a page when the guest first uses it."""

REPEATABLE = ("time-travel=inf-cpu", "time-travel-start=1000000000000000000", "norandmaps")
"""Boot options for virtual time. They give every run the same wall-clock time and the same program addresses."""

ALONE = Path(__file__).parent
WATCHDOG = ALONE / "watchdog.py"
LOOK_S = 0.1
SLIPS_NS = (500_000, 1_000_000, 2_000_000, 4_000_000)
KINDS = ("timetravel", "uml", "host")


@dataclass(frozen=True)
class Machine:
    """A kernel that can run a job. `kind` is one of `KINDS`. `program` is the kernel to boot; `None` for the running
    kernel."""

    kind: str
    program: Path | None = None
    series: str | None = None
    """The kernel's series, such as "6.1"; `None` if the series is known only after the kernel has booted."""

    @property
    def virtual_time(self) -> bool:
        return self.kind == "timetravel"

    def run(self, job: Job, folder: Path, timeout_s: float, progress: Callable[[float], object] | None = None) -> None:
        """Runs a job and stores the result in `folder`. Raises GuestFailed if the guest makes no progress."""
        job.save(folder / "job.json")
        command, environment = self._command(folder)
        with watched(command, environment, folder, virtual_time=self.virtual_time) as running:
            try:
                running.wait(timeout_s, progress)
            except subprocess.TimeoutExpired:
                raise GuestFailed(f"the {self.kind} kernel made no progress for {timeout_s:.0f} s") from None
        if (lacking := what_lacked(folder)) is not None:
            raise KernelUnavailable(f"the {self.kind} kernel: {lacking}; {another(self.kind)}")
        require_result(folder)

    def _command(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        agent, environment = agent_command(folder)
        if self.program is None:
            return agent, {**os.environ, **environment}
        init = folder / "init"
        assignments = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
        init.write_text(f"#!/bin/sh\nexport {' '.join(assignments)}\nexec {shlex.join(agent)}\n")
        init.chmod(0o755)
        arguments: list[str] = [
            *(REPEATABLE if self.virtual_time else []),
            f"mem={MEMORY}",
            # Without `root`, user-mode Linux searches for its root file system on a block device.
            "root=hostfs",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            # The path is quoted, because the folder's name may contain a space.
            f'init="{init}"',
            "con=null",
            "con0=null",
            "ssl=null",
            "panic=-1",
        ]
        return [str(self.program), *arguments], {"HOME": str(folder), "PATH": os.defpath, "TMPDIR": _memory_folder()}

    @property
    def slips_ns(self) -> tuple[int, ...]:
        """Maximum timer lateness in ns at which shapers still reach their rate: one value for each attempt to run."""
        return (0,) if self.virtual_time else SLIPS_NS

    @property
    def speed(self) -> float:
        """Minimum number of simulated seconds per real second. A slower run counts as stuck."""
        return 0.1 if self.virtual_time else 0.8


def another(kind: str) -> str:
    """Returns advice for the user of a kernel of this kind that lacks a feature."""
    if kind == "timetravel":
        return "use another kernel"
    return "use --kernel timetravel" if build.find_built() else "`lopsided kernel build` builds one with more features"


def _processor() -> list[str]:
    """Returns the CPU flags of this machine."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith("flags")), "").split()
    return []


def choose(wanted: str, series: str | None = None) -> Machine:
    """Returns a machine with the `wanted` kind of kernel. `auto` selects the best kernel: virtual time is preferred,
    because it does not depend on other load on this computer.

    `series` selects a time-travel kernel; `wanted` may also be a series, such as `6.12`. Raises KernelUnavailable if
    there is no such kernel.
    """
    if wanted == "auto" and series not in (None, build.DEFAULT):
        # Only a kernel of this release series behaves like the TCP profile of the scenario.
        return choose(series)
    if wanted == "auto":
        if (damaged := build.find_damaged()) and build.find_built() is None:
            # Results differ between kernels, so a damaged kernel is not silently replaced by another.
            raise KernelUnavailable(
                f"{damaged[0]} is damaged: `lopsided kernel build` builds it again; --kernel uml or --kernel host "
                "selects another kernel"
            )
        for kind in KINDS:
            with contextlib.suppress(KernelUnavailable):
                found = choose(kind)
                if found.kind != "host" or host.can_delay():
                    return found
        raise KernelUnavailable(
            "no kernel to run in: `lopsided kernel build` builds one, and `lopsided doctor` shows other possibilities"
        )
    if wanted in build.SERIES:
        series, wanted = wanted, "timetravel"
    if wanted == "timetravel":
        kernel = build.find_built(series)
        if kernel is None:
            damaged = build.find_damaged()
            name = f"of Linux {series} " if series not in (None, build.DEFAULT) else ""
            what = f"{damaged[0]} is damaged" if damaged else f"the time-travel kernel {name}is not built"
            raise KernelUnavailable(f"{what}: run `lopsided kernel build{f' --linux {series}' if name else ''}`")
        return Machine("timetravel", kernel.path, kernel.series)
    if wanted == "uml":
        program = shutil.which("linux.uml")
        if program is None:
            raise KernelUnavailable("user-mode Linux is not installed: run `apt-get install user-mode-linux`")
        if "amx_tile" in _processor():
            raise KernelUnavailable(
                "the distribution's user-mode Linux has no space for the state of a processor with AMX"
            )
        return Machine("uml", Path(program))
    if wanted == "host":
        if os.geteuid() != 0:
            raise KernelUnavailable("--kernel host makes network namespaces and needs root: run it with `sudo`")
        return Machine("host")
    raise KernelUnavailable(f"no kernel called {wanted!r}: auto, {', '.join((*KINDS, *build.SERIES))}")


class Watched:
    """A program that runs in its own folder under a watchdog."""

    def __init__(self, watchdog: subprocess.Popen[bytes], folder: Path) -> None:
        self._watchdog, self._folder = watchdog, folder

    def wait(self, timeout_s: float, progress: Callable[[float], object] | None) -> None:
        """Waits until the program ends, and forwards its progress.

        Raises subprocess.TimeoutExpired after `timeout_s` without progress. The total time is unlimited, because a busy
        machine may be slow.
        """
        deadline, said = time.monotonic() + timeout_s, ""
        while True:
            try:
                self._watchdog.wait(LOOK_S)
                return
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise
            with contextlib.suppress(OSError, ValueError):
                now = (self._folder / "progress").read_text()
                if now != said:
                    deadline, said = time.monotonic() + timeout_s, now
                if progress is not None:
                    progress(float(now))


@contextlib.contextmanager
def watched(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    *,
    virtual_time: bool,
    inherited: Sequence[int] = (),
) -> Generator[Watched]:
    """Starts a program that inherits the given file descriptors. The program and all its processes end when the
    `with` block ends.

    A watchdog ends the processes even if this process is killed.
    """
    kind = "virtual" if virtual_time else "real"
    with (folder / "console.txt").open("wb") as console:
        watchdog = subprocess.Popen(
            [sys.executable, "-S", "-E", str(WATCHDOG), kind, str(folder), *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=tuple(inherited),
        )
        try:
            yield Watched(watchdog, folder)
        finally:
            assert watchdog.stdin is not None
            watchdog.stdin.close()
            watchdog.wait()
            cleanup.end_guest(folder)


def what_lacked(folder: Path) -> str | None:
    """Returns the agent's message about what the machine lacks; `None` if nothing is missing."""
    lacking = folder / "lacking.txt"
    return lacking.read_text() if lacking.exists() else None


def was_late(folder: Path) -> bool:
    """Returns true if the agent was still working when the run ended."""
    return (folder / "late.txt").exists()


def require_result(folder: Path) -> None:
    """Raises GuestFailed with the end of the agent's log if the agent left no result."""
    if not (folder / "result.json").exists():
        raise GuestFailed(f"the agent left no result.\n{_why(folder)}")


def agent_command(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the agent's command and environment for a job's folder.

    The agent finds its package and pyroute2 by their paths, because the agent must not import the native module.
    """
    import pyroute2  # pyright: ignore[reportMissingTypeStubs]

    places = [str(ALONE), str(Path(pyroute2.__file__).parent.parent), sysconfig.get_paths()["purelib"]]
    environment = {
        "PYTHONPATH": ":".join(dict.fromkeys(places)),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [sys.executable, "-s", "-m", "guest", str(folder)], environment


def _memory_folder() -> str:
    """Returns the folder for the guest's memory: `/dev/shm`, which is in RAM, if it is writable, otherwise `/tmp`."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"


def _why(folder: Path) -> str:
    for name in ("error.txt", "console.txt"):
        path = folder / name
        if path.exists() and (text := path.read_text(errors="replace").strip()):
            return text[-3000:]
    return "nothing was printed"
