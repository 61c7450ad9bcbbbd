"""Methods that a higher layer implements, such as `run.plot()`.

`lopsided/__init__.py` registers the module and the function that implement each method. The module is imported at the
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
    """Registers the implementation of each method: `{"Run.plot": "module:function"}`."""
    _HOMES.update(homes)


def filled_in(method: str) -> Callable[..., Any]:
    module, _, name = _HOMES[method].partition(":")
    return getattr(importlib.import_module(module), name)
