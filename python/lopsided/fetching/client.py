"""A download: streams that bring what the controller says, into one file."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from lopsided import _native
from lopsided.errors import LopsidedError, UsageError
from lopsided.fetching import representation as described
from lopsided.fetching.connection import Connection, Head
from lopsided.fetching.errors import Changed, FetchError, Trouble
from lopsided.fetching.part_file import PartFile, parse_checksum
from lopsided.fetching.representation import Representation
from lopsided.fetching.url import Url, file_name, parse

Mode = Literal["fair", "greedy", "single"]

MAX_STREAMS = 64
_FIRST = 14_480
"""Octets of the first request, which tells how long the object is: an initial window."""
_MAX_REDIRECTS = 10
_RESTARTS = 2
"""How often a download begins anew because the object changed."""
_LONGEST_WAIT_S = 30.0
_LOOK_S = 0.02
"""Between looks at what the kernel saw: several in the round trip of a long path."""
_SAVE_S = 2.0
_IDLE_S = 0.05
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Options:
    """How to fetch."""

    mode: Mode = "fair"
    streams: int = 8
    window: str = "cubic"
    """The rule of the window that one connection would have, in the mode `fair`."""
    detection: Literal["queued", "every"] = "queued"
    """Which losses count as congestion: those that come with a queue, or every one as in the paper."""
    checksum: str | None = None
    overwrite: bool = False
    stall_s: float = 5.0
    retries: int = 8
    """Failures of each stream in a row, without an octet from any, before a download is given up."""

    def __post_init__(self) -> None:
        if not 1 <= self.streams <= MAX_STREAMS:
            raise UsageError(f"--streams {self.streams}: from 1 to {MAX_STREAMS}")
        if self.window not in _native.WINDOW_RULES:
            raise UsageError(f"--window {self.window}: there are {', '.join(_native.WINDOW_RULES)}")
        if not 0 <= self.retries <= 100:
            raise UsageError(f"--retries {self.retries}: from 0 to 100")
        if not 0.1 <= self.stall_s <= 3600:
            raise UsageError("--stall: from 100 ms to an hour")

    def transfer(self, missing: list[tuple[int, int]]) -> _native.Transfer:
        """The controller of a download of `missing`."""
        return _native.Transfer(
            missing,
            mode=self.mode,
            streams=self.streams,
            window=self.window,
            detection=self.detection,
            min_chunk=1000,
            stall_timeout_ns=int(self.stall_s * 1e9),
        )


@dataclass(frozen=True)
class Progress:
    """Where a download stands."""

    received: int
    """Octets of the object that are there, earlier attempts' included."""
    size: int | None
    window: int | None
    """The window that one connection would have; None where nothing limits what is asked for."""
    connections: int


@dataclass(frozen=True)
class Fetched:
    """A download that is complete."""

    path: Path
    url: str
    """Where the object was in the end."""
    size: int
    resumed: int
    """Octets that were there from an earlier attempt."""
    seconds: float
    ranges: bool
    """The server sends parts; otherwise one connection brought the whole."""
    requests: int
    reopened: int
    """Connections that stalled or failed."""
    reductions: int
    """How often congestion was seen."""


