"""What goes wrong on the way, and whether to try again."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """A download that cannot be completed; trying again would not help."""


class Trouble(Exception):
    """A connection or an answer that failed: another attempt may succeed.

    `wait_s` is what the server asked for. What is `lasting` is tried again only where something has come already: a
    server that nobody has reached yet will refuse the next time too.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object is another one than when the download began."""
