"""Finds the scenario whose simulated packets are most similar to the packets of a capture.

    found = lop.fit("capture.pcapng")
    found.scenario            # run it, change it, or write it with `to_toml`
    found.parameters          # value and 95 % interval of rates, RTT, buffers and losses
    found.save("line")        # fit.toml, tables and report.html

The search starts from the values that `lopsided analyze` measures in the capture. It analyses the simulated packets in
the same way as the capture, and minimises the distance between the simulated and the captured packets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data.study_tables import FIT_CHOICES, FIT_PARAMETERS, FIT_REMEDIES, FIT_TIMELINE, FIT_TRIALS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.run_options import MOST_THREADS
from lopsided.scenario import checked_seed
from lopsided.studies.analyze import STANDARD_INPUT, analyze
from lopsided.studies.fit.alone import fit_log
from lopsided.studies.fit.draft import (
    chosen_flows,
    client_of,
    draft_of,
    first_structure,
    place_of,
    ways_of,
    with_log,
    with_queues,
)
from lopsided.studies.fit.line import WAYS, Way
from lopsided.studies.fit.logs import is_log, read_log
from lopsided.studies.fit.queues import observed
from lopsided.studies.fit.remedies import remedies as try_remedies
from lopsided.studies.fit.result import CLEAR, Fit
from lopsided.studies.fit.search import CLOSE, Search
from lopsided.studies.fit.statistics import Flow, Measure, flows
from lopsided.studies.fit.trials import Runner, View
from lopsided.studies.jobs import Progress, part_of
from lopsided.studies.options import FIT_LEAST_TRIALS
from lopsided.studies.options import FIT_TRIALS as TRIALS

if TYPE_CHECKING:
    from lopsided.studies.fit.trials import Trial

_SEARCH_SHARE = 0.9
"""The search accounts for this fraction of the reported progress, and the remedies for the rest."""


class Fitter:
    """A fit in progress. `result` can be called when `begun` is true."""

    def __init__(
        self,
        capture: str | Path,
        other: str | Path | None = None,
        *,
        flow: int | None = None,
        trials: int = TRIALS,
        seed: int = 1,
        workers: int | None = None,
        log: str | Path | None = None,
    ) -> None:
        if trials < FIT_LEAST_TRIALS:
            raise UsageError(f"a fit needs at least {FIT_LEAST_TRIALS} trials, not {trials}")
        if workers is not None and not 1 <= workers <= MOST_THREADS:
            raise UsageError(f"cannot run on {workers} workers: must be from 1 to {MOST_THREADS:,}")
        self.source = os.fspath(capture)
        self.seed = checked_seed(seed)
        self.trials = trials
        self.workers = workers or os.cpu_count() or 1
        found = analyze(capture)
        of_flows = chosen_flows(found, flow)
        ways = ways_of(of_flows, client_of(of_flows))
        measures = [Measure.of(each) for each in of_flows]
        self.draft = draft_of(of_flows, ways)
        place = place_of(of_flows, ways)
        if self.source != STANDARD_INPUT:
            sides: dict[Way, set[str]] = {"down": set(), "up": set()}
            for each, way in zip(of_flows, ways, strict=True):
                # Data in direction `down` flows to the client, so its destination is a client's address.
                sides[way].add(each.row["to"])
                sides["up" if way == "down" else "down"].add(each.row["from"])
            queues = observed(self.source, sides["down"], sides["up"], place, self.draft.floor_ms / 1e3)
            self.draft = with_queues(self.draft, queues)
        if log is not None:
            self.draft = with_log(self.draft, of_flows, read_log(Path(log)))
        views = [View.of(place, of_flows, measures)]
        if other is not None:
            if STANDARD_INPUT in (self.source, os.fspath(other)):
                raise UsageError("two captures cannot be read from standard input: name two files")
            views.append(_second(other, of_flows, ways))
        self.runner = Runner(self.draft, views, self.seed, self.workers)
        self.search = Search(self.runner, first_structure(self.draft, of_flows, ways), trials, self.seed)
        self._complete = False
        self._remedies: Table | None = None

    def run(self, progress: Progress | None = None, *, remedies: bool = True) -> Fit:
        """Runs all trials, tries the remedies, and returns the result."""
        share = _SEARCH_SHARE if remedies else 1.0
        report = part_of(progress, 0.0, share)
        if report is not None:
            self.runner.on_trial = lambda done: report(min(done / self.trials, 1.0))
        self.search.run()
        self._complete = True
        best = self.search.best()
        if remedies and best is not None:
            loaded: list[Way] = [way for way in WAYS if self.draft.ways[way].loaded]
            scenario = self.runner.scenario(best)
            self._remedies = try_remedies(
                scenario, loaded, workers=self.workers, progress=part_of(progress, share, 1 - share)
            )
        if progress is not None:
            progress(1.0)
        return self.result()

    @property
    def begun(self) -> bool:
        """True if at least one trial has run, so that a result exists."""
        return self.search.best() is not None

    def result(self) -> Fit:
        """Returns the result so far. At least one trial must have run."""
        best = self.search.best()
        assert best is not None
        scenario = self.runner.scenario(best)
        return Fit(
            source=self.source,
            scenario=scenario,
            distance=best.distance,
            parameters=Table.of(self._parameters(best), FIT_PARAMETERS),
            choices=Table.of(self._choices(best), FIT_CHOICES),
            timeline=Table.of(self._timeline(best), FIT_TIMELINE),
            trials=Table.of(self._trials(), FIT_TRIALS),
            remedies=self._remedies or Table.of([], FIT_REMEDIES),
            seed=self.seed,
            notes=self._notes(),
            complete=self._complete,
        )

    def _parameters(self, best: Trial) -> list[Row]:
        found: list[Row] = []
        # If the best trial's packets are far from the captured packets, the 95 % intervals of its parameters are
        # invalid.
        close = best.distance <= CLEAR
        logged = {f"rate.{way}" for way in WAYS if self.draft.ways[way].logged}
        for each in self.search.intervals(best):
            source = "log" if each.parameter.name in logged else "unknown"
            direct = each.parameter.direct
            found.append(
                {
                    "parameter": each.parameter.name,
                    "value": each.value,
                    "low": each.low if close or direct else None,
                    "high": each.high if close or direct else None,
                    "unit": each.parameter.unit,
                    "status": "measured"
                    if direct
                    else source
                    if not each.known
                    else "fitted"
                    if close
                    else "uncertain",
                    "explained": max(each.explained, 0.0),
                }
            )
        # Without load, the capture does not show the size of the FIFO. The table lists this buffer as unknown.
        for way in WAYS:
            if best.structure.queues[way] == "fifo" and not self.draft.ways[way].loaded:
                found.append({"parameter": f"buffer.{way}", "unit": "B", "status": "unknown", "explained": 0.0})
        for way in WAYS:
            queue = self.draft.ways[way].observed
            framing = queue.framing if queue else None
            of_way = {"parameter": f"framing.{way}", "unit": "B", "explained": 0.0}
            if framing is None:
                found.append({**of_way, "status": "unknown"})
            else:
                size = framing.overhead_bytes
                found.append({**of_way, "value": size, "low": size, "high": size, "status": "measured"})
        return found

    def _choices(self, best: Trial) -> list[Row]:
        found: list[Row] = []
        for way in WAYS:
            if self.draft.ways[way].loaded:
                found += _rated(f"queue.{way}", best, self.search.distances(f"queue.{way}"))
            if any(each.way == way for each in self.draft.traffic):
                found += _rated(f"cc.{way}", best, self.search.distances(f"cc.{way}"))
        return found

    def _timeline(self, best: Trial) -> list[Row]:
        simulated = self.runner.seen(self.runner.scenario(best))[0]
        found: list[Row] = []
        for traffic, other in zip(self.draft.traffic, simulated, strict=True):
            found += _over_time(traffic.name, "measured", traffic.flow, self.draft.begin_s)
            if other is not None:
                found += _over_time(traffic.name, "fitted", other, 0.0)
        return found

    def _trials(self) -> list[Row]:
        found: list[Row] = []
        for trial in self.runner.made:
            values = self.runner.values(trial.structure, trial.positions)
            found.append(
                {
                    "trial": trial.number,
                    "distance": trial.distance if np.isfinite(trial.distance) else None,
                    "structure": trial.structure.text,
                    "parameters": ", ".join(f"{name} = {value:.6g}" for name, value in values.items()),
                }
            )
        return found

    def _notes(self) -> list[str]:
        return list(self.draft.notes)


def fit(
    capture: str | Path,
    other: str | Path | None = None,
    *,
    flow: int | None = None,
    trials: int = TRIALS,
    remedies: bool = True,
    seed: int = 1,
    workers: int | None = None,
    log: str | Path | None = None,
    progress: Callable[[float], object] | None = None,
) -> Fit:
    """Finds the scenario whose simulated packets are most similar to the packets of a capture.

    Parameters
    ----------
    capture
        A pcap or pcapng file, as for `analyze`; or a log of Flent, Crusader or cake-autorate, which
        contains less information.
    other
        A second capture of the same flows at another point of the path. Both captures have the same weight.
    flow
        Number of the direction that is fitted, as in the table of `analyze`. Default: at most 12 flows, each with at
        least 2 % of the largest flow's data.
    trials
        Number of scenarios that are simulated.
    remedies
        True to also try remedies on the fitted line.
    seed
        Seed of the search and the simulations. The result for a seed does not depend on the number of workers.
    workers
        Number of threads; default: the number of cores.
    log
        A log of another measurement at the subscriber's side: a data file of Flent or Crusader, irtt's JSON, or a
        log of cake-autorate. The log provides the rate of a direction that has no load in the capture.
    progress
        Called with the completed fraction of the work, 0 to 1.

    Returns
    -------
    Fit
        The scenario, and values with 95 % intervals: rates in bit/s of IP packets, times in ms, buffers in bytes.
        Values that the packets do not determine are marked as unknown.

    Raises
    ------
    UsageError
        If a file is not a capture or a known log, if no data was acknowledged, or if the number of trials is invalid.
    """
    if is_alone(capture, other, flow=flow, log=log, trials=trials):
        return fit_log(Path(capture), with_remedies=remedies, seed=seed, workers=workers, progress=progress)
    fitter = Fitter(capture, other, flow=flow, trials=trials, seed=seed, workers=workers, log=log)
    return fitter.run(progress, remedies=remedies)


def is_alone(
    capture: str | Path, other: str | Path | None, *, flow: int | None, log: str | Path | None, trials: int
) -> bool:
    """Returns true if the file given as the capture is a log. Raises UsageError if another option needs a capture."""
    if os.fspath(capture) == STANDARD_INPUT or not is_log(Path(capture)):
        return False
    if other is not None or flow is not None or log is not None or trials != TRIALS:
        raise UsageError("the first file is a log: a second file, a flow, a log and trials need a capture")
    return True


def _second(other: str | Path, of_flows: Sequence[Flow], ways: Sequence[str]) -> View:
    """Returns the second capture with its flows in the order of `of_flows`, which contains the flows of the first
    capture."""
    found = {flow.key: flow for flow in flows(analyze(other))}
    same = [found.get(flow.key) for flow in of_flows]
    known = [flow for flow in same if flow is not None]
    if not known:
        raise UsageError("the two captures have no flow in common, by addresses and ports")
    of_known = [way for way, flow in zip(ways, same, strict=True) if flow is not None]
    measures = [Measure.of(mine or first) for mine, first in zip(same, of_flows, strict=True)]
    return View.of(place_of(known, of_known), same, measures)  # pyright: ignore[reportArgumentType]


def _rated(choice: str, best: Trial, distances: dict[str, float]) -> list[Row]:
    """Returns one row per candidate of a choice, such as the queue discipline of a direction. A candidate counts as
    possible if its distance from the capture is close to the smallest distance."""
    kind, _, way = choice.partition(".")
    chosen = (best.structure.queues if kind == "queue" else best.structure.controls)[way]  # pyright: ignore[reportArgumentType]
    found: list[Row] = []
    for name, distance in sorted(distances.items(), key=lambda each: (each[0] != chosen, each[1])):
        # If even the best distance is large, the fit distinguishes candidates less well. A wider range of distances
        # then counts as possible.
        near = distance <= best.distance * (1.1 if best.distance <= CLEAR else CLOSE) + 0.02
        status = "best" if name == chosen else "possible" if near else "rejected"
        found.append({"choice": choice, "name": name, "distance": distance, "status": status})
    return found


def _over_time(name: str, source: str, flow: Flow, begin_s: float) -> list[Row]:
    bins = flow.bins
    return [
        {
            "flow": name,
            "source": source,
            "time_s": float(time - begin_s),
            "goodput_bps": float(acked / width * 8),
            "rtt_mean_ms": None if np.isnan(rtt) else float(rtt),
            "outstanding_max_bytes": float(out),
        }
        for time, width, acked, rtt, out in zip(
            bins["time_s"],
            bins["width_s"],
            bins["acked_bytes"],
            bins["rtt_mean_ms"],
            bins["outstanding_max_bytes"],
            strict=True,
        )
    ]
