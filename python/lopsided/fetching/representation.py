"""Describes an object by its length and by a validator. The validator shows whether the object has changed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lopsided.fetching.connection import Head
from lopsided.fetching.errors import Changed, FetchError, Trouble

_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII | re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes \*/(\d{1,18})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Representation:
    size: int
    etag: str | None
    modified: str | None

    @property
    def validator(self) -> str | None:
        """The value for `If-Range`: a strong entity tag if there is one, otherwise the date (RFC 9110, section
        13.1.5)."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified if not self.etag else None

    def check(self, head: Head, total: int) -> None:
        """Raises Changed if a response belongs to another version of the object."""
        if total != self.size:
            raise Changed(f"it was {self.size} octets long and is {total} now")
        if self.etag is not None and "etag" not in head.fields:
            # RFC 9110, section 15.3.7: a 206 response has the same ETag that a 200 response would have.
            raise FetchError(
                "the server sends a part without the ETag that its first answer had: nothing says that it is of the "
                "same object"
            )
        for name, before in (("etag", self.etag), ("last-modified", self.modified)):
            if before is not None and head.fields.get(name, before) != before:
                raise Changed(f"its {name} was {before} and is {head.fields[name]} now")


def of(head: Head, size: int) -> Representation:
    return Representation(size, head.fields.get("etag"), head.fields.get("last-modified"))


def content_range(head: Head) -> tuple[int, int, int]:
    """Returns start, end (one past the last byte) and total length from a 206 response.

    Raises Trouble if a number is missing or contradicts another number.
    """
    if head.fields.get("content-type", "").lower().startswith("multipart/"):
        raise Trouble("the server sends several parts instead of one")
    found = _CONTENT_RANGE.fullmatch(head.fields.get("content-range", "").strip())
    if found is None:
        raise Trouble("the server does not say which part it sends")
    if found[3] == "*":
        raise Trouble("the server does not send the total length")
    first, last, total = int(found[1]), int(found[2]), int(found[3])
    if not first <= last < total:
        raise Trouble("the server sends an impossible part")
    length = head.number("content-length")
    if length is not None and length != last + 1 - first:
        raise Trouble("the server's lengths contradict each other")
    return first, last + 1, total


def unsatisfied_total(head: Head) -> int | None:
    """Returns the total length from a 416 response."""
    found = _UNSATISFIED.fullmatch(head.fields.get("content-range", "").strip())
    return int(found[1]) if found else None


def is_encoded(head: Head) -> bool:
    """Returns true if the response contains the object in compressed form."""
    return head.fields.get("content-encoding", "identity").strip().lower() not in ("", "identity")


def check_encoding(head: Head) -> None:
    """Raises an error if the response is compressed although the request did not allow compression."""
    if is_encoded(head):
        coding = head.fields["content-encoding"].strip().lower()
        raise Trouble(f"the server compresses ({coding}) although no compression was requested", lasting=True)
