"""What a paper is to the laboratory: published values, experiments, figures, claims and assumptions.

A paper is a package beside this folder that defines `PAPER`. It declares *what* it needs (experiments: scenario files
with overrides) and *how* to read it (figures, claims); running, repeating, comparing and reporting are the same for
all papers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from lopsided.papers.framework.coverage import Rule
from lopsided.papers.framework.failing import Causes
from lopsided.papers.framework.measurements import Label, Measurements
from lopsided.papers.framework.published import Published, PublishedValue

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing

    from lopsided.scenario import Run

Overrides: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """One setting of an experiment: a scenario file of the paper, what is changed in it, and the setting's names."""

    scenario: str
    overrides: Overrides
    labels: Mapping[str, Label]


@dataclass(frozen=True)
class Experiment:
    """Runs that belong together, and the numbers that are taken from each of them.

    `measure` turns one run into one row of numbers (column names end in units). It is called once per run, and the run
    is forgotten afterwards, so everything that is to have a median must be a column. With `keep` the first
    repetition's runs stay whole, for figures over time. `most` bounds the repetitions, for runs that no random number
    touches; `usual` is how many there are where nobody asks for a number: fewer than the paper's for runs beside the
    statements and those that random numbers hardly touch, more for those of which a statement is a coin toss.
    """

    key: str
    summary: str
    cases: tuple[Case, ...]
    measure: Callable[[Run, Case], Mapping[str, float]]
    keep: bool = False
    most: int | None = None
    full: Variant | None = None
    """What a full-length run (`--full`) changes: the paper's own durations, where the usual run is shorter."""
    full_repetitions: int | None = None
    """Repetitions of the full-length run; `None` for the usual number."""
    ours: tuple[str, ...] = ()
    """In the world live: the hosts that have the simulator's TCP."""
    usual: int | None = None

    @property
    def at_full_length(self) -> Experiment:
        """The same experiment as long, and as often, as the paper ran it."""
        cases = self.cases if self.full is None else tuple(map(self.full.applied_to, self.cases))
        usual = self.usual if self.full_repetitions is None else self.full_repetitions
        return replace(self, cases=cases, usual=usual)

    def repetitions(self, asked: int, *, usual: bool) -> int:
        """How many it has where so many are asked for; `usual`: where that is the paper's own number."""
        wanted = self.usual if usual and self.usual is not None else asked
        return wanted if self.most is None else min(wanted, self.most)


@dataclass(frozen=True)
class Comparison:
    """A published value beside the measured one: the median over the repetitions, and their range."""

    published: PublishedValue
    measured: float
    low: float
    high: float
    remark: str = ""


@dataclass(frozen=True)
class Artifact:
    """A reproduced figure or table: its data, a drawing if it is one that is drawn, and comparisons with print."""

    data: pl.DataFrame
    drawing: Drawing | None = None
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper and the function that reproduces it; `needs` names the experiments it reads."""

    number: str
    title: str
    needs: tuple[str, ...]
    make: Callable[[Measurements], Artifact]
    kind: str = "Figure"

    @property
    def name(self) -> str:
        """For people: "Figure 5.1", "Table 6.2"."""
        return f"{self.kind} {self.number}"

    @property
    def slug(self) -> str:
        """For file names: "figure-5.1"."""
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True)
class Measured:
    """One number that a claim rests on, beside the printed one where there is one."""

    name: str
    value: float
    unit: str = ""
    published: PublishedValue | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, by which criterion, on which numbers, and what is to be said where it does not hold.

    `reason` is written whether or not the claim holds, so that every number in it can be checked; `why_not` is what
    people read. `notes` are said in either case.
    """

    holds: bool
    criterion: str
    measured: tuple[Measured, ...]
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def why_not(self) -> str:
        """The reason where the claim does not hold, else nothing."""
        return "" if self.holds else self.reason

    def but(self, *measured: Measured, why: str = "", notes: tuple[str, ...] = (), criterion: str = "") -> Verdict:
        """The same with further numbers, a further sentence of the reason, notes, or another criterion."""
        return replace(
            self,
            criterion=criterion or self.criterion,
            measured=(*self.measured, *measured),
            reason=". ".join(filter(None, (self.reason, why[:1].upper() + why[1:] if self.reason else why))),
            notes=(*self.notes, *notes),
        )


