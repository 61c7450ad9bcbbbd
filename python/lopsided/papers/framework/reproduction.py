"""Reproduces a paper: runs its experiments, draws its figures, judges its claims, and varies its assumptions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lopsided.data import units
from lopsided.papers.framework import covered as covering
from lopsided.papers.framework.experiments import RunJobs, run_experiments
from lopsided.papers.framework.failing import CAUSES
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Assumption, Claim, Figure, KeyResult, Paper, Variant, Verdict

Progress = Callable[[str, float], object]
"""A function that is called with the current activity and its completed fraction, from 0 to 1."""


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on a claim, computed from the medians, and the number of repetitions in which the claim holds."""

    claim: Claim
    verdict: Verdict
    held_in: int
    repetitions: int
    recorded: bool = True
    """True if the runs use the paper's own seeds, so that the recorded verdict applies."""

    @property
    def surprising(self) -> bool:
        return self.recorded and self.verdict.holds == self.claim.known_not_to_hold

    @property
    def unanimous(self) -> bool:
        """True if the verdict on each repetition is the same as the verdict on the medians."""
        return self.held_in == (self.repetitions if self.verdict.holds else 0)

    @property
    def is_toss(self) -> bool:
        """True if the claim holds for at least 25 % of the seeds and fails for at least 25 % of the seeds."""
        return min(self.held_in, self.repetitions - self.held_in) >= self.repetitions / 4


@dataclass(frozen=True)
class Move:
    """A claim whose verdict changes under a variant, with the new verdict.

    `steady` is true if the verdict under the assumed values is the same for all seeds.
    """

    claim: Claim
    holds_now: bool
    steady: bool

    def __str__(self) -> str:
        return f"{self.claim.key}: {'now holds' if self.holds_now else 'now fails'}{'' if self.steady else ' (?)'}"


@dataclass(frozen=True)
class Sensitivity:
    """The results that change if one variant, or a pair of variants, replaces the assumed values."""

    varied: tuple[tuple[Assumption, Variant], ...]
    results: Mapping[str, float]
    """The key results under the variant, by key."""
    moves: tuple[Move, ...]
    together: tuple[Move, ...] = ()
    """The verdicts that change if both variants of a pair apply, but under neither variant alone."""


