"""Errors of downloads, and whether to try again."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """A download that cannot be completed; trying again would not help."""


class Trouble(Exception):
    """A connection or an answer that failed; another attempt may succeed.

    `wait_s` is the pause that the server demands. A `lasting` failure is tried again only if some data has arrived
    before: a server that was never reached will refuse the next time too.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object changed during the download."""
