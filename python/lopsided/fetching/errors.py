"""The errors of downloads. Their types say whether another attempt makes sense."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """The download cannot be completed, even by another attempt."""


class Trouble(Exception):
    """A connection or a response failed; another attempt may succeed.

    `wait_s` is the pause in seconds that the server requires. A `lasting` failure is retried only if data has arrived
    before: a server that was never reached will probably refuse again.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object changed during the download."""
