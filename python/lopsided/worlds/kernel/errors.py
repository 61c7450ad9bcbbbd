"""Errors of the kernel world. Each message states what the user can do."""

from __future__ import annotations

from lopsided.errors import RunError


class KernelWorldError(RunError):
    """The kernel world could not produce a valid result."""


class KernelUnavailable(KernelWorldError):
    """A program, a kernel feature or a permission is missing. The message names the command that provides it."""


class Unsupported(KernelWorldError):
    """The scenario uses something that Linux or the kernel world does not support."""


class SelfCheckFailed(KernelWorldError):
    """The path does not match the scenario, so no measurement is valid."""


class Overloaded(KernelWorldError):
    """The machine was too slow for a run in real time."""


class GuestFailed(KernelWorldError):
    """The agent ended without a result. The message contains the end of its log."""
