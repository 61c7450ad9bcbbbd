"""What the captures of a run tell of a flow's TCP, for runs whose TCP does not tell it itself: those on Linux.

The native module infers the events (`crates/trace/src/inferred.rs` says from what, and what packets do not show). The
windows are those of the run's samples.
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
    """What two captures, at the flow's sender and its receiver, tell of it."""

    events: list[dict[str, Any]]
    """As the rows of `tcp_events`."""
    passed: pl.DataFrame
    """The data that the sender sent and the acknowledgements it got: `time_s`, `event`, `start_bytes`, `end_bytes`."""


def of_flow(run: Run, flow: Mapping[str, Any]) -> Captured | None:
    """The events of a flow, a row of `flows`; `None` where the run's folder has no captures at its hosts."""
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