def fetch(
    url: str,
    out: Path | str | None = None,
    options: Options | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Fetched:
    """Downloads `url` into the file `out`, or one named after the URL's end.

    Raises a FetchError where the download cannot be completed; what has arrived stays in `NAME.part`, and the same call
    goes on from there.
    """
    options = options or Options()
    address = parse(url)
    target = Path(out) if out is not None else Path(file_name(address))
    if target.is_dir() or (out is not None and str(out).endswith("/")):
        target = target / file_name(address)
    checksum = parse_checksum(options.checksum) if options.checksum else None
    part = PartFile(target, overwrite=options.overwrite)
    try:
        fetched = asyncio.run(_Download(address, part, options, progress).run())
        part.finish(checksum)
        return fetched
    finally:
        part.leave()


class _Download:
    def __init__(self, url: Url, part: PartFile, options: Options, progress: Callable[[Progress], None] | None) -> None:
        self.asked = url
        self.url = url
        self.part = part
        self.options = options
        self.tell = progress
        self.began = time.monotonic()
        self.received = 0
        self.resumed = 0
        self.requests = 0
        self.reopened = 0
        self.reductions = 0
        self.failures = 0

    async def run(self) -> Fetched:
        left = _RESTARTS
        while True:
            try:
                return await self._once()
            except Changed as change:
                if left == 0:
                    raise FetchError(f"{self.url}: it changes faster than it can be fetched: {change}") from None
                left -= 1

    async def _once(self) -> Fetched:
        while True:
            try:
                connection, head = await self._begin()
            except Trouble as trouble:
                await self._failed(trouble, 1)
                continue
            try:
                if head.status == 206:
                    return await self._in_parts(connection, head)
                if head.status == 416 and described.unsatisfied_total(head) == 0:
                    self.part.begin_unknown()
                    return self._fetched(0, ranges=True)
                if head.status == 200:
                    return await self._whole(connection, head)
                self._refuse(head)
            except Trouble as trouble:
                await self._failed(trouble, 1)
            finally:
                connection.abort()

    async def _begin(self) -> tuple[Connection, Head]:
        """Asks for the first octets, wherever redirects lead."""
        url = self.asked
        for _ in range(_MAX_REDIRECTS + 1):
            connection = await Connection.open(url)
            try:
                self.requests += 1
                async with asyncio.timeout(self.options.stall_s * 2):
                    head = await connection.ask(url.target, self._fields(0, _FIRST, None))
            except TimeoutError:
                connection.abort()
                raise Trouble(f"{url.host} does not answer") from None
            except BaseException:
                connection.abort()
                raise
            if head.status not in _REDIRECTS:
                self.url = url
                return connection, head
            connection.abort()
            url = self._redirected(url, head)
        raise FetchError(f"{self.asked}: more than {_MAX_REDIRECTS} redirects")

    def _redirected(self, url: Url, head: Head) -> Url:
        location = head.fields.get("location", "")
        if not location:
            raise FetchError(f"{url}: a redirect that leads nowhere")
        try:
            to = url.join(location)
        except UsageError as error:
            raise FetchError(f"{url}: a redirect to what is no address: {error}") from None
        if url.tls and not to.tls:
            raise FetchError(f"{url}: a redirect from https to http, which is not followed")
        return to

    def _fields(self, start: int, end: int, what: Representation | None) -> list[tuple[str, str]]:
        fields = [("Accept-Encoding", "identity"), ("Range", f"bytes={start}-{end - 1}")]
        if what is not None and what.validator is not None:
            fields.append(("If-Range", what.validator))
        return fields

    # --- a server that sends parts ------------------------------------------------------------------------------------

    async def _in_parts(self, connection: Connection, head: Head) -> Fetched:
        first, end, size = described.content_range(head)
        described.check_encoding(head)
        if first != 0 or end > max(_FIRST, 1):
            raise Trouble("the server sends another part than was asked for")
        what = described.of(head, size)
        resumes = self.part.begin(str(self.url), what)
        self.resumed = self.received = sum(end - start for start, end in self.part.have)
        at = 0
        async for piece in self._timed(connection):
            if len(piece) > end - at:
                raise Trouble("the server sends more than it announces")
            if not resumes:
                self.part.write(at, piece)
                self._moved(len(piece))
            at += len(piece)
        transfer = self.options.transfer(self.part.missing(size))
        await _Streams(self, transfer, what, connection if connection.next() else None).run()
        self.reductions = transfer.reductions
        return self._fetched(size, ranges=True)

    async def _timed(self, connection: Connection):  # noqa: ANN202
        """The body's pieces; a Trouble where none comes for too long."""
        body = connection.body()
        while True:
            try:
                async with asyncio.timeout(self.options.stall_s):
                    piece = await anext(body)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise Trouble(f"nothing came for {self.options.stall_s:g} s") from None
            yield piece

    # --- a server that only sends the whole ---------------------------------------------------------------------------

    async def _whole(self, connection: Connection, head: Head) -> Fetched:
        described.check_encoding(head)
        size = head.number("content-length")
        self.part.begin_unknown()
        self.received = self.resumed = 0
        async for piece in self._timed(connection):
            self.part.write(self.received, piece)
            self._moved(len(piece))
            self.say(size, None, 1)
        if size is not None and self.received != size:
            raise Trouble("the connection ended before the object did")
        return self._fetched(self.received, ranges=False)

    # --- what both have -----------------------------------------------------------------------------------------------

    def _refuse(self, head: Head) -> None:
        if head.status in (408, 425, 429) or head.status >= 500:
            raise Trouble(f"{self.url.host} answers with status {head.status}", wait_of(head))
        meaning = {
            401: ", it wants a password",
            403: ", it is not for you",
            404: ", there is no such thing",
            410: ", gone",
        }
        raise FetchError(f"{self.url}: status {head.status}{meaning.get(head.status, '')}")

    async def _failed(self, trouble: Trouble, streams: int) -> None:
        """Counts a failure and waits; too many without an octet end the download."""
        self.failures += 1
        if self.failures > self.options.retries * streams:
            raise FetchError(f"{self.url}: {trouble}; given up after {_times(self.failures)}") from None
        pause = min(0.1 * 2 ** (self.failures / streams), _LONGEST_WAIT_S)
        await asyncio.sleep(min(max(trouble.wait_s, pause), _LONGEST_WAIT_S))

    def _moved(self, octets: int) -> None:
        self.failures = 0
        self.received += octets

    def say(self, size: int | None, window: int | None, connections: int) -> None:
        if self.tell is not None:
            self.tell(Progress(self.received, size, window, connections))

    def _fetched(self, size: int, *, ranges: bool) -> Fetched:
        return Fetched(
            self.part.target,
            str(self.url),
            size,
            self.resumed,
            time.monotonic() - self.began,
            ranges,
            self.requests,
            self.reopened,
            self.reductions,
        )

    # For the streams.
    failed = _failed
    moved = _moved
    fields = _fields


class _Streams:
    """The streams of a download from a server that sends parts."""

    def __init__(
        self, download: _Download, transfer: _native.Transfer, what: Representation, first: Connection | None
    ) -> None:
        self.download = download
        self.transfer = transfer
        self.what = what
        self.connections: list[Connection | None] = [None] * transfer.streams
        self.connections[0] = first

    async def run(self) -> None:
        ended = asyncio.Event()
        saving = asyncio.create_task(self._save(ended))
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
            ended.set()
            await saving

    async def _stream(self, at: int) -> None:
        download, transfer = self.download, self.transfer
        while not transfer.is_complete:
            reused = self.connections[at] is not None
            before = download.received
            try:
                connection = self.connections[at]
                if connection is None:
                    if transfer.first_missing is None:
                        await asyncio.sleep(_IDLE_S)
                        continue
                    connection = await Connection.open(download.url)
                    self.connections[at] = connection
                span = transfer.request(_now(), at)
                if span is None:
                    await asyncio.sleep(_IDLE_S)
                    continue
                await self._bring(at, connection, *span)
            except Trouble as trouble:
                self._drop(at)
                # A server may close a connection that it has answered on; that is known only by trying.
                if not reused or download.received != before:
                    download.reopened += 1
                    await download.failed(trouble, self.transfer.streams)

    async def _bring(self, at: int, connection: Connection, start: int, end: int) -> None:
        download, transfer = self.download, self.transfer
        download.requests += 1
        head = await connection.ask(download.url.target, download.fields(start, end, self.what))
        self._check(head)
        first, last, total = described.content_range(head)
        self.what.check(head, total)
        described.check_encoding(head)
        if first != start or last > end:
            raise Trouble("the server sends another part than was asked for")
        left = last - first
        async for piece in connection.body():
            if len(piece) > left:
                raise Trouble("the server sends more than it announces")
            left -= len(piece)
            self._look(at)
            place = transfer.received(_now(), at, len(piece))
            download.part.write(place[0], piece)
            download.moved(len(piece))
        if left > 0:
            raise Trouble("the answer ended before the part did")
        if last < end:
            # A server may send less than was asked for; the rest is asked for again.
            transfer.failed(at)
        if not connection.next():
            self._drop(at)

    def _check(self, head: Head) -> None:
        if head.status == 206:
            return
        if head.status == 200 and self.what.validator is not None:
            raise Changed("the server sends it whole, as another one")
        if head.status == 416:
            raise Changed("the server has no such part any more")
        raise Trouble(f"{self.download.url.host} answers with status {head.status}", wait_of(head))

    def _drop(self, at: int) -> None:
        self.transfer.failed(at)
        connection, self.connections[at] = self.connections[at], None
        if connection is not None:
            connection.abort()

    def _look(self, at: int) -> None:
        connection = self.connections[at]
        seen = connection.seen() if connection is not None else None
        if seen is not None:
            self.transfer.observe(_now(), at, *seen)

    async def _watch(self) -> None:
        """Looks at all connections: a hole is seen as it comes, long before the data behind it can be read."""
        while True:
            for at in range(len(self.connections)):
                self._look(at)
            for at in self.transfer.stalled(_now()):
                connection = self.connections[at]
                if connection is not None:
                    connection.abort()
            connected = sum(connection is not None for connection in self.connections)
            self.download.say(self.what.size, self.transfer.window, connected)
            await asyncio.sleep(_LOOK_S)

    async def _save(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SAVE_S):
                    await ended.wait()
            if not ended.is_set():
                await asyncio.to_thread(self.download.part.save)


def _times(failures: int) -> str:
    return "the first failure" if failures == 1 else f"{failures} failures in a row"


def wait_of(head: Head) -> float:
    """Seconds that a server asks to be left alone for (Retry-After); a date counts as nothing."""
    return float(head.number("retry-after") or 0)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended the streams: a change of the object before anything else."""
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
