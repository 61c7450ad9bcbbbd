"""Errors of the kernel world. Each message says what to do."""

from __future__ import annotations

from lopsided.errors import RunError


class KernelWorldError(RunError):
    """The kernel world could not produce a valid result."""


class KernelUnavailable(KernelWorldError):
    """This machine lacks something that the run needs. The message names it and the command that provides it."""


class Unsupported(KernelWorldError):
    """The scenario uses something that Linux or this world lacks."""


class SelfCheckFailed(KernelWorldError):
    """The path that was built does not behave as the scenario says, so no measurement on it is valid."""


class Overloaded(KernelWorldError):
    """The machine was too slow for the run in real time."""


class GuestFailed(KernelWorldError):
    """The measuring agent ended without a result. The message has the end of its log."""
