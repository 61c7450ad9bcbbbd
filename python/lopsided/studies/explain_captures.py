"""Infers a flow's TCP events from captures of runs on Linux.

The native module infers the events. `crates/trace/src/inferred.rs` explains the rules, and lists the events that cannot
be inferred from packets. Windows come from the run's samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.data import captures, columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from lopsided.scenario import Run


@dataclass(frozen=True)
class Captured:
    """The events and packets of a flow, from captures at its sender and receiver."""

    events: list[dict[str, Any]]
    """The inferred events, with the columns of `tcp_events`."""
    passed: pl.DataFrame
    """The data that the sender sent and the ACKs that it received: `time_s`, `event`, `start_bytes`, `end_bytes`."""


def of_flow(run: Run, flow: Mapping[str, Any]) -> Captured | None:
    """Returns the events of `flow`, a row of `flows`; `None` if there are no captures at its hosts."""
    if run.folder is None:
        return None
    folder = run.folder / "pcap"
    hosts = (str(flow["from"]), str(flow["to"]))
    files = [captures.at_host(folder, host) for host in hosts]
    if not all(file.is_file() for file in (folder / captures.INDEX, *files)):
        return None
    listed = next((one for one in captures.read_index(folder) if one.flow == flow["name"]), None)
    if listed is None:
        return None
    sender, receiver = zip(files, hosts, strict=True)
    events, passed = _native.infer_tcp_events(sender, receiver, listed.place, flow["flow"])
    return Captured(list(columns.frame(events).iter_rows(named=True)), columns.frame(passed))
