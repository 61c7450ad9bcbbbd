"""One HTTP/1.1 connection: requests, responses, and the kernel's measurements.

The library h11 parses responses, checks framing strictly, and limits the size of heads. It opens no sockets: asyncio
and ssl transfer the data, and this module can read TCP_INFO from the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass, field

import h11

from lopsided.fetching.errors import Trouble
from lopsided.fetching.url import Url, tls_context
from lopsided.worlds.kernel.guest import tcp_info

MAX_HEAD = 64 << 10
"""Maximum size of a response head in bytes. A larger head is a server error or an attack."""
_MAX_INFORMATIONAL = 10
_PIECE = 64 << 10
_BUFFER = 256 << 10
"""Number of unread bytes that a connection buffers, in addition to the kernel's buffer."""
_CONNECT_TIMEOUT_S = 20.0
_NEXT_ADDRESS_S = 0.25
"""Seconds after which the next address of the host is tried in parallel (RFC 8305, section 5)."""


@dataclass(frozen=True)
class Seen:
    """Measurements of a connection from the kernel's TCP_INFO."""

    out_of_order: int
    """Number of segments that arrived out of order."""
    mss: int
    since_data_ms: int
    """Milliseconds since the last in-order segment, with the resolution of the kernel's tick."""


@dataclass(frozen=True)
class Head:
    """The head of a response. Field names are in lower case."""

    status: int
    fields: dict[str, str] = field(default_factory=dict[str, str])
    as_sent: tuple[tuple[bytes, bytes], ...] = ()
    """The header fields as they were sent. Repeated `set-cookie` fields must not be joined (RFC 6265, section 3)."""

    def number(self, name: str) -> int | None:
        """Returns the value of a header field, or `None` if the value does not consist of digits."""
        text = self.fields.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


class Connection:
    """An HTTP/1.1 connection. It carries one request at a time and can be reused."""

    def __init__(self, url: Url, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.url = url
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._socket: socket.socket | None = writer.get_extra_info("socket")

    @classmethod
    async def open(cls, url: Url) -> Connection:
        """Opens the connection. Raises Trouble if the host cannot be reached."""
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(
                    url.host,
                    url.port,
                    limit=_BUFFER,
                    ssl=tls_context() if url.tls else None,
                    server_hostname=url.host if url.tls else None,
                    happy_eyeballs_delay=_NEXT_ADDRESS_S,
                )
        except TimeoutError:
            raise Trouble(f"{url.host} does not answer") from None
        except ssl.SSLCertVerificationError as error:
            raise Trouble(f"{url.host}: its certificate is not trusted: {error.verify_message}", lasting=True) from None
        except ssl.SSLError as error:
            raise Trouble(f"{url.host}: no TLS: {error.reason or error}") from None
        except (OSError, UnicodeError) as error:
            why, lasting = _unreachable(error)
            raise Trouble(f"cannot connect to {url.host}: {why}", lasting=lasting) from None
        return cls(url, reader, writer)

    async def ask(
        self,
        target: str,
        fields: list[tuple[str, str]],
        method: str = "GET",
        *,
        own: bool = True,
        body: AsyncIterable[bytes] | None = None,
    ) -> Head:
        """Sends a request and returns the head of the response.

        If `own` is true, lopsided's own User-Agent and Accept fields are added. Pieces of `body` are sent until the
        response arrives.
        """
        usual = [("Host", self.url.authority)] + ([("User-Agent", "lopsided"), ("Accept", "*/*")] if own else [])
        try:
            # Entity tags may contain any byte except control characters (RFC 9110, section 8.8.3).
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in [*usual, *fields]]
            request = h11.Request(method=method, target=target, headers=headers)
            octets = self._http.send(request) or b""
            if body is None:
                octets += self._http.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError as error:
            raise Trouble(f"cannot ask {self.url.host}: {error}") from None
        with self._told():
            self._writer.write(octets)
            await self._writer.drain()
        if body is None:
            return await self._answered()
        sending = asyncio.create_task(self._send_body(body))
        answering = asyncio.create_task(self._answered())
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and not answering.done():
                sending.result()
            return await answering
        finally:
            sending.cancel()
            answering.cancel()
            await asyncio.gather(sending, answering, return_exceptions=True)

    async def _send_body(self, body: AsyncIterable[bytes]) -> None:
        try:
            async for piece in body:
                with self._told():
                    self._writer.write(self._http.send(h11.Data(data=piece)) or b"")
                    await self._writer.drain()
            self._writer.write(self._http.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as error:
            raise Trouble(f"cannot ask {self.url.host}: {error}") from None

    async def _answered(self) -> Head:
        for _ in range(_MAX_INFORMATIONAL + 1):
            event = await self._event()
            if isinstance(event, h11.Response):
                return _head(event)
            if not isinstance(event, h11.InformationalResponse):
                raise Trouble(f"{self.url.host} closed the connection without an answer")
        raise Trouble(f"{self.url.host} repeatedly announces an answer and sends none")

    async def body(self) -> AsyncGenerator[bytes]:
        """Yields pieces of the body. Raises Trouble if the body ends early."""
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise Trouble(f"{self.url.host} closed the connection within an answer")

    def next(self) -> bool:
        """Prepares the connection for another request. Returns false if the connection cannot be used again."""
        with contextlib.suppress(h11.LocalProtocolError):
            self._http.start_next_cycle()
            return not self._reader.at_eof() and self._http.their_state is h11.IDLE
        return False

    def seen(self) -> Seen | None:
        """Returns values of TCP_INFO; `None` if the kernel does not provide them."""
        if self._socket is None or not hasattr(socket, "TCP_INFO"):
            return None
        try:
            info = tcp_info.read(self._socket)
            # Linux before 5.4 does not count out-of-order segments.
            return Seen(info["rcv_ooopack"], info["snd_mss"], info["last_data_recv"])
        except (OSError, KeyError):
            return None

    def abort(self) -> None:
        """Closes the connection immediately. A pending read raises Trouble."""
        self._writer.transport.abort()

    async def _event(self) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                if self._reader.at_eof():
                    raise Trouble(f"{self.url.host} closed the connection before the end of its answer") from None
                raise Trouble(f"{self.url.host} does not speak HTTP/1.1: {error}") from None
            if event is not h11.NEED_DATA:
                return event
            with self._told():
                self._http.receive_data(await self._reader.read(_PIECE))

    @contextlib.contextmanager
    def _told(self):  # noqa: ANN202
        try:
            yield
        except (OSError, EOFError) as error:
            said = getattr(error, "strerror", None) or str(error) or "the connection is gone"
            raise Trouble(f"{self.url.host}: {said}") from None
        except h11.RemoteProtocolError as error:
            raise Trouble(f"{self.url.host} does not speak HTTP/1.1: {error}") from None


def _unreachable(error: OSError | UnicodeError) -> tuple[str, bool]:
    """Returns the reason why a connection could not be opened, and true if another attempt would also fail."""
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error), error.errno == socket.EAI_NONAME
    # If several addresses fail, asyncio joins their errors into one text.
    numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
    if not numbers:
        return str(error), False
    return os.strerror(min(numbers)), numbers == {errno.ECONNREFUSED}


def _head(event: h11.Response) -> Head:
    fields: dict[str, str] = {}
    for name, value in event.headers:
        # Repeated fields form a list (RFC 9110, section 5.3).
        key, text = name.decode("latin-1"), value.decode("latin-1")
        fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return Head(event.status_code, fields, tuple(event.headers))
