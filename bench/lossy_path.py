"""A path with a rate, a queue, a delay and loss, between two network namespaces that end with this process.

In user space, for kernels without netem: packets go through two TUN devices and this process. Both directions have the
delay; rate, drop-tail queue and loss are those of the way down. Left out: everything else that netem can do.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_TUNSETIFF, _TUN_WITHOUT_INFO = 0x400454CA, 0x1001
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Line:
    """The path's settings."""

    rate_bps: float = 10e6
    rtt_s: float = 0.1
    queue_s: float = 0.1
    loss: float = 0.0
    seed: int = 1


class Path:
    """A path that carries packets until it is closed. `octets` counts what was carried down, by the server's port."""

    def __init__(self, line: Line, server: int, client: int) -> None:
        self.line = line
        self.octets: collections.Counter[int] = collections.Counter()
        self.dropped = self.lost = 0
        self._ends = (server, client)
        self._rng = random.Random(line.seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _carry(self) -> None:
        with contextlib.suppress(OSError):
            # Of this thread alone: late packets would be another path.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -15)
        server, client = self._ends
        down: collections.deque[tuple[float, bytes]] = collections.deque()
        up: collections.deque[tuple[float, bytes]] = collections.deque()
        free = 0.0
        line = self.line
        while not self._stop.is_set():
            now = time.monotonic()
            due = min((queue[0][0] for queue in (down, up) if queue), default=now + 0.1)
            readable, _, _ = select.select([server, client], [], [], max(0.0, due - now))
            now = time.monotonic()
            for end in readable:
                for packet in _packets(end):
                    if end == client:
                        up.append((now + line.rtt_s / 2, packet))
                        continue
                    free = max(free, now)
                    if free - now > line.queue_s:
                        self.dropped += 1
                        continue
                    free += 8 * len(packet) / line.rate_bps
                    if self._rng.random() < line.loss:
                        self.lost += 1
                        continue
                    down.append((free + line.rtt_s / 2, packet))
            for queue, end in ((down, client), (up, server)):
                while queue and queue[0][0] <= now:
                    packet = queue.popleft()[1]
                    if end == client and packet[0] == 0x45 and packet[9] == 6:
                        self.octets[struct.unpack_from(">H", packet, 20)[0]] += len(packet)
                    with contextlib.suppress(OSError):
                        os.write(end, packet)


def _packets(end: int) -> Iterator[bytes]:
    for _ in range(64):
        try:
            yield os.read(end, 2048)
        except BlockingIOError:
            return


class Ends:
    """Two namespaces: this process's own is the server's."""

    def __init__(self) -> None:
        if os.environ.get("LOSSY_PATH_INSIDE") is None:
            # A namespace of users' own lets anybody make one of networks; single-threaded so far, as that must be.
            os.environ["LOSSY_PATH_INSIDE"] = "1"
            unshare = ["unshare", "--user", "--map-root-user", "--net"] if os.getuid() else ["unshare", "--net"]
            os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
        subprocess.run("ip link set lo up", shell=True, check=True)
        self._server = _tun("to-client", SERVER, CLIENT)
        told, tell = os.pipe()
        self._holder = os.fork()
        if self._holder == 0:
            _hold(tell)
        os.read(told, 1)
        self._namespace = os.open(f"/proc/{self._holder}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        back = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _check(_LIBC.setns(self._namespace, _CLONE_NEWNET))
        self._client = _tun("to-server", CLIENT, SERVER)
        _check(_LIBC.setns(back, _CLONE_NEWNET))
        os.close(back)

    @contextlib.contextmanager
    def path(self, line: Line) -> Iterator[Path]:
        path = Path(line, self._server, self._client)
        try:
            yield path
        finally:
            path.close()
            for end in (self._server, self._client):
                collections.deque(_packets(end), maxlen=0)

    def start(self, *command: str, **options: object) -> subprocess.Popen[str]:
        """Runs a command at the client's end."""

        def enter() -> None:
            _check(_LIBC.setns(self._namespace, _CLONE_NEWNET))
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

        return subprocess.Popen(command, text=True, preexec_fn=enter, **options)  # type: ignore[call-overload]

    def close(self) -> None:
        os.kill(self._holder, signal.SIGKILL)
        os.waitpid(self._holder, 0)


def _hold(tell: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _check(_LIBC.unshare(_CLONE_NEWNET))
    os.write(tell, b".")
    while True:
        signal.pause()


def _tun(name: str, local: str, remote: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TUN_WITHOUT_INFO))
    subprocess.run(
        f"ip addr add {local} peer {remote} dev {name}; ip link set {name} txqueuelen 5000 up", shell=True, check=True
    )
    return device


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
