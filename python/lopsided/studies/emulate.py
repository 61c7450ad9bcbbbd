"""A command behind an emulated line: what is asked of the native module, and what it measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lopsided import _native
from lopsided.data.catalogue import run_tables
from lopsided.data.table import Table
from lopsided.scenario import checked_seed
from lopsided.studies.inventory import check_preset


@dataclass(frozen=True)
class LineOptions:
    """A line, as options of the console describe it."""

    scenario: Path | None = None
    """A scenario's file, for its network alone; its flows are left out."""
    preset: str | None = None
    """An access line by name, such as docsis31-1000-35."""
    down: str | None = None
    """Downlink rate, such as 50M."""
    up: str | None = None
    """Uplink rate, such as 5M."""
    rtt: str | None = None
    """The round trip without any queue, such as 40ms."""
    queue_down: str | None = None
    """A discipline such as fq_codel, a limit such as "100 packets", or a table."""
    queue_up: str | None = None
    """The same for the uplink."""
    loss_down: str | None = None
    """Packets lost at random, such as "1 %"."""
    loss_up: str | None = None
    """The same for the uplink."""
    trace_down: Path | None = None
    """Opportunities to send, in the format of Mahimahi, in place of a rate."""
    trace_up: Path | None = None
    """The same for the uplink."""
    inside: str | None = None
    """Which host of the scenario the command is; default: client."""
    outside: str | None = None
    """Which host of the scenario the world is; default: server."""
    mtu: int = 1500
    """The largest packet that the line takes."""

    def arguments(self) -> list[str]:
        """The options as `lopsided-live emulate` takes them."""
        return [f"--{name.replace('_', '-')}={value}" for name, value in vars(self).items() if value is not None]


@dataclass(frozen=True)
class Emulated:
    """A command that ran behind a line."""

    exit_code: int
    queues: Table
    """Every queue on the recording interval."""
    links: Table
    """One row for each direction of each link."""
    duration_s: float
    late_us: dict[str, float] = field(default_factory=dict[str, float])
    """How late packets left the line: `p50`, `p99`, `max`."""
    refused_packets: int = 0
    """Packets behind the line that the kernel did not take."""
    starved_flows: int = 0
    """Connections that had no file descriptor, and datagram flows that lost theirs to others."""


def emulate(
    line: LineOptions,
    command: Sequence[str] = (),
    *,
    settings: Sequence[str] = (),
    seed: int = 1,
    pcap: Path | None = None,
    overwrite: bool = False,
    meter: bool = True,
) -> Emulated:
    """Runs the command, or the user's shell, behind the line, and waits for it. `overwrite`: captures may be replaced.

    The terminal is handed to the command and taken back.
    """
    checked_seed(seed)
    if line.preset is not None:
        check_preset(line.preset)
    options = [*line.arguments(), *(f"--set={setting}" for setting in settings), f"--seed={seed}"]
    options += [f"--pcap={pcap}"] * (pcap is not None) + ["--overwrite"] * overwrite + ["--no-meter"] * (not meter)
    exit_code, tables, facts = _native.emulate([*options, "--", *command])
    # Only now: the command need not wait for it.
    from lopsided.data import columns

    specs = run_tables()
    queues, links = (Table(columns.frame(tables[name]), specs[name]) for name in ("queues", "links"))
    late = {share: facts[f"late_{share}_us"] or 0.0 for share in ("p50", "p99", "max")}
    lacked = facts["refused_packets"], facts["starved_flows"]
    return Emulated(exit_code, queues, links, facts["duration_s"], late, *lacked)
