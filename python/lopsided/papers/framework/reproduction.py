"""Reproduces a paper: runs what is asked for, reads figures, claims and sensitivities, and holds the outcome."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lopsided.papers.framework import covered as covering
from lopsided.papers.framework.experiments import RunJobs, run_experiments
from lopsided.papers.framework.failing import CAUSES
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import (
    Artifact,
    Assumption,
    Claim,
    Figure,
    KeyResult,
    Paper,
    Variant,
    Verdict,
)

Progress = Callable[[str, float], object]
"""Told what is being done and which share of it is done."""


@dataclass(frozen=True)
class ClaimOutcome:
    """A claim judged on the medians, and in how many single repetitions it holds."""

    claim: Claim
    verdict: Verdict
    held_in: int
    repetitions: int
    recorded: bool = True
    """Whether a verdict is on record: it is for the paper's own number of repetitions."""

    @property
    def surprising(self) -> bool:
        """Whether the verdict is not the one on record."""
        return self.recorded and self.verdict.holds == self.claim.known_not_to_hold

    @property
    def unanimous(self) -> bool:
        """Whether every single repetition says what the medians say."""
        return self.held_in == (self.repetitions if self.verdict.holds else 0)

    @property
    def is_toss(self) -> bool:
        """Whether a quarter of the seeds at least says the opposite of the others."""
        return min(self.held_in, self.repetitions - self.held_in) >= self.repetitions / 4


@dataclass(frozen=True)
class Move:
    """A claim whose verdict a variant changes, and to what.

    `steady` if all seeds agreed before, so that the one seed of the variant differs from each of them.
    """

    claim: Claim
    holds_now: bool
    steady: bool

    def __str__(self) -> str:
        return f"{self.claim.key}: {'now holds' if self.holds_now else 'no longer'}{'' if self.steady else ' (?)'}"


