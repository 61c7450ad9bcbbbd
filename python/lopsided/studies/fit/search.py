"""Searches for a line's structure and parameters in three stages:

1. Queue disciplines, congestion controls and random loss are tried per direction. If data and ACKs share a queue, the
   search scans the buffers first.
2. CMA-ES (Hansen 2016) refines the parameters of the best structures. Then each of these structures is simulated with
   the best parameters.
3. Parameters around the best trial are sampled. The intervals are computed by a linear regression on the statistics of
   these samples (Beaumont et al. 2002, approximate Bayesian computation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from cmaes import CMA  # pyright: ignore[reportMissingTypeStubs]

from lopsided.studies.fit.draft import controls_to_try, may_lose, queues_to_try
from lopsided.studies.fit.line import GUESSED, WAYS, Parameter, Structure, Way
from lopsided.studies.fit.trials import Runner, Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

USUAL = ("cubic", "bbr")
"""Congestion controls that are tried with every discipline."""
KEPT = 6
"""Number of the closest structures that are simulated again with slightly changed parameters."""
NUDGES = (0.3, -0.3, 0.1, -0.1)
"""Changes of the parameters, in units of their spread, for simulating a structure again with nearby parameters."""
NEIGHBOURS = 4
"""Number of nearest trials whose mean score also counts when the best trial is chosen."""
FINALISTS = 6
"""Number of structures whose parameters are refined."""
TRIED = 2
"""Number of disciplines that are tried with every congestion control."""
FURTHER = 2.5
CLOSE = 1.5
"""A structure is kept if its distance is at most this multiple of the best distance."""
SCAN = 13
"""Number of rates that are tried in a direction whose rate was not measured."""
BUFFERS = (-2.5, -1.25, 0.0, 1.25, 2.5)
"""Buffer positions that are tried first if flows run in both directions, in units of the spread."""
CALM = 0.3
"""If the best trial has a score below this value, the scores of the nearest trials are not considered."""
ROUND = 3
"""Structures that are much worse than the best are dropped after every `ROUND` generations of CMA-ES."""
AROUND = 0.2
"""Fraction of the trials that is used to sample parameters around the best trial."""
RADII = (1.0, 0.5, 0.25)
"""Standard deviations of the parameters that are sampled around the best trial, in units of their spread; one value per
round of samples."""
LEAST_SAMPLES = 8
"""Minimum number of trials for which a regression is computed."""
POPULATION = 8
BOUND = 4.0
"""Largest distance of a parameter from its starting value, in units of its spread."""
SHOWN = 0.5
"""A parameter is unknown if the statistics explain less than this fraction of its variance."""
WIDTH = 1.96
"""Half-width of a 95 % interval, in standard deviations."""


@dataclass(frozen=True)
class Interval:
    """A fitted value and its 95 % bounds. A bound is `None` if it is unknown."""

    parameter: Parameter
    value: float
    low: float | None
    high: float | None
    explained: float
    """Fraction of the variance that the statistics explain."""

    @property
    def known(self) -> bool:
        """True if the packets determine the parameter."""
        return self.low is not None and self.high is not None


@dataclass
class _Arm:
    structure: Structure
    optimiser: CMA
    score: float = float("inf")
    """Mean score of the better half of the last generation. A single trial can be close by chance."""


@dataclass
class Search:
    runner: Runner
    structure: Structure
    trials: int
    seed: int
    _begins: dict[str, float] = field(default_factory=dict[str, float])
    """Starting position of each parameter (see `Parameter.value`), the same for all structures. Default: 0."""
    _settled: str | None = None
    """Key of the structure whose runs are closest to the measurement on average over several trials; `None` if the
    structures were not compared by several trials."""

    _final: Trial | None = None
    """The best trial of the search. Parameters that the data did not determine have their starting values."""

    def distances(self, choice: str) -> dict[str, float]:
        """Returns the smallest distance of a trial for each candidate of a choice. For example, the choice `queue.down`
        has the candidates `fifo`, `codel`, ..."""
        return _closest(self.runner.made, choice)

    def best(self) -> Trial | None:
        """Returns the best trial so far; `None` if there is none.

        If the directions interact, small changes decide which packets are lost, so a trial can be close by chance. To
        avoid such a trial, the mean score of the nearest trials counts as much as the trial's own score.
        """
        if self._final is not None:
            return self._final
        made = [trial for trial in self.runner.made if self._settled in (None, trial.structure.key)]
        first = min(made, key=lambda trial: trial.score, default=None)
        if first is None or first.score < CALM:
            return first
        same = [trial for trial in self.runner.made if trial.structure.key == first.structure.key]
        places = np.array([trial.positions for trial in same])
        scores = np.array([min(trial.score, 1e6) for trial in same])

        def local(number: int) -> float:
            apart = np.square(places - places[number]).sum(axis=1)
            around = np.argsort(apart, kind="stable")[1 : 1 + NEIGHBOURS]
            return float(scores[number] + (scores[around].mean() if len(around) else 0.0))

        return same[min(range(len(same)), key=local)]

    def run(self) -> None:
        """Runs all trials. The runner stores their results."""
        found = self._structures()
        self._refine(
            [_Arm(each, self._optimiser(each, start)) for each, start in zip(found, self._scanned(found), strict=True)]
        )
        self._compare(found)
        best = self.best()
        if best is not None:
            self._around(best, max(self.trials - len(self.runner.made), POPULATION))
            self._reset_unknown()

    # --- structures ---------------------------------------------------------------------------------------------------

    def _structures(self) -> list[Structure]:
        """Returns the closest structures, best first."""
        data = dict.fromkeys(WAYS, 0)
        for traffic in self.runner.draft.traffic:
            data[traffic.way] += traffic.flow.row["acked_bytes"] or 0
        loaded: list[Way] = sorted((way for way in WAYS if data[way]), key=lambda way: -data[way])
        chosen, ranked = self.structure, [self.structure]
        if len(loaded) > 1:
            self._scan_buffers(loaded)
            chosen = self._of_ways(chosen, loaded)[0]
        for way in loaded:
            ranked = self._of_ways(chosen, [way])
            chosen = ranked[0]
        best = self._mean(chosen)
        return [each for each in ranked[:FINALISTS] if self._mean(each) <= FURTHER * best + 0.05]

    def _scan_buffers(self, ways: Sequence[Way]) -> None:
        """Sets the starting positions of the buffers, first in one direction and then in the other direction.

        If data and ACKs share a buffer, its size can be far from the guess. A wrong buffer then hides the right
        structure.
        """
        guesses = list(dict.fromkeys([*(self.structure.controls[way] for way in ways), *USUAL]))
        base = self.structure
        for way in ways:
            base = base.with_queue(way, "fifo")
        structures = list(
            {each.key: each for each in (self._with_control(base, ways, name) for name in guesses)}.values()
        )
        # The slow uplink is scanned first. Its buffer matters most, because the uplink carries the download's ACKs.
        for way in reversed(ways):
            name = f"buffer.{way}"
            seen = self.runner.draft.ways[way]
            measured = seen.observed is not None and seen.observed.buffer_packets is not None
            if seen.mixed and seen.loaded and not measured:
                wanted: list[tuple[Structure, list[float]]] = []
                for place in BUFFERS:
                    self._begins[name] = place
                    wanted += [(each, self._start(each)) for each in structures]
                made = self.runner.run(wanted)
                best = min(range(len(made)), key=lambda number: made[number].distance)
                self._begins[name] = BUFFERS[best // len(structures)]

    def _of_ways(self, base: Structure, ways: Sequence[Way]) -> list[Structure]:
        """Tries the same disciplines and congestion controls in all given directions. Returns the best structures."""

        def changed(queue: str, control: str, *, lossy: bool = False) -> Structure:
            found = base
            for way in ways:
                possible = queues_to_try(draft, way)
                found = found.with_queue(way, queue if queue in possible else possible[0])
                found = found.with_loss(way, lossy=lossy and may_lose(draft, way))
            return self._with_control(found, ways, control)

        draft = self.runner.draft
        guesses = dict.fromkeys([*(base.controls[way] for way in ways), *USUAL])
        queues = dict.fromkeys(queue for way in ways for queue in queues_to_try(draft, way))
        controls = list(dict.fromkeys(name for way in ways for name in controls_to_try(draft, way)))
        first = [changed(queue, control) for queue in queues for control in guesses]
        kept = dict.fromkeys(each.queues[ways[0]] for each in self._ranked(first))
        tried = [*first, *(changed(queue, control) for queue in list(kept)[:TRIED] for control in controls)]
        if any(may_lose(draft, way) for way in ways):
            tried += [changed("fifo", control, lossy=True) for control in controls]
        return sorted(self._ranked(tried)[:KEPT], key=self._mean)

    def _with_control(self, base: Structure, ways: Sequence[Way], name: str) -> Structure:
        """Returns a structure with this congestion control in the given directions. A direction whose congestion
        control is known keeps the known one."""
        for way in ways:
            possible = controls_to_try(self.runner.draft, way)
            base = base.with_control(way, name if name in possible else possible[0])
        return base

    def _ranked(self, structures: Sequence[Structure]) -> list[Structure]:
        """Simulates each structure with its starting values. Returns the structures in order of score, best first."""
        distinct = list({each.key: each for each in structures}.values())
        made = self.runner.run([(each, self._start(each)) for each in distinct])
        order = sorted(range(len(distinct)), key=lambda number: made[number].score)
        return [distinct[number] for number in order]

    @property
    def _nudges(self) -> tuple[float, ...]:
        two_way = len({each.way for each in self.runner.draft.traffic}) > 1
        return NUDGES if two_way else NUDGES[:2]

    def _start(self, structure: Structure) -> list[float]:
        return [self._begins.get(each.name, 0.0) for each in self.runner.draft.parameters(structure)]

    def _mean(self, structure: Structure, places: Sequence[float] | None = None) -> float:
        """Returns the mean distance at the given positions (default: the starting values) and at nearby positions.

        Each small change decides which packets are lost, so a single run can be close by chance.
        """
        places = list(places or self._start(structure))
        signs = np.where(np.arange(len(places)) % 2, -1.0, 1.0)
        nearby = [places, *(list(np.array(places) + signs * share) for share in self._nudges)]
        return float(np.mean([trial.distance for trial in self.runner.run([(structure, each) for each in nearby])]))

    # --- numbers ------------------------------------------------------------------------------------------------------

    def _scanned(self, structures: Sequence[Structure]) -> list[list[float]]:
        """Returns starting positions for each structure.

        If a direction carries only ACKs, its rate can be far from the guess, and all high rates have the same effect.
        The whole range is therefore scanned with the best structure.
        """
        best = structures[0]
        guesses = {
            each.name
            for each in self.runner.draft.parameters(best)
            if each.name.startswith("rate.") and each.spread == GUESSED
        }
        scanned: dict[str, float] = {}
        for name in sorted(guesses):
            number = [each.name for each in self.runner.draft.parameters(best)].index(name)
            start = self._start(best)
            grid = [[*start[:number], float(place), *start[number + 1 :]] for place in np.linspace(-BOUND, BOUND, SCAN)]
            made = self.runner.run([(best, each) for each in grid])
            scanned[name] = min(made, key=lambda trial: trial.score).positions[number]
        return [[scanned.get(each.name, start) for each, start in self._started(structure)] for structure in structures]

    def _started(self, structure: Structure) -> list[tuple[Parameter, float]]:
        return list(zip(self.runner.draft.parameters(structure), self._start(structure), strict=True))

    def _compare(self, structures: Sequence[Structure]) -> None:
        """Runs each structure with the parameters of the best trial, because its own parameters may be less refined.

        The best disciplines are tried with every congestion control. With two-way flows, the closest structures are
        compared by the mean of several trials.
        """
        best = self.best()
        if best is None or not np.isfinite(best.distance):
            return
        ways: list[Way] = list(dict.fromkeys(traffic.way for traffic in self.runner.draft.traffic))
        others = [
            best.structure.with_control(way, name) for way in ways for name in controls_to_try(self.runner.draft, way)
        ]
        distinct = list({each.key: each for each in [best.structure, *structures, *others]}.values())
        places = [self._converted(best, each) for each in distinct]
        made = self.runner.run(list(zip(distinct, places, strict=True)))
        if len(ways) < 2:
            return
        order = sorted(range(len(distinct)), key=lambda number: made[number].distance)[:FINALISTS]
        means = {distinct[number].key: self._mean(distinct[number], places[number]) for number in order}
        self._settled = min(means, key=lambda key: means[key])

    def _converted(self, best: Trial, structure: Structure) -> list[float]:
        """Converts a trial's parameter values to search positions in another structure. If a parameter does not occur
        in the trial, it keeps the starting value of `structure`."""
        values = self.runner.values(best.structure, best.positions)
        found: list[float] = []
        for each, start in self._started(structure):
            value = values.get(each.name, each.value(start))
            found.append(float(np.clip(np.log(value / each.start) / each.spread, -BOUND, BOUND)))
        return found

    def _optimiser(self, structure: Structure, start: Sequence[float]) -> CMA:
        bounds = np.tile([-BOUND, BOUND], (len(start), 1))
        middle = np.clip(start, 0.9 * -BOUND, 0.9 * BOUND)
        return CMA(mean=middle, sigma=0.7, bounds=bounds, seed=self.seed % 2**32, population_size=POPULATION)

    def _refine(self, arms: list[_Arm]) -> None:
        """Minimises the distance of each structure. Structures that are much worse than the best are dropped."""
        end = int(self.trials * (1 - AROUND))
        while arms and len(self.runner.made) + POPULATION * len(arms) <= end:
            for _ in range(ROUND):
                self._generation(arms)
            best = min(arm.score for arm in arms)
            arms = sorted(arms, key=lambda arm: arm.score)[: max(1, (len(arms) + 1) // 2)]
            arms = [arm for arm in arms if arm.score <= CLOSE * best + 0.02]

    def _generation(self, arms: Sequence[_Arm]) -> None:
        asked = [[arm.optimiser.ask() for _ in range(POPULATION)] for arm in arms]
        wanted = [(arm.structure, list(each)) for arm, of_arm in zip(arms, asked, strict=True) for each in of_arm]
        made = self.runner.run(wanted)
        for number, (arm, of_arm) in enumerate(zip(arms, asked, strict=True)):
            scores = [min(trial.score, 1e6) for trial in made[number * POPULATION : (number + 1) * POPULATION]]
            arm.optimiser.tell(list(zip(of_arm, scores, strict=True)))
            arm.score = float(np.mean(sorted(scores)[: POPULATION // 2]))

    def _around(self, best: Trial, trials: int) -> None:
        """Samples parameters around the best trial. Then moves to the position at which a regression predicts the
        statistics of the capture.

        The regression is linear, so a step covers only part of the distance.
        """
        rng = np.random.default_rng(self.seed)
        for number, radius in enumerate(RADII):
            count = max(1, trials // len(RADII) - (1 if number else 0))
            drawn = np.array(best.positions) + radius * rng.normal(size=(count, len(best.positions)))
            self.runner.run([(best.structure, list(np.clip(each, -BOUND, BOUND))) for each in drawn])
            samples = self._samples(best)
            moved = np.array([each.estimate for each in samples])
            known = np.array([each.explained >= SHOWN for each in samples])
            places = np.where(known, moved, best.positions)
            (step,) = self.runner.run([(best.structure, list(np.clip(places, -BOUND, BOUND)))])
            if step.score < best.score:
                best = step

    def _reset_unknown(self) -> None:
        """Resets parameters that the packets do not determine to their starting values, if the distance stays small.

        The search changes such parameters at random. For example, a rate for ACKs that is much too low would make
        predictions wrong.
        """
        best = self.best()
        if best is None or not np.isfinite(best.distance):
            return
        known = [each.known for each in self.intervals(best)]
        places = [at if is_known else 0.0 for at, is_known in zip(best.positions, known, strict=True)]
        (reset,) = self.runner.run([(best.structure, places)])
        if reset.distance <= CLOSE * best.distance + 0.05:
            self._final = reset

    # --- intervals ----------------------------------------------------------------------------------------------------

    def intervals(self, best: Trial) -> list[Interval]:
        """Returns the parameters of the best structure with their intervals."""
        found: list[Interval] = []
        samples = self._samples(best)
        for parameter, at, sample in zip(
            self.runner.draft.parameters(best.structure), best.positions, samples, strict=True
        ):
            value = parameter.value(at)
            if parameter.direct:
                low, high = parameter.value(-parameter.measured), parameter.value(parameter.measured)
                found.append(Interval(parameter, value, min(low, value), max(high, value), 1.0))
                continue
            if sample.explained < SHOWN:
                low, high = parameter.value(at - parameter.measured), parameter.value(at + parameter.measured)
                bounds = (low, high) if parameter.measured else (None, None)
                found.append(Interval(parameter, value, *bounds, sample.explained))
                continue
            half = WIDTH * sample.error
            low, high = min(sample.estimate, at) - half, max(sample.estimate, at) + half
            found.append(Interval(parameter, value, parameter.value(low), parameter.value(high), sample.explained))
        return found

    def _samples(self, best: Trial) -> list[_Estimate]:
        """Regresses each parameter on the statistics of nearby trials."""
        near = [
            trial
            for trial in self.runner.made
            if trial.structure.key == best.structure.key and trial.apart.shape == best.apart.shape
        ]
        near = sorted(near, key=lambda trial: trial.distance)[: max(20 * len(best.positions), 40)]
        positions = np.array([trial.positions for trial in near])
        apart = np.array([trial.apart for trial in near])
        return [_regressed(apart, positions[:, number]) for number in range(len(best.positions))]


@dataclass(frozen=True)
class _Estimate:
    """The position at which the regression predicts the capture's statistics."""

    estimate: float
    error: float
    """Standard deviation of the leave-one-out error."""
    explained: float
    """Fraction of the variance that the statistics explain."""


