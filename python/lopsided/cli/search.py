"""`lopsided search`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli import sharding
from lopsided.cli.options import ANSWER, NOTHING, PRINTING, Answer, Dask, OwnCode, Printing, Settings, Workers, load, on
from lopsided.cli.study import show as show_study
from lopsided.cli.terminal import print_json, print_note, print_path, print_report, progress
from lopsided.data import run_folder as folders
from lopsided.errors import UsageError
from lopsided.studies import search as study
from lopsided.studies.search import log
from lopsided.studies.search.options import BATCH, TRIALS
from lopsided.studies.shards import WAIT_S
from lopsided.views import study as views

if TYPE_CHECKING:
    from lopsided.studies.search import Search, Searcher

Texts = tuple[str, ...]


def search(
    file: Path,
    /,
    *,
    over: Texts = (),
    maximise: Annotated[Texts, Parameter(name=["--maximise", "--maximize"])] = (),
    minimise: Annotated[Texts, Parameter(name=["--minimise", "--minimize"])] = (),
    subject_to: Texts = (),
    trials: int = TRIALS,
    repeat: int = 1,
    seed: int | None = None,
    batch: int = BATCH,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    workers: Workers = None,
    dask: Dask = None,
    shard: sharding.Shard = None,
    shard_wait: sharding.ShardWait = WAIT_S,
    printing: Printing = PRINTING,
) -> int:
    """Search for the settings that maximise or minimise metrics, under constraints.

    Optuna proposes the settings (`pip install 'lopsided[search]'`). The result folder contains a table of all trials,
    scenario files of the best settings, figures and report.html; by default it is created under `runs/`. Ctrl-C keeps
    the finished trials. To continue, repeat the command with the same --out, optionally with more --trials.

    For example:

        lopsided search adsl.toml --over "link.up.queue.limit=5..100 packets" \\
          --maximise performance
        lopsided search adsl.toml --over "link.up.queue.limit=5..100 packets" \\
          --over "link.up.queue.kind=fifo|fq_codel" --maximise goodput.download \\
          --minimise rtt.download --subject-to "goodput.upload > 120 kbit/s" \\
          --repeat 3
        lopsided search adsl.toml --over "stack.cc=reno|cubic|bbr" \\
          --minimise sojourn_p95_ms.link.up --out runs/search
        lopsided search adsl.toml --over "link.up.queue.limit=5..100 packets" \\
          --maximise performance --batch 64 --shard 3/64 --out shards

    Parameters
    ----------
    file
        The scenario file.
    over
        A key and its values: `key=5..100 packets` (every value in between), `key=5..100:5 packets`, `key=1..1000:log
        ms`, `key=a|b|c`; may be given several times.
    maximise
        A metric to maximise: `goodput`, `rtt`, `rtt95`, `loss`, `retransmits`, `completion`, `jain`, `performance`, or
        a column of `flows` or `links`; for a flow (`goodput.download`), a direction (`rtt.down`) or a link
        (`sojourn_p95_ms.link.up`). May be given several times: the result is then the Pareto front.
    minimise
        A metric to minimise.
    subject_to
        A constraint such as `loss.upload < 2 %` on the mean over the seeds; may be given several times.
    trials
        Number of settings to try; fewer if there are fewer combinations.
    repeat
        Number of seeds for each setting.
    seed
        Seed of the first run and of the proposals; default: the scenario's seed.
    batch
        Number of settings proposed at a time. A large batch keeps more workers busy; with a small batch, each
        proposal is based on more results.
    """
    ranges = dict(_over(each) for each in over)
    if len(ranges) < len(over):
        raise UsageError("--over names a key twice: write all its values in one --over")
    scenario = load(file, settings, own)
    if seed is not None:
        scenario = scenario.with_(**{"scenario.seed": seed})
    searcher = study.prepared(
        scenario,
        ranges,
        maximise,
        minimise,
        subject_to,
        trials=trials,
        repeat=repeat,
        batch=batch,
        workers=workers,
    )
    if shard is not None:
        if dask is not None:
            raise UsageError("--dask and --shard are two ways to use many machines; choose one")
        with progress(f"search in {scenario.name}", quiet=printing.silent) as show:
            return sharding.carry_out(shard, answer.out, lambda: searcher.run(show), printing, shard_wait)
    folder = answer.folder(f"search-{scenario.name}")
    with log.kept(folder, searcher, overwrite=answer.overwrite) as kept:
        if kept.runs and not printing.silent:
            print_note(f"continuing from {kept.runs} runs in {folder}")
        try:
            with on(dask, workers), progress(f"search in {scenario.name}", quiet=printing.silent) as show:
                found = searcher.run(show)
        except KeyboardInterrupt:
            found = searcher.result()
            if found.baseline.runs:
                _write(found, searcher, folder, replace=kept.replace, report=answer.report)
                print_note(
                    f"{len(found.tried)} of {trials} trials are in {folder}; continue with the same command and --out"
                )
            raise
        if not printing.silent:
            show_study(found)
        with answer.drawing():
            _write(found, searcher, folder, replace=kept.replace, report=answer.report)
    if printing.as_json:
        print_json({**found.to_dict(), "folder": folder})
    elif not printing.quiet:
        for name in found.best_files() if len(found.goals) == 1 else ():
            print_path("best", folder / name)
        if len(found.goals) > 1 and found.front:
            print_path("front", folder / "front")
        print_report(folder, answer.report)
    return 0 if found.best is not None else 1


def _over(text: str) -> tuple[str, str]:
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise UsageError(f"--over {text!r}: write --over 'key=5..100 packets' or --over 'key=a|b|c'")
    return key.strip(), values.strip()


def _write(found: Search, searcher: Searcher, folder: Path, *, replace: bool, report: bool) -> None:
    with folders.writing(folder, overwrite=replace) as staged:
        log.write_runs(staged, searcher)
        views.write(found, staged, report=report, more={"fingerprint": searcher.fingerprint()})