@dataclass(frozen=True)
class Sensitivity:
    """What another value of an unstated parameter does, or two together."""

    varied: tuple[tuple[Assumption, Variant], ...]
    results: Mapping[str, float]
    """Key results under the variant, by key."""
    moves: tuple[Move, ...]
    together: tuple[Move, ...] = ()
    """Of a pair: the moves that neither of the two makes alone."""


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
    measurements: Measurements
    repetitions: int
    seed: int = 1
    """Of the first repetition, where the scenario's own is 1."""
    artifacts: tuple[tuple[Figure, Artifact], ...] = ()
    claims: tuple[ClaimOutcome, ...] = ()
    key_outcomes: tuple[KeyOutcome, ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    """One variant at a time, then pairs."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: str = ""
    coverage: tuple[covering.Entry, ...] = ()
    """Every printed value and what stands next to it; empty for a report of parts."""
    only: str = ""
    """The number of the figure, if only one was asked for."""

    @property
    def surprises(self) -> int:
        """Verdicts that are not those on record."""
        return sum(each.surprising for each in self.claims)

    @property
    def held_of_paper(self) -> str:
        """How many of the paper's statements hold, in short: `7 of 29`, or `7 or 9 of 29` by two readings."""
        return held_in_short([each for each in self.claims if each.claim.origin == "paper"])

    def counts(self) -> list[str]:
        """How many of the paper's statements hold, under each reading, and of those that are counted apart."""
        if not self.claims:
            return []
        left = left_to_live(self.paper)
        more = [f"{left} more statements are judged on real packets only: --world live"] if left else []
        return _counts(self.claims) + more

    def opening(self) -> list[str]:
        """What came out, in at most five sentences: the answer, what holds, why the rest fails, what is compared."""
        return [*([self.answer] if self.answer else []), *_opening(self)]


@dataclass(frozen=True)
class Entry:
    """One study: what came out, or why nothing did."""

    paper: Paper
    seconds: float
    reproduction: Reproduction | None = None
    failure: str = ""

    @property
    def surprises(self) -> int:
        """Verdicts that are not those on record."""
        return self.reproduction.surprises if self.reproduction else 0

    @property
    def beside_the_record(self) -> str:
        """How many verdicts are not as recorded, for people."""
        judged = self.reproduction.claims if self.reproduction else ()
        if judged and not any(each.recorded for each in judged):
            return "no record"
        return str(self.surprises) if self.surprises else "–"


def held_in_short(outcomes: Sequence[ClaimOutcome]) -> str:
    """How many of these statements hold; one that is read in several ways counts once under each."""
    read = _by_reading(outcomes).values()
    numbers = " or ".join(dict.fromkeys(str(_held(judged)) for judged in read))
    return f"{numbers} of {' or '.join(dict.fromkeys(str(len(judged)) for judged in read))}"


def _by_reading(outcomes: Sequence[ClaimOutcome]) -> dict[str, list[ClaimOutcome]]:
    """The statements as each reading judges them; those that are read in one way are under every reading."""
    readings = list(dict.fromkeys(each.claim.reading for each in outcomes if each.claim.reading)) or [""]
    return {reading: [each for each in outcomes if each.claim.reading in ("", reading)] for reading in readings}


def left_to_live(paper: Paper) -> int:
    """The number of the paper's own statements that only the world `live` judges."""
    if paper.live is None:
        return 0
    here = {each.key for each in paper.claims}
    return sum(each.origin == "paper" and each.key not in here for each in paper.live.claims)


def is_toss(outcome: ClaimOutcome) -> bool:
    """True if the medians decide a verdict that single seeds divide on."""
    return not outcome.unanimous and outcome.repetitions > 3 and outcome.is_toss


def _opening(found: Reproduction) -> list[str]:
    sentences: list[str] = []
    of_paper = [each for each in found.claims if each.claim.origin == "paper"]
    if of_paper:
        sentences.append(f"{'; '.join(_of_paper(of_paper))}.")
    if failing := by_cause(found):
        total = sum(len(keys) for keys in failing.values())
        parts = [f"{'' if total == 1 else f'{len(keys)} do '}{_cause(found, cause)}" for cause, keys in failing.items()]
        start = "The one that fails does so " if total == 1 else f"Of the {total} that fail, "
        sentences.append(f"{start}{'; '.join(parts)}.")
    if found.coverage:
        count = covering.counts(found.coverage)
        near = f", {count.near} of {count.values} numbers within {100 * covering.NEAR:.0f} %" if count.values else ""
        kept = f" and {count.kept} of {count.bounds} bounds kept" if count.bounds else ""
        sentences.append(
            f"{count.beside} of {count.results} printed results stand next to a measured one{near}{kept}; "
            f"coverage.html lists every printed value."
        )
    return sentences


def _cause(found: Reproduction, cause: str) -> str:
    why = CAUSES.get(cause, "the reason is not known")
    summary = found.paper.causes.summary.get(cause, "")
    return f"because {why}{f' ({summary})' if summary else ''}"


def by_cause(found: Reproduction) -> dict[str, list[str]]:
    """The paper's statements that fail by cause, in the order of `CAUSES`; those without a recorded cause last.

    A statement that is read in several ways counts once, as failing if it fails by its first reading.
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
    """How many of the paper's statements hold under each reading, and how many of these are coin tosses."""
    found: list[str] = []
    for reading, judged in _by_reading(outcomes).items():
        by = f", read as {reading}" if reading else ""
        tosses = sum(each.verdict.holds and is_toss(each) for each in judged)
        of_tosses = f", {tosses} of them by a coin toss between seeds" if tosses else ""
        found.append(f"{_held(judged)} of the paper's {len(judged)} statements hold{by}{of_tosses}")
    return found


def _counts(outcomes: Sequence[ClaimOutcome]) -> list[str]:
    of_paper = [each for each in outcomes if each.claim.origin == "paper"]
    found = _of_paper(of_paper)
    for origin, words in (
        ("arithmetic", "that are arithmetic: the settings alone decide them"),
        ("fitted", "with settings read off the printed numbers, which is no test of them"),
        ("ours", "of our own measures and explanations"),
    ):
        judged = [each for each in outcomes if each.claim.origin == origin]
        if judged:
            found.append(f"{_held(judged)} of {len(judged)} hold {words}")
    split = [each for each in outcomes if not each.unanimous]
    if split:
        found.append(f"{len(split)} of all {len(outcomes)} verdicts rest on medians: some seed by itself disagrees")
    tosses = [each for each in split if is_toss(each)]
    if tosses:
        named = [f"{each.claim.key} {each.held_in} of {each.repetitions}" for each in tosses]
        found.append(f"{len(tosses)} of these are coin tosses, with the seeds in which they hold: {', '.join(named)}")
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
    """Runs the experiments that the asked figures and claims need, then reads them; `drawn` makes the figures.

    The verdicts on record are for the paper's own repetitions, which begin with seed 1; `seed` is another first one,
    and without `on_record` the experiments are others.
    With `sensitivity`, the paper's `varied` experiments are run under every variant of every assumption too, and under
    pairs of those that move most, with one seed: the spread between seeds is known from the assumed values.
    """
    judged = paper.claims if claims else ()
    needed = {key for item in (*figures, *judged) for key in item.needs}
    needed |= set(paper.answer_needs) if claims else set()
    experiments = [experiment for experiment in paper.experiments if experiment.key in needed]
    first = 1 if seed is None else seed
    m = run_experiments(
        paper, experiments, repetitions, run_jobs, seed=first, progress=lambda share: progress("runs", share)
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
    """The statements of the paper about a figure that its own experiments decide."""
    name = re.compile(rf"\b{re.escape(figure.name)}(?![0-9.]*[0-9])", re.IGNORECASE)
    return tuple(
        claim
        for claim in paper.claims
        if claim.origin == "paper" and set(claim.needs) <= set(figure.needs) and name.search(claim.where)
    )


_NEAR = 0.1


def agreement(found: Reproduction) -> str:
    """Whether the one figure that was asked for agrees with the paper, in a sentence or two."""
    figure, artifact = found.artifacts[0]
    said: list[str] = []
    if artifact.comparisons:
        apart = [
            abs(each.measured / each.published.number - 1) for each in artifact.comparisons if each.published.number
        ]
        near = sum(share <= _NEAR for share in apart)
        said.append(f"{near} of the {len(apart)} numbers printed with {figure.name} are met within {_NEAR:.0%}.")
    if found.claims:
        held = [each for each in found.claims if each.verdict.holds]
        said.append(f"Of what the paper says of it {len(held)} of {len(found.claims)} statements hold.")
        said += [
            f"Not: {each.claim.statement.rstrip('.')} ({each.verdict.why_not})."
            if each.verdict.why_not
            else f"Not: {each.claim.statement}"
            for each in found.claims
            if not each.verdict.holds
        ]
    if not said:
        said.append(
            f"The paper prints {figure.name} as a picture: of its curve no numbers are kept here, and no statement is "
            f"made of it alone. Compare the drawing with {figure.name} of the paper; `--claims` judges what the paper "
            "concludes."
        )
    return " ".join(said)


def again(reproduction: Reproduction) -> str:
    """The options of a command that runs the same seeds."""
    only = f' --figure "{reproduction.only}"' if " " in reproduction.only else f" --figure {reproduction.only}"
    times = only if reproduction.only else ""
    times += f" --repeat {reproduction.repetitions}" if reproduction.repetitions != reproduction.paper.repeat else ""
    return times + (f" --seed {reproduction.seed}" if reproduction.seed != 1 else "")


def drawn(found: Reproduction, figures: Iterable[Figure]) -> Reproduction:
    """The reproduction with these figures and tables; with all of them and the statements, what is compared too."""
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
    """Each claim on the medians, and again on every single repetition of its experiments.

    `recorded`: whether the verdicts on record are for as many repetitions as these.
    """
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
    """Every variant alone, then the pairs. Experiments that a variant does not touch stay as `assumed`."""
    alone = [((assumption, variant),) for assumption in paper.assumptions for variant in assumption.variants]
    total = len(alone) + paper.paired * (paper.paired - 1) // 2

    def under(varied: tuple[tuple[Assumption, Variant], ...], number: int) -> Sensitivity:
        progress("assumptions", number / total)
        touched = dict.fromkeys(key for assumption, _ in varied for key in assumption.experiments or paper.varied)
        experiments = [paper.experiment(key) for key in touched]
        variants = [variant for _, variant in varied]
        again = run_experiments(paper, experiments, 1, run_jobs, variants=variants, keep_runs=False, seed=seed)
        m = assumed.replaced_by(again)
        judged = [outcome for outcome in base if set(outcome.claim.needs) & set(touched)]
        results = {result.key: result.read(m) for result in paper.key_results}
        return Sensitivity(varied, results, _moves(judged, m))

    found = [under(varied, number) for number, varied in enumerate(alone)]
    for number, (one, other) in enumerate(_pairs(found, paper.paired)):
        both = under((*one.varied, *other.varied), len(alone) + number)
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
    """The variants that move most verdicts, two at a time, of different assumptions that set different things."""
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