def _regressed(apart: NDArray[np.float64], positions: NDArray[np.float64]) -> _Estimate:
    """Estimates the position at which all statistics equal the observed statistics, by ridge regression."""
    if len(positions) < LEAST_SAMPLES or positions.std() == 0:
        return _Estimate(0.0, float("inf"), 0.0)
    scale = apart.std(axis=0)
    used = scale > 0
    features = (apart - apart.mean(axis=0))[:, used] / scale[used]
    at_capture = -apart.mean(axis=0)[used] / scale[used]
    target = positions - positions.mean()
    found_svd: tuple[NDArray[np.float64], ...] = np.linalg.svd(features, full_matrices=False)
    left, singular, right = found_svd
    found: list[_Estimate] = []
    for ridge in np.geomspace(1e-3, 1e4, 15):
        shrink = singular**2 / (singular**2 + ridge)
        fitted = left @ (shrink * (left.T @ target))
        # `left_out` is the leave-one-out error of each trial.
        leverage = np.sum(left**2 * shrink, axis=1) + 1 / len(target)
        left_out = (target - fitted) / np.maximum(1 - leverage, 0.05)
        deviation = math.sqrt(float(left_out @ left_out) / len(left_out))
        slopes = right.T @ (singular / (singular**2 + ridge) * (left.T @ target))
        estimate = float(np.clip(positions.mean() + at_capture @ slopes, positions.min(), positions.max()))
        found.append(_Estimate(estimate, deviation, 1 - deviation**2 / float(np.var(target))))
    return min(found, key=lambda each: each.error)


def _closest(trials: Sequence[Trial], key: str) -> dict[str, float]:
    """Returns, for each candidate of a choice, the smallest distance of its trials. The closest candidate is first."""
    kind, _, way = key.partition(".")
    found: dict[str, float] = {}
    for trial in trials:
        of = {"queue": trial.structure.queues, "cc": trial.structure.controls}[kind]
        name = of[way]  # pyright: ignore[reportArgumentType]
        found[name] = min(found.get(name, float("inf")), trial.distance)
    return dict(sorted(found.items(), key=lambda each: each[1]))
