"""The errors of downloads. The type of an error determines whether the download is attempted again."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """The download failed, and another attempt would fail too."""


class Trouble(Exception):
    """A connection or a response failed; another attempt may succeed.

    `wait_s` is the pause in seconds that the server requires. A `lasting` failure is retried only if the download has
    already received data. Otherwise, the server would probably refuse again.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object changed during the download."""
