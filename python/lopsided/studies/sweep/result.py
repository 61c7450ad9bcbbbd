"""The result of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from lopsided.accessors import filled_in
from lopsided.data.rows import Rows
from lopsided.data.study_tables import SWEEP
from lopsided.data.table import Table
from lopsided.data.units import counted
from lopsided.data.view import View, heading, words
from lopsided.metrics import mean_interval
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.spread import ALIKE, ARROW, ARROWS, INTERVAL, all_alike, grouped, mean, spread, uncertain
from lopsided.studies.starts import Starts
from lopsided.studies.study import Block, Drawing, Headline, Source, Study, digest_of
from lopsided.studies.sweep.axes import axis_columns, axis_label, axis_words
from lopsided.studies.sweep.metrics import goodput_column, measured_by
from lopsided.studies.sweep.verdict import verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from lopsided.scenario import Scenario

_MOST_ARMS = 100
_MOST_AXES = 2
"""Maximum number of axes that a figure can show."""


class Sweep(Table, Study):
    """A sweep's table, with the methods of `Table` and `Study`."""

    kind: ClassVar[str] = "sweep"
    footer: ClassVar[str] = (
        "`sweep.parquet` next to this page contains all numbers of the page. Column names end with the unit."
    )

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        scenario: Scenario,
        starts: Starts | None = None,
        metric: str = SWEEP_METRIC,
        world: str = "sim",
    ) -> None:
        super().__init__(Rows(rows), SWEEP)
        self.scenario = scenario
        self.starts = starts or Starts([scenario])
        """The random delays of the flows' starts."""
        self.metric = metric
        """The metric that the sentences, the table and the report show."""
        self.world = world

    def _repr_html_(self) -> str:
        # Notebooks show means and a figure instead of every row.
        return Study._repr_html_(self)

    @property
    def axes(self) -> list[str]:
        return axis_columns(self)

    @property
    def digest(self) -> str:
        return digest_of(self._of_runs().values())

    def _of_runs(self) -> dict[tuple[Any, ...], str]:
        keys = [*self.axes, "repetition"]
        return {tuple(row[key] for key in keys): row["digest"] for row in self.rows()}

    @property
    def title(self) -> str:
        return self.scenario.heading

    @property
    def details(self) -> str:
        return f"{self.world} · {len(self._of_runs())} runs"

    def conclusions(self) -> list[str]:
        said = verdict(self, self.metric)
        return [*said, "", self.starts.said] if self.starts.said else said

    def conditions(self) -> list[tuple[str, str]]:
        seeds = len({row["seed"] for row in self.rows()})
        return [
            ("world", self.world),
            ("axes", ", ".join(map(axis_words, self.axes))),
            ("runs", f"{len(self._of_runs())}, {counted(seeds, 'seed')} from {self.scenario.seed}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {
            "name": self.scenario.name,
            "world": self.world,
            "axes": self.axes,
            "metric": self.metric,
            "runs": len(self._of_runs()),
            "seed": self.scenario.seed,
            "start_jitter_s": self.starts.unasked_s,
            "digest": self.digest,
        }

    def results(self) -> dict[str, Any]:
        return {"rows": list(self.rows())}

    def files(self) -> Mapping[str, Table | str]:
        return {"scenario.toml": self.scenario.to_toml(), "sweep.parquet": self, "sweep.csv": self}

    def shown(self) -> Iterable[Block]:
        return [self.means()]

    def page(self) -> Iterable[Block]:
        if len(self.axes) <= _MOST_AXES:
            yield Drawing(self.metric, f"{self.metric} against {' and '.join(map(axis_words, self.axes))}")
        yield Headline("Means over the seeds")
        yield self.means()
        yield Headline("Scenario")
        yield Source("scenario.toml with all defaults", self.scenario.to_toml())

    def means(self, most: int = _MOST_ARMS) -> View:
        """Returns a table with one row per arm and flow: the metric with its 95 % interval, then means of goodput, RTT
        and performance."""
        axes = self.axes
        table, first = measured_by(self, self.metric)
        goodput = goodput_column(table)
        others = [table.column(name) for name in (goodput, "rtt_mean_ms", "performance") if name != first.name]
        others = [column for column in others if any(value is not None for value in table.values(column.name))]
        arms = grouped(table.rows(), (*axes, "name"))
        rows = [
            [
                *map(str, key),
                ARROWS.get(arm[0]["direction"], ""),
                *spread(first, [row[first.name] for row in arm], all_alike(row["digest"] for row in arm)),
                *(column.text(mean(row[column.name] for row in arm)) for column in others),
            ]
            for key, arm in list(arms.items())[:most]
        ]
        seeds = len(set(table.values("repetition")))
        same = sum(all_alike(row["digest"] for row in arm) for arm in arms.values())
        all_or_some = "all runs" if same == len(arms) else f"all runs of {same} rows"
        remark = f" ({all_or_some} were identical: {ALIKE})" if seeds > 1 and same else ""
        of_seeds = f"means over {seeds} seeds, ±: 95 % interval{remark}" if seeds > 1 else "one seed"
        random = [arm for arm in arms.values() if not all_alike(row["digest"] for row in arm)]
        doubt = uncertain(mean_interval(row[first.name] for row in arm) for arm in random)
        of_seeds += f"; {doubt}" if doubt else ""
        when = "while all flows are active" if goodput == "goodput_overlap_bps" else "over each flow's life"
        more = f"; and {len(arms) - most:,} more rows in the table" if len(arms) > most else ""
        return View(
            [
                *words(*map(axis_label, axes)),
                heading(table.column("name")),
                ARROW,
                heading(first),
                INTERVAL,
                *map(heading, others),
            ],
            rows,
            keys=len(axes) + 2,
            caption=f"{of_seeds}; goodput {when}{more}",
        )

    def plot(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        metric: str = SWEEP_METRIC,
        *,
        cdf: bool = False,
        heat_map: bool = False,
        column: Literal["single", "double"] | None = None,
    ) -> Figure:
        """Plots a metric over the axes. With two axes, the figure has one line with a 95 % band for each value of the
        second axis.

        Parameters
        ----------
        metric
            goodput, delay, delay95, loss, retransmits, completion, jain, performance, or a numeric column.
        cdf
            True to plot the distribution over the seeds instead.
        heat_map
            True to plot two axes as a heat map instead of lines.
        column
            `single` or `double` for the width of a journal's column: a smaller font, no title.

        Returns
        -------
        Figure
            Save it with `savefig("figure.pdf")`.

        Raises
        ------
        UsageError
            If there are more than two axes and `cdf` is false, or if no flow has the metric.
        """
        return filled_in("Sweep.plot")(self, self.scenario, metric, cdf=cdf, heat_map=heat_map, column=column)


def summary(table: Table) -> Table:
    """Returns statistics over the repetitions, per arm and flow.

    Returns
    -------
    Table
        Median, minimum, maximum, and mean with its 95 % half-width (`..._ci95`; null for one repetition or identical
        runs).
    """
    import polars as pl

    keys = [*axis_columns(table), "name"]
    spread = [
        column
        for column in ("goodput_overlap_bps", "goodput_bps", "rtt_mean_ms", "performance")
        if column in table.columns
    ]
    frame = table.to_polars()
    together = [column for column in spread if frame[column].null_count() < len(table)]
    aggregates: list[pl.Expr] = []
    for column in together:
        stem = column.rpartition("_")[0] if column.endswith(("_bps", "_ms")) else column
        unit = column.removeprefix(stem)
        aggregates += [
            pl.col(column).median().alias(f"{stem}_median{unit}"),
            pl.col(column).min().alias(f"{stem}_least{unit}"),
            pl.col(column).max().alias(f"{stem}_greatest{unit}"),
            pl.col(column).mean().alias(f"{stem}_mean{unit}"),
            pl.when(pl.col("digest").n_unique() > 1)
            .then(pl.col(column).map_batches(_half_width, return_dtype=pl.Float64, returns_scalar=True))
            .alias(f"{stem}_ci95{unit}"),
        ]
    return Table(frame.group_by(keys, maintain_order=True).agg(aggregates))


def _half_width(values: pl.Series) -> float | None:
    found = mean_interval(values.to_list())
    return found.half_width if found.of > 1 else None