@dataclass(frozen=True)
class KeyOutcome:
    """A key result under the assumed values, with its range over the repetitions."""

    result: KeyResult
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Reproduction:
    """The outcome of reproducing a whole paper or part of it."""

    paper: Paper
    measurements: Measurements
    repetitions: int
    seed: int = 1
    """Seed of the first repetition; 1 means the scenario's own seed."""
    artifacts: tuple[tuple[Figure, Artifact], ...] = ()
    claims: tuple[ClaimOutcome, ...] = ()
    key_outcomes: tuple[KeyOutcome, ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    """Outcomes of the variants: single variants first, then pairs."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: str = ""
    coverage: tuple[covering.Entry, ...] = ()
    """Every published value and its counterpart; empty if only part of the paper was reproduced."""
    only: str = ""
    """The number of the figure, if only one figure was requested."""

    @property
    def surprises(self) -> int:
        """Number of verdicts that differ from the recorded verdicts."""
        return sum(each.surprising for each in self.claims)

    @property
    def runs(self) -> int:
        """Number of runs of all experiments."""
        return sum(self.measurements.runs(key).height for key in self.digests)

    @property
    def of_paper(self) -> list[ClaimOutcome]:
        """The outcomes of the paper's own statements."""
        return [each for each in self.claims if each.claim.origin == "paper"]

    @property
    def held_of_paper(self) -> str:
        """Number of the paper's statements that hold: `7 of 29`, or `7 or 9 of 29` under two interpretations."""
        return held_in_short(self.of_paper)

    def counts(self) -> list[str]:
        """Returns sentences with the number of statements that hold, and the number of statements that this kind of
        run cannot judge."""
        if not self.claims:
            return []
        left = left_to_live(self.paper)
        more = [f"{left} more statements are judged on real packets only: --world live"] if left else []
        if in_full := len(self.paper.left_to_full):
            more.append(f"{in_full} more {'statement is' if in_full == 1 else 'statements are'} judged with --full")
        if turned := [each.claim.key for each in self.claims if each.claim.key in self.paper.reversed_in_full]:
            verdicts = "verdict is" if len(turned) == 1 else "verdicts are"
            more.append(f"{len(turned)} {verdicts} reversed with --full: {', '.join(turned)}")
        return _counts(self.claims) + more

    def other_counts(self) -> list[str]:
        """Returns the sentences of `counts` that `opening` does not contain."""
        said = " ".join(self.opening())
        return [each for each in self.counts() if each not in said]

    def opening(self) -> list[str]:
        """Returns the result in at most five sentences.

        The sentences contain the paper's answer, the number of statements that hold, the causes of failures, and the
        number of compared results.
        """
        return [*([self.answer] if self.answer else []), *_opening(self)]

    def failing(self) -> list[Failure]:
        """Returns the causes for which the paper's statements fail, in the order of `CAUSES`."""
        return [
            Failure(CAUSES.get(cause, UNKNOWN_CAUSE), self.paper.causes.summary.get(cause, ""), tuple(keys))
            for cause, keys in by_cause(self).items()
        ]


@dataclass(frozen=True)
class Failure:
    """A cause for which statements fail, its explanation for this paper, and the keys of the failing statements."""

    cause: str
    summary: str
    claims: tuple[str, ...]

    @property
    def count(self) -> str:
        """The number of statements as text, such as "3 statements"."""
        return units.counted(len(self.claims), "statement")


UNKNOWN_CAUSE = "the reason is not recorded"


@dataclass(frozen=True)
class Entry:
    """One study on the page about all studies: its outcome, or its error message."""

    paper: Paper
    seconds: float
    reproduction: Reproduction | None = None
    failure: str = ""

    @property
    def surprises(self) -> int:
        """Number of verdicts that differ from the recorded verdicts."""
        return self.reproduction.surprises if self.reproduction else 0

    @property
    def beside_the_record(self) -> str:
        """Number of verdicts that differ from the recorded verdicts, as text; `no record` if the seeds are not the
        paper's own."""
        judged = self.reproduction.claims if self.reproduction else ()
        if judged and not any(each.recorded for each in judged):
            return "no record"
        return str(self.surprises) if self.surprises else "–"


def held_in_short(outcomes: Sequence[ClaimOutcome]) -> str:
    """Returns the number of statements that hold, for each interpretation."""
    read = _by_reading(outcomes).values()
    numbers = " or ".join(dict.fromkeys(str(_held(judged)) for judged in read))
    return f"{numbers} of {' or '.join(dict.fromkeys(str(len(judged)) for judged in read))}"


def _by_reading(outcomes: Sequence[ClaimOutcome]) -> dict[str, list[ClaimOutcome]]:
    """Returns the outcomes grouped by the interpretation of their statements. Every group includes the statements that
    have only one interpretation."""
    readings = list(dict.fromkeys(each.claim.reading for each in outcomes if each.claim.reading)) or [""]
    return {reading: [each for each in outcomes if each.claim.reading in ("", reading)] for reading in readings}


def left_to_live(paper: Paper) -> int:
    """Returns the number of the paper's statements that only the world `live` can judge."""
    if paper.live is None:
        return 0
    here = {each.key for each in paper.claims}
    return sum(each.origin == "paper" and each.key not in here for each in paper.live.claims)


def is_toss(outcome: ClaimOutcome) -> bool:
    """Returns true if the outcome depends on the seed: there are more than 3 seeds, and the rarer verdict occurs for at
    least 25 % of the seeds."""
    return not outcome.unanimous and outcome.repetitions > 3 and outcome.is_toss


def _opening(found: Reproduction) -> list[str]:
    sentences: list[str] = []
    if of_paper := found.of_paper:
        sentences.append(f"{'; '.join(_of_paper(of_paper))}.")
    if failing := found.failing():
        total = sum(len(each.claims) for each in failing)
        reading = next((each.claim.reading for each in of_paper if each.claim.reading), "")
        subject = f"{total} fail{'s' if total == 1 else ''}{f' if read as {reading}' if reading else ''}"
        parts = [f"{'' if total == 1 else f'{len(each.claims)} '}because {each.cause}" for each in failing]
        sentences.append(f"{subject}{' ' if total == 1 else ': '}{', '.join(parts)}.")
    if found.coverage:
        count = covering.counts(found.coverage)
        near = (
            f"{count.near} of {count.values} numbers agree within {100 * covering.NEAR:.0f} %" if count.values else ""
        )
        kept = (
            f"{count.kept} of {count.bounds} bounds {'is' if count.kept == 1 else 'are'} kept" if count.bounds else ""
        )
        which = ": " + " and ".join(filter(None, (near, kept))) if near or kept else ""
        sentences.append(
            f"{count.beside} of {count.results} printed results have a measured counterpart{which} (coverage.html)."
        )
    return sentences


def by_cause(found: Reproduction) -> dict[str, list[str]]:
    """Returns the keys of the failing statements by cause, in the order of `CAUSES`.

    Statements without a recorded cause are last, under the key `""`. If a statement has several interpretations, the
    first failing interpretation determines the cause.
    """
    failing: dict[str, list[str]] = {}
    seen: set[str] = set()
    for outcome in found.claims:
        claim = outcome.claim
        if claim.origin != "paper" or claim.statement in seen:
            continue
        seen.add(claim.statement)
        if not outcome.verdict.holds:
            known = found.paper.causes.claims.get(claim.key)
            failing.setdefault(known.cause if known else "", []).append(claim.key)
    order = [*CAUSES, ""]
    return {cause: failing[cause] for cause in order if cause in failing}


def _of_paper(outcomes: Sequence[ClaimOutcome]) -> list[str]:
    """Returns one line per interpretation: the number of statements that hold, and the number of statements whose
    verdict depends on the seed."""
    found: list[str] = []
    for reading, judged in _by_reading(outcomes).items():
        by = f" if read as {reading}" if reading else ""
        tosses = sum(each.verdict.holds and is_toss(each) for each in judged)
        of_tosses = f", {tosses} of them by a coin toss between seeds" if tosses else ""
        found.append(f"{_held(judged)} of the paper's {len(judged)} statements hold{by}{of_tosses}")
    return found


def _counts(outcomes: Sequence[ClaimOutcome]) -> list[str]:
    of_paper = [each for each in outcomes if each.claim.origin == "paper"]
    found = _of_paper(of_paper)
    for origin, words in (
        ("arithmetic", "among the statements that the settings alone decide (arithmetic)"),
        ("fitted", "among the fitted statements, whose settings were derived from the printed numbers"),
        ("ours", "among our own measures and explanations"),
    ):
        judged = [each for each in outcomes if each.claim.origin == origin]
        if judged:
            found.append(f"{_held(judged)} of {len(judged)} hold {words}")
    split = [each for each in outcomes if not each.unanimous]
    if split:
        found.append(f"{len(split)} of all {len(outcomes)} verdicts depend on the median: at least one seed disagrees")
    tosses = [each for each in split if is_toss(each)]
    if tosses:
        named = [f"{each.claim.key} {each.held_in} of {each.repetitions}" for each in tosses]
        are = "is a coin toss" if len(tosses) == 1 else "are coin tosses"
        named_in = f"at least 25 % of the seeds disagree; seeds in which it holds: {', '.join(named)}"
        found.append(f"{len(tosses)} of these {are}: {named_in}")
    return found


def _held(outcomes: Iterable[ClaimOutcome]) -> int:
    return sum(each.verdict.holds for each in outcomes)


def run(
    paper: Paper,
    run_jobs: RunJobs,
    *,
    figures: Iterable[Figure],
    claims: bool,
    sensitivity: bool,
    repetitions: int,
    seed: int | None = None,
    on_record: bool = True,
    progress: Progress = lambda _what, _share: None,
) -> Reproduction:
    """Runs the experiments that the figures and claims need, and judges the claims. The function `drawn` adds the
    figures.

    Parameters
    ----------
    paper
        The paper to reproduce.
    run_jobs
        `lopsided.studies.jobs.run_jobs`, bound to a world.
    figures
        Figures whose experiments are run.
    claims
        True to run and judge all claims.
    sensitivity
        True to repeat the experiments, with one seed, under every variant and under pairs of the variants that change
        the most verdicts.
    repetitions
        Number of seeds for each setting.
    seed
        First seed; 1 if `None`.
    on_record
        False if the recorded verdicts do not belong to these experiments, for example at full length. Recorded verdicts
        apply only to the paper's own number of repetitions from seed 1.
    progress
        Called with the current activity and its completed fraction, from 0 to 1.
    """
    judged = paper.claims if claims else ()
    needed = {key for item in (*figures, *judged) for key in item.needs}
    needed |= set(paper.answer_needs) if claims else set()
    experiments = [experiment for experiment in paper.experiments if experiment.key in needed]
    first = 1 if seed is None else seed
    m = run_experiments(
        paper,
        experiments,
        repetitions,
        run_jobs,
        seed=first,
        progress=lambda runs, share: progress(f"{runs:,} runs", share),
    )
    outcomes = judge(judged, m, recorded=on_record and repetitions == paper.repeat and first == 1)
    return Reproduction(
        paper=paper,
        measurements=m,
        repetitions=repetitions,
        seed=first,
        claims=outcomes,
        key_outcomes=_key_outcomes(paper, m) if sensitivity else (),
        sensitivities=_vary(paper, m, outcomes, run_jobs, first, progress) if sensitivity else (),
        digests={experiment.key: m.digest(experiment.key) for experiment in experiments},
        answer=paper.answer(m) if paper.answer and claims and m.has(*paper.answer_needs) else "",
    )


def about(paper: Paper, figure: Figure) -> tuple[Claim, ...]:
    """Returns the statements about a figure that need no experiments other than the figure's own."""
    name = re.compile(rf"\b{re.escape(figure.name)}(?![0-9.]*[0-9])", re.IGNORECASE)
    return tuple(
        claim
        for claim in paper.claims
        if claim.origin == "paper" and set(claim.needs) <= set(figure.needs) and name.search(claim.where)
    )


_NEAR = 0.1


def agreement(found: Reproduction) -> str:
    """Returns sentences that state how well the requested figure agrees with the paper."""
    figure, artifact = found.artifacts[0]
    said: list[str] = []
    if artifact.comparisons:
        apart = [
            abs(each.measured / each.published.number - 1) for each in artifact.comparisons if each.published.number
        ]
        near = sum(share <= _NEAR for share in apart)
        said.append(f"{near} of the {len(apart)} numbers printed with {figure.name} agree within {100 * _NEAR:g} %.")
    if found.claims:
        held = [each for each in found.claims if each.verdict.holds]
        said.append(f"{len(held)} of the paper's {len(found.claims)} statements about it hold.")
        said += [
            f"Not: {each.claim.statement.rstrip('.')} ({each.verdict.why_not})."
            if each.verdict.why_not
            else f"Not: {each.claim.statement}"
            for each in found.claims
            if not each.verdict.holds
        ]
    if not said:
        said.append(
            f"The paper prints {figure.name} as a picture without numbers, and states nothing about this figure alone. "
            f"Compare the drawing with {figure.name} of the paper; `--claims` judges the paper's conclusions."
        )
    return " ".join(said)


def again(reproduction: Reproduction) -> str:
    """Returns the command-line options that repeat this reproduction."""
    only = f' --figure "{reproduction.only}"' if " " in reproduction.only else f" --figure {reproduction.only}"
    times = only if reproduction.only else ""
    times += f" --repeat {reproduction.repetitions}" if reproduction.repetitions != reproduction.paper.repeat else ""
    return times + (f" --seed {reproduction.seed}" if reproduction.seed != 1 else "")


def drawn(found: Reproduction, figures: Iterable[Figure]) -> Reproduction:
    """Returns the reproduction with these figures drawn. If the reproduction is complete, the coverage of published
    values is added."""
    whole = replace(found, artifacts=tuple((figure, figure.make(found.measurements)) for figure in figures))
    complete = len(whole.artifacts) == len(found.paper.figures) and bool(found.claims)
    return (
        replace(whole, coverage=covering.of(found.paper.coverage, found.measurements, whole.artifacts, _judged(found)))
        if complete
        else whole
    )


def _judged(found: Reproduction) -> list[tuple[Claim, Verdict]]:
    return [(each.claim, each.verdict) for each in found.claims]


def judge(claims: Iterable[Claim], m: Measurements, *, recorded: bool = True) -> tuple[ClaimOutcome, ...]:
    """Judges each claim on the medians, and then on each repetition.

    `recorded` is true if the recorded verdicts apply to these seeds.
    """
    # Build these objects once for all claims, because each object caches its rows and curves.
    single = {repetition: m.repetition(repetition) for repetition in m.repetitions}
    outcomes: list[ClaimOutcome] = []
    for claim in claims:
        held = [claim.check(single[repetition]).holds for repetition in m.repetitions_of(claim.needs) or m.repetitions]
        outcomes.append(ClaimOutcome(claim, claim.check(m), sum(held), len(held), recorded))
    return tuple(outcomes)


def _key_outcomes(paper: Paper, m: Measurements) -> tuple[KeyOutcome, ...]:
    single = [m.repetition(repetition) for repetition in m.repetitions]
    found = ((result, [result.read(one) for one in single]) for result in paper.key_results)
    return tuple(KeyOutcome(result, result.read(m), min(values), max(values)) for result, values in found)


def _vary(
    paper: Paper,
    assumed: Measurements,
    base: tuple[ClaimOutcome, ...],
    run_jobs: RunJobs,
    seed: int,
    progress: Progress,
) -> tuple[Sensitivity, ...]:
    """Runs each variant, then pairs of variants. Experiments that a variant does not change keep their values from
    `assumed`."""
    alone = [((assumption, variant),) for assumption in paper.assumptions for variant in assumption.variants]
    total = len(alone) + paper.paired * (paper.paired - 1) // 2

    def under(varied: tuple[tuple[Assumption, Variant], ...], number: int) -> Sensitivity:
        progress("assumptions", number / total)
        # Run a variant only with the experiments of its assumption: other scenarios may not contain the variant's keys.
        variants: dict[str, list[Variant]] = {}
        for assumption, variant in varied:
            for key in assumption.experiments or paper.varied:
                variants.setdefault(key, []).append(variant)
        experiments = [paper.experiment(key).varied(*each) for key, each in variants.items()]
        again = run_experiments(paper, experiments, 1, run_jobs, keep_runs=False, seed=seed)
        m = assumed.replaced_by(again)
        judged = [outcome for outcome in base if set(outcome.claim.needs) & set(variants)]
        results = {result.key: result.read(m) for result in paper.key_results}
        return Sensitivity(varied, results, _moves(judged, m))

    found = [under(varied, number) for number, varied in enumerate(alone)]
    for number, (one, other) in enumerate(_pairs(found, paper.paired)):
        both = under((*one.varied, *other.varied), len(alone) + number)
        # A pair lists only the verdict changes that neither variant causes alone.
        known = {(move.claim.key, move.holds_now) for move in (*one.moves, *other.moves)}
        together = tuple(move for move in both.moves if (move.claim.key, move.holds_now) not in known)
        found.append(Sensitivity(both.varied, both.results, both.moves, together))
    progress("assumptions", 1.0)
    return tuple(found)


def _moves(judged: Iterable[ClaimOutcome], m: Measurements) -> tuple[Move, ...]:
    now = ((outcome, outcome.claim.check(m).holds) for outcome in judged)
    return tuple(
        Move(outcome.claim, holds, outcome.unanimous) for outcome, holds in now if holds != outcome.verdict.holds
    )


def _pairs(alone: Sequence[Sensitivity], most: int) -> list[tuple[Sensitivity, Sensitivity]]:
    """Returns all pairs of the `most` variants that change the most verdicts. The two variants of a pair must belong to
    different assumptions and override different keys."""
    ranked = sorted(alone, key=lambda each: sum(move.steady for move in each.moves), reverse=True)
    strongest: list[Sensitivity] = []
    for each in ranked:
        known = {one.varied[0][0].key for one in strongest}
        if each.moves and each.varied[0][0].key not in known and len(strongest) < most:
            strongest.append(each)
    return [
        (one, other)
        for one, other in itertools.combinations(strongest, 2)
        if not set(one.varied[0][1].overrides) & set(other.varied[0][1].overrides)
    ]