Origin: TypeAlias = Literal["paper", "arithmetic", "fitted", "ours"]
"""Whose statement it is, and what kind. Only `paper` counts among the paper's statements.

- `arithmetic`: the paper's, but the settings alone decide it: no run could contradict it.
- `fitted`: the paper's, but a setting was chosen with the very numbers in view that it is held to.
- `ours`: a measure or an explanation of ours.
"""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words, and the function that judges whether it holds.

    `reading` names the one of several ways to measure that this judges: such claims share their statement.
    """

    key: str
    statement: str
    where: str
    needs: tuple[str, ...]
    check: Callable[[Measurements], Verdict]
    known_not_to_hold: bool = False
    """Recorded after it was looked into; a claim that surprises in either direction is pointed out."""
    origin: Origin = "paper"
    reading: str = ""


@dataclass(frozen=True)
class Variant:
    """Another value for something that the paper leaves open.

    `overrides` are laid over every case that is run again. `edits` changes only cases that have the setting: a name of
    one of their own overrides gets another value, any other text is replaced inside these values, such as a key of one
    discipline.
    """

    value: str
    overrides: Overrides
    edits: Mapping[str, str] = field(default_factory=dict[str, str])

    def applied_to(self, case: Case) -> Case:
        """The case with this variant's settings."""
        changed = dict(case.overrides)
        for old, new in self.edits.items():
            if old in changed:
                changed[old] = new
            else:
                changed = {key: value.replace(old, new) for key, value in changed.items()}
        return Case(case.scenario, {**changed, **self.overrides}, case.labels)


@dataclass(frozen=True)
class Assumption:
    """Something that the paper does not give: the value assumed, why, and other values to try.

    `experiments` are those that are run again under the variants; by default those that the paper varies.
    `fits` names the statements whose printed numbers were in view when the value was chosen: these are `fitted`.
    """

    key: str
    parameter: str
    value: str
    why: str
    variants: tuple[Variant, ...] = ()
    experiments: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyResult:
    """A number by which the sensitivity to assumptions is judged."""

    key: str
    title: str
    unit: str
    read: Callable[[Measurements], float]


@dataclass(frozen=True)
class Paper:
    """One paper, ready to be reproduced.

    `repeat` is the number of repetitions by default, of which the first is the reference run that time plots show.
    `varied` names the experiments that are run again under every variant of the assumptions; the key results read only
    these. So many variants as `paired` says, those that move most verdicts, are tried two at a time.
    `answer` says in a few sentences what came out, from the measurements.
    """

    key: str
    title: str
    authors: str
    year: int
    summary: str
    folder: Path
    experiments: tuple[Experiment, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    key_results: tuple[KeyResult, ...] = ()
    repeat: int = 1
    varied: tuple[str, ...] = ()
    paired: int = 4
    answer: Callable[[Measurements], str] | None = None
    answer_needs: tuple[str, ...] = ()
    coverage: tuple[Rule, ...] = ()
    """What stands next to the printed values that no figure and no statement compares."""
    causes: Causes = field(default_factory=Causes)
    """Why statements fail."""
    hindsight: tuple[str, ...] = ()
    """What was chosen or put on record after results had been seen, a sentence each."""
    world: str = "sim"
    """Where its experiments run."""
    live: Paper | None = None
    """What of it can be run on real packets, as a study of its own."""
    chapters: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Of a long study: the experiments of each chapter, which can be asked for alone."""

    def only(self, chapter: str) -> Paper:
        """The same with the figures and claims of this chapter alone; raises KeyError for one that there is not."""
        experiments = set(self.chapters[chapter])
        answered = set(self.answer_needs) <= experiments
        return replace(
            self,
            figures=tuple(each for each in self.figures if set(each.needs) <= experiments),
            claims=tuple(each for each in self.claims if set(each.needs) <= experiments),
            varied=self.varied if set(self.varied) <= experiments else (),
            assumptions=self.assumptions if set(self.varied) <= experiments else (),
            key_results=self.key_results if set(self.varied) <= experiments else (),
            answer=self.answer if answered else None,
            answer_needs=self.answer_needs if answered else (),
        )

    @property
    def at_full_length(self) -> Paper:
        """The same study with every experiment as long, and as often, as the paper ran it."""
        return replace(self, experiments=tuple(each.at_full_length for each in self.experiments))

    @property
    def published(self) -> Published:
        """The printed values (read anew at each call; hold on to it)."""
        return Published.load(self.folder / "published.csv")

    def experiment(self, key: str) -> Experiment:
        """The experiment of this name."""
        return next(experiment for experiment in self.experiments if experiment.key == key)

    def figure(self, number: str) -> Figure | None:
        """The figure or table by its number ("5.1") or name ("table 6.2", "figure-5.1"); None if there is none."""
        wanted = " ".join(re.sub(r"^fig\b\.?", "figure", number.strip().lower().replace("-", " ")).split())
        figures = self.figures[
            ::-1
        ]  # where a figure and a table share a number, it is that of the one that stands first
        names = {each.name.lower().replace("-", " "): each for each in figures}
        numbers = {each.number.lower().replace("-", " "): each for each in figures}
        return names.get(wanted) or numbers.get(wanted)
