"""Stores the measurements of a paper, and computes medians over the repetitions, and curves."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.papers.framework.published import Published

if TYPE_CHECKING:
    import polars as pl

    from lopsided.scenario import Run

Label: TypeAlias = str | int | float
Array = NDArray[np.float64]

_ENDS = ("", "_low", "_high")
_IDENTITY = ("repetition", "seed", "digest")


class Spread(NamedTuple):
    """The median, minimum and maximum of a measured number over the repetitions."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> Spread:
        """Returns a spread whose median, minimum and maximum are this value."""
        return cls(value, value, value)

    @classmethod
    def mean(cls, spreads: Iterable[Spread]) -> Spread:
        """Returns the mean of several spreads. Medians, minimums and maximums are averaged separately."""
        return cls.over(np.mean, spreads)

    @classmethod
    def over(cls, pick: Callable[[Any], Any], spreads: Iterable[Spread]) -> Spread:
        """Applies `pick`, such as `min`, separately to the medians, the minimums and the maximums."""
        return cls(*(float(pick(each)) for each in zip(*spreads, strict=True)))

    def map(self, function: Callable[[float], float]) -> Spread:
        """Applies a monotonic function, such as a change of unit, to all three values."""
        median, *ends = (function(value) for value in self)
        return Spread(median, min(ends), max(ends))


@dataclass(frozen=True)
class Curve:
    """A measured column as a function of a varied setting. The values of the setting are in ascending order."""

    x: Array
    median: Array
    low: Array
    high: Array

    @classmethod
    def mean(cls, curves: Iterable[Curve]) -> Curve:
        """Returns the mean of several curves that have the same settings. Medians, minimums and maximums are averaged
        separately."""
        curves = list(curves)
        ends = (np.mean([getattr(each, end) for each in curves], axis=0) for end in Spread._fields)
        return cls(curves[0].x, *ends)

    def against(self, x: Array) -> Curve:
        """Returns the curve as a function of another quantity. `x` contains the value of this quantity for each setting
        and must be in ascending order."""
        order = np.argsort(x)
        return Curve(x[order], self.median[order], self.low[order], self.high[order])

    def at(self, x: float) -> Spread:
        """Returns the curve's value at the setting `x`, by linear interpolation."""
        return Spread(*(float(np.interp(x, self.x, values)) for values in (self.median, self.low, self.high)))

    @property
    def first(self) -> float:
        """The median at the smallest setting."""
        return float(self.median[0])

    @property
    def last(self) -> float:
        """The median at the largest setting."""
        return float(self.median[-1])

    @property
    def rank_correlation(self) -> float:
        """Spearman's rank correlation between the setting and the medians; NaN for fewer than 3 medians."""
        return rank_correlation(self.x, self.median)


def rank_correlation(x: Array, y: Array) -> float:
    """Returns Spearman's rank correlation of `x` and `y`. Pairs with NaN or infinity are ignored. Returns NaN for fewer
    than 3 remaining pairs."""
    known = np.isfinite(x) & np.isfinite(y)
    return metrics.rank_correlation(x[known], y[known]) if known.sum() >= 3 else math.nan


