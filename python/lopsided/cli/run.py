"""`lopsided run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from lopsided.cli.options import (
    NOTHING,
    PRINTING,
    Flag,
    Kernel,
    Ours,
    OwnCode,
    Printing,
    Report,
    Seed,
    Settings,
    StartJitter,
    Workers,
    World,
    ask,
    load,
)
from lopsided.cli.terminal import answering, heading, out, print_json, print_prose, print_report, progress
from lopsided.data import run_folder as folders
from lopsided.data.free_names import dated
from lopsided.data.table import Table
from lopsided.studies.doubts import unused_controllers
from lopsided.studies.jobs import part_of, run_repeated, seeds
from lopsided.studies.starts import varied
from lopsided.views import linux

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

Pcap = Annotated[
    list[Literal["hosts", "links", "merged"]] | None,
    Parameter(
        name="--pcap",
        consume_multiple=(0, 3),
        negative=(),
        help="Write pcapng captures to the run folder: at `hosts`, on `links`, or both if no place is given. "
        "`merged` also writes the captures of all hosts to one file, in order of time.",
    ),
]


def run(
    file: Path,
    /,
    *,
    seed: Seed = None,
    repeat: Annotated[int, Parameter(help="Run with this many seeds and show means with 95 % intervals.")] = 1,
    start_jitter: StartJitter = None,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    out_folder: Annotated[Path | None, Parameter(name="--out", help="The run folder to write.")] = None,
    overwrite: Annotated[Flag, Parameter(help="Replace an earlier run in --out.")] = False,
    pcap: Pcap = None,
    fairness: Annotated[Flag, Parameter(help="Report fairness between flows, like [fairness] in the file.")] = False,
    report: Report = True,
    world: World = "sim",
    kernel: Kernel = None,
    ours: Ours = (),
    workers: Workers = None,
    cores: Annotated[
        int, Parameter(help="Largest number of cores for one run; used if that is faster. The result is the same.")
    ] = 1,
    printing: Printing = PRINTING,
) -> None:
    """Run a scenario and report on it.

    The run folder contains the scenario with its settings, the tables as Parquet, and report.html; by default it is
    created under `runs/`.

    For example:

        lopsided run scenario.toml
        lopsided run scenario.toml --set "link.up.queue.limit=15 packets" \\
          --out runs/fifteen
        lopsided run scenario.toml --repeat 10
        lopsided run scenario.toml --pcap hosts
        lopsided run scenario.toml --controller gentle.py:Gentle --set stack.cc=Gentle
        lopsided run scenario.toml --discipline mine.py:Mine \\
          --set link.down.queue.kind=Mine
        lopsided run scenario.toml --fairness
        lopsided run scenario.toml --world live
        lopsided run scenario.toml --world live --ours client
        lopsided run scenario.toml --cores 4

    Parameters
    ----------
    file
        The scenario file.
    """
    scenario = load(file, settings, own)
    ask(unused_controllers(scenario))
    seeds(scenario.seed if seed is None else seed, repeat)
    if fairness and not scenario.asks_for_fairness:
        scenario = scenario.with_(fairness={})
    starts = varied([scenario if seed is None else scenario.with_(**{"scenario.seed": seed})], repeat, start_jitter)
    (scenario,) = starts.scenarios
    folder = out_folder or dated(scenario.name)
    # `writing` checks the folder, so that an invalid folder is reported before the run.
    with folders.writing(folder, overwrite=overwrite) as staged:
        capture = {} if pcap is None else {"pcap": staged / "pcap", "pcap_at": pcap or ("hosts", "links")}
        with progress(f"{scenario.name}, {scenario.duration_s:g} s", quiet=printing.silent) as show:
            where = {"world": world, "kernel": kernel, "ours": ours}
            runs = _runs(scenario, seed, repeat, workers, show, where, capture, cores)
        if scenario.asks_for_fairness:
            with progress("each group of flows alone", quiet=printing.silent) as show:
                runs[0].fairness(progress=show)
        # Print the result before importing polars, because the import is slow.
        if not printing.silent:
            with answering():
                if starts.said:
                    print_prose(starts.said + "\n")
                _show(runs)
        if repeat > 1:
            _rows(runs).write(staged / "repeats.parquet")
            _rows(runs, "links").write(staged / "repeated_links.parquet")
        runs[0].write(staged, report=report, play=True)
    if printing.as_json:
        print_json(_as_json(runs, folder))
    elif not printing.quiet:
        print_report(folder, report)


def _runs(
    scenario: Scenario,
    seed: int | None,
    repeat: int,
    workers: int | None,
    report: Callable[[float], object] | None,
    where: dict[str, Any],
    pcap: dict[str, Any],
    cores: int,
) -> list[Run]:
    """Returns the runs of all seeds. The first seed's run comes first."""
    first = scenario.run(seed=seed, progress=part_of(report, 0, 1 / repeat), cores=cores, **where, **pcap)
    if repeat == 1:
        return [first]
    rest = repeat - 1
    share = part_of(report, 1 / repeat, rest / repeat)
    others = run_repeated(scenario, rest, seed=first.seed + 1, workers=workers, progress=share, **where)
    return [first, *others]


def _rows(runs: list[Run], table: Literal["flows", "links"] = "flows") -> Table:
    """Returns the flows or links of all runs in one table."""
    import polars as pl

    frames = [
        getattr(run, table)
        .to_polars()
        .select(
            pl.lit(number).alias("repetition"),
            pl.lit(run.seed).alias("seed"),
            pl.lit(run.digest).alias("digest"),
            pl.all(),
        )
        for number, run in enumerate(runs)
    ]
    return Table(pl.concat(frames))


def _as_json(runs: list[Run], folder: Path) -> dict[str, Any]:
    first: dict[str, Any] = {
        **runs[0].manifest(),
        "folder": folder,
        "flows": list(runs[0].flows.rows()),
        "links": list(runs[0].links.rows()),
    }
    if runs[0].scenario.asks_for_fairness:
        first["fairness"] |= {"groups": list(runs[0].fairness().groups.rows())}
    if len(runs) == 1:
        return first
    from lopsided.studies.sweep import summary

    return {**first, "repeats": list(_rows(runs).rows()), "summary": list(summary(_rows(runs)).rows())}


def _show(runs: list[Run]) -> None:
    from lopsided.studies.verdict import verdict
    from lopsided.views import console

    first = runs[0]
    seeds = f"seed {first.seed}" if len(runs) == 1 else f"seeds {first.seed} to {runs[-1].seed}"
    digest = f"digest {first.digest}" if len(runs) == 1 else f"digest of the first {first.digest}"
    where = linux.kernel(first.facts) if "kernel_kind" in first.facts else first.world
    if first.world == "live":
        where = linux.live(first.facts)
    details = f"{where} · {first.scenario.duration_s:g} s · {seeds} · {digest}"
    heading(first.scenario.heading, details)
    of_one = f"With seed {first.seed}: " if len(runs) > 1 else ""
    print_prose(of_one + " ".join(verdict(first)) + "\n")
    out().print(console.flows(first) if len(runs) == 1 else console.repeated_flows(runs))
    if "cores" in first.facts:
        print_prose(console.cores(first.facts["cores"]) + "\n")
    if len(first.links):
        out().print(console.links(first) if len(runs) == 1 else console.repeated_links(runs))
    if first.scenario.asks_for_fairness:
        out().print(console.fairness(runs))
