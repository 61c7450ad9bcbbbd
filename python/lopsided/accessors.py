"""Methods that a higher layer fills in: a run knows nothing of drawing, and yet `run.plot()` draws.

`lopsided/__init__.py`, which stands above all layers, says where each is made; it is loaded when first called.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_HOMES: dict[str, str] = {}


def fill_in(homes: Mapping[str, str]) -> None:
    """Says where methods are made: `{"Run.plot": "module:function"}`."""
    _HOMES.update(homes)


def filled_in(method: str) -> Callable[..., Any]:
    """The function that makes this method."""
    module, _, name = _HOMES[method].partition(":")
    return getattr(importlib.import_module(module), name)
