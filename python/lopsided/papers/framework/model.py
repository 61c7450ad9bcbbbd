"""Defines the parts of a paper: published values, experiments, figures, claims and assumptions.

A paper is a package next to this folder. `PAPER` in this package declares experiments (scenario files with overrides),
and the figures and claims that use the results. All papers share the code that runs, compares and reports.
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
    """One setting of an experiment: a scenario file, the keys to override, and the labels of the setting's row in the
    results. `draws` is false for a setting that uses no random numbers: it runs only once."""

    scenario: str
    overrides: Overrides
    labels: Mapping[str, Label]
    draws: bool = True


@dataclass(frozen=True)
class Experiment:
    """A group of runs, and the function that measures each run.

    Attributes
    ----------
    key
        Name of the experiment.
    summary
        One sentence for the report.
    cases
        The settings to run.
    measure
        Function that returns the numbers of one run, by column. Column names end in the unit.
    keep
        True to keep the complete runs of the first repetition, because figures over time need them.
    most
        Maximum number of repetitions; 1 is enough for runs that use no random numbers.
    """

    key: str
    summary: str
    cases: tuple[Case, ...]
    measure: Callable[[Run, Case], Mapping[str, float]]
    keep: bool = False
    most: int | None = None
    full: Variant | None = None
    """Overrides for a full-length run (`--full`), if the default run is shorter than the paper's."""
    full_repetitions: int | None = None
    """Number of repetitions of the full-length run; the default number if `None`."""
    ours: tuple[str, ...] = ()
    """Hosts that use the simulator's TCP if the experiment runs on real packets (world `live`)."""
    usual: int | None = None
    """Default number of repetitions; the default of the paper if `None`.

    Set a smaller number if no statement needs the experiment, or if the results hardly depend on random numbers. Set a
    larger number if a verdict depends on the seed.
    """
    only_in_full: bool = False
    """True if no statement and no published number needs the experiment. The experiment runs with `--full`, or if one
    of its figures is requested."""

    @property
    def at_full_length(self) -> Experiment:
        usual = self.usual if self.full_repetitions is None else self.full_repetitions
        return replace(self if self.full is None else self.varied(self.full), usual=usual)

    def varied(self, *variants: Variant) -> Experiment:
        """Returns the experiment with the variants applied to every case, in the order of `variants`."""
        cases = self.cases
        for variant in variants:
            cases = tuple(map(variant.applied_to, cases))
        return replace(self, cases=cases)

    def repetitions(self, asked: int, *, usual: bool) -> int:
        """Returns the number of repetitions: the experiment's own default number if `usual` is true and the experiment
        has one, otherwise `asked`."""
        wanted = self.usual if usual and self.usual is not None else asked
        return wanted if self.most is None else min(wanted, self.most)


@dataclass(frozen=True)
class Comparison:
    """A published value, and the measured value to compare with it: the median and range over the repetitions."""

    published: PublishedValue
    measured: float
    low: float
    high: float
    remark: str = ""


@dataclass(frozen=True)
class Artifact:
    """A reproduced figure or table: its data, drawing (`None` for a table) and comparisons."""

    data: pl.DataFrame
    drawing: Drawing | None = None
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper, the experiments that it needs, and the function that reproduces it."""

    number: str
    title: str
    needs: tuple[str, ...]
    make: Callable[[Measurements], Artifact]
    kind: str = "Figure"

    @property
    def name(self) -> str:
        """The name in the report, such as "Figure 5.1" or "Table 6.2"."""
        return f"{self.kind} {self.number}"

    @property
    def slug(self) -> str:
        """The base name of the figure's files, such as "figure-5.1"."""
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True)
class Measured:
    """One measured number of a verdict, and its published value, if there is one."""

    name: str
    value: float
    unit: str = ""
    published: PublishedValue | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim: result, criterion, numbers, and the reason for a failure.

    `reason` is always set, so that tests can check its numbers. Reports show `why_not` only if the claim fails, and
    always show `notes`.
    """

    holds: bool
    criterion: str
    measured: tuple[Measured, ...]
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def why_not(self) -> str:
        """The reason why the claim fails; an empty string if the claim holds."""
        return "" if self.holds else self.reason

    def but(self, *measured: Measured, why: str = "", notes: tuple[str, ...] = (), criterion: str = "") -> Verdict:
        """Returns a copy of the verdict. The numbers, `why` and the notes are appended, and `criterion` replaces the
        criterion."""
        return replace(
            self,
            criterion=criterion or self.criterion,
            measured=(*self.measured, *measured),
            reason=". ".join(filter(None, (self.reason, why[:1].upper() + why[1:] if self.reason else why))),
            notes=(*self.notes, *notes),
        )


Origin: TypeAlias = Literal["paper", "arithmetic", "fitted", "ours"]
"""Origin of a statement. Only `paper` counts among the paper's statements.

