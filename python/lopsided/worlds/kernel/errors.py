"""Errors of the kernel world. Each message says what to do."""

from __future__ import annotations

from lopsided.errors import RunError


class KernelWorldError(RunError):
    """The kernel world could not produce a valid result."""


class KernelUnavailable(KernelWorldError):
    """This machine lacks something that the run needs. The message names the missing part and the command that
    provides it."""


class Unsupported(KernelWorldError):
    """The scenario uses a feature that Linux or this world does not have."""


class SelfCheckFailed(KernelWorldError):
    """The network path does not behave as the scenario specifies, so no measurement on it is valid."""


class Overloaded(KernelWorldError):
    """The machine was too slow for a run in real time."""


class GuestFailed(KernelWorldError):
    """The measuring agent ended without a result. The message contains the end of the agent's log."""
