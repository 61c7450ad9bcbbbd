"""Builds the tables of flows from the agent's measurements. Values that Linux does not report are null."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lopsided.data.catalogue import run_tables
from lopsided.data.table import Row

from .guest import tcp_info
from .guest.job import Flow, Job

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said

UNDO_COUNTERS = ("TCPFullUndo", "TCPPartialUndo", "TCPLossUndo", "TCPDSACKUndo")
RECOVERY_COUNTERS = ("TCPSackRecovery", "TCPRenoRecovery")


def load(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


@dataclass(frozen=True)
class Measured:
    """A run's tables, digest and facts. In the live world, every run has a different digest."""

    tables: dict[str, pl.DataFrame]
    digest: str
    facts: dict[str, Any]


class FlowReader:
    """Builds tables from a finished job's folder. `delays` has one row per RTT or datagram delay: flow, at_ns, ms."""

    def __init__(self, folder: Path, job: Job, scenario: said.Resolved) -> None:
        self.folder, self.job, self.scenario = folder, job, scenario
        self.result = load(folder)
        interval = scenario["record"]["interval_s"]
        self.interval_ns = round(interval * 1e9) if interval else 0
        fine = pl.read_csv(folder / "tcp.csv", infer_schema_length=None)
        # If a column is empty, polars reads it as text.
        self.fine = fine.with_columns(pl.col(pl.String).cast(pl.Int64))
        self.delays = self.read_delays()

    def read_delays(self) -> pl.DataFrame:
        """Returns the RTTs of TCP and the one-way delays of datagrams: flow, at_ns, ms."""
        raise NotImplementedError

    def tcp_flows(self) -> list[tuple[int, Flow]]:
        return [(number, flow) for number, flow in enumerate(self.job.flows) if not flow.datagram_rate]

    def flows(self) -> pl.DataFrame:
        rows = [self.flow(number) for number in range(len(self.job.flows))]
        return run_tables()["flows"].frame(rows)

    def flow(self, number: int) -> Row:
        flow, spec, seen = self.job.flows[number], self.scenario["flows"][number], self.result["flows"][number]
        udp = bool(flow.datagram_rate)
        info = seen.get("info", {})
        completed = [(end - start) / 1e9 for start, end in seen.get("completed", [])]
        active = self._active_s(flow, seen, completed)
        sent_packets = seen["sent_packets"] if udp else info.get("data_segs_out", 0)
        counters = {} if udp else self._counters(flow)
        windows = self.fine.filter((pl.col("flow") == number) & pl.col("snd_cwnd").is_not_null())
        windows = (windows["snd_cwnd"] * windows["snd_mss"]).cast(pl.Int64)
        return {
            "flow": number,
            "name": flow.name,
            "group": spec["group"],
            "direction": spec["direction"] or "",
            "from": spec["from"],
            "to": spec["to"],
            "cc": "" if udp else flow.cc,
            "profile": "udp" if udp else f"linux-{'.'.join(self.result['kernel'].split('.')[:2])}",
            "start_s": flow.start_ns / 1e9,
            "stop_s": flow.stop_ns / 1e9,
            "active_s": active,
            "sent_bytes": seen["sent"] if udp else info.get("bytes_sent", 0),
            "acked_bytes": info.get("bytes_acked", 0),
            "delivered_bytes": seen["delivered"],
            "goodput_bps": 8 * seen["delivered"] / active if active > 0 else 0.0,
            "data_segments_out": sent_packets,
            "data_segments_in": seen["received_packets"],
            "retransmits": info.get("total_retrans", 0),
            "timeouts": _total(counters, ("TCPTimeouts",)),
            "fast_retransmits": _total(counters, RECOVERY_COUNTERS),
            "local_congestion": self._local_congestion(spec),
            "tail_probes": _total(counters, ("TCPLossProbes",)),
            "undos": _total(counters, UNDO_COUNTERS),
            **_delay_summary(self.delays.filter(pl.col("flow") == number)["ms"]),
            "srtt_ms": info["rtt"] / 1e3 if info.get("rtt") else None,
            "cwnd_mean_bytes": windows.mean(),
            "cwnd_max_bytes": windows.max(),
            "transfers": len(completed),
            "completion_s": sum(completed) / len(completed) if completed else None,
            "completion_max_s": max(completed, default=None),
            "lost_packets": sent_packets - seen["received_packets"] if udp else 0,
        }

    def _active_s(self, flow: Flow, seen: Row, completed: list[float]) -> float:
        if not flow.size:
            return max(0, flow.stop_ns - flow.start_ns) / 1e9
        begun = seen["begun_ns"]
        return sum(completed) + (0 if begun is None else (self.job.duration_ns - begun) / 1e9)

    def _local_congestion(self, flow: said.Flow) -> int | None:
        """Returns the number of packets that the sender's interface refused. The number is 0 if the scenario does not
        describe this interface, else `None`, because Linux does not count refused packets."""
        return None if flow["from"] in {each["host"] for each in self.scenario["interfaces"]} else 0

    def _counters(self, flow: Flow) -> dict[str, int] | None:
        """Returns the counters of the sending namespace; `None` if several flows share the namespace."""
        sharing = [other for _, other in self.tcp_flows() if other.sender == flow.sender]
        counters: dict[str, int] | None = self.result["netstat"].get(flow.sender) if len(sharing) == 1 else None
        return counters

    def samples(self) -> pl.DataFrame:
        if not self.interval_ns:
            return pl.DataFrame()
        at = self.fine.filter(pl.col("time_ns") % self.interval_ns == 0)
        mss = pl.col("snd_mss")
        present = pl.col("snd_cwnd").is_not_null()
        datagram = pl.col("flow").is_in([number for number, flow in enumerate(self.job.flows) if flow.datagram_rate])
        states = pl.col("ca_state").replace_strict(dict(enumerate(tcp_info.CONGESTION_STATES)), return_dtype=pl.String)

        def count(expression: pl.Expr) -> pl.Expr:
            return expression.fill_null(0).cast(pl.Int64)

        in_flight = (pl.col("unacked") - pl.col("sacked") - pl.col("lost") + pl.col("retrans")) * mss
        samples = at.select(
            (pl.col("time_ns") / 1e9).alias("time_s"),
            pl.col("flow").cast(pl.Int64),
            pl.when(present).then(states).when(datagram).then(pl.lit("udp")).otherwise(pl.lit("closed")).alias("state"),
            count(pl.col("snd_cwnd") * mss).alias("cwnd_bytes"),
            pl.when(pl.col("snd_ssthresh") < tcp_info.INFINITE_SSTHRESH)
            .then((pl.col("snd_ssthresh") * mss).cast(pl.Float64))
            .alias("ssthresh_bytes"),
            *((pl.col(name) / 1e3).alias(column) for name, column in _TIMES),
            count(in_flight).alias("in_flight_bytes"),
            count(pl.col("snd_wnd")).alias("snd_wnd_bytes"),
            count(pl.col("receive_space")).alias("rcv_space_bytes"),
            *(self._continued(name).alias(column) for name, column in _CONTINUED),
            pl.col("delivered").alias("delivered_bytes"),
            self._continued("total_retrans").alias("retransmits"),
        )
        return samples.join(
            self._interval_delays(), on=["time_s", "flow"], how="left", maintain_order="left"
        ).with_columns(
            pl.col("rtt_count").fill_null(0).cast(pl.Int64),
            pl.col("rtt_sum_ms", "rtt_sumsq_ms2").fill_null(0.0),
        )

    @staticmethod
    def _continued(name: str) -> pl.Expr:
        """Returns an expression for a counter that keeps its value while the flow has no connection."""
        return pl.col(name).forward_fill().over("flow").fill_null(0).cast(pl.Int64)

    def _interval_delays(self) -> pl.DataFrame:
        interval_s = self.interval_ns / 1e9
        number = (pl.col("at_ns") + self.interval_ns - 1) // self.interval_ns
        return (
            self.delays.with_columns(((number * self.interval_ns) / 1e9).alias("time_s"))
            .group_by("time_s", "flow")
            .agg(
                pl.len().alias("rtt_count"),
                pl.col("ms").sum().alias("rtt_sum_ms"),
                (pl.col("ms") ** 2).sum().alias("rtt_sumsq_ms2"),
                pl.col("ms").min().alias("rtt_min_ms"),
                pl.col("ms").max().alias("rtt_max_ms"),
            )
            .filter(pl.col("time_s") >= interval_s / 2)
        )

    def transfers(self) -> pl.DataFrame:
        rows = [
            (number, "transfer", start / 1e9, (end - start) / 1e9, flow.size)
            for number, flow in self.tcp_flows()
            for start, end in self.result["flows"][number]["completed"]
        ]
        return pl.DataFrame(rows, schema=run_tables()["transfers"].schema, orient="row")


_TIMES = (("rtt", "srtt_ms"), ("rttvar", "rttvar_ms"), ("rto", "rto_ms"))
_CONTINUED = (("bytes_sent", "sent_bytes"), ("bytes_acked", "acked_bytes"))


def delay_frame(flow: int, delays: list[Any]) -> pl.DataFrame:
    columns = {"at_ns": pl.Int64, "ns": pl.Int64}
    frame = pl.DataFrame([tuple(delay) for delay in delays], schema=columns, orient="row")
    return frame.select(pl.lit(flow, dtype=pl.Int64).alias("flow"), "at_ns", (pl.col("ns") / 1e6).alias("ms"))


def _delay_summary(ms: pl.Series) -> Row:
    return {
        "rtt_count": len(ms),
        "rtt_mean_ms": ms.mean(),
        "rtt_std_ms": ms.std(ddof=0),
        "rtt_min_ms": ms.min(),
        "rtt_p50_ms": ms.quantile(0.5),
        "rtt_p95_ms": ms.quantile(0.95),
        "rtt_max_ms": ms.max(),
    }


def _total(counters: dict[str, int] | None, names: tuple[str, ...]) -> int | None:
    return None if counters is None else sum(counters.get(name, 0) for name in names)
