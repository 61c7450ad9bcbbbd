"""Runs a command behind an emulated line and returns the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lopsided import _native
from lopsided.data import columns
from lopsided.data.catalogue import run_tables
from lopsided.data.table import Table
from lopsided.scenario import checked_seed
from lopsided.studies.inventory import check_preset


@dataclass(frozen=True)
class LineOptions:
    """The options that describe an emulated line."""

    scenario: Path | None = None
    """A scenario file. Its flows run only with --flows."""
    flows: bool = False
    """Also runs the scenario's flows, in real time, with simulated TCP or QUIC. A flow without `stop` lasts until the
    command ends."""
    preset: str | None = None
    """An access line by name, such as docsis31-1000-35."""
    down: str | None = None
    """Downlink rate, such as 50M."""
    up: str | None = None
    """Uplink rate, such as 5M."""
    rtt: str | None = None
    """Round-trip time without queueing, such as 40ms."""
    queue_down: str | None = None
    """Queue of the downlink: a discipline such as fq_codel, a limit such as "100 packets", or a table."""
    queue_up: str | None = None
    """Queue of the uplink, in the form of --queue-down."""
    loss_down: str | None = None
    """Packets lost at random on the downlink, such as "1 %"."""
    loss_up: str | None = None
    """Packets lost at random on the uplink, such as "1 %"."""
    trace_down: Path | None = None
    """Trace of the downlink's transmission opportunities in Mahimahi's format, instead of a rate."""
    trace_up: Path | None = None
    """Trace of the uplink's transmission opportunities in Mahimahi's format, instead of a rate."""
    inside: str | None = None
    """Host of the scenario that the command replaces; default: client."""
    outside: str | None = None
    """Host of the scenario that the outside network replaces; default: server."""
    server: str | None = None
    """Shell command of a server that runs at the far end, at $LOPSIDED_GATEWAY, instead of the network. The server has
    no other network. The command behind the line starts when the server has opened a port."""
    limit: str | None = None
    """Time limit, such as 60s. When it expires, all programs are ended, and the exit code is 124."""
    mtu: int = 1500
    """Size of the largest IP packet that the line carries, in bytes."""

    def arguments(self) -> list[str]:
        """Returns the options as arguments of `lopsided-live emulate`."""
        given = {name.replace("_", "-"): value for name, value in vars(self).items() if value not in (None, False)}
        return [f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items()]


@dataclass(frozen=True)
class Emulated:
    """The result of running a command behind an emulated line."""

    exit_code: int
    queues: Table
    """Samples of every queue, taken at the recording interval."""
    links: Table
    """One row per direction of each link."""
    flows: Table
    """One row per flow that ran in parallel with the command."""
    duration_s: float
    late_us: dict[str, float] = field(default_factory=dict[str, float])
    """Delay of packets behind their scheduled departure times, in microseconds: `p50`, `p99`, `max`."""
    refused_packets: int = 0
    """Number of packets that the kernel refused after they had crossed the line."""
    starved_flows: int = 0
    """Number of connections that failed because no file descriptor was free, plus number of datagram flows that were
    closed to free a descriptor."""


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
    """Runs the command (default: the user's shell) behind the line, and waits until it ends.

    The command controls the terminal. With `overwrite`, existing captures may be replaced.
    """
    checked_seed(seed)
    if line.preset is not None:
        check_preset(line.preset)
    options = [*line.arguments(), *(f"--set={setting}" for setting in settings), f"--seed={seed}"]
    options += [f"--pcap={pcap}"] * (pcap is not None) + ["--overwrite"] * overwrite + ["--no-meter"] * (not meter)
    exit_code, tables, facts = _native.emulate([*options, "--", *command])
    specs = run_tables()
    queues, links, flows = (Table(columns.frame(tables[name]), specs[name]) for name in ("queues", "links", "flows"))
    late = {share: facts[f"late_{share}_us"] or 0.0 for share in ("p50", "p99", "max")}
    lacked = facts["refused_packets"], facts["starved_flows"]
    return Emulated(exit_code, queues, links, flows, facts["duration_s"], late, *lacked)
