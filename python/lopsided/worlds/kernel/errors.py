"""What can go wrong in the kernel world, each with a sentence that says what to do about it."""

from __future__ import annotations

from lopsided.errors import RunError


class KernelWorldError(RunError):
    """The kernel world could not give a result that deserves the name."""


class KernelUnavailable(KernelWorldError):
    """This machine lacks what the run needs; the message names it and the command that brings it."""


class Unsupported(KernelWorldError):
    """The scenario asks for something that Linux, or this world, has no counterpart of."""


class SelfCheckFailed(KernelWorldError):
    """The path that was built does not behave as the scenario says, so nothing measured on it counts."""


class Overloaded(KernelWorldError):
    """The machine could not carry the run in real time."""


class GuestFailed(KernelWorldError):
    """The measuring agent ended without a result; the message carries the end of its log."""