- `paper`: a statement of the paper that the runs can contradict.
- `arithmetic`: a statement of the paper that follows from the settings, so that no run can contradict it.
- `fitted`: a statement of the paper whose printed numbers were used to choose a setting.
- `ours`: our own measure or explanation.
"""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper in our own words, and the function that judges it.

    If a statement has several interpretations, each interpretation is a separate claim with the same statement, and
    `reading` names the interpretation.
    """

    key: str
    statement: str
    where: str
    needs: tuple[str, ...]
    check: Callable[[Measurements], Verdict]
    known_not_to_hold: bool = False
    """True if the claim failed when its verdict was recorded. Reports flag a claim whose verdict differs from the
    recorded one."""
    origin: Origin = "paper"
    reading: str = ""


@dataclass(frozen=True)
class Variant:
    """An alternative value of a setting that the paper does not state.

    `overrides` replaces settings of every case. `edits` changes only cases that contain the setting. A key of `edits`
    is the name of an override, or a substring such as `9 packets`, which is replaced in the value of each override.
    """

    value: str
    overrides: Overrides
    edits: Mapping[str, str] = field(default_factory=dict[str, str])

    def applied_to(self, case: Case) -> Case:
        changed = dict(case.overrides)
        for old, new in self.edits.items():
            if old in changed:
                changed[old] = new
            else:
                changed = {key: value.replace(old, new) for key, value in changed.items()}
        return replace(case, overrides={**changed, **self.overrides})


@dataclass(frozen=True)
class Assumption:
    """A setting that the paper does not state: the assumed value, the reason, and alternatives.

    The experiments in `experiments` (default: `Paper.varied`) are repeated with each alternative. `fits` names the
    statements whose printed numbers determined the assumed value. Reports count these statements as fitted.
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
    """A number that is computed under every variant, to show how sensitive the results are to the assumptions."""

    key: str
    title: str
    unit: str
    read: Callable[[Measurements], float]


@dataclass(frozen=True)
class Paper:
    """One paper, ready to be reproduced.

    Attributes
    ----------
    repeat
        Default number of repetitions. Figures over time show the first repetition.
    varied
        Experiments that are repeated under every variant. Key results may read only these experiments.
    paired
        Number of variants that are also run in pairs. The variants that change the most verdicts are chosen.
    answer
        Function that returns the study's result in at most two sentences.
    answer_needs
        Experiments that `answer` reads.
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
    """Rules for the published values that no figure and no statement covers."""
    causes: Causes = field(default_factory=Causes)
    """The reasons why statements fail."""
    hindsight: tuple[str, ...] = ()
    """Choices that were made after the first results were known, one sentence each."""
    terms: Mapping[str, str] = field(default_factory=dict[str, str])
    """The paper's terms and abbreviations that the report uses, with their meanings."""
    reversed_in_full: Mapping[str, str] = field(default_factory=dict[str, str])
    """Maps each statement whose verdict `--full` reverses (its key) to the reason. Empty for a full-length study."""
    world: str = "sim"
    """World in which the experiments run, for example `sim` or `live`."""
    live: Paper | None = None
    """A separate study with the experiments that can run on real packets."""
    chapters: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Maps each chapter that can be run separately to the keys of its experiments."""
    left_to_full: tuple[Claim, ...] = ()
    """Statements that only `--full` judges. `by_default` sets this field."""
    drawn_in_full: tuple[Figure, ...] = ()
    """Figures that only `--full` or `--figure` draws. `by_default` sets this field."""

    def only(self, chapter: str) -> Paper:
        """Returns the study with only the figures and claims of one chapter. Raises KeyError if the chapter is
        unknown."""
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
    def by_default(self) -> Paper:
        """Returns the study without experiments that are `only_in_full`, and without their figures and statements."""
        left = {each.key for each in self.experiments if each.only_in_full}
        return replace(
            self,
            experiments=tuple(each for each in self.experiments if each.key not in left),
            figures=tuple(each for each in self.figures if left.isdisjoint(each.needs)),
            claims=tuple(each for each in self.claims if left.isdisjoint(each.needs)),
            assumptions=tuple(
                replace(each, experiments=tuple(key for key in each.experiments if key not in left))
                for each in self.assumptions
                # An assumption without `experiments` applies to the experiments in `Paper.varied`.
                if not each.experiments or not left.issuperset(each.experiments)
            ),
            left_to_full=tuple(each for each in self.claims if not left.isdisjoint(each.needs)),
            drawn_in_full=tuple(each for each in self.figures if not left.isdisjoint(each.needs)),
        )

    @property
    def at_full_length(self) -> Paper:
        return replace(self, experiments=tuple(each.at_full_length for each in self.experiments), reversed_in_full={})

    @property
    def published(self) -> Published:
        """The published values. Each access reads the file again."""
        return Published.load(self.folder / "published.csv")

    def experiment(self, key: str) -> Experiment:
        return next(experiment for experiment in self.experiments if experiment.key == key)

    def figure(self, number: str) -> Figure | None:
        """Returns a figure or table by number ("5.1") or name ("table 6.2", "figure-5.1"); `None` if unknown."""
        wanted = " ".join(re.sub(r"^fig\b\.?", "figure", number.strip().lower().replace("-", " ")).split())
        # Reverse the figures, so that the dict keeps the first of two figures with the same number.
        figures = self.figures[::-1]
        names = {each.name.lower().replace("-", " "): each for each in figures}
        numbers = {each.number.lower().replace("-", " "): each for each in figures}
        return names.get(wanted) or numbers.get(wanted)
