"""Loads user-defined Python code, `FILE.py:CLASS` or `NAME=FILE.py:CLASS`, and stops code that does not return."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lopsided.errors import RunError, UsageError

if TYPE_CHECKING:
    from lopsided._native import Batch

_LOOK_S, _LOOKS = 0.1, 20
_stuck: list[Batch] = []
"""Batches that could not be stopped, because a thread is stuck in user-defined code."""


def stop(batch: Batch) -> None:
    """Stops the runs of a batch. If user-defined code does not return, an exception is raised inside this code."""
    for _ in range(_LOOKS):
        idents = batch.within_python()
        if batch.stop(_LOOK_S):
            return
        if not idents:
            return  # A thread in the native module checks for interrupts itself.
        for ident in set(idents) & set(batch.within_python()):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))
    _stuck.append(batch)


def is_stuck() -> bool:
    """Returns true if a stuck thread keeps the interpreter from exiting."""
    return bool(_stuck)


def load(
    given: Iterable[str], option: str, bases: tuple[type, ...], failure: Callable[[str, str], RunError]
) -> dict[str, Any]:
    """Loads user-defined classes and returns them by name. The default name is the name of the class.

    Parameters
    ----------
    option
        The command-line option, for error messages.
    bases
        The base classes. If the requested class does not exist, the error lists the file's classes derived from them.
    failure
        Creates the error from a message and a file name.
    """
    found: dict[str, Any] = {}
    modules: dict[str, ModuleType] = {}
    for text in given:
        name, equals, place = text.rpartition("=")
        home, _, attribute = place.rpartition(":")
        if not home or not attribute or (equals and not name):
            raise UsageError(f"{option} {text!r}: write FILE.py:CLASS or NAME=FILE.py:CLASS")
        if home not in modules:
            modules[home] = _module(home, failure)
        make = getattr(modules[home], attribute, None)
        if make is None:
            classes: list[str] = [key for key, value in vars(modules[home]).items() if _is_own(value, bases)]
            known = f"; there is {', '.join(classes)}" if classes else ""
            raise UsageError(f"{option} {text}: {home} has no {attribute}{known}")
        found[name or attribute] = make
    return found


def _is_own(value: Any, bases: tuple[type, ...]) -> bool:
    return isinstance(value, type) and issubclass(value, bases) and value not in bases


def _module(home: str, failure: Callable[[str, str], RunError]) -> ModuleType:
    """Loads the module from a path, or imports it by name."""
    try:
        if not home.endswith(".py"):
            return importlib.import_module(home)
        path = Path(home)
        if not path.is_file():
            raise UsageError(f"{home} does not exist")
        # The code can import modules from its own folder, as if Python ran the file.
        sys.path.insert(0, str(path.parent.resolve()))
        name = f"_own_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        # Dataclasses look up their module in `sys.modules`.
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except UsageError:
        raise
    except Exception as error:
        hint = "" if home.endswith(".py") else "; a file is named with its ending, as in mine.py:Mine"
        raise failure(f"cannot load {home}: {type(error).__name__}: {error}{hint}", home) from error
