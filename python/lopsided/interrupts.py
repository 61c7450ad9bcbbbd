"""Handles Ctrl-C and `kill`: the command ends with one word, at any moment.

Loading the command line takes a part of a second, during which Python would end an interrupt with a traceback.
Therefore this module takes over the signals before anything else is loaded. Before and after the work of a command
nothing needs cleaning up, and an interrupt ends the process. During the work an interrupt is an exception. Python drops
and prints an exception that it meets in a destructor or in a callback of its imports; such an interrupt is raised
again.

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
    # The C part of `signal`, which belongs to the interpreter: importing it reads no file.
    import _signal as signal

_AGAIN_S = 0.02
"""Seconds after which a dropped interrupt is raised again, outside the place that dropped it."""


_ours = False
"""True in a process that is the command line: other programs keep their signals."""


def take_over() -> None:
    """From now on an interrupt ends the process, except within `Interruptible`, where it is an exception."""
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

    Without `take_over` signals stay as they are.
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
            # SIGHUP: the terminal was closed. `nohup` sets it to be ignored.
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
            # A native module that is interrupted while it loads raises an error of its own.
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
        # The signal goes to the process, so that it wakes the main thread if that thread waits.
        again = threading.Timer(_AGAIN_S, os.kill, [os.getpid(), number])
        again.daemon = True
        again.start()