class Measurements:
    """The measurements of a paper.

    Parameters
    ----------
    rows
        A frame for each experiment with one row per run.
    runs
        Complete runs of the first repetition, by experiment and labels.
    labels
        Names of the label columns of each experiment.
    published
        The published values of the paper.
    """

    def __init__(
        self,
        rows: Mapping[str, pl.DataFrame],
        runs: Mapping[tuple[str, frozenset[tuple[str, Label]]], Run],
        labels: Mapping[str, tuple[str, ...]],
        published: Published,
    ) -> None:
        self.published = published
        self._labels = labels
        self._rows = rows
        self._runs = runs
        self._medians: dict[str, pl.DataFrame] = {}
        self._rows_with: dict[tuple[str, tuple[str, ...]], dict[tuple[Label, ...], list[dict[str, Any]]]] = {}
        self._found: dict[tuple[str, frozenset[tuple[str, Label]]], dict[str, Any]] = {}
        self._curves: dict[tuple[str, str, str, frozenset[tuple[str, Label]]], Curve] = {}

    @property
    def repetitions(self) -> tuple[int, ...]:
        """Numbers of the repetitions that were run, starting at 0."""
        return self.repetitions_of(self._rows)

    def repetitions_of(self, experiments: Iterable[str]) -> tuple[int, ...]:
        """Returns the numbers of the repetitions that at least one of the given experiments ran."""
        found = {int(number) for key in experiments for number in self._rows[key]["repetition"].unique()}
        return tuple(sorted(found))

    def has(self, *experiments: str) -> bool:
        """Returns true if all the given experiments were run."""
        return all(key in self._rows for key in experiments)

    def runs(self, experiment: str) -> pl.DataFrame:
        """Returns a table with one row per run: labels, `repetition`, `seed`, `digest` and the measured columns."""
        return self._rows[experiment]

    def table(self, experiment: str) -> pl.DataFrame:
        """Returns a table with one row per case, in the order of the experiment's cases.

        A row contains the labels, the median of each measured column over the repetitions, and the column's minimum and
        maximum as `<column>_low` and `<column>_high`.
        """
        if experiment not in self._medians:
            self._medians[experiment] = self._median(experiment)
        return self._medians[experiment]

    def _median(self, experiment: str) -> pl.DataFrame:
        import polars as pl

        rows = self._rows[experiment]
        labels = self._labels[experiment]
        values = [name for name in rows.columns if name not in (*labels, *_IDENTITY)]
        # Convert NaN to null, because polars skips only nulls. A repetition without a value must not affect the median.
        return rows.group_by(labels, maintain_order=True).agg(
            *(pl.col(name).fill_nan(None).median() for name in values),
            *(pl.col(name).fill_nan(None).min().alias(f"{name}_low") for name in values),
            *(pl.col(name).fill_nan(None).max().alias(f"{name}_high") for name in values),
            pl.len().alias("runs"),
        )

    def rows(self, experiment: str, **labels: Label) -> list[dict[str, Any]]:
        """Returns the rows of `table` with the given labels, in the order of the experiment's cases."""
        names = tuple(labels)
        if (experiment, names) not in self._rows_with:
            # Verdicts and figures read thousands of rows. With an index, each read takes constant time.
            index: dict[tuple[Label, ...], list[dict[str, Any]]] = {}
            for row in self.table(experiment).to_dicts():
                index.setdefault(tuple(row[name] for name in names), []).append(row)
            self._rows_with[experiment, names] = index
        return self._rows_with[experiment, names].get(tuple(labels.values()), [])

    def row(self, experiment: str, **labels: Label) -> dict[str, Any]:
        """Returns the row of `table` with the given labels. Raises KeyError unless exactly one row matches."""
        key = (experiment, frozenset(labels.items()))
        if key not in self._found:
            found = self.rows(experiment, **labels)
            if len(found) != 1:
                raise KeyError(f"{len(found)} settings of {experiment!r} with {labels}")
            self._found[key] = found[0]
        return self._found[key]

    def value(self, experiment: str, column: str, **labels: Label) -> Spread:
        """Returns a measured column of the only case with these labels; NaN if the column was not measured."""
        row = self.row(experiment, **labels)
        return Spread(*(math.nan if row[column + end] is None else float(row[column + end]) for end in _ENDS))

    def curve(self, experiment: str, column: str, over: str, **labels: Label) -> Curve:
        """Returns a measured column as a function of the label `over`. Only cases with the given `labels` are used."""
        key = (experiment, column, over, frozenset(labels.items()))
        if key not in self._curves:
            rows = sorted(self.rows(experiment, **labels), key=lambda row: row[over])
            found = [[row[name] for row in rows] for name in (over, *(column + end for end in _ENDS))]
            # numpy converts `None` (not measured) to NaN.
            self._curves[key] = Curve(*(np.array(values, dtype=np.float64) for values in found))
        return self._curves[key]

    def run(self, experiment: str, **labels: Label) -> Run:
        """Returns the complete run of a case in the first repetition. Raises KeyError if the complete run was not
        kept."""
        return self._runs[experiment, frozenset(labels.items())]

    def repetition(self, repetition: int) -> Measurements:
        """Returns the measurements of one repetition. For a case with fewer repetitions, another repetition of the case
        is used instead."""
        # Complete runs are kept only for the first repetition.
        rows = {key: _nth(frame, repetition, self._labels[key]) for key, frame in self._rows.items()}
        return Measurements(rows, self._runs if repetition == 0 else {}, self._labels, self.published)

    def instead(self, experiment: str, other: str, **labels: Label) -> Measurements:
        """Returns measurements in which `experiment` is the only experiment. Its rows are copied from the experiment
        `other`: the rows with the given labels."""
        import polars as pl

        kept = [*self._labels[experiment], *_IDENTITY]
        frame = self._rows[other].filter(*(pl.col(name) == value for name, value in labels.items()))
        frame = frame.drop(*(name for name in labels if name not in kept))
        return Measurements({experiment: frame}, {}, self._labels, self.published)

    def replaced_by(self, other: Measurements) -> Measurements:
        """Returns a copy in which the experiments of `other` replace the experiments with the same keys."""
        runs = {key: run for key, run in self._runs.items() if not other.has(key[0])}
        return Measurements({**self._rows, **other._rows}, runs, self._labels, self.published)

    def digest(self, experiment: str) -> str:
        """Returns a digest of the results of all runs of an experiment."""
        digests = sorted(str(value) for value in self._rows[experiment]["digest"])
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def _nth(rows: pl.DataFrame, repetition: int, labels: tuple[str, ...]) -> pl.DataFrame:
    """Returns one row per case: the row of `repetition` if the case has it, otherwise of another repetition."""
    import polars as pl

    number = pl.col("repetition").rank("dense").over(labels) - 1 if labels else pl.col("repetition").rank("dense") - 1
    count = pl.col("repetition").n_unique().over(labels) if labels else pl.col("repetition").n_unique()
    return rows.filter(number == repetition % count)
