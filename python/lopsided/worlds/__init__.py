"""The worlds a scenario can run in.

Each is a module with the functions of `World`, loaded when first asked for.
"""

from __future__ import annotations

import importlib
from typing import cast

from lopsided.errors import UsageError
from lopsided.worlds.base import World

WORLDS = {
    "sim": "lopsided.worlds.sim",
    "kernel": "lopsided.worlds.kernel",
}
"""World names and their modules."""


def world(name: str) -> World:
    """The world of that name."""
    module = WORLDS.get(name)
    if module is None:
        raise UsageError(f"no world called {name!r}; there are {', '.join(WORLDS)}")
    return cast("World", importlib.import_module(module))
