"""All errors and warnings. The native module also raises these classes."""

from __future__ import annotations

from dataclasses import dataclass


class LopsidedError(Exception):
    """A failure with a message for the user."""


@dataclass(frozen=True)
class Problem:
    """A fault in a scenario: line and column (from 1; 0 if unknown), message, and suggested fix."""

    message: str
    line: int = 0
    column: int = 0
    text: str = ""
    help: str = ""
    key: str = ""


class ScenarioError(LopsidedError):
    """The scenario is invalid or cannot be read.

    `rendered` shows every fault with its line. The other attributes belong to the first fault.
    """

    def __init__(self, rendered: str, file: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(rendered)
        self.rendered = rendered
        self.file = file
        self.problems = problems
        first = problems[0] if problems else Problem(rendered)
        self.message = first.message
        self.line = first.line
        self.column = first.column
        self.text = first.text
        self.help = first.help
        self.key = first.key


class RunError(LopsidedError):
    """The run failed or was stopped."""


class LiveError(RunError):
    """This machine cannot send real packets, or a network device failed."""


class ControllerError(RunError):
    """A user-defined congestion control raised an exception, which is the `__cause__` of this error.

    `called` is the method that failed, such as `Gentle.on_ack`. `time_s` is the virtual time in seconds. Both are
    `None` if the code could not be loaded.
    """

    def __init__(self, message: str, controller: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.controller = controller
        self.called = called
        self.time_s = time_s


class QueueError(RunError):
    """A user-defined queue discipline raised an exception, which is the `__cause__` of this error.

    `called` is the method that failed, such as `Marking.enqueue`. `time_s` is the virtual time in seconds. Both are
    `None` if the code could not be loaded.
    """

    def __init__(self, message: str, queue: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.queue = queue
        self.called = called
        self.time_s = time_s


class FolderError(LopsidedError):
    """A folder or file cannot be read, or must not be written."""


class UsageError(LopsidedError):
    """The request is invalid or cannot be carried out."""


class NoRunFolderError(FolderError, UsageError):
    """The path does not exist or is not a run folder. A damaged run folder raises a plain FolderError instead."""


class OccupiedError(FolderError, UsageError):
    """The output path contains a file or folder that must not be replaced."""


class CaptureWarning(UserWarning):
    """Warns that a capture is incomplete or damaged, and that only the part before the damage was read."""


class LeftoverWarning(UserWarning):
    """Warns that hidden files of a killed command were removed."""
