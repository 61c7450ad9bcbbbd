"""All errors and warnings of lopsided.

The native module raises them too, so that one `except LopsidedError` is enough.
"""

from __future__ import annotations

from dataclasses import dataclass


class LopsidedError(Exception):
    """A failure with a message for the user; the command line prints it without a traceback."""


@dataclass(frozen=True)
class Problem:
    """A fault of a scenario: its place (line and column from 1, 0 if unknown), the message, and a suggestion."""

    message: str
    line: int = 0
    column: int = 0
    text: str = ""
    help: str = ""
    key: str = ""


class ScenarioError(LopsidedError):
    """A scenario that cannot run.

    `rendered` shows every fault with its line; the other attributes are those of the first fault.
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
    """A run that failed or was stopped."""


class LiveError(RunError):
    """This machine cannot carry real packets, or a device failed."""


class ControllerError(RunError):
    """A user's own congestion control raised an exception, which is the `__cause__` of this error.

    `called` is the method that raised it, such as `Gentle.on_ack`, and `time_s` the time in the run in seconds; `None`
    if the control could not be loaded.
    """

    def __init__(self, message: str, controller: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.controller = controller
        self.called = called
        self.time_s = time_s


class QueueError(RunError):
    """A user's own queue discipline raised an exception, which is the `__cause__` of this error.

    `called` is the method that raised it, such as `Marking.enqueue`, and `time_s` the time in the run in seconds;
    `None` if the discipline could not be loaded.
    """

    def __init__(self, message: str, queue: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.queue = queue
        self.called = called
        self.time_s = time_s


class FolderError(LopsidedError):
    """A folder or file that cannot be read, or must not be written."""


class UsageError(LopsidedError):
    """A request that cannot be carried out as given."""


class NoRunFolderError(FolderError, UsageError):
    """The path is not a run folder or does not exist: the request is wrong, and nothing is damaged."""


class CaptureWarning(UserWarning):
    """A capture is cut short or damaged; the part before was read."""


class LeftoverWarning(UserWarning):
    """Remains of a killed command were removed."""
