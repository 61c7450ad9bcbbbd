"""Options of a run that are not part of its scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

PcapPoint: TypeAlias = Literal["hosts", "links", "merged"]


MOST_THREADS = 4096
"""Maximum number of threads that a user can request."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run. They do not change the result of a simulated run."""

    progress: Callable[[float], object] | None = None
    """A function that is called during the run with the completed fraction, from 0 to 1."""
    pcap: Path | None = None
    """The folder for captures, created if needed. `None` writes no captures."""
    pcap_at: frozenset[PcapPoint] = frozenset({"hosts", "links"})
    """`hosts` writes a capture for each host, and `links` a capture for each link. `merged` adds one file with the
    packets of all hosts."""
    cores: int = 1
    """Maximum number of cores for a simulated run. More than one core is used only if that is faster."""
    kernel: str | None = None
    """The kernel to run on: `timetravel`, a series in virtual time (`6.1`, `6.12`), `uml` or `host`. `None` selects the
    best kernel on this machine."""
    ours: frozenset[str] = frozenset()
    """Hosts that use the simulator's TCP in the live world. Other hosts use this machine's kernel."""
