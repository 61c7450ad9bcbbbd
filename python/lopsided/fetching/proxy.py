"""An HTTP proxy that fetches large objects over several connections, like `lopsided fetch`.

If the server supports byte ranges, the proxy fetches the object of a plain http GET in ranges, and forwards the bytes
in order. Other http traffic passes unchanged. TLS (CONNECT) also passes unchanged, because the proxy cannot request
ranges of encrypted data.

The proxy limits the number of concurrent requests, the number of bytes buffered for each client, and the idle time.
Browsers leave most connections idle, so the proxy accepts more connections than it serves concurrently. Further
requests wait. The proxy does not support caching, persistent connections, HTTP/2, or passwords.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import h11

from lopsided.errors import UsageError
from lopsided.fetching import representation as described
from lopsided.fetching.client import FIRST, Options
from lopsided.fetching.connection import MAX_HEAD, Connection, Head
from lopsided.fetching.errors import Changed, FetchError, Trouble
from lopsided.fetching.representation import Representation
from lopsided.fetching.streams import Streams
from lopsided.fetching.url import Url, parse

_PIECE = 64 << 10
_HOP_BY_HOP = {
    "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Header fields that apply only to one connection (RFC 9110, section 7.6.1), and `expect`, which the proxy handles
itself."""
_PARTIAL = {"range", "if-range", "if-none-match", "if-modified-since", "if-match", "if-unmodified-since"}
"""Header fields that a client uses to request a part of an object."""
_TUNNEL_PORTS = (443,)


@dataclass(frozen=True)
class Limits:
    """The limits of one proxy."""

    clients: int = 32
    """Number of requests that are served concurrently."""
    waiting: int = 8
    """Number of accepted connections per concurrent request. Further connections are refused."""
    ahead: int = 8 << 20
    """Maximum number of bytes of one object that are requested or wait to be sent to the client."""
    head_s: float = 20.0
    """Maximum time that a client may take to send the head of a request, in seconds."""
    idle_s: float = 300.0
    """Seconds without traffic after which a client is disconnected."""


