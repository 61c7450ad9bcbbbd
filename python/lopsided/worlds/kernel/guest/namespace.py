"""Network namespaces that have no name: only this process' file descriptors hold them.

When the process ends, for whatever reason, kill -9 included, the kernel closes the descriptors and takes the
namespaces, the veth pairs and the queues with them. So nothing can be left behind, and two runs have nothing they
could meet in.
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
    """One network namespace; the caller's own is never changed."""

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
        """Lets go of it."""
        os.close(self.fd)

    @contextmanager
    def entered(self) -> Generator[None]:
        """Sockets made inside belong to this namespace for life, wherever they are used."""
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
        """Sets `net.*` of this namespace; /proc/sys/net shows the namespace of the one that looks."""
        with self.entered():
            Path("/proc/sys", *name.split(".")).write_text(value + "\n")

    def read(self, path: str) -> str:
        """Reads a file under /proc/net as seen from inside."""
        with self.entered():
            return Path(path.replace("/proc/net/", "/proc/thread-self/net/")).read_text()


def allow_namespaces() -> None:
    """Sees to it that this process, which has one thread, may make network namespaces: as it is, or in a user
    namespace of its own, in which it is root.

    Raises OSError where the kernel allows neither.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        Namespace("trial").close()
        return
    except OSError:
        # The network namespace that it comes back to must be its own as well.
        _checked(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare(CLONE_NEWUSER)")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def end_with_parent() -> None:
    """Ends this process when its parent dies, however that happens."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def tighten_timers() -> None:
    """Drops the 50 us by which Linux may delay an ordinary process' timers."""
    _checked(_libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0), "prctl(PR_SET_TIMERSLACK)")


def _checked(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
