"""Measures the effect of each remedy on the fitted line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided.data.study_tables import FIT_REMEDIES
from lopsided.data.table import Row, Table
from lopsided.scenario import Scenario
from lopsided.studies.ackpath.remedies import remedied
from lopsided.studies.aqm.disciplines import disciplines
from lopsided.studies.fit.line import WAYS, Way
from lopsided.studies.jobs import Progress, repeated, run_jobs
from lopsided.studies.spread import medians
from lopsided.studies.starts import varied

if TYPE_CHECKING:
    from lopsided.scenario import Run

REPEAT = 3
"""Number of seeds per remedy."""
LINK = "link"
ACKS = ("cake_filter", "acks_first", "few_acks")
"""Remedies for a slow ACK path. Routers can apply the first, modems the second, and TCP endpoints the third."""
QUEUES = ("fq_codel", "cake", "pie")
ALIKE = 0.03
"""Relative changes below this value count as no change."""


@dataclass(frozen=True)
class Arm:
    """A remedy: name, description and scenario."""

    name: str
    meaning: str
    scenario: Scenario


def arms(scenario: Scenario, loaded: Sequence[Way]) -> list[Arm]:
    """Returns the unchanged scenario, and one scenario per remedy for a loaded direction."""
    found = [Arm("none", "the unchanged line", scenario)]
    links = scenario.resolved["links"]
    line = next(each for each in links if each["name"] == LINK)
    for way in loaded:
        kind = line[way]["queue"]["kind"]
        for discipline in disciplines(",".join(name for name in QUEUES if name != kind)):
            placed = discipline.placed(scenario, [(LINK, way)], ecn=False)
            found.append(Arm(f"{discipline.label} {way}", f"{discipline.label} at the {way}link's queue", placed))
        if kind == "fifo":
            product = scenario.with_(**{f"topology.link.{LINK}.{way}.queue.limit": _product(scenario, way)})
            found.append(Arm(f"1 BDP {way}", f"a {way}link buffer of one bandwidth-delay product", product))
    found += [Arm(name, "for ACKs; see `lopsided ackpath`", remedied(scenario, LINK, name)) for name in ACKS]
    flows = [flow for flow in scenario.resolved["flows"] if flow["app"]["kind"] != "udp"]
    if any(flow["sender_stack"]["cc"] != "bbr" for flow in flows):
        bbr = scenario.with_(**{f"flow.{flow['name']}.sender_stack.cc": "bbr" for flow in flows})
        found.append(Arm("bbr", "all senders use BBR", bbr))
    return found


def _product(scenario: Scenario, way: Way) -> str:
    line = next(each for each in scenario.resolved["links"] if each["name"] == LINK)
    round_trip_s = sum(line[each]["delay_s"] for each in WAYS)
    rate = scenario.link_rate_bps(way) or 0.0
    return f"{max(2, round(rate * round_trip_s / 8 / 1500))} packets"


def measure(run: Run) -> Row:
    """Returns the goodput of each direction of a run, and the delay."""
    rows = list(run.flows.rows())
    found: Row = {}
    for way in WAYS:
        rates = [row["goodput_bps"] for row in rows if row["direction"] == way and row["goodput_bps"] is not None]
        found[f"{way}_goodput_bps"] = sum(rates) if rates else None
    timed = [(row["rtt_p95_ms"], row["rtt_count"]) for row in rows if row["rtt_p95_ms"] is not None]
    found["rtt_p95_ms"] = max((rtt for rtt, _ in timed), default=None)
    found["digest"] = run.digest
    return found


def remedies(
    scenario: Scenario, loaded: Sequence[Way], *, workers: int | None = None, progress: Progress | None = None
) -> Table:
    """Runs the scenario with each remedy and returns a table, best first.

    Remedies are ordered by goodput divided by delay (the power of Kleinrock 1979), relative to the unchanged line.
    """
    # In a resolved scenario, links and flows have names that settings can refer to.
    resolved = Scenario.from_text(scenario.to_toml(), scenario.name)
    starts = varied([resolved], REPEAT, workers=workers)
    chosen = arms(starts.scenarios[0], loaded)
    jobs = repeated([arm.scenario for arm in chosen], scenario.seed, REPEAT)
    rows = run_jobs(jobs, lambda _, run: measure(run), workers=workers, progress=progress)
    columns = ("down_goodput_bps", "up_goodput_bps", "rtt_p95_ms")
    cells: list[Row] = []
    for number, arm in enumerate(chosen):
        mine = rows[number * REPEAT : (number + 1) * REPEAT]
        cells.append({"remedy": arm.name, "meaning": arm.meaning, **medians(mine, columns)})
    none = cells[0]
    for cell in cells:
        for column in columns:
            before, after = none[column], cell[column]
            cell[f"{column.rpartition('_')[0]}_change"] = None if not before or after is None else after / before - 1
        cell["power_change"] = _power(cell, none)
    rest = sorted(cells[1:], key=lambda cell: -cell["power_change"])
    return Table.of([none, *rest], FIT_REMEDIES)


def _power(cell: Row, none: Row) -> float:
    rates = [
        cell[column] / none[column]
        for column in ("down_goodput_bps", "up_goodput_bps")
        if none[column] and cell[column] is not None
    ]
    delay = (cell["rtt_p95_ms"] or 0.0) / none["rtt_p95_ms"] if none["rtt_p95_ms"] else 1.0
    mean = 1.0
    for rate in rates:
        mean *= rate ** (1 / len(rates))
    return mean / delay - 1 if delay else mean - 1
