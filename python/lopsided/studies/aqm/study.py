"""Runs one scenario under several queue disciplines.

All disciplines use the same scenario and seeds. Each value covers a whole run. Cells are medians over the seeds and
have no confidence intervals. The table `runs` contains the values of every seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from lopsided.data.study_tables import AQM_CELLS, AQM_DELAYS, AQM_RUNS, AQM_USER_RUNS, AQM_USERS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.studies.aqm.disciplines import Direction, Queues, disciplines
from lopsided.studies.aqm.measure import Delays, Measured, measure
from lopsided.studies.aqm.result import Aqm
from lopsided.studies.aqm.workloads import WORKLOADS, Ends, with_workload
from lopsided.studies.arms import Arm, check_worlds, kernel_in
from lopsided.studies.jobs import Progress, check_count, part_of, repeated, run_jobs
from lopsided.studies.options import AQM_QUEUES, AqmOptions, from_arguments
from lopsided.studies.spread import grouped, medians
from lopsided.studies.starts import varied
from lopsided.studies.study import digest_of

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

WAYS: Mapping[str, tuple[Direction, ...]] = {"both": ("down", "up"), "down": ("down",), "up": ("up",)}
SHARES = tuple(step / 100 for step in range(1, 101))
"""The percentiles that are stored for each distribution."""

_LARGEST_INTERVAL_S = 0.1


def aqm(
    scenario: Scenario,
    queues: Queues = AQM_QUEUES,
    *,
    beside: Sequence[str] = (),
    world: str | Sequence[str] = "sim",
    kernel: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    direction: Literal["both", "down", "up"] = AqmOptions.direction,
    link: str | None = AqmOptions.link,
    workload: str | None = AqmOptions.workload,
    probe: bool = AqmOptions.probe,
    ecn: bool = AqmOptions.ecn,
    repeat: int = AqmOptions.repeat,
    seed: int | None = AqmOptions.seed,
) -> Aqm:
    """Runs the scenario under each queue discipline: `aqm(scenario, "fifo,fq_codel,pie", workload="home")`.

    Parameters
    ----------
    scenario
        The scenario that runs under each discipline.
    queues
        Names, or tables with settings such as `{"kind": "codel", "target": "10 ms"}`; `file` means the scenario's own
        queue.
    beside
        Additional links whose queues are replaced. The queue of the measured link is always replaced: `link`, or the
        slowest link of each direction.
    world, kernel
        The world or worlds to run in, and the kernel.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.
    direction, link, workload, probe, ecn, repeat, seed
        See `AqmOptions` and `lopsided aqm --help`.

    Raises
    ------
    UsageError
        If a discipline, a link or a workload does not exist.
    """
    asked = from_arguments(AqmOptions, locals())
    found = disciplines(queues)
    worlds = (world,) if isinstance(world, str) else tuple(world)
    if asked.ecn:
        scenario = scenario.with_(**{"stack.ecn": "true"})
    if not scenario.interval_s or scenario.interval_s > _LARGEST_INTERVAL_S:
        scenario = scenario.with_(**{"record.interval": f"{_LARGEST_INTERVAL_S} s"})
    ways = WAYS[asked.direction]
    links: dict[Direction, str] = {way: asked.link or bottleneck(scenario, way) for way in ways}
    _check_links(scenario, (*links.values(), *beside))
    # Probes need a web client. The agent that runs applications in the kernel world has none.
    with_probe = asked.probe and "kernel" not in worlds
    full = with_workload(scenario, asked.workload, _ends(scenario, next(iter(links.values()))), probe=with_probe)
    places: list[tuple[str, Direction]] = [(name, way) for way in ways for name in (links[way], *beside)]
    ramps = asked.workload is not None and WORKLOADS[asked.workload].ramps
    first = scenario.seed if asked.seed is None else asked.seed
    check_count(len(found) * asked.repeat * len(worlds))
    starts = varied([full], asked.repeat, workers=workers)
    full = starts.scenarios[0]
    arms = [each.placed(full, places, ecn=asked.ecn) for each in found]
    jobs = repeated(arms, first, asked.repeat)

    check_worlds([Arm(name, arm, name) for name in worlds for arm in arms], kernel)
    measured: list[tuple[Row, Measured]] = []
    for number, name in enumerate(worlds):

        def reduce(job: int, run: Run, name: str = name) -> tuple[Row, Measured]:
            which, repetition = divmod(job, asked.repeat)
            keys = {"world": name, "queue": found[which].label, "repetition": repetition, "seed": run.seed}
            return {**keys, "digest": run.digest}, measure(run, links, ramps=ramps)

        part = part_of(progress, number / len(worlds), 1 / len(worlds))
        its = kernel_in(name, worlds, kernel)
        measured += run_jobs(jobs, reduce, world=name, kernel=its, workers=workers, progress=part)
    tables = _tables(measured)
    digest = digest_of(keys["digest"] for keys, _ in measured)
    return Aqm(
        full, found, links, asked.workload, asked.ecn, worlds, asked.repeat, first, *tables, digest, starts.unasked_s
    )


def bottleneck(scenario: Scenario, way: Direction) -> str:
    """Returns the slowest link with a rate in this direction, or the scenario's only link.

    Raises UsageError if there is no such link.
    """
    rates = {link["name"]: link[way]["rate_bps"] for link in scenario.resolved["links"]}
    known = {name: rate for name, rate in rates.items() if rate}
    if not known and len(rates) == 1:
        return next(iter(rates))
    if not known:
        raise UsageError(
            f"no link of {scenario.name} has a rate {way}, so there is no queue at which to compare disciplines"
        )
    return min(known, key=lambda name: known[name])


def _check_links(scenario: Scenario, links: Iterable[str]) -> None:
    names = [link["name"] for link in scenario.resolved["links"]]
    if unknown := [name for name in links if name not in names]:
        raise UsageError(f"no link is called {unknown[0]!r}: there are {', '.join(names)}")


def _ends(scenario: Scenario, link: str) -> Ends:
    """Returns the hosts at both ends of the first flow that crosses the link."""
    for flow in scenario.resolved["flows"]:
        way = next((way for name, way in scenario.paths[flow["name"]] if name == link), None)
        if way is not None:
            down = (flow["from"], flow["to"])
            server, client = down if way == "down" else reversed(down)
            return Ends(server, client, float(scenario.resolved["duration_s"]))
    raise UsageError(f"no flow crosses {link}: so the load has no hosts to run between")


def _tables(measured: Sequence[tuple[Row, Measured]]) -> tuple[Table, Table, Table, Table, Table]:
    runs = [{**keys, "direction": way, **numbers} for keys, found in measured for way, numbers in found.cells.items()]
    user_runs = [{**keys, **found.users} for keys, found in measured]
    return (
        Table.of(_medians(runs, ("world", "queue", "direction")), AQM_CELLS),
        Table.of(_medians(user_runs, ("world", "queue")), AQM_USERS),
        Table.of(runs, AQM_RUNS),
        Table.of(user_runs, AQM_USER_RUNS),
        Table.of(_delays(measured), AQM_DELAYS),
    )


_OF_A_RUN = ("repetition", "seed", "digest")


def _medians(rows: Sequence[Row], keys: tuple[str, ...]) -> Iterable[Row]:
    """Yields one row per combination of the keys' values. The numbers are medians over the seeds."""
    for key, group in grouped(rows, keys).items():
        found = medians(group, (name for name in group[0] if name not in (*keys, *_OF_A_RUN)))
        numbers = {name: None if value is None else float(value) for name, value in found.items()}
        yield {**dict(zip(keys, key, strict=True)), **numbers}


def _delays(measured: Sequence[tuple[Row, Measured]]) -> Iterable[Row]:
    pooled: dict[tuple[str, str, str, str], list[Delays]] = {}
    for keys, found in measured:
        for quantity, by_way in (("rtt", found.rtts), ("sojourn", found.sojourns)):
            for way, delays in by_way.items():
                pooled.setdefault((keys["world"], keys["queue"], way, quantity), []).append(delays)
    for (world, queue, way, quantity), parts in pooled.items():
        values = Delays.joined(parts).quantiles(SHARES)
        for share, value in zip(SHARES, values, strict=True):
            if value is not None:
                names = {"world": world, "queue": queue, "direction": way, "quantity": quantity}
                yield {**names, "share": share, "value_ms": value}
