"""An event loop in nanoseconds: timers at absolute CLOCK_MONOTONIC times, and descriptors.

The loop never spins, because in time-travel mode the clock advances only while all processes sleep. Python's wait
functions round to milliseconds, so the loop uses a timerfd.
"""

from __future__ import annotations

import ctypes
import heapq
import os
import select
import socket
import struct
import time
from collections.abc import Callable

TFD_TIMER_ABSTIME = 1
CLOCK_MONOTONIC = 1

_libc = ctypes.CDLL(None, use_errno=True)


class Timer:
    """A descriptor that becomes readable at a CLOCK_MONOTONIC time, and then after every interval."""

    def __init__(self) -> None:
        self.fd: int = _libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def arm(self, when_ns: int, interval_ns: int = 0) -> None:
        """Arms the timer for this time; 0 disarms it."""
        spec = struct.pack("=qqqq", *divmod(interval_ns, 1_000_000_000), *divmod(when_ns, 1_000_000_000))
        if _libc.timerfd_settime(self.fd, TFD_TIMER_ABSTIME, spec, None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def clear(self) -> None:
        """Reads the timer's descriptor, so that it becomes readable again only at the next interval."""
        os.read(self.fd, 8)


class Loop:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._timer = Timer()
        self._epoll.register(self._timer.fd, select.EPOLLIN)
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._ready: dict[int, Callable[[int], None]] = {}
        self._running = False
        self._armed_for = 0
        self.latest_ns = 0
        """Largest lateness of a timer in ns."""
        self.late_sum_ns = 0
        self.late_count = 0

    @staticmethod
    def now() -> int:
        return time.monotonic_ns()

    def at(self, when_ns: int, action: Callable[[], None]) -> None:
        """Calls `action` at a CLOCK_MONOTONIC time. Actions for the same time run in the order in which they were
        added."""
        self._sequence += 1
        heapq.heappush(self._due, (when_ns, self._sequence, action))

    def watch(self, what: socket.socket | int, mask: int, action: Callable[[int], None]) -> None:
        """Calls `action(events)` while the descriptor is ready for `mask`."""
        if _number(what) in self._ready:
            self._epoll.modify(what, mask)
        else:
            self._epoll.register(what, mask)
        self._ready[_number(what)] = action

    def forget(self, what: socket.socket | int) -> None:
        if self._ready.pop(_number(what), None) is not None:
            self._epoll.unregister(what)

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        self._running = True
        while self._running:
            if self._armed_for == 0:
                self._run_due()
            if not self._running:
                break
            self._arm()
            for fd, events in self._epoll.poll():
                if fd == self._timer.fd:
                    # Setting the timer also clears its descriptor.
                    self._armed_for = 0
                elif (action := self._ready.get(fd)) is not None:
                    action(events)

    def _run_due(self) -> None:
        now = 0
        while self._due and self._running:
            when, _, action = self._due[0]
            if when > now:
                now = self.now()
            late = now - when
            if late < 0:
                return
            self.latest_ns = max(self.latest_ns, late)
            self.late_sum_ns += late
            self.late_count += 1
            heapq.heappop(self._due)
            action()

    def _arm(self) -> None:
        when = self._due[0][0] if self._due else 0
        if when == self._armed_for != 0:
            return
        self._armed_for = when
        self._timer.arm(when)


def _number(what: socket.socket | int) -> int:
    return what if isinstance(what, int) else what.fileno()
