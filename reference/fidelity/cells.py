"""Defines the cells of the fidelity pages: scenarios that run with several seeds, on Linux and in the simulator."""

from __future__ import annotations

import hashlib
from statistics import fmean
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lopsided.data.table import number
from lopsided.settings import Tables, scenario_text
from reference.fidelity.records import Named, Values

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

COUNTED = ("retransmits", "timeouts")
"""Small counts. A fidelity page shows these counts in a separate table, because the relative error of a small count has
little meaning."""
FLOW = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", *COUNTED)


class Runnable(Named, Protocol):
    """A cell with a scenario for Linux."""

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario for a seed. Most cells use one scenario for all seeds."""
        ...


class Simulated(Protocol):
    """A scenario with a name, whose values are read from a run."""

    @property
    def name(self) -> str:
        """The name of the cell in the records."""
        ...

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario of the run with this seed."""
        ...

    def values_of(self, run: Run) -> Values:
        """Returns the compared values of a run."""
        ...


@runtime_checkable
class Cell(Runnable, Simulated, Protocol):
    """A cell whose values are read from runs on Linux and in the simulator."""


class _HasTables(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def tables(self) -> Tables: ...


class OfTables:
    """The methods of a cell whose scenario is given as TOML tables."""

    def fingerprint(self: _HasTables) -> str:
        """Returns a hash of the scenario. A recorded run with another hash is outdated."""
        return hash_of(scenario_text(self.tables))

    def scenario(self: _HasTables, seed: int = 1) -> Scenario:
        """Returns the scenario, ready to run."""
        from lopsided.scenario import Scenario

        return Scenario.build(self.tables, self.name)

    def values_of(self, run: Run) -> Values:
        """Returns the values of every flow and link direction over the whole run; NaN for a missing value."""
        found = {(flow["name"], quantity): number(flow[quantity]) for flow in run.flows.rows() for quantity in FLOW}
        times: dict[int, list[float]] = {}
        for transfer in run.transfers.rows():
            times.setdefault(transfer["flow"], []).append(transfer["completion_s"])
        names = dict(zip(run.flows["flow"], run.flows["name"], strict=True))
        found |= {(names[flow], "completion_s"): fmean(took) for flow, took in times.items()}
        for link in run.links.rows():
            found[link["direction"], "utilisation"] = number(link["utilisation"])
        return found


def hash_of(said: str) -> str:
    """Returns the hash of a text that the records store."""
    return hashlib.sha256(said.encode()).hexdigest()[:16]
