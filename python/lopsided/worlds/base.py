"""The interface that every world implements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lopsided.run_options import RunOptions
    from lopsided.scenario import Run, Scenario


@dataclass(frozen=True)
class Job:
    """A scenario to run, and its seed."""

    scenario: Scenario
    seed: int
    ours: frozenset[str] = frozenset()
    """Hosts that use the simulator's TCP in the live world, in addition to the hosts that the run's options name."""


class World(Protocol):
    """The functions that a world's module provides."""

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Raises an error before the first run if the world or this machine cannot run the scenario."""
        ...

    def run(self, scenario: Scenario, seed: int, options: RunOptions) -> Run:
        """Runs the scenario once."""
        ...

    def run_many(
        self, jobs: Sequence[Job], options: RunOptions, *, workers: int | None = None
    ) -> Iterator[tuple[int, Run]]:
        """Runs jobs, in parallel if the world permits it. When a job finishes, yields its number and its run. Captures
        are not written."""
        ...
