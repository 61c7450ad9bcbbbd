"""Handles Ctrl-C and `kill`: the command ends with a one-word message, whenever the signal arrives.

Loading the command line takes a fraction of a second, during which Python would print a traceback for an interrupt. So
this module handles the signals before anything else is loaded. Before and after the work of a command, no cleanup is
needed, so an interrupt ends the process. During the work, it raises an exception. If that happens in a destructor or in
an import callback, Python prints the exception and drops it; the interrupt is then raised again.

Left out: the first milliseconds of Python itself, before it executes a line of this package.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType, TracebackType
    from typing import NoReturn
else:
    # The C part of `signal` is built into the interpreter, so importing it reads no file.
    import _signal as signal

_AGAIN_S = 0.02
"""If Python dropped an interrupt, it is raised again after this time in seconds, outside of the code that dropped it.
"""


_ours = False
"""True if this process is the command line; other programs keep their own signal handling."""


def take_over() -> None:
    """From now on, an interrupt ends the process, except within `Interruptible`, where it raises an exception."""
    global _ours
    _ours = True
    # A shell starts background commands with interrupts ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(128 + signal.SIGINT)


class Interruptible:
    """Within the block SIGINT raises KeyboardInterrupt, and SIGTERM ends the process if `terminable` is true.

    The handlers are unchanged unless `take_over` was called.
    """

    def __init__(self, *, terminable: bool) -> None:
        self._terminable = terminable
        self._interrupted = False

    def __enter__(self) -> None:
        if not _ours:
            return
        self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        if self._terminable:
            signal.signal(signal.SIGTERM, self._terminate)
            # SIGHUP: the terminal was closed. `nohup` makes the process ignore this signal.
            hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
            if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_DFL:
                signal.signal(hang_up, self._terminate)
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, self._interrupt)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, _leave)
        if _ours:
            sys.unraisablehook = self._hook
        if self._interrupted and isinstance(error, (ImportError, SystemError)):
            # A native module that is interrupted while it loads raises another kind of error.
            raise KeyboardInterrupt from error

    def _interrupt(self, _number: int, _frame: FrameType | None) -> NoReturn:
        self._interrupted = True
        raise KeyboardInterrupt

    def _terminate(self, number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    def _dropped(self, told: sys.UnraisableHookArgs) -> None:
        if not issubclass(told.exc_type, (KeyboardInterrupt, SystemExit)):
            self._hook(told)
            return
        import threading

        number = signal.SIGINT if issubclass(told.exc_type, KeyboardInterrupt) else signal.SIGTERM
        # The signal is sent to the process, so that it wakes the main thread if this thread is waiting.
        again = threading.Timer(_AGAIN_S, os.kill, [os.getpid(), number])
        again.daemon = True
        again.start()
