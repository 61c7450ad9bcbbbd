"""The options of a run that are not part of its scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

PcapPoint: TypeAlias = Literal["hosts", "links", "merged"]


MOST_THREADS = 4096
"""Upper limit of the number of threads, larger than any machine can use."""


@dataclass(frozen=True)
class RunOptions:
    """How a scenario is run. Only `kernel` can change the result."""

    progress: Callable[[float], object] | None = None
    """Called from time to time with the completed fraction, 0 to 1."""
    pcap: Path | None = None
    """The folder for captures; it is created if it does not exist."""
    pcap_at: frozenset[PcapPoint] = frozenset({"hosts", "links"})
    """Where packets are captured. `merged` also writes the captures of all hosts into one file."""
    cores: int = 1
    """Largest number of cores for one simulated run; several are used only if that is faster."""
    kernel: str | None = None
    """The kernel for the kernel world: `timetravel`, a release series in virtual time (`6.1`, `6.12`), `uml` or `host`;
    `None` for the best one on this machine."""
    ours: frozenset[str] = frozenset()
    """Hosts that run the simulator's TCP in the live world; the other hosts run this kernel's TCP."""
