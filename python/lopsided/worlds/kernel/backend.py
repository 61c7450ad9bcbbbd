"""Runs the measuring agent on this machine's kernel, in Debian's user-mode Linux, or in the time-travel kernel.

User-mode Linux is an ordinary process that needs no privileges. Its root is this machine's file system, read-only, and
it can write only to the job's folder.
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
"""The memory of a guest. The host allocates a page when the guest first uses it."""

REPEATABLE = ("time-travel=inf-cpu", "time-travel-start=1000000000000000000", "norandmaps")
"""Options for a kernel in virtual time that make its wall clock and the addresses of its programs the same in every
run."""

ALONE = Path(__file__).parent
WATCHDOG = ALONE / "watchdog.py"
LOOK_S = 0.1
SLIPS_NS = (500_000, 1_000_000, 2_000_000, 4_000_000)
KINDS = ("timetravel", "uml", "host")


@dataclass(frozen=True)
class Machine:
    """A way to run a job. `kind` is one of `KINDS`; `program` is the kernel to boot, if one is booted."""

    kind: str
    program: Path | None = None
    series: str | None = None
    """The release series of the kernel, such as "6.1"; `None` if it is known only after booting."""

    @property
    def virtual_time(self) -> bool:
        return self.kind == "timetravel"

    def run(self, job: Job, folder: Path, timeout_s: float, progress: Callable[[float], object] | None = None) -> None:
        """Runs a job until it ends; the result is then in the job's folder. Raises GuestFailed if the job makes no
        progress."""
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
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            # Quoted, because the name of the temporary folder may contain a space.
            f'init="{init}"',
            "con=null",
            "con0=null",
            "ssl=null",
            "panic=-1",
        ]
        return [str(self.program), *arguments], {"HOME": str(folder), "PATH": os.defpath, "TMPDIR": _memory_folder()}

    @property
    def slips_ns(self) -> tuple[int, ...]:
        """The timer latenesses, in ns, that the shapers compensate for, in the order of the attempts."""
        return (0,) if self.virtual_time else SLIPS_NS

    @property
    def speed(self) -> float:
        """The least number of simulated seconds per second of real time. A slower run counts as stuck."""
        return 0.1 if self.virtual_time else 0.8


def another(kind: str) -> str:
    """The advice to show if a kernel of this kind lacks something."""
    if kind == "timetravel":
        return "use another kernel"
    return "use --kernel timetravel" if build.find_built() else "`lopsided kernel build` makes one that has more"


def _processor() -> list[str]:
    """The CPU flags of this machine."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith("flags")), "").split()
    return []


def choose(wanted: str, series: str | None = None) -> Machine:
    """Returns the machine of this kind. `auto` selects the best available one: virtual time first, because other load
    on the computer does not affect it. A release series such as `6.12` selects the time-travel kernel of this series.

    `series` is the series of a time-travel kernel, or `None` for the default. Raises KernelUnavailable if there is no
    such kernel.
    """
    if wanted == "auto" and series not in (None, build.DEFAULT):
        # If the scenario names a series, only a kernel of this series is equivalent.
        return choose(series)
    if wanted == "auto":
        if (damaged := build.find_damaged()) and build.find_built() is None:
            # A different kernel has different results, so a missing kernel is an error and is never replaced.
            raise KernelUnavailable(
                f"{damaged[0]} is damaged: `lopsided kernel build` builds it again; --kernel uml or --kernel host "
                "takes another kernel"
            )
        for kind in KINDS:
            with contextlib.suppress(KernelUnavailable):
                found = choose(kind)
                if found.kind != "host" or host.can_delay():
                    return found
        raise KernelUnavailable(
            "no kernel to run in: `lopsided kernel build` makes one, `lopsided doctor` says what others need"
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
                "the distribution's user-mode Linux has no room for the state of a processor with AMX"
            )
        return Machine("uml", Path(program))
    if wanted == "host":
        if os.geteuid() != 0:
            raise KernelUnavailable("--kernel host makes network namespaces and needs root: run it with `sudo`")
        return Machine("host")
    raise KernelUnavailable(f"no kernel called {wanted!r}: auto, {', '.join((*KINDS, *build.SERIES))}")


class Watched:
    """A program that runs in its own folder and is supervised by a watchdog."""

    def __init__(self, watchdog: subprocess.Popen[bytes], folder: Path) -> None:
        self._watchdog, self._folder = watchdog, folder

    def wait(self, timeout_s: float, progress: Callable[[float], object] | None) -> None:
        """Waits until the program has ended, and forwards its progress.

        Raises subprocess.TimeoutExpired if the program makes no progress for `timeout_s` seconds. The total time is not
        limited, because a run can be slow on a busy machine.
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
    """Starts a program that inherits the given descriptors. At the end of the block the program and all its processes
    have ended.

    A watchdog ends them even if this process is killed.
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
    """The agent's message about the features that the kernel lacks for the job in the given folder."""
    lacking = folder / "lacking.txt"
    return lacking.read_text() if lacking.exists() else None


def was_late(folder: Path) -> bool:
    """True if the run and its path, which is in another process, ended while the agent was still working."""
    return (folder / "late.txt").exists()


def require_result(folder: Path) -> None:
    """Raises GuestFailed with the end of the agent's log if the agent wrote no result."""
    if not (folder / "result.json").exists():
        raise GuestFailed(f"the agent left no result.\n{_why(folder)}")


def agent_command(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the command that runs the job in the given folder, and its environment.

    The agent finds its own package and pyroute2 by path, because it must not import this package's native module.
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
    """A folder in a RAM file system, because user-mode Linux stores the memory of a guest in an unlinked file there."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"


def _why(folder: Path) -> str:
    for name in ("error.txt", "console.txt"):
        path = folder / name
        if path.exists() and (text := path.read_text(errors="replace").strip()):
            return text[-3000:]
    return "nothing was printed"
