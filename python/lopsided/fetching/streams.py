"""Runs the streams of an object. A stream is a connection that executes the controller's decisions.

A busy machine may wake this process late, so this module uses the kernel's arrival times. If TCP_INFO was not read for
a whole RTT, the module ignores the out-of-order segments of that period: several streams may have lost packets, and
the order of the losses is unknown.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol, cast

from lopsided import _native
from lopsided.errors import LopsidedError
from lopsided.fetching import representation as described
from lopsided.fetching.connection import Connection, Head, Seen
from lopsided.fetching.errors import Changed, Trouble
from lopsided.fetching.representation import Representation
from lopsided.fetching.url import Url

_LOOK_S = 0.02
"""Seconds between reads of TCP_INFO. On a path with a long RTT, there are several reads per RTT."""
_LATE_LOOK_NS = 60_000_000
"""A read of TCP_INFO is late if the previous read was more than this number of ns ago, or more than one RTT ago if the
RTT is longer."""
_TICK_NS = 10_000_000
"""Longest tick of the kernel's clock, in ns."""
_IDLE_S = 0.05


class Job(Protocol):
    """Interface of a class that stores the data of a download in a file, or sends the data to a client of the proxy."""

    url: Url
    requests: int
    received: int
    reopened: int

    def fields(self, start: int, end: int, what: Representation | None) -> list[tuple[str, str]]:
        """Returns the header fields of a request for a byte range."""
        ...

    def may_ask(self, first_missing: int) -> bool:
        """Returns true if more data can be stored. `first_missing` is the offset of the first missing byte."""
        ...

    def place(self, at: int, octets: bytes) -> None:
        """Stores bytes at an offset, in any order."""
        ...

    async def failed(self, trouble: Trouble, streams: int) -> None:
        """Waits before another attempt, or raises the job's last error."""
        ...

    def say(self, size: int | None, window: int | None, connections: int) -> None:
        """Reports the progress. Called periodically."""
        ...


@dataclass
class _Look:
    """The measurements at the last read of a connection's TCP_INFO."""

    at: int = 0
    out_of_order: int = 0
    left_out: int = 0


class Streams:
    """The connections for one object."""

    def __init__(self, job: Job, transfer: _native.Transfer, what: Representation, first: Connection | None) -> None:
        self.job = job
        self.transfer = transfer
        self.what = what
        self.connections: list[Connection | None] = [None] * transfer.streams
        self.connections[0] = first
        self._looks = [_Look() for _ in self.connections]

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._watch())
                streams = [group.create_task(self._stream(at)) for at in range(self.transfer.streams)]
                await asyncio.wait(streams)
                watching.cancel()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            for connection in self.connections:
                if connection is not None:
                    connection.abort()

    async def _stream(self, at: int) -> None:
        job, transfer = self.job, self.transfer
        while not transfer.is_complete:
            reused = self.connections[at] is not None
            before = job.received
            try:
                missing = transfer.first_missing
                if missing is None or not job.may_ask(missing):
                    await asyncio.sleep(_IDLE_S)
                    continue
                connection = self.connections[at]
                if connection is None:
                    connection = await Connection.open(job.url)
                    self.connections[at] = connection
                span = transfer.request(_now(), at)
                if span is None:
                    await asyncio.sleep(_IDLE_S)
                    continue
                await self._bring(at, connection, *span)
            except Trouble as trouble:
                self._drop(at)
                # The server may close a connection after a response. The next request on this connection then fails
                # before any data arrives, and does not count as a failure.
                if not reused or job.received != before:
                    job.reopened += 1
                    await job.failed(trouble, self.transfer.streams)

    async def _bring(self, at: int, connection: Connection, start: int, end: int) -> None:
        job, transfer = self.job, self.transfer
        job.requests += 1
        head = await connection.ask(job.url.target, job.fields(start, end, self.what))
        self._check(head)
        first, last, total = described.content_range(head)
        self.what.check(head, total)
        described.check_encoding(head)
        if first != start or last > end:
            raise Trouble("the server sends another part than requested")
        left = last - first
        async for piece in connection.body():
            if len(piece) > left:
                raise Trouble("the server sends more than it announces")
            left -= len(piece)
            seen = self._look(at)
            place = transfer.received(_now(), at, len(piece), _late_ns(seen))
            job.place(place[0], piece)
        if left > 0:
            raise Trouble("the answer is shorter than the part")
        if last < end:
            # The server sent less than requested, so the rest is requested again. The controller now counts holes
            # from 0, but the kernel's counter continues. Subtract the kernel's current value from all later values, so
            # that a hole in this response is not counted again.
            transfer.failed(_now(), at)
            self._looks[at].left_out = self._looks[at].out_of_order
        if not connection.next():
            self._drop(at)

    def _check(self, head: Head) -> None:
        if head.status == 206:
            return
        if head.status == 200 and self.what.validator is not None:
            raise Changed("the server now sends the whole object, which has changed")
        if head.status == 416:
            raise Changed("the server has no such part any more")
        raise Trouble(f"{self.job.url.host} answers with status {head.status}", wait_of(head))

    def _drop(self, at: int) -> None:
        self.transfer.failed(_now(), at)
        connection, self.connections[at] = self.connections[at], None
        self._looks[at] = _Look()
        if connection is not None:
            connection.abort()

    def _look(self, at: int) -> Seen | None:
        connection = self.connections[at]
        seen = connection.seen() if connection is not None else None
        if seen is not None:
            now, look = _now(), self._looks[at]
            if look.at and now - look.at > max(_LATE_LOOK_NS, self.transfer.rtt_ns or 0):
                look.left_out += seen.out_of_order - look.out_of_order
            look.at, look.out_of_order = now, seen.out_of_order
            self.transfer.observe(now, at, seen.out_of_order - look.left_out, seen.mss)
        return seen

    async def _watch(self) -> None:
        """Polls TCP_INFO of all connections to detect a hole early. The application can read the data after a hole only
        when the hole is filled."""
        while True:
            for at in range(len(self.connections)):
                self._look(at)
            for at in self.transfer.stalled(_now()):
                connection = self.connections[at]
                if connection is not None:
                    connection.abort()
            connected = sum(connection is not None for connection in self.connections)
            self.job.say(self.what.size, self.transfer.window, connected)
            await asyncio.sleep(_LOOK_S)


def _late_ns(seen: Seen | None) -> int:
    """Returns the minimum time in ns that received data waited in the kernel; 0 if unknown."""
    return max(0, seen.since_data_ms * 1_000_000 - _TICK_NS) if seen is not None else 0


def wait_of(head: Head) -> float:
    """Returns the number of seconds in a Retry-After field; 0 if the field contains a date or is missing."""
    return float(head.number("retry-after") or 0)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the error that ended the streams. If the object changed, returns the Changed error."""
    flat = _flat(failures)
    for kind in (Changed, LopsidedError, Exception):
        for one in flat:
            if isinstance(one, kind):
                return one
    return flat[0]


def _flat(failure: BaseException) -> list[BaseException]:
    if not isinstance(failure, BaseExceptionGroup):
        return [failure]
    group = cast("BaseExceptionGroup[BaseException]", failure)
    return [leaf for one in group.exceptions for leaf in _flat(one)]


def _now() -> int:
    return time.monotonic_ns()
