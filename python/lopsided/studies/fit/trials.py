"""Simulates the scenarios of a fit, and measures how far their packets are from the captured packets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import captures
from lopsided.errors import LopsidedError
from lopsided.studies.analyze import Capture, analyze
from lopsided.studies.fit.statistics import Flow, Measure, distance, flows, vector, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lopsided.scenario import Scenario
    from lopsided.studies.fit.line import Draft, Structure

PULL = 0.001
"""Weight of the parameters' distance from their starting values in a trial's score. The weight is so small that it
matters only for parameters that the packets do not determine."""


@dataclass(frozen=True)
class View:
    """One capture: the point at which it was recorded, and its flows with their statistics."""

    place: str
    """The point at which the capture was recorded: `server`, `client` or `link`."""
    flows: Sequence[Flow | None]
    """The flows in the order of `Draft.traffic`; `None` for a flow that this capture does not contain."""
    measures: Sequence[Measure]
    observed: Sequence[Mapping[str, float]]

    @classmethod
    def of(cls, place: str, of_flows: Sequence[Flow | None], measures: Sequence[Measure]) -> View:
        observed = [
            {} if flow is None else measure.of_flow(flow) for flow, measure in zip(of_flows, measures, strict=True)
        ]
        return cls(place, of_flows, measures, observed)


@dataclass(frozen=True)
class Trial:
    """One simulated candidate: its structure, the values of its parameters, and the distance between its statistics and
    the capture's statistics."""

    number: int
    structure: Structure
    positions: tuple[float, ...]
    """The position of each parameter: the difference between the logarithms of its value and of its starting value, in
    units of the parameter's spread."""
    distance: float
    apart: NDArray[np.float64] = field(repr=False)
    """The difference between the simulated and the captured value of each statistic, in units of the statistic's
    tolerance."""

    @property
    def score(self) -> float:
        """The value that the search minimises: the distance from the capture, plus `PULL` times the squared distance of
        the parameters from their starting values."""
        return self.distance + PULL * float(np.sum(np.square(self.positions)))


@dataclass
class Runner:
    """Runs trials on threads. The results do not depend on the number of threads."""

    draft: Draft
    views: Sequence[View]
    seed: int
    workers: int
    made: list[Trial] = field(default_factory=list[Trial])
    """All trials so far, in the order of their numbers."""
    on_trial: Callable[[int], object] | None = None
    """Called with the number of finished trials."""
    _known: dict[tuple[str, tuple[float, ...]], Trial] = field(
        default_factory=dict[tuple[str, tuple[float, ...]], Trial]
    )

    def values(self, structure: Structure, positions: Sequence[float]) -> dict[str, float]:
        """Converts the parameters' positions to values. Returns the values by parameter name."""
        parameters = self.draft.parameters(structure)
        return {each.name: each.value(place) for each, place in zip(parameters, positions, strict=True)}

    def scenario(self, trial: Trial) -> Scenario:
        return self.draft.scenario(trial.structure, self.values(trial.structure, trial.positions))

    def run(self, wanted: Sequence[tuple[Structure, Sequence[float]]]) -> list[Trial]:
        """Simulates the given scenarios and returns their trials in the same order. A scenario that was simulated
        before is not simulated again."""
        keys = [(structure.key, tuple(float(place) for place in positions)) for structure, positions in wanted]
        missing = {key: each for key, each in zip(keys, wanted, strict=True) if key not in self._known}
        with ThreadPoolExecutor(self.workers) as pool:
            pending = [pool.submit(self._measured, *each) for each in missing.values()]
            try:
                for key, (structure, _), future in zip(missing, missing.values(), pending, strict=True):
                    trial = Trial(len(self.made), structure, key[1], *future.result())
                    self.made.append(trial)
                    self._known[key] = trial
                    if self.on_trial is not None:
                        self.on_trial(len(self.made))
            finally:
                for future in pending:
                    future.cancel()
        return [self._known[key] for key in keys]

    def _measured(self, structure: Structure, positions: Sequence[float]) -> tuple[float, NDArray[np.float64]]:
        try:
            scenario = self.draft.scenario(structure, self.values(structure, positions), sampled=False)
            seen = self.seen(scenario)
        except LopsidedError:
            # For example, these values are invalid in a scenario. An infinite distance makes the search avoid them.
            return float("inf"), np.full(1, np.nan)
        total, apart = 0.0, list[np.ndarray]()
        for view, found in zip(self.views, seen, strict=True):
            of = [flow for flow in view.flows if flow is not None]
            shares = iter(weights(of) / len(self.views))
            for flow, measure, observed, other in zip(view.flows, view.measures, view.observed, found, strict=True):
                if flow is None:
                    continue
                simulated = {} if other is None else measure.of_flow(other)
                share = float(next(shares))
                total += share * distance(observed, simulated)
                apart.append(vector(observed, simulated))
        return total, np.concatenate(apart)

    def seen(self, scenario: Scenario) -> list[list[Flow | None]]:
        """Simulates a scenario. Returns its flows once per view, as a capture at the view's place would contain
        them."""
        with tempfile.TemporaryDirectory(prefix="lopsided-fit-") as folder:
            places = {view.place for view in self.views}
            points = [point for point, of in (("links", {"link"}), ("hosts", {"server", "client"})) if places & of]
            scenario.run(seed=self.seed, pcap=folder, pcap_at=points)  # pyright: ignore[reportArgumentType]
            listed = {each.flow: each.place for each in captures.read_index(Path(folder))}
            wanted = [listed[traffic.name] for traffic in self.draft.traffic]
            return [in_order(analyze(_file(Path(folder), view.place)), wanted) for view in self.views]


def in_order(capture: Capture, wanted: Sequence[tuple[str, int]]) -> list[Flow | None]:
    """Returns a capture's flows in the order of `wanted`, which contains the address and port of each receiver. If a
    receiver has several flows, the flow with the most data is returned."""
    found = flows(capture)
    receivers = [(flow.row["to"], flow.row["to_port"]) for flow in found]
    return [found[receivers.index(each)] if each in receivers else None for each in wanted]


def _file(folder: Path, place: str) -> Path:
    return folder / "link-link.pcapng" if place == "link" else captures.at_host(folder, place)
