"""Methods that a higher layer provides: the module of `Run` contains no drawing, and yet `run.plot()` draws.

`lopsided/__init__.py`, which is above all layers, registers where each method is defined. The module is loaded at the
first call.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_HOMES: dict[str, str] = {}


def fill_in(homes: Mapping[str, str]) -> None:
    """Registers where methods are defined: `{"Run.plot": "module:function"}`."""
    _HOMES.update(homes)


def filled_in(method: str) -> Callable[..., Any]:
    """Returns the function that implements the method of this name."""
    module, _, name = _HOMES[method].partition(":")
    return getattr(importlib.import_module(module), name)
