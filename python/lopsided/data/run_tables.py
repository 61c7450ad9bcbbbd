"""The tables of a run by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from lopsided.data.catalogue import run_tables
from lopsided.data.columns import Frames
from lopsided.data.table import Table

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


class RunTables:
    """The tables of one run. A table is empty if the world does not support it."""

    def __init__(self, frames: Mapping[str, pl.DataFrame]) -> None:
        self._frames = frames
        self._tables: dict[str, Table] = {}

    @property
    def flows(self) -> Table:
        """One row per flow: goodput, retransmissions, RTT and windows over the flow's lifetime."""
        return self.table("flows")

    @property
    def samples(self) -> Table:
        """The state of every flow at each recording interval of the scenario."""
        return self.table("samples")

    @property
    def queues(self) -> Table:
        """The queue of every link direction at each recording interval."""
        return self.table("queues")

    @property
    def links(self) -> Table:
        """One row per link direction: utilization, backlog, losses, marks, sojourn times."""
        return self.table("links")

    @property
    def drops(self) -> Table:
        """Lost packets: one row per place and reason that occurred."""
        return self.table("drops")

    @property
    def marks(self) -> Table:
        """Packets that received an ECN mark: one row per place and reason that occurred."""
        return self.table("marks")

    @property
    def transfers(self) -> Table:
        """One row per completed transfer."""
        return self.table("transfers")

    @property
    def fetches(self) -> Table:
        """One row per controller step of each multi-connection fetch, if the scenario records the steps."""
        return self.table("fetches")

    @property
    def parts(self) -> Table:
        """Counters and measurements that stages, media and queues report."""
        return self.table("parts")

    @property
    def events(self) -> Table:
        """Every packet at every node, if the scenario records it (`[record] events = true`); otherwise empty."""
        return self.table("events")

    @property
    def tcp_events(self) -> Table:
        """Events inside TCP, if the scenario records them (`[record] tcp_events = true`); otherwise empty."""
        return self.table("tcp_events")

    @property
    def traces(self) -> Table:
        """Metrics that a capture at each sending host would show, if the scenario records them (`[record] traces =
        true`)."""
        return self.table("traces")

    @property
    def samples_of(self) -> Mapping[str, pl.DataFrame]:
        """The samples of each flow, by the flow's name."""
        return self._samples_by_name

    @cached_property
    def _samples_by_name(self) -> dict[str, pl.DataFrame]:
        names = dict(zip(self.flows.values("flow"), self.flows.values("name"), strict=True))
        parts = self.samples.to_polars().partition_by("flow", as_dict=True) if len(self.samples) else {}
        return {names[flow]: rows for (flow,), rows in parts.items()}

    def sampled(self, flow: str, column: str) -> NDArray[np.float64] | None:
        """Returns a column of one flow's samples, with NaN for a missing value; `None` if there are no samples."""
        place = self._places.get(flow)
        if place is None:
            return None
        if column not in self._sampled:
            self._sampled[column] = self.samples.numbers(column)
        return self._sampled[column][place]

    @cached_property
    def _sampled(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def _places(self) -> dict[str, NDArray[np.intp]]:
        import numpy as np

        if not len(self.samples):
            return {}
        numbers = self.samples.numbers("flow")
        order = np.argsort(numbers, kind="stable")
        flows, starts = np.unique(numbers[order], return_index=True)
        names = dict(zip(self.flows.numbers("flow").tolist(), self.flows.values("name"), strict=True))
        return {names[flow]: rows for flow, rows in zip(flows.tolist(), np.split(order, starts[1:]), strict=True)}

    def table(self, name: str) -> Table:
        """Returns a table by its name in `lopsided.data.catalogue`."""
        if name not in self._tables:
            spec, frames = run_tables()[name], self._frames
            if name not in frames:
                self._tables[name] = Table.of([], spec)
            else:
                self._tables[name] = Table(frames.columns(name) if isinstance(frames, Frames) else frames[name], spec)
        return self._tables[name]
