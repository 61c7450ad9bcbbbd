"""Builds the tables of a live run. The simulator's code measures the path, and both ends of a flow measure the flow.

If the kernel sends, the windows are read from TCP_INFO, and the RTTs are measured with the packets at the edges of the
path. Values that Linux does not report are null.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lopsided.data import columns
from lopsided.data.catalogue import run_tables
from lopsided.worlds.kernel.flow_results import FlowReader, Measured

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said
    from lopsided.worlds.kernel.guest.job import Job

Carried = tuple[dict[str, Any], bytes, dict[str, Any]]
"""The result of the emulated path: the simulator's raw run, the encoded RTTs of the kernel's flows, and facts."""


def read(folder: Path, job: Job, scenario: said.Resolved, ours: frozenset[str], carried: Carried) -> Measured:
    """Builds the tables from the agent's folder and the path's result."""
    return _Reader(folder, job, scenario, ours, carried).measured()


class _Reader(FlowReader):
    def __init__(self, folder: Path, job: Job, scenario: said.Resolved, ours: frozenset[str], carried: Carried) -> None:
        raw, self._trips, self._path = carried
        self._simulated = dict(columns.Frames(raw["tables"]))
        self._raw_digest = raw["digest"]
        self._senders = [flow["from"] not in ours for flow in scenario["flows"]]
        self._receivers = [flow["to"] not in ours for flow in scenario["flows"]]
        """For each flow, true if the kernel sends (`_senders`), and true if the kernel receives (`_receivers`)."""
        super().__init__(folder, job, scenario)

    def measured(self) -> Measured:
        tables = {
            **self._simulated,
            "flows": self._all_flows(),
            "samples": self._all_samples(),
            "transfers": pl.concat([self.transfers(), self._simulated["transfers"]]).sort(
                "start_s", maintain_order=True
            ),
        }
        counts = tables["flows"].select(pl.col(pl.Int64)).rows()
        digest = hashlib.sha256(repr((self._raw_digest, counts)).encode()).hexdigest()[:16]
        facts = {name: self.result[name] for name in ("kernel", "load", "lost_at_devices", "netstat")}
        return Measured(tables, digest, {**facts, "path": self._path})

    def read_delays(self) -> pl.DataFrame:
        """Returns the RTTs that were measured at the edges of the path: flow, at_ns, ms."""
        flow, at_ns, took_ns = np.frombuffer(self._trips, dtype=np.uint64).astype(np.int64).reshape(-1, 3).T
        return pl.DataFrame({"flow": flow, "at_ns": at_ns, "ms": took_ns / 1e6})

    def _all_flows(self) -> pl.DataFrame:
        simulated = self._simulated["flows"].rows(named=True)
        rows = [self._joined(number, simulated[number]) for number in range(len(simulated))]
        return run_tables()["flows"].frame(rows)

    def _joined(self, number: int, simulated: dict[str, Any]) -> dict[str, Any]:
        """Joins the summaries of both ends of a flow."""
        sender, receiver = self._senders[number], self._receivers[number]
        kernel = self.flow(number)
        if not sender and not receiver:
            # Delays of datagrams are measured at the edges of the path.
            of_datagrams = [name for name in kernel if name.startswith("rtt_")] if self._is_datagram(number) else []
            return simulated | {name: kernel[name] for name in of_datagrams}
        if sender and receiver:
            return kernel
        sending, receiving = (kernel, simulated) if sender else (simulated, kernel)
        row = {**sending, **{name: receiving[name] for name in ("delivered_bytes", "data_segments_in")}}
        if self._is_datagram(number):
            row |= {name: receiving[name] for name in receiving if name.startswith("rtt_")}
            row["lost_packets"] = row["data_segments_out"] - row["data_segments_in"]
        elif self.job.flows[number].size:
            row |= {name: kernel[name] for name in ("active_s", "transfers", "completion_s", "completion_max_s")}
        active = row["active_s"]
        row["goodput_bps"] = 8 * row["delivered_bytes"] / active if active > 0 else 0.0
        return row

    def _is_datagram(self, number: int) -> bool:
        return self.job.flows[number].datagram_rate > 0

    def _all_samples(self) -> pl.DataFrame:
        if not self.interval_ns:
            return self._simulated["samples"]
        kernel, simulated = self.samples(), self._simulated["samples"]
        at = ["time_s", "flow"]
        # The kernel's and the path's times are computed differently, so both are rounded to ns.
        whole = (pl.col("time_s") * 1e9).round().cast(pl.Int64).alias("time_ns")
        either = simulated.with_columns(whole).join(
            kernel.with_columns(whole),
            on=["time_ns", "flow"],
            how="left",
            suffix="_kernel",
            maintain_order="left",
        )

        def of_kernel(column: str) -> pl.Expr:
            chosen = self._receivers if column == "delivered_bytes" else self._senders
            if column.startswith("rtt_"):
                chosen = [
                    receiver or not sender if self._is_datagram(number) else sender
                    for number, (sender, receiver) in enumerate(zip(self._senders, self._receivers, strict=True))
                ]
            flows = [number for number, by_kernel in enumerate(chosen) if by_kernel]
            return pl.when(pl.col("flow").is_in(flows)).then(f"{column}_kernel").otherwise(column).alias(column)

        return either.select(*at, *(of_kernel(column) for column in simulated.columns if column not in at))
