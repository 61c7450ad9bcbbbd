"""Runs programs of this machine on the hosts of a job. Each program has its own start time.

The programs use the machine's file system. In user-mode Linux, only the job's folder is writable. A host's name in
braces becomes its address: `curl http://{server}/`. Output is in `program-NAME.txt`. In virtual time, computation takes
no time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .job import Program
from .loop import Loop
from .topology import Network


class Programs:
    """All programs of a job. `ended` is called when all awaited programs have exited."""

    def __init__(
        self,
        programs: list[Program],
        network: Network,
        addresses: dict[str, str],
        folder: Path,
        loop: Loop,
        origin_ns: int,
        ended: Callable[[], None],
    ) -> None:
        self._running = [_Running(each, addresses, folder) for each in programs]
        self._network, self._loop, self._origin, self._ended = network, loop, origin_ns, ended
        for each in self._running:
            loop.at(origin_ns + each.program.start_ns, lambda each=each: self._start(each))

    def finish(self) -> list[dict[str, Any]]:
        """Ends running programs. Returns each program's start and end in ns since the start of the run, and its exit
        code."""
        for each in self._running:
            if each.process is not None and each.ended_ns is None:
                each.process.send_signal(signal.SIGKILL)
                each.process.wait()
        return [each.summary() for each in self._running]

    def _start(self, each: _Running) -> None:
        with self._network.nodes[each.program.host].entered():
            process = each.start()
        each.begun_ns = self._loop.now() - self._origin
        descriptor = os.pidfd_open(process.pid)
        self._loop.watch(descriptor, select.EPOLLIN, lambda _: self._end(each, descriptor))

    def _end(self, each: _Running, descriptor: int) -> None:
        assert each.process is not None
        each.ended_ns = self._loop.now() - self._origin
        each.process.wait()
        self._loop.forget(descriptor)
        os.close(descriptor)
        if all(other.ended_ns is not None for other in self._running if other.program.awaited):
            self._ended()


class _Running:
    """One running program."""

    def __init__(self, program: Program, addresses: dict[str, str], folder: Path) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.begun_ns: int | None = None
        self.ended_ns: int | None = None
        self._command = [part.format_map(addresses) for part in program.command]
        self._folder = folder

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the program in the network namespace of this process."""
        with (self._folder / f"program-{self.program.name}.txt").open("wb") as said:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={"PATH": os.defpath, "HOME": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"},
            )
        return self.process

    def summary(self) -> dict[str, Any]:
        code = None if self.process is None else self.process.returncode
        return {"name": self.program.name, "begun_ns": self.begun_ns, "ended_ns": self.ended_ns, "code": code}
