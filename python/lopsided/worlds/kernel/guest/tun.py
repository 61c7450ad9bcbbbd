"""TUN devices: a node's way out where another process carries the path, and the talk with that process.

The devices are handed over as open files; this process keeps none of them, so they are gone when either process ends.
What is said, and in which order, stands in `crates/live/src/world/mod.rs`.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct

DEVICE = "path0"
HOST = "host0"
"""Of a passage, the device that leads to its host."""
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
# Octets in front of each packet say of what it is made, as the process that carries the path expects.
IFF_VNET_HDR = 0x4000


class PathGone(Exception):
    """The process that carries the path has ended."""


def create(name: str = DEVICE) -> int:
    """A device in the network namespace of the caller; gives its descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    except OSError:
        os.close(device)
        raise
    return device


class TooLate(Exception):
    """The run's time is over, and with it the path, while this process was still at work on it."""


class Talk:
    """The talk with the process that carries the path."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.socket.set_inheritable(False)

    def hand_over(self, name: str, device: int) -> None:
        """Gives a device away."""
        socket.send_fds(self.socket, [name.encode()], [device])
        os.close(device)

    def await_path(self) -> None:
        """Returns once the path is built."""
        self._hear()

    def begin(self, origin_ns: int) -> None:
        """Says when the run begins, in nanoseconds of CLOCK_MONOTONIC."""
        self.socket.send(str(origin_ns).encode())

    def await_end(self) -> None:
        """Returns once the path has carried the run to its end."""
        self._hear()

    def _hear(self) -> None:
        if not self.socket.recv(64):
            raise PathGone
