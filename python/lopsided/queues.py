"""Queue disciplines of one's own, as scenarios name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from lopsided import _native
from lopsided.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_METHODS = ("enqueue", "dequeue")

Discipline = TypeVar("Discipline", bound=type[_native.QueueDiscipline])


def queue_discipline(name: str) -> Callable[[Discipline], Discipline]:
    """Makes a class derived from `QueueDiscipline` known to scenarios of this process: `queue.kind = "NAME"`.

    The dictionary `parameters` of the class holds its keys with their defaults: flags, numbers from 0 up, or texts.
    Each is an attribute of the object before `__init__` runs. A name given again means the new class from then on.
    """

    def register(cls: Discipline) -> Discipline:
        _check(name, cls)
        text = (cls.__doc__ or "A queue discipline of the user's own.").strip().splitlines()[0]
        parameters = getattr(cls, "parameters", {})
        _native.register_queue(name, cls, text, list(parameters.items()))
        return cls

    return register


def _check(name: str, cls: object) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a queue discipline: use letters, digits, `-`, `_`")
    if not (isinstance(cls, type) and issubclass(cls, _native.QueueDiscipline)):
        raise UsageError(f"{cls!r} is not a class derived from lopsided.QueueDiscipline")
    missing = [method for method in _METHODS if getattr(cls, method) is getattr(_native.QueueDiscipline, method)]
    if missing:
        raise UsageError(f"{cls.__name__} does not define {' and '.join(missing)}")
    for parameter in getattr(cls, "parameters", {}):
        if not (isinstance(parameter, str) and parameter.isidentifier() and parameter != "kind"):
            raise UsageError(f"{parameter!r} is no name for a parameter of {cls.__name__}")
