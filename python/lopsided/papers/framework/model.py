"""What a paper is to the laboratory: published values, experiments, figures, claims and assumptions.

A paper is a package in this folder that defines `PAPER`. It declares *what* it needs (experiments: scenario files with
overrides) and *how* to read it (figures, claims); running, repeating, comparing and reporting are the same for all
papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lopsided.papers.framework.published import Published, PublishedValue

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing

    from lopsided.papers.framework.lab import Lab
    from lopsided.run import Run

Label: TypeAlias = str | int | float
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
    repetition's runs stay whole, for figures over time.
    """

    key: str
    summary: str
    cases: tuple[Case, ...]
    measure: Callable[[Run, Case], Mapping[str, float]]
    keep: bool = False


@dataclass(frozen=True)
class Comparison:
    """A published value beside the measured one: the median over the repetitions, and their range."""

    published: PublishedValue
    measured: float
    low: float
    high: float
    remark: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A reproduced figure or table: its data, a drawing if it is one that is drawn, and comparisons with print."""

    data: pl.DataFrame
    drawing: Drawing | None = None
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper and the function that reproduces it."""

    number: str
    kind: str
    title: str
    needs: tuple[str, ...]
    make: Callable[[Lab], Exhibit]

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
    """One number that a claim rests on."""

    name: str
    value: float
    unit: str = ""
    published: PublishedValue | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.value:.3g}{' ' + self.unit if self.unit else ''}"


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, on which numbers, and if it does not, why."""

    holds: bool
    measured: tuple[Measured, ...]
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.holds and not self.reason:
            raise ValueError("a claim that does not hold needs its reason")


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words, as a function that measures whether it holds."""

    key: str
    statement: str
    where: str
    needs: tuple[str, ...]
    check: Callable[[Lab], Verdict]
    known_not_to_hold: bool = False
    """Recorded after it was looked into; a claim that surprises in either direction is pointed out."""


@dataclass(frozen=True)
class Variant:
    """Another value for something that the paper leaves open."""

    value: str
    overrides: Overrides


@dataclass(frozen=True)
class Assumption:
    """Something that the paper does not give: the value assumed, why, and other values to try."""

    key: str
    parameter: str
    value: str
    why: str
    variants: tuple[Variant, ...] = ()


@dataclass(frozen=True)
class KeyResult:
    """A number by which the sensitivity to assumptions is judged."""

    key: str
    group: str
    """What kind of number it is, for example "performance": the console shows the largest change of each kind."""
    title: str
    unit: str
    read: Callable[[Lab], float]


@dataclass(frozen=True)
class Paper:
    """One paper, ready to be reproduced."""

    key: str
    title: str
    authors: str
    year: int
    summary: str
    folder: Path
    experiments: tuple[Experiment, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[Assumption, ...]
    key_results: tuple[KeyResult, ...]
    repeat: int = 1
    """Repetitions by default; the first is the reference run that time plots show."""
    varied: tuple[str, ...] = ()
    """The experiments that are run again under every variant of the assumptions; the key results read only these."""

    @property
    def published(self) -> Published:
        """The printed values (read anew at each call; hold on to it)."""
        return Published.load(self.folder / "published.csv")

    def experiment(self, key: str) -> Experiment:
        """The experiment of this name."""
        return next(experiment for experiment in self.experiments if experiment.key == key)

    def figure(self, number: str) -> Figure | None:
        """The figure or table by its number ("5.1") or name ("table 6.2", "figure-5.1"); None if there is none."""
        wanted = number.strip().lower().replace("-", " ").replace("fig ", "figure ").replace("fig.", "figure ")
        wanted = " ".join(wanted.split())
        return next((figure for figure in self.figures if wanted in (figure.number, figure.name.lower())), None)


class Collection:
    """Gathers a paper's figures and claims from decorated functions, in the order in which they are written."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []
        self.claims: list[Claim] = []

    def ordered_figures(self) -> tuple[Figure, ...]:
        """The figures by number, as 5.2 before 5.12; those of ours, numbered by letters, at the end."""
        return tuple(sorted(self.figures, key=lambda figure: _order(figure.number)))

    def figure(
        self, number: str, title: str, *, needs: tuple[str, ...], kind: str = "Figure"
    ) -> Callable[[Callable[[Lab], Exhibit]], Callable[[Lab], Exhibit]]:
        """Marks a function as the reproduction of a figure."""

        def add(make: Callable[[Lab], Exhibit]) -> Callable[[Lab], Exhibit]:
            self.figures.append(Figure(number, kind, title, needs, make))
            return make

        return add

    def table(
        self, number: str, title: str, *, needs: tuple[str, ...]
    ) -> Callable[[Callable[[Lab], Exhibit]], Callable[[Lab], Exhibit]]:
        """Marks a function as the reproduction of a table."""
        return self.figure(number, title, needs=needs, kind="Table")

    def claim(
        self, key: str, statement: str, *, where: str, needs: tuple[str, ...], known_not_to_hold: bool = False
    ) -> Callable[[Callable[[Lab], Verdict]], Callable[[Lab], Verdict]]:
        """Marks a function as the check of a claim."""

        def add(check: Callable[[Lab], Verdict]) -> Callable[[Lab], Verdict]:
            self.claims.append(Claim(key, statement, where, needs, check, known_not_to_hold))
            return check

        return add


def _order(number: str) -> tuple[bool, tuple[int, ...], str]:
    parts = number.split(".")
    if all(part.isdigit() for part in parts):
        return (False, tuple(int(part) for part in parts), "")
    return (True, (), number)
