"""Emulates a path with a rate, a queue, a delay and loss between two network namespaces.

A dedicated process forwards packets between two TUN devices, so the kernel does not need netem. The process has a
higher priority if permitted. It records the lateness of packets, and the wake-up delay of an ordinary process. Packets
are delayed in both directions. Rate, drop-tail queue and loss apply only downstream. The kernel's cache of TCP metrics
is disabled.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import fcntl
import multiprocessing
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_TUNSETIFF, _TUN_WITHOUT_INFO = 0x400454CA, 0x1001
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Line:
    rate_bps: float = 10e6
    rtt_s: float = 0.1
    queue_s: float = 0.1
    loss: float = 0.0
    seed: int = 1


class Lateness:
    """A histogram of delays in bins of 0.1 ms. The histogram is in memory that all processes share."""

    def __init__(self) -> None:
        self._counts = _FORK.RawArray("Q", 5000)

    def add(self, seconds: float) -> None:
        self._counts[min(int(max(seconds, 0.0) * 1e4), len(self._counts) - 1)] += 1

    def quantile_ms(self, share: float) -> float:
        """Returns a quantile in ms; 0 if nothing was counted."""
        counts = list(self._counts)
        left = share * sum(counts)
        for tenths, count in enumerate(counts):
            left -= count
            if left <= 0:
                return tenths / 10
        return 0.0


class LossyPath:
    """A path that forwards packets until it is closed."""

    def __init__(self, line: Line, server: int, client: int) -> None:
        self.line = line
        self.late = Lateness()
        """Delays between the scheduled and the actual departures of packets."""
        self.woken_late = Lateness()
        """Wake-up delays of a process with normal priority that repeatedly sleeps for 5 ms."""
        self._octets = _FORK.RawArray("Q", 1 << 16)
        self._ends = (server, client)
        self._rng = random.Random(line.seed)
        self._processes = [_process(self._carry), _process(self._sleep)]

    @property
    def octets(self) -> collections.Counter[int]:
        """Number of bytes forwarded to the client, for each port of the server."""
        return collections.Counter({port: count for port, count in enumerate(self._octets) if count})

    def close(self) -> None:
        for process in self._processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _sleep(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        while True:
            due = time.monotonic() + 0.005
            time.sleep(0.005)
            self.woken_late.add(time.monotonic() - due)

    def _carry(self) -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        server, client = self._ends
        down: collections.deque[tuple[float, bytes]] = collections.deque()
        up: collections.deque[tuple[float, bytes]] = collections.deque()
        free = 0.0
        line = self.line
        while True:
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
                        continue
                    free += 8 * len(packet) / line.rate_bps
                    if self._rng.random() >= line.loss:
                        down.append((free + line.rtt_s / 2, packet))
            for queue, end in ((down, client), (up, server)):
                while queue and queue[0][0] <= now:
                    due, packet = queue.popleft()
                    self.late.add(now - due)
                    if end == client and packet[0] == 0x45 and packet[9] == 6:
                        self._octets[struct.unpack_from(">H", packet, 20)[0]] += len(packet)
                    with contextlib.suppress(OSError):
                        os.write(end, packet)


def _process(work: Callable[[], None]) -> int:
    """Starts a process that runs `work`, and returns its process ID. The process is killed when its parent ends."""
    process = os.fork()
    if process == 0:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            work()
        finally:
            os._exit(1)
    return process


def _packets(end: int) -> Iterator[bytes]:
    for _ in range(64):
        try:
            yield os.read(end, 2048)
        except BlockingIOError:
            return


class Ends:
    """The two network namespaces. The server runs in the namespace of this process."""

    def __init__(self) -> None:
        if os.environ.get("LOSSY_PATH_INSIDE") is None:
            # An unprivileged user needs a user namespace. Only a single-threaded process can create a user namespace.
            os.environ["LOSSY_PATH_INSIDE"] = "1"
            unshare = ["unshare", "--user", "--map-root-user", "--net"] if os.getuid() else ["unshare", "--net"]
            os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
        subprocess.run("ip link set lo up", shell=True, check=True)
        with contextlib.suppress(OSError):
            # The server represents another machine, so the load of this machine must not slow down the server.
            os.setpriority(os.PRIO_PROCESS, 0, -10)
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
    def path(self, line: Line) -> Iterator[LossyPath]:
        path = LossyPath(line, self._server, self._client)
        try:
            yield path
        finally:
            path.close()
            for end in (self._server, self._client):
                collections.deque(_packets(end), maxlen=0)

    def start(self, *command: str, **options: object) -> subprocess.Popen[str]:
        """Starts a command in the client's network namespace."""

        def enter() -> None:
            _check(_LIBC.setns(self._namespace, _CLONE_NEWNET))
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, 0)

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
    Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
    subprocess.run(
        f"ip addr add {local} peer {remote} dev {name}; ip link set {name} txqueuelen 5000 up", shell=True, check=True
    )
    return device


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
