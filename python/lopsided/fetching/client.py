"""Downloads an object into a file over the controller's streams."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lopsided import _native
from lopsided.data import units
from lopsided.data.output import check_free
from lopsided.errors import UsageError
from lopsided.fetching import representation as described
from lopsided.fetching.connection import Connection, Head
from lopsided.fetching.errors import Changed, FetchError, Trouble
from lopsided.fetching.part_file import PartFile, parse_checksum
from lopsided.fetching.recording import Recording, Settings
from lopsided.fetching.representation import Representation
from lopsided.fetching.streams import Streams, wait_of
from lopsided.fetching.url import Url, file_name, parse

Mode = Literal["fair", "greedy", "single"]

MAX_STREAMS = 64
FIRST = 14_480
"""Size of the first request in bytes: one initial window. The response to this request contains the object's length."""
_MAX_REDIRECTS = 10
_RESTARTS = 2
"""Maximum number of times that a download restarts because its object has changed."""
_LONGEST_WAIT_S = 30.0
_TOLD_WAIT_S = 1.0
"""Shortest pause in seconds that is reported."""
_SAVE_S = 2.0
_SLOW_S = 30.0
"""Period in seconds over which the mean rate is compared with the lowest accepted rate."""
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Options:
    """The options of a download."""

    mode: Mode = "fair"
    streams: int = 8
    window: str = "cubic"
    """The congestion control of the shared window, in mode `fair`."""
    detection: Literal["queued", "every"] = "queued"
    """Losses that count as congestion: `queued` counts losses while response times show a queue, and losses on several
    streams at once. `every` counts all losses, as in havey2015."""
    checksum: str | None = None
    overwrite: bool = False
    stall_s: float = 5.0
    retries: int = 8
    """Maximum number of consecutive failures without new data, per stream. After more failures, the download fails."""
    least_rate_bps: float = 0.0
    """If the mean rate over 30 s is below this rate in bit/s, the download fails; 0 means no limit."""
    record: Path | None = None
    """File in which each step of the controller is recorded (`lopsided.fetching.Recording`)."""

    def __post_init__(self) -> None:
        if not 1 <= self.streams <= MAX_STREAMS:
            raise UsageError(f"--streams {self.streams}: from 1 to {MAX_STREAMS}")
        if self.window not in _native.WINDOW_RULES:
            raise UsageError(f"--rule {self.window}: there are {', '.join(_native.WINDOW_RULES)}")
        if not 0 <= self.retries <= 100:
            raise UsageError(f"--retries {self.retries}: from 0 to 100")
        if not 0.1 <= self.stall_s <= 3600:
            raise UsageError("--stall: from 100 ms to an hour")
        if not 0 <= self.least_rate_bps < math.inf:
            raise UsageError("--least-rate: write a rate such as 100k, or 0 for any")

    @property
    def settings(self) -> Settings:
        return Settings(
            mode=self.mode,
            streams=self.streams,
            window=self.window,
            detection=self.detection,
            min_chunk=1000,
            stall_timeout_ns=int(self.stall_s * 1e9),
        )

    def transfer(self, missing: list[tuple[int, int]]) -> _native.Transfer:
        """Returns a controller for the missing byte ranges."""
        return self.settings.transfer(missing)


@dataclass(frozen=True)
class Progress:
    received: int
    """Number of the object's bytes on disk, including the bytes of earlier attempts."""
    size: int | None
    window: int | None
    """A single connection's window in bytes; `None` if requests are not limited."""
    connections: int
    trouble: str = ""
    """The reason for a pause, and the length of the pause; empty while the download runs."""


@dataclass(frozen=True)
class Fetched:
    """A complete download."""

    path: Path
    url: str
    """The final URL, after redirects."""
    size: int
    resumed: int
    """Number of bytes that an earlier attempt had already received."""
    seconds: float
    ranges: bool
    """True if the server supports byte ranges. If false, one connection downloaded the whole object."""
    requests: int
    reopened: int
    """Number of connections that stalled or failed."""
    checked: bool
    """True if an ETag or Last-Modified field proved that all ranges belong to the same object."""
    reductions: int
    """Number of detected congestion events."""


