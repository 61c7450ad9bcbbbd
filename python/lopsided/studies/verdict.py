"""Provides the verdict on a run: a few sentences that describe the run.

The native module writes the sentences (crate `verdict`), so that commands, reports, notebooks and the browser's page
agree. The sentences do not mention the causes inside TCP, which `lopsided explain` reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.data import series

if TYPE_CHECKING:
    from lopsided.scenario import Run


def verdict(run: Run) -> list[str]:
    """Returns the sentences of a run's verdict, with which the report begins; an empty list if the run has no flows."""
    names = [str(name) for name in run.flows.values("name")]

    def goodput(flow: int, start_s: float, stop_s: float) -> float:
        return series.goodput_between(run, names[flow], start_s, stop_s)

    return _native.verdict(*_account(run), len(run.samples), goodput)


def difference(before: Run, after: Run) -> list[str]:
    """Returns sentences about the largest changes of goodput, RTT and queueing delay between two runs. Changes of less
    than 5 % are omitted."""
    return _native.difference(_account(before), _account(after))


def _account(run: Run) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns one row per flow with its application, and one row per link direction with its queue."""
    kinds = {flow["name"]: flow["app"]["kind"] for flow in run.scenario.resolved["flows"]}
    queues = {
        (link["name"], way): link[way]["queue"]["kind"]
        for link in run.scenario.resolved["links"]
        for way in ("down", "up")
    }
    flows = [{**row, "app": kinds.get(row["name"])} for row in run.flows.rows()]
    links = [{**row, "queue": queues.get((row["link"], row["direction"]), "")} for row in run.links.rows()]
    return flows, links
