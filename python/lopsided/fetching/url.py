"""Parses the URLs of objects, and derives file names from URLs."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urljoin, urlsplit

from lopsided.errors import UsageError

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8000
"""Longest URL in bytes that every server should accept (RFC 9110, section 4.1)."""
_LONGEST_NAME = 200
"""Longest file name in bytes that every file system accepts, even with an added extension."""


@dataclass(frozen=True)
class Url:
    """An http or https URL."""

    scheme: str
    host: str
    """The host for DNS and certificates: lower case, punycode, IPv6 without brackets."""
    port: int
    target: str
    """The URL's path and query."""

    @property
    def authority(self) -> str:
        """The value of the Host field."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def join(self, location: str) -> Url:
        """Resolves the location of a redirect. Raises UsageError if the location is not a URL."""
        try:
            return parse(urljoin(str(self), location))
        except ValueError as error:
            raise UsageError(f"{location[:100]!r}: {error}") from None


def parse(text: str) -> Url:
    """Parses a URL. Raises UsageError with the reason if the text is not a URL."""
    shown = text if len(text) <= 100 else f"{text[:97]}..."
    if len(text) > _LONGEST:
        raise UsageError(f"{shown}: a URL of more than {_LONGEST} characters")
    if re.search(r"[\x00-\x20\x7f]", text):
        raise UsageError(f"{shown!r}: no URL has blanks or control characters; write them as %20 and the like")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown}: {error}") from None
    if parts.scheme not in _PORTS:
        raise UsageError(f"{shown}: a URL must begin with http:// or https://")
    if not parts.hostname:
        raise UsageError(f"{shown}: it has no host")
    if parts.username is not None or parts.password is not None:
        raise UsageError("a URL with a name or password in it is not supported")
    try:
        host = parts.hostname if ":" in parts.hostname else parts.hostname.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"{shown}: {parts.hostname!r} is not the name of a host") from None
    if not re.fullmatch(r"[0-9a-z._:%-]+", host, re.IGNORECASE):
        raise UsageError(f"{shown}: {parts.hostname!r} is not the name of a host")
    if port == 0:
        raise UsageError(f"{shown}: there is no port 0")
    path = "".join(char if char.isascii() else _percent(char) for char in parts.path) or "/"
    query = "".join(char if char.isascii() else _percent(char) for char in parts.query)
    # A URL with an empty query differs from a URL without a query.
    asks = "?" in text.partition("#")[0]
    return Url(parts.scheme, host, port or _PORTS[parts.scheme], path + (f"?{query}" if asks else ""))


def _percent(char: str) -> str:
    return "".join(f"%{octet:02X}" for octet in char.encode("utf-8", "surrogateescape"))


def file_name(url: Url) -> str:
    """Returns a file name that depends only on the URL. A server therefore cannot choose the name."""
    last = unquote(url.target.partition("?")[0].rpartition("/")[2], errors="replace")
    name = re.sub(r"[\x00-\x1f\x7f/\\:]", "_", last).lstrip(".").strip()
    while len(name.encode()) > _LONGEST_NAME:
        name = name[:-1]
    return name or "download"


@cache
def tls_context() -> ssl.SSLContext:
    """Returns a TLS context with the system's certificates, default versions and ciphers, and HTTP/1.1."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
