"""Many runs: seeds, and the values of a scenario's settings against each other.

Every arm of a sweep runs with the same seeds, so that arms differ by their setting and not by luck.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data import series
from lopsided.data.study_tables import SWEEP
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.metrics import mean_interval, min_normalised_goodput
from lopsided.settings import setting_text
from lopsided.studies.jobs import Progress, check_count, repeated, run_jobs, seeds
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.starts import Starts, varied

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from lopsided.scenario import Run, Scenario


@dataclass(frozen=True)
class Arm:
    """One value of an axis: what to call it, and the settings it makes."""

    label: str
    settings: Mapping[str, str]


Axes = Mapping[str, str | Iterable[Any]]


class Sweep(Table):
    """The table of a sweep, which can be drawn."""

    def __init__(self, frame: pl.DataFrame, scenario: Scenario, starts: Starts | None = None) -> None:
        super().__init__(frame, SWEEP)
        self.scenario = scenario
        self.starts = starts or Starts([scenario])
        """By how much the starts of flows were made to vary."""

    def plot(
        self,
        metric: str = SWEEP_METRIC,
        *,
        cdf: bool = False,
        heat_map: bool = False,
        column: Literal["single", "double"] | None = None,
    ) -> Figure:
        """A metric against the axes: goodput, delay, delay95, loss, retransmits, completion, jain, performance, or a
        column.

        Two axes are lines with 95 % bands, one for each value of the second, or a `heat_map`. With `cdf` the
        distribution over the seeds. `column` draws for a journal's column: smaller letters, no title. Save it with
        `savefig("figure.pdf")`.
        """
        return filled_in("Sweep.plot")(self, self.scenario, metric, cdf=cdf, heat_map=heat_map, column=column)


def sweep(
    scenario: Scenario,
    axes: Axes | None = None,
    *,
    repeat: int | None = None,
    start_jitter: str | float | None = None,
    measure: Callable[[Run], Iterable[Mapping[str, Any]]] | None = None,
    world: str = "sim",
    kernel: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Runs every combination of the axes' values `repeat` times and returns one tidy table.

    `axes` maps settings to values: `{"link.up.queue.limit": "5..50:5 packets"}`, a list of values, or a list of
    dictionaries with a `label` and several settings each; by default the axes of the scenario's `[sweep]`. The
    table has a column for each axis (numbers with their unit in the column's name, where all values have the same
    unit), then `repetition`, `seed` and `digest`, then what `measure(run)` gives, one row for each of its mappings;
    by default the flows (see `flow_rows`). With more than one seed the flows' starts vary by `start_jitter`; by default
    by up to 1 s if nothing else is random. Raises UsageError where there is nothing to sweep.
    """
    import polars as pl

    found, file_repeat = axes_of(scenario)
    if axes is not None:
        found = {name: arms_of(name, values) for name, values in axes.items()}
    repeat = file_repeat if repeat is None else repeat
    if not found:
        raise UsageError("nothing to sweep: give axes, or a [sweep] section in the scenario")
    if repeat < 1:
        raise UsageError(f"cannot repeat a sweep {repeat} times")
    check_count(math.prod(len(arms) for arms in found.values()) * repeat)
    of_seeds = seeds(scenario.seed, repeat)
    columns = {name: axis_column(name, [arm.label for arm in arms]) for name, arms in found.items()}
    measure = measure or flow_rows

    scenarios: list[Scenario] = []
    keys: list[Row] = []
    for combination in itertools.product(*found.values()):
        scenarios.append(scenario.with_(**{key: value for arm in combination for key, value in arm.settings.items()}))
        label = {columns[name][0]: columns[name][1][arm.label] for name, arm in zip(found, combination, strict=True)}
        keys += [{**label, "repetition": repetition, "seed": seed} for repetition, seed in enumerate(of_seeds)]
    _check_axes(found, scenarios)
    starts = varied(scenarios, repeat, start_jitter, workers)
    jobs = repeated(starts.scenarios, scenario.seed, repeat)

    def rows(number: int, run: Run) -> list[Row]:
        return [{**keys[number], "digest": run.digest, **row} for row in measure(run)]

    collected = run_jobs(jobs, rows, world=world, kernel=kernel, workers=workers, progress=progress, divided=True)
    frame = pl.DataFrame(list(itertools.chain.from_iterable(collected)), infer_schema_length=None)
    return Sweep(frame, scenario, starts)


