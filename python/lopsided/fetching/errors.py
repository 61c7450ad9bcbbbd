"""Errors of downloads, and whether another attempt makes sense."""

from __future__ import annotations

from lopsided.errors import LopsidedError


class FetchError(LopsidedError):
    """A download that cannot be completed, even by another attempt."""


class Trouble(Exception):
    """A failed connection or response; another attempt may succeed.

    `wait_s` is the server's pause in seconds. A `lasting` failure is retried only after data: a server that was never
    reached will probably refuse again.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.lasting = lasting


class Changed(Exception):
    """The object changed during the download."""
