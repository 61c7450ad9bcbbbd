"""`lopsided sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli import sharding
from lopsided.cli.options import (
    NOTHING,
    PRINTING,
    Column,
    Dask,
    Data,
    Flag,
    Kernel,
    Overwrite,
    OwnCode,
    Printing,
    Seed,
    StartJitter,
    Workers,
    World,
    data_at,
    load,
    picture_at,
    split,
)
from lopsided.cli.study import show
from lopsided.cli.terminal import answering, link, print_json, print_line, print_path, print_prose, progress
from lopsided.data import output
from lopsided.data.free_names import dated
from lopsided.errors import UsageError
from lopsided.studies.options import SWEEP_METRIC
from lopsided.studies.starts import Starts

if TYPE_CHECKING:
    from lopsided.scenario import Scenario
    from lopsided.studies import sweep as sweeps
    from lopsided.studies.jobs import Progress


def sweep(
    file: Path,
    /,
    *,
    axes: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    own: OwnCode = NOTHING,
    repeat: int | None = None,
    start_jitter: StartJitter = None,
    out_file: Annotated[Path | None, Parameter(name="--out")] = None,
    plot: Path | None = None,
    metric: str = SWEEP_METRIC,
    cdf: Flag = False,
    heat_map: Flag = False,
    column: Column = None,
    data: Data = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    dask: Dask = None,
    shard: sharding.Shard = None,
    printing: Printing = PRINTING,
) -> None:
    """Run a scenario for every combination of settings.

    Runs on all cores and writes one table. The axes come from the file's `[sweep]` or from `--set`. A `--set` with a
    single value only changes the scenario.

    For example:

        lopsided sweep scenario.toml
        lopsided sweep scenario.toml --set "link.up.queue.limit=5..50:5 packets" \\
          --repeat 4
        lopsided sweep scenario.toml --set "stack.profile=linux-6.1,freebsd-7" \\
          --out stacks.csv
        lopsided sweep scenario.toml --repeat 1000 --dask tcp://scheduler:8786 \\
          --out folder
        lopsided sweep scenario.toml --repeat 1000 --shard 3/64 --out folder

    Parameters
    ----------
    file
        The scenario file.
    axes
        A setting and its values: `key=5..50:5 packets` or `key=a,b,c`; may be given several times.
    repeat
        Number of seeds for each combination; default: the number in the file's `[sweep]`, or 1.
    out_file
        The table to write: .parquet, .csv or .tex; default: a Parquet file under `runs/`. With --dask: a folder of
        Parquet files, in which an interrupted sweep continues.
    plot
        The figure to write, for one or two axes; default: next to the table. With two axes, each value of the second
        axis has a line with a 95 % band.
    metric
        The metric in the text, the table and the figure: goodput, delay, delay95, loss, retransmits, completion,
        jain, performance, or a numeric column.
    cdf
        Draw the metric's distribution over the seeds instead, for any number of axes.
    heat_map
        Draw two axes as a heat map instead of lines.
    """
    from lopsided.studies import sweep as sweeps
    from lopsided.studies.sweep.metrics import check_metric, measured_by

    scenario = load(file, own=own)
    given = {key: sweeps.arms_of(key, values) for key, values in map(split, axes)}
    scenario = scenario.with_(
        **{key: value for arms in given.values() if len(arms) == 1 for key, value in arms[0].settings.items()}
    )
    swept: sweeps.Axes | None = {
        key: [dict(arm.settings, label=arm.label) for arm in arms] for key, arms in given.items() if len(arms) > 1
    }
    if seed is not None:
        scenario = scenario.with_(**{"scenario.seed": seed})
    check_metric(metric)
    count = len(swept) or len(sweeps.axes_of(scenario)[0])
    _check_figure(count, cdf=cdf, heat_map=heat_map)
    if dask is not None or shard is not None:
        unused = {"--plot": plot, "--data": data, "--column": column, "--cdf": cdf, "--heat-map": heat_map}
        if named := [option for option, value in unused.items() if value]:
            raise UsageError(f"{', '.join(named)}: a sweep with --dask or --shard draws no figure")
    if dask is not None:
        if shard is not None:
            raise UsageError("--dask and --shard are two ways to use many machines; choose one")
        where = (dask, workers, world)
        _on_cluster(scenario, swept, repeat, start_jitter, out_file, where, printing)
        return

    def study(report: Progress | None = None) -> sweeps.Sweep:
        return sweeps.sweep(
            scenario,
            swept or None,
            repeat=repeat,
            start_jitter=start_jitter,
            metric=metric,
            world=world,
            kernel=kernel,
            workers=workers,
            progress=report,
        )

    if shard is not None:
        sharding.carry_out(shard, out_file, study, printing)
        return
    table_path = _target(out_file, scenario.name)
    output.check_free(table_path, overwrite=overwrite)
    picture = plot or (table_path.with_suffix(".png") if (count <= 2 or cdf) and not printing.as_json else None)
    if picture:
        picture_at(picture, overwrite=overwrite)
    numbers = data_at(data, overwrite=overwrite)
    with progress(f"sweep of {scenario.name}", quiet=printing.silent) as report:
        table = study(report)
    try:
        measured_by(table, metric)
    except UsageError as error:
        _write(table, table_path)
        raise UsageError(f"{error}; the sweep's table is in {link(table_path)}") from None
    # Print the result before importing polars and matplotlib, because the imports are slow.
    if not printing.silent:
        with answering():
            show(table)
    _write(table, table_path)
    if picture:
        from lopsided.views.plot import style, sweep_curves

        with style.for_column(column):
            style.save(sweep_curves.draw(table, scenario, metric, cdf=cdf, heat_map=heat_map), picture)
    if numbers:
        from lopsided.views.plot import sweep_curves

        with output.whole_file(numbers) as temporary:
            sweep_curves.data(table, metric).write_csv(temporary)
    if printing.as_json:
        print_json(list(table.rows()))
    elif not printing.quiet:
        print_path("table", table_path)
        if picture:
            print_path("plot", picture)


def _write(table: sweeps.Sweep, path: Path) -> None:
    with output.whole_file(path) as temporary:
        if path.suffix == ".tex":
            temporary.write_text(table.means(most=len(table)).latex(), encoding="utf-8")
        else:
            table.write(temporary)


def _on_cluster(
    scenario: Scenario,
    swept: sweeps.Axes,
    repeat: int | None,
    start_jitter: str | None,
    out_folder: Path | None,
    where: tuple[str, int | None, str],
    printing: Printing,
) -> None:
    """Runs the sweep on Dask and prints the paths of the results."""
    from lopsided.studies import cluster

    address, workers, world = where
    if world != "sim":
        raise UsageError(f"--world {world} runs on this machine only: omit --dask")
    if out_folder is not None and out_folder.suffix in (".parquet", ".csv", ".tex"):
        raise UsageError(f"{out_folder.name}: with --dask, --out is a folder of Parquet files")
    folder = out_folder or dated(f"{scenario.name}-sweep")
    with (
        cluster.connect(address, workers) as client,
        progress(f"sweep of {scenario.name}", quiet=printing.silent) as report,
    ):
        found = cluster.sweep(
            client, scenario, folder, swept or None, repeat=repeat, start_jitter=start_jitter, progress=report
        )
    if printing.as_json:
        said = {"folder": folder, "runs": found.runs, "were_there": found.found, "failed": found.failed}
        print_json({**said, "start_jitter_s": found.start_jitter_s})
    elif not printing.quiet:
        if found.start_jitter_s:
            print_prose(Starts([scenario], found.start_jitter_s).said + "\n")
        there = f", {found.found:,} of them executed earlier" if found.found else ""
        print_line(f"{found.runs:,} runs{there}; {found.failed:,} failed")
        if found.failed:
            print_path("failed", folder / cluster.FAILED)
        print_path("table", folder / "part-*.parquet")


def _check_figure(axes: int, *, cdf: bool, heat_map: bool) -> None:
    """Raises UsageError if the figure's options contradict each other, or do not fit the number of axes."""
    if cdf and heat_map:
        raise UsageError("--cdf and --heat-map are two figures; choose one")
    if heat_map and axes != 2:
        raise UsageError(f"--heat-map draws two axes, and this sweep has {axes}")


def _target(given: Path | None, name: str) -> Path:
    path = given or dated(f"{name}-sweep", ".parquet")
    if path.suffix not in (".parquet", ".csv", ".tex"):
        raise UsageError(f"{path.name}: the table of a sweep must end in .parquet, .csv or .tex")
    return path
