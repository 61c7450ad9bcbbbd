"""User-defined congestion controls."""

from __future__ import annotations

import difflib
import dis
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from lopsided import _native, own_code
from lopsided.data import units
from lopsided.errors import ControllerError, UsageError

ControllerFactory = Callable[[_native.Setup], _native.Controller | _native.WindowAlgorithm]
"""A class derived from `Controller` or `WindowAlgorithm`, or a function, that creates the congestion control of one
connection."""
Controllers = Mapping[str, ControllerFactory | None]
"""Maps the name of a controller in scenarios to its factory. `None` means that a scenario may contain the name, but
cannot run."""

_BASES: dict[type, tuple[str, ...]] = {
    _native.Controller: ("on_ack", "on_congestion", "on_undo"),
    _native.WindowAlgorithm: ("cong_avoid", "ssthresh"),
}
"""For each base class, the methods that a derived class must define."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")


def checked(controllers: Controllers | None) -> list[tuple[str, ControllerFactory | None]]:
    """Returns the names and factories as a list for the simulator. Raises UsageError if a name or class is invalid."""
    found: list[tuple[str, ControllerFactory | None]] = []
    for name, make in (controllers or {}).items():
        if not _NAME.fullmatch(str(name)):
            raise UsageError(
                f"{name!r} is not a name for a congestion control: use letters, digits, `-`, `_`, `.`, `+`"
            )
        if name in _native.CONGESTION_CONTROLS:
            raise UsageError(f"there is a built-in congestion control {name!r}: choose another name")
        if make is not None:
            _check(name, make)
        found.append((name, make))
    return found


def _check(name: str, make: Any) -> None:
    if not callable(make):
        hint = "give the class itself, not an object of it" if isinstance(make, tuple(_BASES)) else "give a class"
        raise UsageError(f"the congestion control {name!r} cannot be {make!r}: {hint}")
    if not isinstance(make, type):
        return
    base = next((base for base in _BASES if issubclass(make, base)), None)
    if base is None:
        raise UsageError(f"{make.__name__} is not derived from lopsided.Controller or lopsided.WindowAlgorithm")
    missing = [method for method in _BASES[base] if getattr(make, method) is getattr(base, method)]
    if missing:
        raise UsageError(f"{make.__name__} does not define {' and '.join(missing)}")
    _check_attributes(make, base)


def _check_attributes(make: type, base: type) -> None:
    """Raises UsageError if the class assigns an attribute that is never read and resembles an attribute of the base.

    Without this check, a misspelt name such as `cwnd_byte` would be ignored silently.
    """
    targets = [name for name in dir(base) if not name.startswith("_")]
    codes = [
        value.__code__
        for cls in make.__mro__
        if cls not in base.__mro__
        for value in vars(cls).values()
        if isinstance(value, FunctionType)
    ]
    steps = [step for code in codes for step in dis.get_instructions(code)]
    read = {step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")}
    written: set[str] = {step.argval for step in steps if step.opname == "STORE_ATTR"} - read - set(targets)
    for name in sorted(written):
        if near := difflib.get_close_matches(name, targets, n=1, cutoff=0.85):
            raise UsageError(f"{make.__name__} assigns `{name}`, which nothing reads; did you mean `{near[0]}`?")


@dataclass(frozen=True)
class ControllerTrace:
    """The result of `simulate_controller`, which simulates a single flow on a line."""

    share: float
    """Delivered bytes divided by the line's capacity, 0 to 1."""
    losses: int
    """Number of segments that the full queue dropped."""
    signals_s: list[float]
    """Times of congestion signals, in seconds."""
    windows: list[tuple[float, int]]
    """One entry per ACK: its time in seconds, and the congestion window after the ACK, in segments."""


def simulate_controller(
    make: ControllerFactory, *, rate: str, rtt: str, queue_packets: int, duration: str
) -> ControllerTrace:
    """Simulates one flow of a congestion control on a line, without the rest of TCP (`cc/harness.rs`).

    Segments have 1,448 bytes. The receiver acknowledges each segment, and no timer expires. Raises UsageError if the
    rate is below 12 kbit/s, if the queue has no room for a packet, or if the RTT or the duration is not positive.
    """
    [(_, checked_make)] = checked({"simulated": make})
    assert checked_make is not None
    spans = [round(units.parse_time(text) * 1e9) for text in (rtt, duration)]
    bits_per_second = units.parse_rate(rate)
    if bits_per_second < 12_000 or not 1 <= queue_packets < 2**32 or min(spans) <= 0:
        raise UsageError("a line needs a rate of at least 12 kbit/s, an RTT, a queue of at least 1 packet, a duration")
    return ControllerTrace(
        *_native.simulate_controller(checked_make, units.parse_rate(rate) / 1e6, spans[0], queue_packets, spans[1])
    )


def label(make: ControllerFactory) -> str:
    """Returns the text that describes a controller in the manifest: the code's file and name."""
    module = sys.modules.get(getattr(make, "__module__", ""))
    file = getattr(module, "__file__", None)
    name = getattr(make, "__qualname__", type(make).__qualname__)
    return f"{Path(file).name}:{name}" if file else name


def load(given: Iterable[str]) -> dict[str, ControllerFactory]:
    """Loads controllers from `FILE.py:CLASS` or `NAME=FILE.py:CLASS`."""
    return own_code.load(given, "--controller", tuple(_BASES), ControllerError)
