"""Runs one scenario with remedies for the ACK path, and measures gains and limits.

    found = ackpath(Scenario.load("adsl.toml"))
    found.cells        # a row for each remedy, the best first
    found.limits       # for each remedy, a sentence that states what limits the downloads

A remedy changes the queue of the slowest uplink (or of `link`), the path after the uplink's line, or TCP at both ends.
All remedies use the same seeds, and a cell is the median over the seeds. The limit of the downloads is derived from TCP
events and queue lengths.

Remedies that the scenario itself contains are active in every row. Datagrams and the kernel world are not supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lopsided.data.study_tables import ACKPATH_CELLS, ACKPATH_RUNS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.studies.ackpath.measure import limit_of, measure, median_of, of_transport
from lopsided.studies.ackpath.remedies import QUIC_REMEDIES, link_of, remedied
from lopsided.studies.ackpath.result import AckPath
from lopsided.studies.aqm.study import bottleneck
from lopsided.studies.inventory import check_preset
from lopsided.studies.jobs import Progress, check_count, repeated, run_jobs
from lopsided.studies.options import ACKPATH_REMEDIES, ACKPATH_REPEAT
from lopsided.studies.starts import varied
from lopsided.studies.study import digest_of

if TYPE_CHECKING:
    from lopsided.controllers import Controllers
    from lopsided.scenario import Run


def ackpath(
    scenario: Scenario,
    remedies: str | Sequence[str] = ACKPATH_REMEDIES,
    *,
    link: str | None = None,
    repeat: int = ACKPATH_REPEAT,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AckPath:
    """Runs the scenario with each remedy: `ackpath(scenario, "none,filter,filter+bursts")`.

    Parameters
    ----------
    scenario
        The scenario to run with each remedy.
    remedies
        Names from `REMEDIES`, separated by commas. `a+b` applies `a`, then `b`. `none` changes nothing.
    link
        The link for remedies in the network; default: the slowest uplink.
    repeat
        Number of runs per remedy, each with a different seed.
    seed
        The first seed; default: the scenario's.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.

    Raises
    ------
    UsageError
        If a remedy is named twice or does not exist.
    """
    if remedies == ACKPATH_REMEDIES and not of_transport(scenario, "tcp"):
        remedies = QUIC_REMEDIES
    arms = tuple(name.strip() for name in remedies.split(",")) if isinstance(remedies, str) else tuple(remedies)
    if repeat < 1:
        raise UsageError(f"cannot repeat a comparison {repeat} times")
    if len(set(arms)) < len(arms) or not arms:
        raise UsageError("name each remedy once, and at least one")
    check_count(len(arms) * repeat)
    place = bottleneck(scenario, "up") if link is None else link
    link_of(scenario, place)
    starts = varied([scenario], repeat, workers=workers)
    scenario = starts.scenarios[0]
    changed = [remedied(scenario, place, arm) for arm in arms]
    first = scenario.seed if seed is None else seed
    recorded = [arm.with_(**{"record.events": True, "record.tcp_events": True}) for arm in changed]
    jobs = repeated(recorded, first, repeat)

    def reduce(job: int, run: Run) -> Row:
        which, repetition = divmod(job, repeat)
        return {"remedies": arms[which], "repetition": repetition, "seed": run.seed, **measure(run, place)}

    rows = run_jobs(jobs, reduce, workers=workers, progress=progress)
    cells = sorted((median_of(arm, rows) for arm in arms), key=lambda row: -row["rank_score"])
    best = cells[0]["rank_score"] or 1.0
    for row in cells:
        row["rank_score"] /= best
    limits = {arm: limit_of(arm, rows) for arm in arms}
    digest = digest_of(row["digest"] for row in rows)
    tables = (Table.of(cells, ACKPATH_CELLS), Table.of(rows, ACKPATH_RUNS))
    return AckPath(scenario, place, arms, repeat, first, *tables, limits, digest, starts.unasked_s)


def two_way(preset: str, controllers: Controllers | None = None) -> Scenario:
    """Returns a scenario with a download and an upload on an access line. Raises UsageError if the line is unknown."""
    check_preset(preset)
    tables = {
        "scenario": {"title": f"A download and an upload on {preset}", "duration": "10 s"},
        "link": {"preset": preset},
        "flow": [{"name": "download", "direction": "down"}, {"name": "upload", "direction": "up"}],
    }
    return Scenario.build(tables, preset, controllers=controllers)
