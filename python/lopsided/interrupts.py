"""Handles Ctrl-C and `kill`: the command prints `interrupted` and ends, whenever the signal arrives.

This module is loaded first, because Python would print a traceback if an interrupt arrived while the command line
loads. Before and after a command's work, an interrupt ends the process. During the work, an interrupt raises an
exception. Python drops exceptions in destructors and import callbacks, so this module raises a dropped interrupt again.
The module cannot handle signals in the first milliseconds, while Python itself starts.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType, TracebackType
    from typing import Any, NoReturn
else:
    # The C part of `signal` is built in, so this import reads no file.
    import _signal as signal

_AGAIN_S = 0.02
"""Seconds after which a dropped interrupt is raised again."""


_ours = False
"""True if this process runs the `lopsided` command. Other programs that import lopsided keep their own signal
handlers."""


def take_over() -> None:
    """Installs handlers: an interrupt ends the process, or raises an exception within `Interruptible`."""
    global _ours
    _ours = True
    # Shells start background commands with interrupts ignored. Keep interrupts ignored in this case.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(128 + signal.SIGINT)


class Interruptible:
    """Inside the block, SIGINT raises KeyboardInterrupt. If `terminable`, SIGTERM and SIGHUP raise SystemExit.

    Without `take_over`, the handlers are unchanged.
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
            # The terminal sends SIGHUP when it closes. `nohup` ignores this signal.
            hang_up = getattr(signal, "SIGHUP", None)  # Windows has no SIGHUP.
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
            # A native module that is interrupted while it loads raises a different error.
            raise KeyboardInterrupt from error

    def _interrupt(self, _number: int, _frame: FrameType | None) -> NoReturn:
        self._interrupted = True
        raise KeyboardInterrupt

    def _terminate(self, number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    def _dropped(self, dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, (KeyboardInterrupt, SystemExit)):
            self._hook(dropped)
            return
        import threading

        number = signal.SIGINT if issubclass(dropped.exc_type, KeyboardInterrupt) else signal.SIGTERM
        # Send a signal, because an exception in this thread would not wake a main thread that waits.
        again = threading.Timer(_AGAIN_S, os.kill, [os.getpid(), number])
        again.daemon = True
        again.start()


class Delayed:
    """Inside the block, SIGINT, SIGTERM and SIGHUP have no effect. The first of them takes effect after the block.

    Use this for short steps that must not stop in the middle. Without effect outside the main thread, because Python
    handles signals only there.
    """

    def __enter__(self) -> None:
        self._arrived: list[int] = []
        self._before: dict[int, Any] = {}
        numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
        for number in numbers:
            # A signal without a Python handler either ends the process or is ignored. Do not change this.
            if number is not None and callable(handler := signal.getsignal(number)):
                try:
                    signal.signal(number, self._arrive)
                except ValueError:  # This is not the main thread.
                    return
                self._before[number] = handler

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for number in self._arrived[:1]:
            self._before[number](number, None)

    def _arrive(self, number: int, _frame: FrameType | None) -> None:
        self._arrived.append(number)
