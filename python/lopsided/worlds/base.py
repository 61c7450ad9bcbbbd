"""What a world is: how it is asked to run a scenario, and what it provides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from lopsided.run import Run
    from lopsided.scenario import Scenario

PcapPoint = Literal["hosts", "links"]


@dataclass(frozen=True)
class RunOptions:
    """What is asked of a run beside the scenario itself; nothing here changes what happens in it."""

    progress: Callable[[float], object] | None = None
    """Called now and then with the share done, 0 to 1."""
    pcap: Path | None = None
    """A folder (made if missing) to write captures into."""
    pcap_at: frozenset[PcapPoint] = frozenset({"hosts", "links"})
    """Where packets are captured."""
    kernel: str | None = None
    """Which kernel the kernel world takes; None: the best at hand."""


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    scenario: Scenario
    seed: int


class World(Protocol):
    """What a world's module provides."""

    def run(self, scenario: Scenario, seed: int, options: RunOptions) -> Run:
        """Runs the scenario once."""
        ...

    def run_many(
        self, jobs: Sequence[Job], *, workers: int | None = None, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[int, Run]]:
        """Runs many jobs, side by side where the world can, and gives each one's number and run as it is done."""
        ...
