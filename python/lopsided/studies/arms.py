"""What is compared: scenarios in worlds by names of their own, and how each is run in its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """One of the things compared: a scenario in a world, and what to call it."""

    name: str
    scenario: Scenario
    world: str


def in_worlds(scenario: Scenario, worlds: Sequence[str]) -> list[Arm]:
    """The same scenario in each world."""
    return [Arm(world, scenario, world) for world in worlds]


def kernel_in(world: str, worlds: Sequence[str], kernel: str | None) -> str | None:
    """Which kernel to ask a world for: of several worlds only the kernel world is asked."""
    return kernel if world == "kernel" or "kernel" not in worlds else None


def check_names(names: Sequence[str]) -> None:
    """Refuses what is nothing to compare."""
    if len(names) < 2 or len(set(names)) != len(names):
        raise UsageError("a comparison needs at least two different worlds")


def check_worlds(arms: Sequence[Arm], kernel: str | None) -> None:
    """Refuses before the first run what a later one would, such as a world whose kernel is not here."""
    worlds = [arm.world for arm in arms]
    for arm in arms:
        world_of(arm.world).check(arm.scenario, RunOptions(kernel=kernel_in(arm.world, worlds, kernel)))


def run_each(arms: Sequence[Arm], run: Callable[[Arm, Progress | None], T], progress: Progress | None) -> dict[str, T]:
    """What `run` gives for each arm, by its name, one after the other."""
    check_names([arm.name for arm in arms])
    parts = (part_of(progress, number / len(arms), 1 / len(arms)) for number in range(len(arms)))
    return {arm.name: run(arm, part) for arm, part in zip(arms, parts, strict=True)}
