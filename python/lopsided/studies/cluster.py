"""Runs studies on a cluster of machines with Dask: `pip install 'lopsided[dask]'`.

A sweep becomes a partitioned Parquet dataset. A batch is a range of numbered runs. The client writes each batch to
`part-FIRST-LAST.parquet`. As a result:

- Rows and digests do not depend on the workers.
- An interrupted sweep resumes with the missing batches.
- Another worker repeats the batch of a killed worker.
- The client holds only unfinished batches in memory.

A failed run is listed in `failed.csv`, and the other runs continue. Within the context manager `using`, other studies
also run their jobs on the workers. User code that the workers cannot import and the kernel world are not supported.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import logging
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lopsided import _native
from lopsided.data import output
from lopsided.data.study_tables import SWEEP
from lopsided.data.table import Row
from lopsided.errors import FolderError, LopsidedError, UsageError
from lopsided.scenario import Scenario
from lopsided.studies import jobs as many
from lopsided.studies import starts
from lopsided.studies import sweep as sweeps
from lopsided.worlds import sim
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    import polars as pl

    from lopsided.scenario import Run

MANIFEST = "manifest.json"
FAILED = "failed.csv"
_BATCH_S = 2.0
"""Target duration of a batch in seconds. Short batches limit the work that is lost if a worker is killed."""
_FIRST_BATCH = 4
_LARGEST_BATCH = 2000
_WORKERS_S = 20.0
"""Seconds to wait for the first worker of the scheduler."""
_CLOSE_S = 2.0
_DEATHS = 3
"""Number of workers that may die while they run a batch. After that, the batch counts as failed."""

Progress = Callable[[float], object]


# --- the cluster --------------------------------------------------------------------------------------------------


@contextmanager
def connect(address: str, workers: int | None = None) -> Generator[Any]:
    """Connects to the scheduler at `address` (`tcp://HOST:PORT`), or starts local workers (`local`).

    Yields the client. Raises LopsidedError if no scheduler answers.
    """
    distributed = _distributed()
    # Dask logs a traceback for each lost connection. This module raises a single error instead.
    for name in ("distributed", *(each for each in logging.root.manager.loggerDict if each.startswith("distributed."))):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    importlib.import_module("dask").config.set({"distributed.scheduler.allowed-failures": _DEATHS})
    if address != "local" and "://" not in address:
        raise UsageError(f"--dask {address!r}: write the scheduler's address, tcp://HOST:PORT, or local")
    if address == "local":
        # LocalCluster returns after this number of workers has started.
        count = workers or os.cpu_count() or 1
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise LopsidedError(f"no scheduler answers at {address}: {str(error) or type(error).__name__}") from None
    try:
        try:
            client.wait_for_workers(1, timeout=_WORKERS_S)
        except TimeoutError:
            raise LopsidedError(
                f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
            ) from None
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close(timeout=_CLOSE_S)


def _distributed() -> Any:
    """Imports dask.distributed, which has no type annotations."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise UsageError("Dask is not installed: pip install 'lopsided[dask]'") from None


# --- runs of any study --------------------------------------------------------------------------------------------


@contextmanager
def using(client: Any) -> Generator[None]:
    """Lets the workers execute the simulator runs of every study within the block."""
    with many.elsewhere(lambda jobs, progress: _run_many(client, jobs, progress)):
        yield


def _run_many(client: Any, jobs: Sequence[Job], progress: Progress | None) -> Iterator[tuple[int, Run]]:
    def batch(first: int, last: int) -> tuple[Any, ...]:
        return _raw_runs, [(job.scenario.source, job.scenario.controllers, job.seed) for job in jobs[first:last]]

    done = 0
    for first, raws in _carried_out(client, [(0, len(jobs))], batch):
        if isinstance(raws, BaseException):
            raise LopsidedError(f"run {first + 1} of {len(jobs)} failed on every worker: {raws}")
        for offset, raw in enumerate(raws[0]):
            if isinstance(raw, LopsidedError):
                raise raw
            done += 1
            if progress is not None:
                progress(done / len(jobs))
            yield first + offset, sim.to_run(jobs[first + offset].scenario, raw)


