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
MOST_TRIALS = 24
"""Scenarios of a study that are tried for whether anything in them is random."""


@dataclass(frozen=True)
class Starts:
    """Scenarios to repeat, and by how much the start of each of their flows varies because of it."""

    scenarios: list[Scenario]
    jitter_s: float | None = None
    asked: bool = False
    """Whether the user asked for this variation."""

    @property
    def unasked_s(self) -> float | None:
        """The variation in seconds that the user did not ask for, None if there is none."""
        return None if self.asked else self.jitter_s

    @property
    def said(self) -> str:
        """A sentence on what was changed and how to set it, or nothing."""
        said = varies(self.unasked_s)
        return " ".join([*said, "--start-jitter sets another time, 0s none."]) if said else ""


def varies(jitter_s: float | None) -> list[str]:
    """The sentence on starts that vary by this time without being asked to, for verdicts; none for None."""
    if not jitter_s:
        return []
    return [
        f"Each flow starts up to {units.seconds(jitter_s)} later, drawn from the seed: nothing else here is random."
    ]


def varied(
    scenarios: Sequence[Scenario], repeat: int, jitter: str | float | None = None, workers: int | None = None
) -> Starts:
    """The scenarios with start times that vary: by `jitter` (a time; 0 for none), or, if that is None, where two seeds
    of one of them give the same run.

    All of them vary if one does, so that they differ in nothing else. Raises UsageError for a time that cannot be.
    """
    shortest_s = min(scenario.duration_s for scenario in scenarios)
    chosen_s = chosen(scenarios, shortest_s, repeat, jitter, workers)
    if not chosen_s:
        return Starts(list(scenarios))
    return Starts([within(each, chosen_s) for each in scenarios], chosen_s, asked=jitter is not None)


def chosen(
    scenarios: Sequence[Scenario],
    shortest_s: float,
    repeat: int,
    jitter: str | float | None = None,
    workers: int | None = None,
) -> float:
    """The time in seconds that `varied` takes, 0 for none. The shortest run of the study takes `shortest_s`; of its
    scenarios the first few are enough here. Raises UsageError for a time that cannot be."""
    if jitter is not None:
        wanted = units.parse_time(jitter)
        if not 0 <= wanted < shortest_s:
            raise UsageError(f"--start-jitter {jitter}: write a time shorter than the run, such as 1s")
        return wanted
    if repeat < 2 or all(_jitters(scenario) for scenario in scenarios):
        return 0.0
    tried = list(scenarios)[:MOST_TRIALS]
    jobs = [Job(each, each.seed + number) for each in tried for number in range(2)]
    digests = run_jobs(jobs, lambda _, run: run.digest, workers=workers)
    if all(one != other for one, other in zip(digests[::2], digests[1::2], strict=True)):
        return 0.0
    return min(USUAL_JITTER_S, shortest_s * _SHARE_OF_RUN)


def _jitters(scenario: Scenario) -> bool:
    return any(flow["start_jitter_s"] > 0 for flow in scenario.resolved["flows"])


def within(scenario: Scenario, jitter_s: float) -> Scenario:
    """The scenario whose flows each start up to `jitter_s` later than it says."""
    return scenario.with_(**{"flow.*.start_jitter": f"{jitter_s:.9g} s"})
