"""Reproduces a paper: runs what is asked for, reads figures, claims and sensitivities, and holds the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lopsided.papers.framework.lab import Lab, RunJobs, carry_out
from lopsided.papers.framework.model import Assumption, Claim, Exhibit, Figure, KeyResult, Paper, Variant, Verdict

Progress = Callable[[str, float], object]
"""Told what is being done and which share of it is done."""


@dataclass(frozen=True)
class ClaimOutcome:
    """A claim judged on the medians, and in how many single repetitions it holds."""

    claim: Claim
    verdict: Verdict
    held_in: int
    repetitions: int

    @property
    def surprising(self) -> bool:
        """Whether the verdict is not the one on record."""
        return self.verdict.holds == self.claim.known_not_to_hold


@dataclass(frozen=True)
class Sensitivity:
    """What one other value of an unstated parameter does."""

    assumption: Assumption
    variant: Variant
    results: Mapping[str, float]
    """Key results under the variant, by key."""
    flipped: tuple[str, ...]
    """Keys of the claims whose verdict changes."""


@dataclass(frozen=True)
class KeyOutcome:
    """A key result under the assumed values: median over the repetitions, and range."""

    result: KeyResult
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Reproduction:
    """Everything that was reproduced."""

    paper: Paper
    lab: Lab
    repetitions: int
    exhibits: tuple[tuple[Figure, Exhibit], ...] = ()
    claims: tuple[ClaimOutcome, ...] = ()
    key_outcomes: tuple[KeyOutcome, ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


def carry_through(
    paper: Paper,
    run_jobs: RunJobs,
    *,
    figures: Iterable[Figure],
    claims: bool,
    sensitivity: bool,
    repetitions: int,
    progress: Progress = lambda _what, _share: None,
) -> Reproduction:
    """Runs the experiments that the asked figures and claims need, then reads them.

    With `sensitivity`, the paper's `varied` experiments are run under every variant of every assumption too, with one
    seed: the spread between seeds is known from the assumed values.
    """
    figures = tuple(figures)
    judged = paper.claims if claims else ()
    needed = {key for item in (*figures, *judged) for key in item.needs}
    experiments = [experiment for experiment in paper.experiments if experiment.key in needed]
    lab = carry_out(paper, experiments, repetitions, run_jobs, progress=lambda share: progress("experiments", share))
    exhibits = tuple((figure, figure.make(lab)) for figure in figures)
    outcomes = _judge(judged, lab)
    keys = _key_outcomes(paper, lab) if sensitivity else ()
    sensitivities = _vary(paper, outcomes, run_jobs, progress) if sensitivity else ()
    return Reproduction(
        paper=paper,
        lab=lab,
        repetitions=repetitions,
        exhibits=exhibits,
        claims=outcomes,
        key_outcomes=keys,
        sensitivities=sensitivities,
        digests={experiment.key: lab.digest(experiment.key) for experiment in experiments},
    )


def _judge(claims: Iterable[Claim], lab: Lab) -> tuple[ClaimOutcome, ...]:
    single = [lab.only(repetition) for repetition in lab.repetitions]
    return tuple(
        ClaimOutcome(
            claim=claim,
            verdict=claim.check(lab),
            held_in=sum(claim.check(one).holds for one in single),
            repetitions=len(single),
        )
        for claim in claims
    )


def _key_outcomes(paper: Paper, lab: Lab) -> tuple[KeyOutcome, ...]:
    outcomes = []
    for result in paper.key_results:
        single = [result.read(lab.only(repetition)) for repetition in lab.repetitions]
        outcomes.append(KeyOutcome(result, result.read(lab), min(single), max(single)))
    return tuple(outcomes)


def _vary(
    paper: Paper, base: tuple[ClaimOutcome, ...], run_jobs: RunJobs, progress: Progress
) -> tuple[Sensitivity, ...]:
    pairs = [(assumption, variant) for assumption in paper.assumptions for variant in assumption.variants]
    experiments = [paper.experiment(key) for key in paper.varied]
    judged = [outcome for outcome in base if set(outcome.claim.needs) <= set(paper.varied)]
    found = []
    for number, (assumption, variant) in enumerate(pairs):
        progress("assumptions", number / len(pairs))
        lab = carry_out(paper, experiments, 1, run_jobs, overrides=variant.overrides, keep_runs=False)
        results = {result.key: result.read(lab) for result in paper.key_results}
        flipped = [outcome.claim.key for outcome in judged if outcome.claim.check(lab).holds != outcome.verdict.holds]
        found.append(Sensitivity(assumption, variant, results, tuple(flipped)))
    progress("assumptions", 1.0)
    return tuple(found)
