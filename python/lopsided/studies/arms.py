"""Defines the arms of a comparison. An arm is a named scenario and the world that runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from lopsided.errors import UsageError
from lopsided.run_options import RunOptions
from lopsided.studies.jobs import Progress, part_of
from lopsided.worlds import world as world_of

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Arm:
    """A named scenario and the world that runs it: the simulator, the kernel, or the live world."""

    name: str
    scenario: Scenario
    world: str
    ours: frozenset[str] = frozenset()
    """Hosts that run the simulator's endpoints in the live world."""


def in_worlds(scenario: Scenario, worlds: Sequence[str], ours: Iterable[str] = ()) -> list[Arm]:
    """Returns one arm per world. In the live world, the hosts in `ours` run the simulator's endpoints.

    Raises UsageError if `ours` is given without the live world.
    """
    hosts = frozenset(ours)
    if hosts and "live" not in worlds:
        raise UsageError("only the world live has hosts with the simulator's endpoints: add live to the worlds")
    return [Arm(world, scenario, world, hosts if world == "live" else frozenset()) for world in worlds]


def kernel_in(world: str, worlds: Sequence[str], kernel: str | None) -> str | None:
    """Returns the `kernel` option for `world`. If the kernel world is compared, only this world gets the option."""
    return kernel if world == "kernel" or "kernel" not in worlds else None


def check_names(names: Sequence[str]) -> None:
    """Raises UsageError unless there are at least two distinct names."""
    if len(names) < 2 or len(set(names)) != len(names):
        raise UsageError("a comparison needs at least two different worlds")


def check_worlds(arms: Sequence[Arm], kernel: str | None) -> None:
    """Raises UsageError if a world cannot run, for example without a kernel."""
    worlds = [arm.world for arm in arms]
    for arm in arms:
        world_of(arm.world).check(arm.scenario, RunOptions(kernel=kernel_in(arm.world, worlds, kernel), ours=arm.ours))


def run_each(arms: Sequence[Arm], run: Callable[[Arm, Progress | None], T], progress: Progress | None) -> dict[str, T]:
    """Calls `run` for each arm in turn. Returns the results by name."""
    check_names([arm.name for arm in arms])
    parts = (part_of(progress, number / len(arms), 1 / len(arms)) for number in range(len(arms)))
    return {arm.name: run(arm, part) for arm, part in zip(arms, parts, strict=True)}
