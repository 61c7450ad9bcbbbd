"""What is asked of a run beside the scenario itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

PcapPoint: TypeAlias = Literal["hosts", "links", "merged"]


MOST_THREADS = 4096
"""More than any machine runs side by side to some gain."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is made; nothing here changes what happens in it, but the kernel that carries it."""

    progress: Callable[[float], object] | None = None
    """Called now and then with the share done, 0 to 1."""
    pcap: Path | None = None
    """A folder (made if missing) to write captures into."""
    pcap_at: frozenset[PcapPoint] = frozenset({"hosts", "links"})
    """Where packets are captured; `merged`: the captures of the hosts, in one file as well."""
    cores: int = 1
    """The most cores for one simulated run, where that pays."""
    kernel: str | None = None
    """Which kernel the kernel world takes: `timetravel`, `uml` or `host`; None: the best at hand."""
    ours: frozenset[str] = frozenset()
    """Hosts that in the live world have the simulator's TCP, while the others have the kernel's."""
