"""What goes wrong on the way, and whether to try again."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """A download that cannot be completed; trying again would not help."""


class Trouble(Exception):
    """A connection or an answer that failed: another attempt may succeed. `wait_s` is what the server asked for."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class Changed(Exception):
    """The object is another one than when the download began."""
