"""Errors of downloads, and whether another attempt makes sense."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """A download that cannot be completed; another attempt would also fail."""


class Trouble(Exception):
    """A connection or a response that failed; another attempt may succeed.

    `wait_s` is the pause that the server requires, in seconds. After a `lasting` failure, another attempt is made only
    if some data has already arrived, because a server that was never reached will probably refuse again.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object changed during the download."""
