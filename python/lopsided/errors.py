"""Everything that lopsided raises on purpose.

The native module raises these too, so one `except LopsidedError` is enough.
"""

from __future__ import annotations

from dataclasses import dataclass


class LopsidedError(Exception):
    """A failure with a message meant for the person who reads it; the command line prints it without a traceback."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a scenario: where it stands (counted from 1, 0 if nowhere), and what was meant."""

    message: str
    line: int = 0
    column: int = 0
    text: str = ""
    help: str = ""
    key: str = ""


class ScenarioError(LopsidedError):
    """A scenario that cannot be run.

    `rendered` shows every problem with its line; the attributes are those of the first.
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
    """A run that could not be carried out, or was stopped."""


class LiveError(RunError):
    """Real packets cannot be carried on this machine, or a device failed under them."""


class ControllerError(RunError):
    """A user's own congestion control raised an exception: it is this error's `__cause__`.

    `called` is what did so, such as `Gentle.on_ack`, and `time_s` when in the run; None where it could not even be
    loaded.
    """

    def __init__(self, message: str, controller: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.controller = controller
        self.called = called
        self.time_s = time_s


class QueueError(RunError):
    """A user's own queue discipline raised an exception: it is this error's `__cause__`.

    `called` is what did so, such as `Marking.enqueue`, and `time_s` when in the run.
    """

    def __init__(self, message: str, queue: str, called: str = "", time_s: float | None = None) -> None:
        super().__init__(message)
        self.queue = queue
        self.called = called
        self.time_s = time_s


class FolderError(LopsidedError):
    """A run folder that cannot be read or must not be written to."""


class UsageError(LopsidedError):
    """A request that makes no sense as given."""


class NoRunFolderError(FolderError, UsageError):
    """What was named is not a run folder, or is not there: the request is wrong, and nothing is damaged."""


class CaptureWarning(UserWarning):
    """A capture is cut short or damaged, and was read up to there."""


class LeftoverWarning(UserWarning):
    """Something was removed that a killed command had left where it was writing."""
