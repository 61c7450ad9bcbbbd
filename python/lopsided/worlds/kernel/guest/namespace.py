"""Creates network namespaces without names, which file descriptors of this process keep alive.

Even after kill -9, the kernel closes the descriptors and removes the namespaces, veth pairs and queues. Nothing
remains, and runs cannot affect each other.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_TIMERSLACK = 29

_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """One network namespace. The caller stays in its own namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _checked(_libc.unshare(CLONE_NEWNET), "unshare(CLONE_NEWNET)")
            try:
                self.fd = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            finally:
                _checked(_libc.setns(home, CLONE_NEWNET), "setns")
        finally:
            os.close(home)

    def close(self) -> None:
        os.close(self.fd)

    @contextmanager
    def entered(self) -> Generator[None]:
        """Runs the block in this namespace. Sockets that the block creates belong to the namespace permanently."""
        home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _checked(_libc.setns(self.fd, CLONE_NEWNET), "setns")
            try:
                yield
            finally:
                _checked(_libc.setns(home, CLONE_NEWNET), "setns")
        finally:
            os.close(home)

    def set_sysctl(self, name: str, value: str) -> None:
        """Sets a `net.*` sysctl. /proc/sys/net shows the namespace of the process that reads it."""
        with self.entered():
            Path("/proc/sys", *name.split(".")).write_text(value + "\n")

    def read(self, path: str) -> str:
        """Reads a file of /proc/net in this namespace."""
        with self.entered():
            return Path(path.replace("/proc/net/", "/proc/thread-self/net/")).read_text()


def allow_namespaces() -> None:
    """Lets this single-threaded process create network namespaces, if necessary as root of a user namespace.

    Raises OSError if the kernel allows neither.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        Namespace("trial").close()
        return
    except OSError:
        # The process can return only to a network namespace of its own user namespace.
        _checked(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare(CLONE_NEWUSER)")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def end_with_parent() -> None:
    """Makes the kernel end this process when its parent ends."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def tighten_timers() -> None:
    """Removes timer slack, which is up to 50 µs for an ordinary process."""
    _checked(_libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0), "prctl(PR_SET_TIMERSLACK)")


def _checked(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
