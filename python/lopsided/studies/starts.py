"""Varies start times with the seed, so that repeated runs differ.

If nothing in a scenario is random, all seeds produce the same run, and intervals have no meaning. Flows that start at
the same time are also synchronised, which is a special case. Repeated runs therefore delay each flow by a short random
time.
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
"""Default maximum of the random start delay in short runs, as a fraction of the shortest run's duration."""
MOST_TRIALS = 24
"""Maximum number of scenarios per study that are simulated to find out whether seeds make a difference."""


@dataclass(frozen=True)
class Starts:
    """Scenarios to repeat, and the maximum random delay of their flows' starts in seconds."""

    scenarios: list[Scenario]
    jitter_s: float | None = None
    asked: bool = False

    @property
    def unasked_s(self) -> float | None:
        """The maximum start delay in seconds if it is the default; `None` if the user chose it, or if starts do not
        vary."""
        return None if self.asked else self.jitter_s

    @property
    def said(self) -> str:
        """Sentences about the default start delay and the option that changes it; empty if the default does not
        apply."""
        said = varies(self.unasked_s)
        return " ".join([*said, "--start-jitter sets another range; 0s means no delay."]) if said else ""


def varies(jitter_s: float | None) -> list[str]:
    """Returns the verdict's sentences about the default start delay; empty if the default does not apply."""
    if not jitter_s:
        return []
    return [f"Each flow starts up to {units.seconds(jitter_s)} later, at random, because nothing else is random."]


def varied(
    scenarios: Sequence[Scenario], repeat: int, jitter: str | float | None = None, workers: int | None = None
) -> Starts:
    """Returns the scenarios, changed so that each flow starts up to `jitter` later, at random.

    `jitter` is a time, and 0 means no delay. If `jitter` is `None` and two seeds of a scenario produce the same run, a
    default delay applies. Starts vary in all scenarios or in none. Raises UsageError if the time is invalid.
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
    """Returns the maximum start delay for `varied` in seconds; 0 if starts do not vary.

    `scenarios` may contain only the first few scenarios of the study. `shortest_s` is the duration of the shortest run.
    Raises UsageError if `jitter` is invalid.
    """
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
    """Delays each flow's start by a random time up to `jitter_s`."""
    return scenario.with_(**{"flow.*.start_jitter": f"{jitter_s:.9g} s"})
