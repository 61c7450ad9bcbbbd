"""The simulated world: virtual time, in the native module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lopsided import _native
from lopsided.controllers import label
from lopsided.data import captures, traces
from lopsided.run import Run

if TYPE_CHECKING:
    from lopsided.run_options import RunOptions
    from lopsided.scenario import Scenario
    from lopsided.worlds.base import Job

_LOOK_S = 0.05
"""How often a waiting call looks at progress and at signals."""

_KINDS = {"u32": np.uint32, "u64": np.uint64, "f64": np.float64}


def run(scenario: Scenario, seed: int, options: RunOptions) -> Run:
    """Runs the scenario once."""
    capture = None
    if options.pcap is not None:
        capture = (os.fspath(options.pcap), "hosts" in options.pcap_at, "links" in options.pcap_at)
    batch = _native.Batch([(scenario.native, seed)], 1, capture)
    for _, raw in _finished(batch, 1, options.progress):
        if options.pcap is not None:
            captures.write_index(options.pcap, _listed(scenario))
        return _to_run(scenario, raw)
    raise AssertionError("a batch of one ended without its run")


def _listed(scenario: Scenario) -> list[captures.Listed]:
    flows = scenario.resolved["flows"]
    places = scenario.native.receivers()
    return [
        captures.Listed(flow["name"], flow["from"], flow["to"], *place)
        for flow, place in zip(flows, places, strict=True)
    ]


def run_many(jobs: Sequence[Job], options: RunOptions, *, workers: int | None = None) -> Iterator[tuple[int, Run]]:
    """Runs many jobs on `workers` threads (default: every core) and gives each one's number and run as it is done."""
    batch = _native.Batch([(job.scenario.native, job.seed) for job in jobs], workers or os.cpu_count() or 1)
    for number, raw in _finished(batch, len(jobs), options.progress):
        yield number, _to_run(jobs[number].scenario, raw)


def _finished(
    batch: _native.Batch, jobs: int, progress: Callable[[float], object] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    # Between two short waits Python handles signals; an interrupt here drops the batch, which stops its threads.
    left = jobs
    while left:
        finished = batch.wait(_LOOK_S)
        if progress is not None:
            progress(batch.fraction())
        if finished is not None:
            left -= 1
            yield finished


def _to_run(scenario: Scenario, raw: dict[str, Any]) -> Run:
    tables = {name: _frame(columns) for name, columns in raw["tables"].items()}
    # Queues are told by the number of their row among the links; people want names.
    places = tables["links"].select("link", pl.col("name"), "direction")
    tables["queues"] = tables["queues"].join(places, on="link", how="left", maintain_order="left").drop("link")
    tables["queues"] = (
        tables["queues"]
        .rename({"name": "link"})
        .select("time_s", "link", "direction", pl.exclude("time_s", "link", "direction"))
    )
    tables["links"] = tables["links"].drop("link").rename({"name": "link"})
    has_window = pl.col("cwnd_max_bytes") > 0
    tables["flows"] = tables["flows"].with_columns(cwnd_max_bytes=pl.when(has_window).then("cwnd_max_bytes"))
    nodes = tables.pop("nodes").select("node", pl.col("name").alias("node_name"), pl.col("direction"))
    events = tables["events"].join(nodes, on="node", how="left", maintain_order="left").drop("node")
    events = events.rename({"node_name": "node"})
    tables["events"] = events.select("time_s", "node", "direction", pl.exclude("time_s", "node", "direction"))
    tables["traces"] = traces.of_run(raw["traces"])
    facts = {"events": raw["events"], "packets": raw["packets"]}
    if scenario.controllers:
        facts["controllers"] = {name: label(make) for name, make in scenario.controllers.items() if make}
    return Run(scenario=scenario, seed=raw["seed"], tables=tables, digest=raw["digest"], facts=facts)


def _frame(columns: dict[str, tuple[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([_column(name, kind, data) for name, (kind, data) in columns.items()])


def _column(name: str, kind: str, data: Any) -> pl.Series:
    if kind == "text":
        return pl.Series(name, data, dtype=pl.String)
    if kind == "word":
        codes, words = data
        return pl.Series(name, words, dtype=pl.String).gather(np.frombuffer(codes, dtype=np.uint32))
    series = pl.Series(name, np.frombuffer(data, dtype=_KINDS[kind]))
    # What does not exist is NaN in the simulator and null in a table.
    return series.fill_nan(None) if kind == "f64" else series.cast(pl.Int64)
