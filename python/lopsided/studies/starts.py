"""Start times that vary with the seed, so that repeated runs differ.

Where nothing in a scenario is random, all seeds give one and the same run: an interval over them says nothing. And the
one run is a special case, because flows that start at the same instant meet in step. So commands that repeat let each
flow start a little later, by a time drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

USUAL_JITTER_S = 1.0
_SHARE_OF_RUN = 0.05
"""Share of a short run's duration that the starts vary by instead."""
_MOST_TRIALS = 24
"""Scenarios of a study that are tried for whether anything in them is random."""


@dataclass(frozen=True)
class Starts:
    """Scenarios to repeat, and by how much the start of each of their flows varies because of it."""

    scenarios: list[Scenario]
    jitter_s: float | None = None
    asked: bool = False
    """Whether the user asked for this variation."""

    @property
    def said(self) -> str:
        """A sentence on what was changed, or nothing."""
        if self.jitter_s is None or self.asked:
            return ""
        return (
            f"Each flow starts up to {units.seconds(self.jitter_s)} later, drawn from the seed, because nothing else "
            "here is random; --start-jitter sets another time, 0s none."
        )


def varied(
    scenarios: Sequence[Scenario], repeat: int, jitter: str | float | None = None, workers: int | None = None
) -> Starts:
    """The scenarios with start times that vary: by `jitter` (a time; 0 for none), or, if that is None, where two seeds
    of one of them give the same run.

    All of them vary if one does, so that they differ in nothing else. Raises UsageError for a time that cannot be.
    """
    if jitter is not None:
        wanted = units.parse_time(jitter)
        if not 0 <= wanted < min(scenario.duration_s for scenario in scenarios):
            raise UsageError(f"--start-jitter {jitter}: write a time shorter than the run, such as 1s")
        # Without a unit the time may have been a number.
        return Starts([_with(each, wanted) for each in scenarios], wanted, asked=True) if wanted else _kept(scenarios)
    if repeat < 2 or all(_jitters(scenario) for scenario in scenarios):
        return _kept(scenarios)
    tried = list(scenarios)[:_MOST_TRIALS]
    jobs = [Job(each, each.seed + number) for each in tried for number in range(2)]
    digests = run_jobs(jobs, lambda _, run: run.digest, workers=workers)
    if all(one != other for one, other in zip(digests[::2], digests[1::2], strict=True)):
        return _kept(scenarios)
    shortest = min(scenario.duration_s for scenario in scenarios)
    usual = min(USUAL_JITTER_S, shortest * _SHARE_OF_RUN)
    return Starts([_with(each, usual) for each in scenarios], usual)


def _kept(scenarios: Sequence[Scenario]) -> Starts:
    return Starts(list(scenarios))


def _jitters(scenario: Scenario) -> bool:
    return any(flow["start_jitter_s"] > 0 for flow in scenario.resolved["flows"])


def _with(scenario: Scenario, jitter_s: float) -> Scenario:
    return scenario.with_(**{"flow.*.start_jitter": f"{jitter_s:.9g} s"})