def fetch(
    url: str,
    out: Path | str | None = None,
    options: Options | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Fetched:
    """Downloads `url` into the file `out`. By default, the file is named after the last part of the URL.

    Raises FetchError if the download cannot be completed. Received data stays in `NAME.part`, and the next call
    continues from there.
    """
    options = options or Options()
    address = parse(url)
    target = Path(out) if out is not None else Path(file_name(address))
    if target.is_dir() or (out is not None and str(out).endswith("/")):
        target = target / file_name(address)
    checksum = parse_checksum(options.checksum) if options.checksum else None
    if options.record is not None:
        check_free(options.record, overwrite=options.overwrite)
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
        self.most = 0
        """Largest number of bytes that any attempt has received."""

    async def run(self) -> Fetched:
        download = asyncio.ensure_future(self._attempts())
        before = 0
        try:
            while not (await asyncio.wait({download}, timeout=_SLOW_S if self.options.least_rate_bps else None))[0]:
                rate_bps = 8 * (self.most - before) / _SLOW_S
                before = self.most
                if rate_bps < self.options.least_rate_bps:
                    download.cancel()
                    # Wait until the task has closed its connections and saved the partial file.
                    await asyncio.wait({download})
                    least = units.rate(self.options.least_rate_bps)
                    raise FetchError(
                        f"{self.url}: {units.rate(rate_bps)} over the last {units.seconds(_SLOW_S)}, less than the "
                        f"--least-rate of {least}; the same command goes on from here"
                    )
            return await download
        finally:
            download.cancel()

    async def _attempts(self) -> Fetched:
        left = _RESTARTS
        while True:
            try:
                return await self._once()
            except Changed as change:
                if left == 0:
                    raise FetchError(f"{self.url}: the file changes faster than it is fetched: {change}") from None
                left -= 1

    async def _once(self) -> Fetched:
        while True:
            try:
                connection, head = await self._begin()
            except Trouble as trouble:
                await self.failed(trouble, 1)
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
                await self.failed(trouble, 1)
            finally:
                connection.abort()

    async def _begin(self) -> tuple[Connection, Head]:
        """Requests the first bytes of the object, and follows redirects."""
        url = self.asked
        for _ in range(_MAX_REDIRECTS + 1):
            connection = await Connection.open(url)
            try:
                self.requests += 1
                async with asyncio.timeout(self.options.stall_s * 2):
                    head = await connection.ask(url.target, self.fields(0, FIRST, None))
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
            raise FetchError(f"{url}: a redirect without a target")
        try:
            to = url.join(location)
        except UsageError as error:
            raise FetchError(f"{url}: a redirect to an invalid address: {error}") from None
        if url.tls and not to.tls:
            raise FetchError(f"{url}: a redirect from https to http, which is not followed")
        return to

    def fields(self, start: int, end: int, what: Representation | None) -> list[tuple[str, str]]:
        fields = [("Accept-Encoding", "identity"), ("Range", f"bytes={start}-{end - 1}")]
        if what is not None and what.validator is not None:
            fields.append(("If-Range", what.validator))
        return fields

    # --- servers that send byte ranges --------------------------------------------------------------------------------

    async def _in_parts(self, connection: Connection, head: Head) -> Fetched:
        first, end, size = described.content_range(head)
        described.check_encoding(head)
        if first != 0 or end > max(FIRST, 1):
            raise Trouble("the server sends another part than requested")
        what = described.of(head, size)
        resumes = self.part.begin(str(self.url), what)
        self.resumed = self.received = sum(end - start for start, end in self.part.have)
        at = 0
        async for piece in self._timed(connection):
            if len(piece) > end - at:
                raise Trouble("the server sends more than it announces")
            if not resumes:
                self.place(at, piece)
            at += len(piece)
        missing = self.part.missing(size)
        transfer = self.options.transfer(missing)
        if self.options.record is not None:
            transfer.record()
        ended = asyncio.Event()
        saving = asyncio.create_task(self._save(ended))
        try:
            await Streams(self, transfer, what, connection if connection.next() else None).run()
        finally:
            ended.set()
            await saving
            if self.options.record is not None:
                # If the object changed, the recording contains only the steps of the last attempt.
                steps = Recording.of(self.options.settings, missing, transfer.take_steps())
                steps.write(self.options.record, overwrite=True)
        self.reductions = transfer.reductions
        return self._fetched(size, ranges=True)

    async def _timed(self, connection: Connection):  # noqa: ANN202
        """Yields pieces of the body. Raises Trouble if a piece takes too long."""
        body = connection.body()
        while True:
            try:
                async with asyncio.timeout(self.options.stall_s):
                    piece = await anext(body)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise Trouble(f"no data arrived for {self.options.stall_s:g} s") from None
            yield piece

    async def _save(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SAVE_S):
                    await ended.wait()
            if not ended.is_set():
                await asyncio.to_thread(self.part.save)

    # --- servers that only send the whole object ----------------------------------------------------------------------

    async def _whole(self, connection: Connection, head: Head) -> Fetched:
        described.check_encoding(head)
        size = head.number("content-length")
        self.part.begin_unknown()
        self.received = self.resumed = 0
        async for piece in self._timed(connection):
            self.place(self.received, piece)
            self.say(size, None, 1)
        if size is not None and self.received != size:
            raise Trouble("the connection ended before the end of the object")
        return self._fetched(self.received, ranges=False)

    # --- all servers --------------------------------------------------------------------------------------------------

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

    async def failed(self, trouble: Trouble, streams: int) -> None:
        """Counts a failure and waits before the next attempt. Raises FetchError after too many failures without new
        data."""
        self.failures += 1
        if trouble.lasting and not self.received:
            raise FetchError(f"{self.url}: {trouble}")
        if self.failures > self.options.retries * streams:
            raise FetchError(f"{self.url}: {trouble}; given up after {_times(self.failures)}")
        pause = min(max(trouble.wait_s, 0.1 * 2 ** (self.failures / streams)), _LONGEST_WAIT_S)
        if pause >= _TOLD_WAIT_S and self.tell is not None:
            self.tell(Progress(self.received, None, None, 0, f"{trouble}; again in {pause:.0f} s"))
        await asyncio.sleep(pause)

    def may_ask(self, first_missing: int) -> bool:
        del first_missing
        return True

    def place(self, at: int, octets: bytes) -> None:
        self.part.write(at, octets)
        self.received += len(octets)
        # Only bytes that no earlier attempt received count as progress. Otherwise, a download from a server that cuts
        # each response short would never end.
        if self.received > self.most:
            self.most = self.received
            self.failures = 0

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
            self.part.names_object or not ranges,
            self.reductions,
        )


def _times(failures: int) -> str:
    return "the first failure" if failures == 1 else f"{failures} failures in a row"
