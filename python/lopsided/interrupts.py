"""What Ctrl-C and `kill` do to the command: it ends in one word, at whatever moment.

To load the command line takes a part of a second, and Python ends an interrupt in it with a traceback. So signals are
taken over before anything else is loaded. Before a command works and after it has, nothing needs tidying up, and an
interrupt ends the process. While it works an interrupt is an exception. Python drops an exception that it meets in a
destructor, or in the callbacks of its imports, and prints it: such an interrupt is raised once more.

Left out: the first milliseconds of Python itself, before it reads a line of ours.
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
    # What `signal` is made of, and part of the interpreter: no file is read for it.
    import _signal as signal

_AGAIN_S = 0.02
"""After so long a dropped interrupt is raised again, outside the place that dropped it."""


_ours = False
"""True in a process that is the command line: other programs keep their signals."""


def take_over() -> None:
    """From here on an interrupt ends the process, and is an exception within `Interruptible` alone."""
    global _ours
    _ours = True
    # A shell that starts a command in the background has it ignore interrupts.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(128 + signal.SIGINT)


class Interruptible:
    """While the block runs, SIGINT is a KeyboardInterrupt, and SIGTERM an exit where `terminable`.

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
            # The terminal was closed; `nohup` has it ignored.
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
            # A native module that is interrupted while it loads tells so by an error of its own.
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
        # Sent to the process, so that it wakes the main thread where that waits.
        again = threading.Timer(_AGAIN_S, os.kill, [os.getpid(), number])
        again.daemon = True
        again.start()