class Proxy:
    """An HTTP proxy that listens until `close` is called."""

    def __init__(self, options: Options, limits: Limits, note: Callable[[str], None]) -> None:
        self._options = options
        self._limits = limits
        self._note = note
        self._clients = 0
        self._answering = asyncio.Semaphore(limits.clients)
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Starts listening; returns the port."""
        try:
            self._server = await asyncio.start_server(self._meet, host, port, limit=MAX_HEAD)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(f"cannot listen on {host} port {port}: {why}") from None
        return int(self._server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        """Serves clients until this task is cancelled."""
        assert self._server is not None
        async with self._server:
            await self._server.serve_forever()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(reader, writer, self._limits)
        self._clients += 1
        try:
            if self._clients > self._limits.clients * self._limits.waiting:
                await client.refuse(503, "too many clients")
            else:
                while await self._answer(client):
                    pass
        except (OSError, EOFError, TimeoutError, h11.ProtocolError, asyncio.CancelledError):
            # The client disconnected or sent an invalid request, or the proxy is stopping. No other task awaits this
            # task, so ignore the error.
            pass
        finally:
            self._clients -= 1
            writer.transport.abort()

    async def _answer(self, client: _Client) -> bool:
        """Handles a request. Returns true if the connection can serve another request."""
        request = await client.request()
        if request is None:
            return False
        async with self._answering:
            return await self._serve(client, request)

    async def _serve(self, client: _Client, request: h11.Request) -> bool:
        method, target, fields = request.method.decode("ascii"), request.target.decode("latin-1"), _fields(request)
        if method == "CONNECT":
            await self._tunnel(client, target)
            return False
        try:
            url = parse(target)
        except UsageError as error:
            # The target contains no server: the request is addressed to the proxy itself, possibly by a malicious web
            # page.
            await client.refuse(400, str(error))
            return False
        if url.tls:
            await client.refuse(400, "use CONNECT for https")
            return False
        if client.has_body:
            # Forward Transfer-Encoding or Content-Length. If the request contains both fields, remove Content-Length
            # (RFC 9112, section 6.3). A server that used Content-Length would otherwise read part of the body as the
            # next request.
            names = {name for name, _ in request.headers}
            framing = {b"transfer-encoding"} if b"transfer-encoding" in names else {b"content-length"}
            fields += [(name.decode(), text.decode("latin-1")) for name, text in request.headers if name in framing]
        try:
            return await self._pass(client, url, method, fields)
        except (Trouble, FetchError, Changed) as failure:
            self._note(f"{url}: {failure}")
            if client.begun:
                return False
            await client.refuse(502, str(failure))
            return False

    async def _pass(self, client: _Client, url: Url, method: str, fields: list[tuple[str, str]]) -> bool:
        divisible = method == "GET" and not client.has_body and not _PARTIAL.intersection(name for name, _ in fields)
        job = _Stripe(url, fields, self._options, self._limits)
        # Forward the client's Accept-Encoding field. A server that compresses on the fly cannot send ranges.
        asked = [*fields, ("range", f"bytes=0-{FIRST - 1}")] if divisible else fields
        connection = await Connection.open(url)
        try:
            head = await self._ask(connection, asked, client, method)
            if divisible and (head.status == 416 or (head.status == 206 and described.is_encoded(head))):
                # The object is empty, or the server sent a range of a compressed object. Request the whole object.
                connection.abort()
                connection = await Connection.open(url)
                head = await self._ask(connection, fields, client, method)
            if divisible and head.status == 206:
                await self._stripe(client, job, connection, head)
            else:
                await client.head(head.status, head.as_sent, None)
                async with asyncio.timeout(None) as idle:
                    async for piece in connection.body():
                        await client.data(piece)
                        idle.reschedule(asyncio.get_running_loop().time() + self._limits.idle_s)
            await client.end()
        finally:
            connection.abort()
        return client.next()

    async def _ask(self, connection: Connection, fields: list[tuple[str, str]], client: _Client, method: str) -> Head:
        """Forwards the client's request with its body."""
        body = client.body() if client.has_body else None
        asking = connection.ask(connection.url.target, fields, method, own=False, body=body)
        async with asyncio.timeout(self._limits.idle_s) as idle:
            client.on_body = lambda: idle.reschedule(asyncio.get_running_loop().time() + self._limits.idle_s)
            return await asking

    async def _stripe(self, client: _Client, job: _Stripe, connection: Connection, head: Head) -> None:
        first, end, size = described.content_range(head)
        if first != 0 or end > FIRST:
            raise Trouble("the server sends another part than requested")
        fields = tuple(field for field in head.as_sent if field[0] != b"content-range")
        await client.head(200, fields, size)
        left = end
        async for piece in connection.body():
            if len(piece) > left:
                raise Trouble("the server sends more than it announces")
            left -= len(piece)
            await client.data(piece)
        if left:
            raise Trouble("the answer is shorter than the part")
        if end < size:
            missing = [(end, size)]
            streams = Streams(job, self._options.transfer(missing), described.of(head, size), None)
            job.delivered = end
            feeding = asyncio.create_task(job.feed(client, size))
            bringing = asyncio.create_task(streams.run())
            try:
                await asyncio.wait((feeding, bringing), return_when=asyncio.FIRST_EXCEPTION)
                for task in (bringing, feeding):
                    if task.done():
                        task.result()
            finally:
                for task in (feeding, bringing):
                    task.cancel()
                await asyncio.gather(feeding, bringing, return_exceptions=True)

    async def _tunnel(self, client: _Client, target: str) -> None:
        host, _, port = target.rpartition(":")
        if not port.isdigit() or int(port) not in _TUNNEL_PORTS or not host:
            await client.refuse(403, "CONNECT is allowed only to port 443")
            return
        try:
            async with asyncio.timeout(self._limits.head_s):
                reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), limit=_PIECE)
        except (OSError, TimeoutError, UnicodeError):
            await client.refuse(502, f"cannot connect to {host}")
            return
        try:
            await client.tunnel(reader, writer)
        finally:
            writer.transport.abort()


class _Client:
    """The connection between the proxy and a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self.begun = False
        self.has_body = False
        self.on_body: Callable[[], None] = lambda: None
        """Called with each piece of the request's body."""

    async def request(self) -> h11.Request | None:
        async with asyncio.timeout(self._limits.head_s if not self.begun else self._limits.idle_s):
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Request):
                    self.begun = False
                    names = {name for name, _ in event.headers}
                    self.has_body = bool(names & {b"content-length", b"transfer-encoding"})
                    return event
                if event is not h11.NEED_DATA:
                    return None
                self._http.receive_data(await self._reader.read(_PIECE))

    async def body(self) -> AsyncGenerator[bytes]:
        """Yields pieces of the request's body. First sends `100 Continue` if the client waits for this response."""
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Data):
                self.on_body()
                yield bytes(event.data)
            elif event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE))
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise EOFError

    async def head(self, status: int, fields: tuple[tuple[bytes, bytes], ...], size: int | None) -> None:
        """Sends the head of the response with the server's fields, and with the length if it is known."""
        pairs = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in fields]
        for_one = _HOP_BY_HOP | _named_by_connection(pairs)
        kept = [(name, text) for name, text in fields if name.decode("latin-1") not in for_one]
        if size is not None:
            kept = [field for field in kept if field[0] != b"content-length"]
            kept.append((b"content-length", str(size).encode()))
        self.begun = True
        await self._send(h11.Response(status_code=status, headers=kept))

    async def data(self, octets: bytes) -> None:
        await self._send(h11.Data(data=octets))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    def next(self) -> bool:
        with contextlib.suppress(h11.ProtocolError):
            # Read the end of a request that has no body. h11 requires this before the next request.
            while self._http.their_state is h11.SEND_BODY and isinstance(self._http.next_event(), h11.EndOfMessage):
                pass
            self._http.start_next_cycle()
            return True
        return False

    async def refuse(self, status: int, why: str) -> None:
        text = f"{why}\n".encode("utf-8", "replace")
        fields = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(text)))]
        await self._send(h11.Response(status_code=status, headers=[*fields, ("Connection", "close")]))
        await self.data(text)
        await self.end()
        self._writer.close()
        await self._writer.wait_closed()

    async def tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        writer.write(self._http.trailing_data[0])
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._limits.idle_s) as idle:

            async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while octets := await source.read(_PIECE):
                    sink.write(octets)
                    await sink.drain()
                    idle.reschedule(loop.time() + self._limits.idle_s)
                with contextlib.suppress(OSError):
                    sink.write_eof()

            await asyncio.gather(carry(self._reader, writer), carry(reader, self._writer))

    async def _send(self, event: h11.Event) -> None:
        octets = self._http.send(event)
        if octets:
            self._writer.write(octets)
            async with asyncio.timeout(self._limits.idle_s):
                await self._writer.drain()