def _check_axes(axes: Mapping[str, Sequence[Arm]], scenarios: Sequence[Scenario]) -> None:
    """Refuses an axis whose values change nothing, whatever the other axes' values are. `scenarios` are in the order
    of the product of the axes."""
    counts = [len(arms) for arms in axes.values()]
    for place, (name, arms) in enumerate(axes.items()):
        if len(arms) < 2:
            continue
        step = math.prod(counts[place + 1 :])
        for start in range(len(scenarios)):
            if (start // step) % len(arms):
                continue
            alike = {scenarios[start + number * step].to_toml() for number in range(len(arms))}
            if len(alike) > 1:
                break
        else:
            raise UsageError(f"no value of {name} changes anything: every one gives the same scenario")


def axes_of(scenario: Scenario) -> tuple[dict[str, list[Arm]], int]:
    """The axes of the scenario's `[sweep]` and its repetitions."""
    axes, repeat = scenario.native.axes()
    return {name: [Arm(label, dict(settings)) for label, settings in arms] for name, arms in axes}, repeat


def arms_of(name: str, values: str | Iterable[Any]) -> list[Arm]:
    """The arms of an axis from `5..50:5 packets`, `a,b,c`, or a list of values or of dictionaries.

    Raises UsageError for an axis without values.
    """
    if isinstance(values, str):
        _, arms = _native.axis(f"{name}={values}")
        return [Arm(label, dict(settings)) for label, settings in arms]
    arms = [_arm(name, value) for value in values]
    if not arms:
        raise UsageError(f"the axis {name!r} has no values")
    return arms


def _arm(name: str, value: Any) -> Arm:
    if not isinstance(value, Mapping):
        text = setting_text(value)
        return Arm(text, {name: text})
    named = cast("Mapping[str, Any]", value)
    settings = {key: setting_text(inner) for key, inner in named.items() if key != "label"}
    return Arm(str(named.get("label", ", ".join(settings.values()))), settings)


def flow_rows(run: Run) -> list[Row]:
    """The flows of a run with two columns more, about the time in which all its flows are active.

    `goodput_overlap_bps` is a flow's goodput in that time (null without samples, or without such a time). `performance`
    is the smaller of downloads' and uploads' share of their link's rate in that time (null unless both directions have
    flows).
    """
    rows = list(run.flows.rows())
    together = together_goodput(run)
    performance = None if together is None else performance_of(run, together)
    return [
        {**row, "goodput_overlap_bps": None if together is None else together[row["name"]], "performance": performance}
        for row in rows
    ]


def together_goodput(run: Run) -> dict[str, float] | None:
    """Goodput in bit/s of each flow while all are active; None where there is no such time or nothing was sampled."""
    if len(run.samples) == 0:
        return None
    try:
        start, stop = series.both_active(run)
    except UsageError:
        return None
    return {name: series.goodput_between(run, name, start, stop) for name in run.flows["name"]}


def performance_of(run: Run, goodput_bps: Mapping[str, float]) -> float | None:
    """Min-normalised goodput (merritt2010 eq 1.2) over all downloads and all uploads."""
    down_bps, up_bps = run.scenario.link_rate_bps("down"), run.scenario.link_rate_bps("up")
    totals = {"down": 0.0, "up": 0.0}
    directions = dict(zip(run.flows["name"], run.flows["direction"], strict=True))
    if not set(directions.values()) >= {"down", "up"} or not down_bps or not up_bps:
        return None
    for name, goodput in goodput_bps.items():
        if directions[name] in totals:
            totals[directions[name]] += goodput
    return min_normalised_goodput(totals["down"], totals["up"], down_bps, up_bps)


_QUANTITY = re.compile(r"\s*([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([^0-9\s].*?)?\s*")


def axis_column(setting: str, values: Sequence[str]) -> tuple[str, dict[str, float | int | str]]:
    """An axis's column name, and what to write for each value: numbers where all have one unit, else text."""
    matches = [_QUANTITY.fullmatch(value) for value in values]
    units = {match[2] or "" for match in matches if match}
    if not all(matches) or len(units) != 1:
        return setting, {value: value for value in values}
    numbers = [float(match[1]) for match in matches if match]
    whole = all(number == int(number) for number in numbers)
    unit = units.pop()
    name = f"{setting}_{re.sub(r'[^A-Za-z0-9]+', '_', unit)}" if unit else setting
    return name, {value: int(number) if whole else number for value, number in zip(values, numbers, strict=True)}


_WITH_UNIT = re.compile(
    r"(.+\..+?)_((?:[kKMGT]i?)?(?:bits?_s|bps|bits?|b|B)|bytes?|packets?|p|segments?|[num]?s|min|h|_)"
)


def axis_setting(column: str) -> tuple[str, str]:
    """The setting of an axis's column, and its unit, `""` where it has none: the column's name has an underscore for
    what is no letter."""
    found = _WITH_UNIT.fullmatch(column)
    if not found:
        return column, ""
    return found[1], "%" if found[2] == "_" else found[2].replace("_", "/")


def axis_label(column: str) -> str:
    """An axis as people read it: `link.up.queue.limit (packets)`."""
    setting, unit = axis_setting(column)
    return f"{setting} ({unit})" if unit else setting


_WORDS = {
    "stack.cc": "congestion control",
    "stack.profile": "TCP stack",
    "link.preset": "access line",
    "link.rtt": "round-trip time",
    "queue.limit": "buffer",
    "queue.kind": "queue discipline",
    "queue": "queue",
    "rate": "rate",
    "loss.random": "random loss",
    "loss": "loss",
    "delay": "delay",
}
"""Settings in words, by the end of their key."""


def axis_words(column: str) -> str:
    """An axis as a figure's readers know it: `uplink buffer (packets)`."""
    setting, unit = axis_setting(column)
    where = {"up": "uplink ", "down": "downlink "}.get(
        next((part for part in setting.split(".") if part in _WAYS), ""), ""
    )
    end = next((end for end in sorted(_WORDS, key=len, reverse=True) if f".{setting}".endswith(f".{end}")), None)
    words = f"{where}{_WORDS[end]}" if end else f"{where}{setting.rpartition('.')[2].replace('_', ' ')}"
    return f"{words} ({unit})" if unit else words


_WAYS = {"up": "uplink ", "down": "downlink "}


def axis_columns(table: Table) -> list[str]:
    """The columns of a sweep's table that are its axes."""
    return table.columns[: table.columns.index("repetition")]


def summary(table: Table) -> Table:
    """Over the repetitions, for every arm and flow of a sweep's table: median, least, greatest, and mean with the half
    width of its 95 % interval (`..._ci95`, null with one repetition, and where all runs were one and the same)."""
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
