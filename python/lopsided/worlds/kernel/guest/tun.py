"""Creates TUN devices of nodes whose path another process emulates, and exchanges messages with that process.

The devices go to the other process as open files. This process keeps no descriptor, so the devices disappear when
either process ends. `crates/live/src/world/mod.rs` describes the messages.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct

DEVICE = "path0"
HOST = "host0"
"""Name of the passage's device that leads to the host."""
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
# The process that emulates the path expects a 10-byte header (`struct virtio_net_hdr`) before each packet.
IFF_VNET_HDR = 0x4000


class PathGone(Exception):
    """The process that emulates the path has ended."""


def create(name: str = DEVICE) -> int:
    """Creates a device in the caller's namespace, and returns its descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    except OSError:
        os.close(device)
        raise
    return device


class TooLate(Exception):
    """The run ended before this process was ready."""


class Talk:
    """The connection to the process that emulates the path."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.socket.set_inheritable(False)

    def hand_over(self, name: str, device: int) -> None:
        socket.send_fds(self.socket, [name.encode()], [device])
        os.close(device)

    def await_path(self) -> None:
        self._hear()

    def begin(self, origin_ns: int) -> None:
        """Sends the start of the run, in ns of CLOCK_MONOTONIC."""
        self.socket.send(str(origin_ns).encode())

    def await_end(self) -> None:
        """Waits until the process that emulates the path reports the end of the run."""
        self._hear()

    def _hear(self) -> None:
        if not self.socket.recv(64):
            raise PathGone
