"""Registers user-defined queue disciplines, so that scenarios can use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar, cast

from lopsided import _native, own_code
from lopsided.errors import QueueError, UsageError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_METHODS = ("enqueue", "dequeue")

Discipline = TypeVar("Discipline", bound=type[_native.QueueDiscipline])
Parameters = dict[str, bool | float | str]

_declared: dict[str, Parameters] = {}
"""Maps the name of each user-defined discipline in this process to its keys and their defaults."""


def queue_discipline(name: str) -> Callable[[Discipline], Discipline]:
    """Registers a class derived from `QueueDiscipline`. A scenario selects the class with `queue.kind = "NAME"`.

    The class may have a dictionary `parameters` of keys and their defaults: booleans, non-negative numbers, or strings.
    The simulator sets each key as an attribute before it calls `__init__`. If the name is already registered, the new
    class replaces the earlier one.
    """

    def register(cls: Discipline) -> Discipline:
        _check(name, cls)
        text = (cls.__doc__ or "A user-defined queue discipline.").strip().splitlines()[0]
        parameters = getattr(cls, "parameters", {})
        _native.register_queue(name, cls, text, list(parameters.items()))
        _declared[name] = dict(parameters)
        return cls

    return register


def load(given: Iterable[str]) -> None:
    """Registers the classes that the user names as `FILE.py:CLASS` or `NAME=FILE.py:CLASS`."""
    for name, cls in own_code.load(given, "--discipline", (_native.QueueDiscipline,), QueueError).items():
        queue_discipline(name)(cls)


def used_by(resolved: object) -> dict[str, Parameters]:
    """Returns the user-defined disciplines of a resolved scenario, with their keys and defaults. A run folder stores
    them without the code."""
    if not _declared:
        return {}
    return {kind: _declared[kind] for kind in _kinds(resolved) if kind in _declared}


def _kinds(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        yield from (kind for key, kind in table.items() if key == "kind" and isinstance(kind, str))
        value = list(table.values())
    if isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _kinds(inner)


def remember(disciplines: Mapping[str, Parameters]) -> None:
    """Registers the disciplines of a run folder, whose code is missing. The scenario can then be read, but not run."""
    for name, parameters in disciplines.items():
        if name not in _declared:
            queue_discipline(name)(type(name, (_Absent,), {"parameters": parameters}))
            del _declared[name]


class _Absent(_native.QueueDiscipline):
    """A discipline from a run folder, which stores the name and keys but no code."""

    def __init__(self, setup: _native.QueueSetup) -> None:
        raise UsageError("this queue discipline is only known from a run folder: give its class to run it")

    def enqueue(self, packet: _native.PacketView) -> None: ...

    def dequeue(self) -> _native.PacketView:
        raise NotImplementedError


def _check(name: str, cls: object) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a queue discipline: use letters, digits, `-`, `_`")
    if not (isinstance(cls, type) and issubclass(cls, _native.QueueDiscipline)):
        raise UsageError(f"{cls!r} is not a class derived from lopsided.QueueDiscipline")
    missing = [method for method in _METHODS if getattr(cls, method) is getattr(_native.QueueDiscipline, method)]
    if missing:
        raise UsageError(f"{cls.__name__} does not define {' and '.join(missing)}")
    parameters = getattr(cls, "parameters", {})
    if not isinstance(parameters, dict):
        raise UsageError(f"{cls.__name__}.parameters is {parameters!r}; expected a dictionary of defaults")
    for parameter, default in cast("dict[object, object]", parameters).items():
        if not (isinstance(parameter, str) and parameter.isidentifier() and parameter != "kind"):
            raise UsageError(f"{parameter!r} is not a valid name for a parameter of {cls.__name__}")
        if not isinstance(default, bool | int | float | str):
            raise UsageError(
                f"the parameter {parameter!r} of {cls.__name__} has the default {default!r}; expected a flag, a number "
                "from 0 up, or a text"
            )
