"""The worlds in which a scenario can run. Each world is a module with the functions of `World`, which is loaded on
first use."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, cast

from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.worlds.base import World

if TYPE_CHECKING:
    from lopsided.run_options import RunOptions
    from lopsided.scenario import Run, Scenario

WORLDS = {
    "sim": "lopsided.worlds.sim",
    "kernel": "lopsided.worlds.kernel",
    "live": "lopsided.worlds.live",
}
"""Maps the name of each world to its module."""


def run_scenario(scenario: Scenario, seed: int, world_name: str, options: RunOptions) -> Run:
    """Runs a scenario once in a world. `Scenario.run` calls this function."""
    return world(world_name).run(scenario, seed, options)


def world(name: str) -> World:
    """Returns a world by name. Raises UsageError if the name is unknown, or if the world needs Linux and this system is
    not Linux."""
    module = WORLDS.get(name)
    if module is None:
        raise UsageError(f"no world called {name!r}; {choices(name, WORLDS)}")
    if name != "sim" and sys.platform != "linux":
        raise UsageError(f"the world {name!r} needs Linux; this system runs the world 'sim'")
    return cast("World", importlib.import_module(module))
