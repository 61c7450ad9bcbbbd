"""What a world is: how it is asked to run a scenario, and what it provides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lopsided.run_options import RunOptions
    from lopsided.scenario import Run, Scenario


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    scenario: Scenario
    seed: int
    ours: frozenset[str] = frozenset()
    """Hosts that in the world live have the simulator's TCP, beside those of the run's options."""


class World(Protocol):
    """What a world's module provides."""

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Refuses, before anything runs, what the world cannot run or what it lacks here."""
        ...

    def run(self, scenario: Scenario, seed: int, options: RunOptions) -> Run:
        """Runs the scenario once."""
        ...

    def run_many(
        self, jobs: Sequence[Job], options: RunOptions, *, workers: int | None = None
    ) -> Iterator[tuple[int, Run]]:
        """Runs many jobs, side by side where the world can, and gives each one's number and run as it is done.

        No captures are written.
        """
        ...
