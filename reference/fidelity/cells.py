"""Defines the interfaces of a cell, a scenario that runs with several seeds on Linux and in the simulator."""

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
"""Quantities that are small counts. A fidelity page shows them in a separate table, because the relative error of a
small count has little meaning."""
FLOW = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", *COUNTED)


class Runnable(Named, Protocol):
    """A cell whose scenario can run on Linux."""

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario for a seed. Most cells use one scenario for all seeds."""
        ...


class Simulated(Protocol):
    """A named scenario that can read its values from a run."""

    @property
    def name(self) -> str:
        """The name that identifies the cell in the records."""
        ...

    def scenario(self, seed: int = 1) -> Scenario:
        """Returns the scenario to run with this seed."""
        ...

    def values_of(self, run: Run) -> Values:
        """Returns the values of a run that are compared."""
        ...


@runtime_checkable
class Cell(Runnable, Simulated, Protocol):
    """A cell that runs on Linux and in the simulator, and can read its values from both runs."""


class _HasTables(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def tables(self) -> Tables: ...


class OfTables:
    """Implements the methods of a cell whose property `tables` contains the scenario."""

    def fingerprint(self: _HasTables) -> str:
        """Returns a hash of the scenario. A recorded run with a different hash is outdated."""
        return hash_of(scenario_text(self.tables))

    def scenario(self: _HasTables, seed: int = 1) -> Scenario:
        """Returns the cell's scenario. The scenario is the same for all seeds."""
        from lopsided.scenario import Scenario

        return Scenario.build(self.tables, self.name)

    def values_of(self, run: Run) -> Values:
        """Returns the values of each flow and of each link direction, measured over the whole run; NaN for a missing
        value."""
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
    """Returns the hash by which the records identify a scenario. `said` is the scenario as text."""
    return hashlib.sha256(said.encode()).hexdigest()[:16]
