"""The worlds a scenario can run in.

Each is a module with the functions of `World`, loaded when first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.run import Run
    from lopsided.scenario import Scenario
    from lopsided.sweeps import Job

WORLDS = {
    "sim": "lopsided.worlds.sim",
    "kernel": "lopsided.worlds.kernel",
}
"""World names and their modules."""

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


class World(Protocol):
    """What a world's module provides."""

    def run(self, scenario: Scenario, seed: int, options: RunOptions) -> Run:
        """Runs the scenario once."""
        ...

    def stream(
        self, jobs: Sequence[Job], *, workers: int | None = None, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[int, Run]]:
        """Runs many jobs, side by side where the world can, and gives each one's number and run as it is done."""
        ...


def world(name: str) -> World:
    """The world of that name."""
    module = WORLDS.get(name)
    if module is None:
        raise UsageError(f"no world called {name!r}; there are {', '.join(WORLDS)}")
    return cast("World", importlib.import_module(module))
