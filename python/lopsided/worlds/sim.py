"""The simulated world: the native module runs scenarios in virtual time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lopsided import _native, own_code
from lopsided.controllers import label
from lopsided.data import captures, columns
from lopsided.errors import UsageError
from lopsided.queues import used_by
from lopsided.scenario import Run

if TYPE_CHECKING:
    from lopsided.run_options import RunOptions
    from lopsided.scenario import Scenario
    from lopsided.worlds.base import Job

_LOOK_S = 0.05
"""Seconds between checks for progress and signals."""


def run(scenario: Scenario, seed: int, options: RunOptions) -> Run:
    """Runs the scenario once."""
    _check(options)
    capture = None
    if options.pcap is not None:
        capture = (os.fspath(options.pcap), "hosts" in options.pcap_at, "links" in options.pcap_at)
    asks_python = bool(scenario.controllers or used_by(scenario.resolved))
    batch = _native.Batch([(scenario.native, seed)], 1, capture, 1 if asks_python else options.cores)
    for _, raw in _finished(batch, 1, options.progress):
        if options.pcap is not None:
            captures.write_index(options.pcap, _listed(scenario))
        run = to_run(scenario, raw)
        if options.cores > 1:
            run.facts["cores"] = _cores(raw)
        return run
    raise AssertionError("a batch of one run returned no run")


def _cores(raw: dict[str, Any]) -> dict[str, Any]:
    """Returns the number of used cores, and the reason for this number."""
    if raw["cores"] is None:
        return {"used": 1, "share": 0.0, "why": "code of your own runs in Python, one thread at a time"}
    used, share, why = raw["cores"]
    return {"used": used, "share": share, "why": why}


def check(scenario: Scenario, options: RunOptions) -> None:
    """Raises UsageError for an option of another world."""
    del scenario
    _check(options)


def _check(options: RunOptions) -> None:
    if options.kernel is not None:
        raise UsageError(f"the world sim has no kernel {options.kernel!r} to run in: add the world kernel")
    if options.ours:
        raise UsageError("in the world sim every host has the simulator's TCP: --ours is for the world live")


def _listed(scenario: Scenario) -> list[captures.Listed]:
    flows = scenario.resolved["flows"]
    places = scenario.native.receivers()
    return [
        captures.Listed(flow["name"], flow["from"], flow["to"], *place)
        for flow, place in zip(flows, places, strict=True)
    ]


def run_many(jobs: Sequence[Job], options: RunOptions, *, workers: int | None = None) -> Iterator[tuple[int, Run]]:
    """Runs jobs on `workers` threads (default: all cores). When a job finishes, yields its number and its run."""
    _check(options)
    batch = _native.Batch([(job.scenario.native, job.seed) for job in jobs], workers or os.cpu_count() or 1)
    for number, raw in _finished(batch, len(jobs), options.progress):
        yield number, to_run(jobs[number].scenario, raw)


def _finished(
    batch: _native.Batch, jobs: int, progress: Callable[[float], object] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    # Python handles signals in this thread. An interrupt then stops the other threads.
    left = jobs
    try:
        while left:
            finished = batch.wait(_LOOK_S)
            if progress is not None:
                progress(batch.fraction())
            if finished is not None:
                left -= 1
                yield finished
    finally:
        if left:
            own_code.stop(batch)


def run_raw(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Runs the scenario and returns the native module's plain values, which other processes can receive."""
    batch = _native.Batch([(scenario.native, seed)], 1)
    for _, raw in _finished(batch, 1, None):
        return raw
    raise AssertionError("a batch of one run returned no run")


def to_run(scenario: Scenario, raw: dict[str, Any]) -> Run:
    """Builds a run from the values of `run_raw`."""
    tables = columns.Frames(raw["tables"])
    facts = {"events": raw["events"], "packets": raw["packets"]}
    if scenario.controllers:
        facts["controllers"] = {name: label(make) for name, make in scenario.controllers.items() if make}
    if own := used_by(scenario.resolved):
        facts["disciplines"] = own
    return Run(scenario=scenario, seed=raw["seed"], tables=tables, digest=raw["digest"], facts=facts)