def _raw_runs(jobs: Sequence[tuple[Any, Any, int]]) -> tuple[list[Any], float]:
    """Runs jobs on a worker. Returns the result or error of each job, and the CPU time in seconds."""
    begun = time.thread_time()
    found: list[Any] = []
    for source, controllers, seed in jobs:
        try:
            found.append(sim.run_raw(Scenario.from_source(source, controllers), seed))
        except LopsidedError as error:
            found.append(LopsidedError(str(error)))
    return found, max(time.thread_time() - begun, 1e-6)


# --- a sweep ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swept:
    """The result of a sweep on a cluster: its folder and number of runs.

    `failed` counts the runs that failed in this call. `found` counts the runs that earlier calls completed.
    """

    folder: Path
    runs: int
    failed: int
    found: int
    start_jitter_s: float | None = None
    """Default range, in seconds, of the random offset of the flows' start times; `None` if the user set the range."""

    def scan(self) -> pl.LazyFrame:
        """Returns the rows of all part files as a lazy frame."""
        import polars as pl

        return pl.scan_parquet(self.folder / "part-*.parquet")


@dataclass(frozen=True)
class _Plan(sweeps.Grid):
    """The numbered runs of a sweep, and the range of their start times."""

    jitter_s: float = 0.0
    """Range, in seconds, of a random offset of the flows' start times, in addition to the scenario's own jitter."""

    def fingerprint(self) -> str:
        """Returns a hash of the sweep's definition."""
        axes = {name: [(arm.label, dict(arm.settings)) for arm in arms] for name, arms in self.axes.items()}
        said = json.dumps(
            [self.scenario.to_toml(), axes, self.repeat, self.jitter_s, _native.__version__], sort_keys=True
        )
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def sweep(
    client: Any,
    scenario: Scenario,
    folder: Path,
    axes: sweeps.Axes | None = None,
    *,
    repeat: int | None = None,
    start_jitter: str | float | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Runs a sweep on the client's workers and writes the results to `folder`. Continues the folder's sweep if there is
    one.

    The rows equal the rows of `studies.sweep.sweep`. An additional first column, `run`, contains the run's number.
    Start times vary as in `studies.sweep.sweep`. Raises UsageError if there is no axis.
    """
    plan = _Plan.of(scenario, axes, repeat)
    # An invalid setting raises an error here, before the first run.
    for name, arms in plan.axes.items():
        for arm in arms:
            _checked(scenario, name, arm)
    plan = replace(plan, jitter_s=_jitter(client, plan, start_jitter))
    there = _begin(folder, plan)
    missing = _gaps(there, plan.runs)
    already = plan.runs - sum(last - first for first, last in missing)
    source, controllers, columns = scenario.source, scenario.controllers, plan.columns
    types = {column: type(next(iter(names.values()))).__name__ for column, names in columns.values()}

    def batch(first: int, last: int) -> tuple[Any, ...]:
        runs = [(number, *plan.run(number)) for number in range(first, last)]
        return _part, source, controllers, scenario.seed, plan.jitter_s, runs, types

    done, failed = already, 0
    for first, result in _carried_out(client, missing, batch):
        if isinstance(result, BaseException):
            labels, settings, repetition = plan.run(first)
            failures = [{"run": first, "seed": scenario.seed + repetition, "error": f"it killed its workers: {result}"}]
            failures[0] |= {"settings": json.dumps(settings), **labels}
            rows, count = b"", 1
        else:
            rows, failures, count = result[0]
        _list_failed(folder, failures)
        failed += len(failures)
        with output.whole_file(folder / f"part-{first:07}-{first + count:07}.parquet") as temporary:
            temporary.write_bytes(rows or _parquet([], types))
        done += count
        if progress is not None:
            progress(done / plan.runs)
    return Swept(folder, plan.runs, failed, already, plan.jitter_s if start_jitter is None and plan.jitter_s else None)


def _jitter(client: Any, plan: _Plan, asked: str | float | None) -> float:
    """Returns the same range of the random start offset, in seconds, that `starts.varied` would choose."""
    tried: list[Scenario] = []
    for number in range(0, min(plan.runs, starts.MOST_TRIALS * plan.repeat), plan.repeat):
        # Two settings may be valid alone and invalid in combination. Such a run fails later and is listed as failed.
        with suppress(LopsidedError):
            tried.append(plan.scenario.with_(**plan.run(number)[1]))
    if not tried:
        return 0.0
    with using(client):
        return starts.chosen(tried, _shortest_s(plan), plan.repeat, asked)


def _shortest_s(plan: _Plan) -> float:
    """Returns the duration of the shortest run in seconds. An axis may change the scenario's duration."""
    usual = plan.scenario.duration_s
    for arms in plan.axes.values():
        found: list[float] = []
        for arm in arms:
            with suppress(LopsidedError):
                found.append(plan.scenario.with_(**arm.settings).duration_s)
        if found and set(found) != {usual}:
            return min(found)
    return usual


def _checked(scenario: Scenario, name: str, arm: sweeps.Arm) -> None:
    try:
        scenario.with_(**arm.settings)
    except LopsidedError:
        # A setting may be valid only together with another axis. Otherwise its run fails later and is listed as failed.
        if len(arm.settings) == 1 and name in arm.settings:
            raise


def _begin(folder: Path, plan: _Plan) -> list[tuple[int, int]]:
    """Returns the ranges of runs that the folder contains. Raises FolderError if the folder contains other files."""
    mark = plan.fingerprint()
    with output.told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        names = [path.name for path in folder.iterdir() if not path.name.startswith(".part-")]
        if not names:
            said = {"kind": "sweep", "fingerprint": mark, "runs": plan.runs, "lopsided": _native.__version__}
            with output.whole_file(folder / MANIFEST) as temporary:
                temporary.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
            (folder / "scenario.toml").write_text(plan.scenario.to_toml(), encoding="utf-8")
            return []
        try:
            known = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["fingerprint"]
        except (OSError, ValueError, KeyError, TypeError):
            raise FolderError(f"{folder} holds files that do not belong to a sweep; choose another folder") from None
        if known != mark:
            raise FolderError(f"{folder} holds a sweep with other settings; choose another folder")
        return [_stretch(path) for path in sorted(folder.glob("part-*.parquet"))]


def _stretch(path: Path) -> tuple[int, int]:
    """Returns the range of runs that a part file contains, from its name. Raises FolderError if the file is unknown or
    damaged."""
    named = _PART.fullmatch(path.name)
    if named is None:
        raise FolderError(f"{path} is not part of a sweep; move it elsewhere")
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(-4, os.SEEK_END) if path.stat().st_size >= _LEAST_PARQUET else None
        whole = start == file.read(4) == b"PAR1"
    if not whole:
        raise FolderError(f"{path} is damaged; remove it and repeat the command to make its runs again")
    return int(named[1]), int(named[2])


_PART = re.compile(r"part-([0-9]+)-([0-9]+)\.parquet")
_LEAST_PARQUET = 12
"""Size in bytes of the smallest possible Parquet file: two magic numbers and the footer's length."""


def _gaps(there: Sequence[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    at, gaps = 0, list[tuple[int, int]]()
    for first, last in [*sorted(there), (runs, runs)]:
        if first > at:
            gaps.append((at, first))
        at = max(at, last)
    return gaps


def _list_failed(folder: Path, failures: Sequence[Mapping[str, Any]]) -> None:
    if not failures:
        return
    import polars as pl

    place = folder / FAILED
    with output.told(place), place.open("ab") as file:
        pl.DataFrame(list(failures)).write_csv(file, include_header=place.stat().st_size == 0)


def _part(
    source: Any,
    controllers: Any,
    seed: int,
    jitter_s: float,
    runs: Sequence[tuple[int, Row, dict[str, str], int]],
    types: Any,
) -> tuple[tuple[bytes, list[Row], int], float]:
    """Runs a batch on a worker. Returns the rows as Parquet, the failures, and the CPU time in seconds."""
    begun = time.thread_time()
    base = Scenario.from_source(source, controllers)
    rows: list[Row] = []
    failures: list[Row] = []
    for number, labels, settings, repetition in runs:
        try:
            scenario = base.with_(**settings)
            if jitter_s:
                scenario = starts.within(scenario, jitter_s)
            run = sim.to_run(scenario, sim.run_raw(scenario, seed + repetition))
        except LopsidedError as error:
            said = {"run": number, "seed": seed + repetition, "error": str(error), "settings": json.dumps(settings)}
            failures.append({**said, **labels})
            continue
        key = {"run": number, **labels, "repetition": repetition, "seed": run.seed, "digest": run.digest}
        rows += [{**key, **row} for row in sweeps.flow_rows(run)]
    return (_parquet(rows, types), failures, len(runs)), max(time.thread_time() - begun, 1e-6)


def _parquet(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> bytes:
    """Encodes rows as Parquet. Columns and types are the same in every part."""
    import polars as pl

    axes = {name: {"int": pl.Int64, "float": pl.Float64}.get(kind, pl.String) for name, kind in types.items()}
    schema = cast("dict[str, Any]", {"run": pl.Int64, **axes, **SWEEP.schema})
    file = io.BytesIO()
    pl.DataFrame(list(rows), schema=schema).write_parquet(file)
    return file.getvalue()


# --- batches ------------------------------------------------------------------------------------------------------


def _carried_out(
    client: Any, stretches: Sequence[tuple[int, int]], batch: Callable[[int, int], tuple[Any, ...]]
) -> Iterator[tuple[int, Any]]:
    """Yields each finished batch: the number of its first run, and its result. If a batch of one run failed, its error
    is the result.

    `batch(first, last)` returns a function and its arguments. The function returns `(result, CPU seconds)`. The client
    submits only enough batches at a time to keep all workers busy. If workers die while they run a batch, the client
    divides the batch into halves, down to one run.
    """
    distributed = _distributed()
    try:
        yield from _in_batches(client, stretches, batch, distributed)
    except (importlib.import_module("distributed.client").CancelledError, OSError) as error:
        # A client that loses its scheduler cancels all batches and cannot submit new ones.
        raise LopsidedError(
            "the connection to the Dask scheduler was lost; repeat the command with the same folder to continue"
        ) from error


def _in_batches(
    client: Any, stretches: Sequence[tuple[int, int]], batch: Callable[[int, int], tuple[Any, ...]], distributed: Any
) -> Iterator[tuple[int, Any]]:
    waiting = list(reversed(list(stretches)))
    running = distributed.as_completed()
    under_way: dict[Any, tuple[int, int]] = {}
    size, cost = _FIRST_BATCH, 0.0

    def submit() -> None:
        while waiting and len(under_way) < 2 * max(1, sum(client.nthreads().values())):
            first, last = waiting.pop()
            cut = min(last, first + size)
            if cut < last:
                waiting.append((cut, last))
            function, *arguments = batch(first, cut)
            future = client.submit(function, *arguments, pure=False)
            under_way[future] = (first, cut)
            running.add(future)

    submit()
    while under_way:
        future = next(running)
        first, last = under_way.pop(future)
        error = future.exception() if future.status != "finished" else None
        if error is None:
            result, seconds = future.result()
            each = seconds / (last - first)
            cost = each if cost == 0 else 0.7 * cost + 0.3 * each
            size = max(1, min(_LARGEST_BATCH, round(_BATCH_S / cost)))
            yield first, (result, seconds)
        elif not isinstance(error, distributed.KilledWorker):
            raise LopsidedError(f"a worker failed: {type(error).__name__}: {error}")
        elif last - first == 1:
            yield first, error
        else:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
        future.release()
        submit()