class _Stripe:
    """An object that the proxy fetches in ranges. Stores data that arrives out of order until it can be forwarded."""

    def __init__(self, url: Url, fields: list[tuple[str, str]], options: Options, limits: Limits) -> None:
        self.url = url
        self.requests = self.received = self.reopened = 0
        self.delivered = 0
        self._asked = [field for field in fields if field[0] != "accept-encoding"]
        self._options = options
        self._limits = limits
        self._early: dict[int, bytes] = {}
        self._came = asyncio.Event()
        self._failures = 0

    def fields(self, start: int, end: int, what: Representation | None) -> list[tuple[str, str]]:
        own = [("accept-encoding", "identity"), ("range", f"bytes={start}-{end - 1}")]
        if what is not None and what.validator is not None:
            own.append(("if-range", what.validator))
        return [*self._asked, *own]

    def may_ask(self, first_missing: int) -> bool:
        # Always request the range that the client needs next.
        return first_missing <= self.delivered or first_missing < self.delivered + self._limits.ahead

    def place(self, at: int, octets: bytes) -> None:
        self._early[at] = octets
        self.received += len(octets)
        self._failures = 0
        self._came.set()

    async def feed(self, client: _Client, size: int) -> None:
        while self.delivered < size:
            octets = self._early.pop(self.delivered, None)
            if octets is None:
                self._came.clear()
                await self._came.wait()
                continue
            self.delivered += len(octets)
            await client.data(octets)

    async def failed(self, trouble: Trouble, streams: int) -> None:
        self._failures += 1
        if self._failures > self._options.retries * streams:
            raise FetchError(str(trouble))
        await asyncio.sleep(min(max(trouble.wait_s, 0.1 * 2 ** (self._failures / streams)), 10.0))

    def say(self, size: int | None, window: int | None, connections: int) -> None:
        del size, window, connections


def _fields(request: h11.Request) -> list[tuple[str, str]]:
    """Returns the header fields to forward to the server, without the fields that `Connection` lists."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers]
    for_one = _HOP_BY_HOP | _named_by_connection(pairs) | {"host", "content-length"}
    return [pair for pair in pairs if pair[0] not in for_one]


def _named_by_connection(fields: list[tuple[str, str]]) -> set[str]:
    """Returns the names of the fields that the `Connection` field lists."""
    return {word.strip().lower() for name, text in fields if name == "connection" for word in text.split(",")}


def is_loopback(host: str) -> bool:
    """Returns true if only this machine can reach the address. Raises UsageError if the text is not an address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise UsageError(f"--bind {host}: there is no such address") from None
    return all(str(address[0]).startswith("127.") or address[0] == "::1" for *_, address in found)


class _Complaints:
    """Prints errors such as a lack of file descriptors: one sentence each, and at most one per second.

    Without this class, asyncio would print tracebacks.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._last = -1.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if loop.time() - self._last < 1.0:
            return
        self._last = loop.time()
        error = context.get("exception")
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        self._note(f"{context['message']}{f': {why}' if why else ''}")


def serve(host: str, port: int, options: Options, limits: Limits, note: Callable[[str], None]) -> None:
    """Runs a proxy until the program is interrupted."""

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(_Complaints(note))
        proxy = Proxy(options, limits, note)
        note(f"listening on {host} port {await proxy.start(host, port)}")
        if not is_loopback(host):
            note("anyone who reaches this address can use the proxy, also for servers on this machine: no password")
        await proxy.serve()

    asyncio.run(run())
