"""From what the agent left behind to the tables that every world writes: same columns, same units.

What Linux does not tell is null. Waiting times in a queue are those of the single packets, captured before and behind
it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from lopsided.data.catalogue import run_tables

from . import captures
from .guest import tcp_info
from .guest.job import Flow, Job, Watched

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said

UNDO_COUNTERS = ("TCPFullUndo", "TCPPartialUndo", "TCPLossUndo", "TCPDSACKUndo")
RECOVERY_COUNTERS = ("TCPSackRecovery", "TCPRenoRecovery")


@dataclass(frozen=True)
class Measured:
    """A run's tables, digest and facts."""

    tables: dict[str, pl.DataFrame]
    digest: str
    facts: dict[str, Any]


def read(folder: Path, job: Job, scenario: said.Resolved) -> Measured:
    """Makes the tables from a finished job's folder."""
    return _Reader(folder, job, scenario).measured()


def load(folder: Path) -> dict[str, Any]:
    """What the agent wrote last."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


class _Reader:
    def __init__(self, folder: Path, job: Job, scenario: said.Resolved) -> None:
        self.folder, self.job, self.scenario = folder, job, scenario
        self.result = load(folder)
        interval = scenario["record"]["interval_s"]
        self.interval_ns = round(interval * 1e9) if interval else 0
        self.fine = pl.read_csv(folder / "tcp.csv", infer_schema_length=None)
        self.queue_fine = pl.read_csv(folder / "queues.csv", infer_schema_length=None)
        self.delays = self._delays()
        self.waits = [self._waits(queue) for queue in job.watched]

    def measured(self) -> Measured:
        tables = {
            "flows": self._flows(),
            "samples": self._samples(),
            "queues": self._queues(),
            "links": self._links(),
            "drops": self._drops(),
            "marks": self._marks(),
            "transfers": self._transfers(),
        }
        # Counts only: the clock's own grain shows in times, and differs with what is captured.
        fates = [tables["flows"].select(pl.col(pl.Int64)).rows(), self.result["queues"]]
        facts = {name: self.result[name] for name in ("kernel", "checks", "load", "capture_lost", "netstat")}
        return Measured(tables, hashlib.sha256(repr(fates).encode()).hexdigest()[:16], facts)

    def _delays(self) -> pl.DataFrame:
        """Round trips of TCP flows, one-way times of datagrams: flow, at_ns, ms."""
        frames: list[pl.DataFrame] = []
        for host in self.scenario["hosts"]:
            ports = {flow.port: n for n, flow in self._tcp_flows() if self.scenario["flows"][n]["from"] == host}
            for tap in (tap for tap in self.job.taps if ports and tap.node == host):
                path = self.folder / f"{tap.file}.pcap"
                for number, trips in captures.round_trips(path, self.result["origin_realtime_ns"], ports).items():
                    frames.append(_delay_frame(number, [(trip.at_ns, trip.rtt_ns) for trip in trips]))
        for number, flow in enumerate(self.job.flows):
            if flow.datagram_rate:
                frames.append(_delay_frame(number, self.result["flows"][number]["delays"]))
        return pl.concat(frames) if frames else _delay_frame(0, [])

    def _waits(self, queue: Watched) -> pl.DataFrame:
        """Of the packets that left a queue: at_ns, ms, octets."""
        before, behind = (self.folder / f"{queue.file(side)}.pcap" for side in ("in", "out"))
        origin = self.result["origin_realtime_ns"]
        into, out_of = (self._station(queue.node, interface) for interface in (queue.way_in, queue.interface))
        rows = [
            (wait.at_ns - origin, wait.wait_ns / 1e6, wait.octets)
            for wait in captures.waits(before, behind, into, out_of)
            if wait.at_ns - origin <= self.job.duration_ns
        ]
        return pl.DataFrame(rows, schema={"at_ns": pl.Int64, "ms": pl.Float64, "octets": pl.Int64}, orient="row")

    def _station(self, node: str, interface: str) -> bytes:
        """The link layer's address of an interface."""
        ends = (end for veth in self.job.veths for end in veth.ends)
        return bytes.fromhex(
            next(end.mac for end in ends if (end.node, end.name) == (node, interface)).replace(":", "")
        )

    def _tcp_flows(self) -> list[tuple[int, Flow]]:
        return [(number, flow) for number, flow in enumerate(self.job.flows) if not flow.datagram_rate]

    def _flows(self) -> pl.DataFrame:
        rows = [self._flow(number) for number in range(len(self.job.flows))]
        return run_tables()["flows"].frame(rows)

    def _flow(self, number: int) -> dict[str, Any]:
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

    def _active_s(self, flow: Flow, seen: dict[str, Any], completed: list[float]) -> float:
        if not flow.size:
            return max(0, flow.stop_ns - flow.start_ns) / 1e9
        begun = seen["begun_ns"]
        return sum(completed) + (0 if begun is None else (self.job.duration_ns - begun) / 1e9)

    def _local_congestion(self, flow: said.Flow) -> int | None:
        """Linux counts them nowhere; there are none where the host has no interface that could refuse a packet."""
        return None if flow["from"] in {each["host"] for each in self.scenario["interfaces"]} else 0

    def _counters(self, flow: Flow) -> dict[str, int] | None:
        """What the flow's sending namespace counted, if no other sends from there."""
        sharing = [other for _, other in self._tcp_flows() if other.sender == flow.sender]
        counters: dict[str, int] | None = self.result["netstat"][flow.sender] if len(sharing) == 1 else None
        return counters

    def _samples(self) -> pl.DataFrame:
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
        """A counter that keeps its value while there is no connection."""
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

    def _queues(self) -> pl.DataFrame:
        if not self.interval_ns:
            return pl.DataFrame()
        waits = pl.concat([self._interval_waits(number) for number in range(len(self.job.watched))] or [_NO_WAITS])
        places = pl.DataFrame(
            {
                "queue": range(len(self.job.watched)),
                "link": [watched.link for watched in self.job.watched],
                "direction": [watched.direction for watched in self.job.watched],
            },
            schema={"queue": pl.Int64, "link": pl.String, "direction": pl.String},
        )
        at = self.queue_fine.filter(pl.col("time_ns") % self.interval_ns == 0)
        return (
            at.with_columns((pl.col("time_ns") // self.interval_ns).alias("number"))
            .join(waits, on=["number", "queue"], how="left", maintain_order="left")
            .join(places, on="queue", how="left", maintain_order="left")
            .select(
                (pl.col("time_ns") / 1e9).alias("time_s"),
                "link",
                "direction",
                "backlog_packets",
                "backlog_bytes",
                (pl.col("sent_packets") + pl.col("dropped") + pl.col("filtered") + pl.col("backlog_packets")).alias(
                    "arrived_packets"
                ),
                pl.col("dropped").alias("dropped_packets"),
                pl.col("filtered").alias("filtered_packets"),
                pl.col("marked").alias("marked_packets"),
                "sent_packets",
                "sent_bytes",
                "sojourn_mean_ms",
                "sojourn_max_ms",
            )
        )

    def _interval_waits(self, queue: int) -> pl.DataFrame:
        return (
            self.waits[queue]
            .group_by(((pl.col("at_ns") + self.interval_ns - 1) // self.interval_ns).alias("number"))
            .agg(pl.col("ms").mean().alias("sojourn_mean_ms"), pl.col("ms").max().alias("sojourn_max_ms"))
            .select("number", pl.lit(queue, dtype=pl.Int64).alias("queue"), "sojourn_mean_ms", "sojourn_max_ms")
        )

    def _links(self) -> pl.DataFrame:
        rows = [self._link(link, direction) for link in self.scenario["links"] for direction in ("down", "up")]
        return run_tables()["links"].frame(rows)

    def _fates(self, fates: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows by reason; Linux counts the packets of a reason, not their octets."""
        return [fate for fate in fates if fate["packets"]]

    def _drops(self) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        for watched, final in zip(self.job.watched, self.result["queues"], strict=True):
            place = {"node": watched.link, "direction": watched.direction}
            queue = self._queue_of(watched)
            front = queue["kind"] == "fifo" and queue["drop"] == "front"
            no_room = "head_drop" if front else "queue_full"
            rows.append({**place, "reason": no_room, "packets": final["dropped"] - final["dropped_early"]})
            rows.append({**place, "reason": "early", "packets": final["dropped_early"]})
            rows.append({**place, "reason": "ack_filtered", "packets": final["filtered"]})
        for count, loss in zip(self.result["losses"], self.job.losses, strict=True):
            place = {"node": loss.link, "direction": loss.direction}
            rows.append({**place, "reason": "random_loss", "packets": count})
        for count, loss in zip(self.result["chosen"], self.job.chosen, strict=True):
            rows.append({"node": loss.link, "direction": loss.direction, "reason": "pattern_loss", "packets": count})
        return run_tables()["drops"].frame(self._fates(rows))

    def _marks(self) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        for watched, final in zip(self.job.watched, self.result["queues"], strict=True):
            reason = "early" if self._queue_of(watched)["kind"] == "red" else "threshold"
            place = {"node": watched.link, "direction": watched.direction}
            rows.append({**place, "reason": reason, "packets": final["marked"]})
        return run_tables()["marks"].frame(self._fates(rows))

    def _queue_of(self, watched: Watched) -> said.Queue:
        link = next(link for link in self.scenario["links"] if link["name"] == watched.link)
        return link["down" if watched.direction == "down" else "up"]["queue"]

    def _link(self, link: said.Link, direction: Literal["down", "up"]) -> dict[str, Any]:
        spec = link[direction]
        rate_bps = spec["rate_bps"]
        row: dict[str, Any] = {"link": link["name"], "direction": direction, "rate_bps": rate_bps}
        place = (link["name"], direction)
        losses = [
            *zip(self.result["losses"], self.job.losses, strict=True),
            *zip(self.result["chosen"], self.job.chosen, strict=True),
        ]
        lost = sum(count for count, loss in losses if (loss.link, loss.direction) == place)
        number = next(
            (n for n, watched in enumerate(self.job.watched) if (watched.link, watched.direction) == place), None
        )
        if number is None or rate_bps is None:
            return {**row, "lost_packets": lost}
        final = self.result["queues"][number]
        series = self.queue_fine.filter(pl.col("queue") == number)
        seconds = self.job.duration_ns / 1e9
        waits = self.waits[number]["ms"]
        return {
            **row,
            "utilisation": _on_the_wire(self.waits[number]["octets"], spec["framing"]) * 8 / rate_bps / seconds,
            "mean_backlog_packets": series["backlog_packets"].mean(),
            "max_backlog_packets": series["backlog_packets"].max(),
            "mean_backlog_bytes": series["backlog_bytes"].mean(),
            "max_backlog_bytes": series["backlog_bytes"].max(),
            "arrived_packets": final["sent_packets"] + final["dropped"] + final["filtered"] + final["backlog_packets"],
            "sent_packets": final["sent_packets"],
            "sent_bytes": final["sent_bytes"],
            "dropped_packets": final["dropped"],
            "filtered_packets": final["filtered"],
            "marked_packets": final["marked"],
            "lost_packets": lost,
            "sojourn_mean_ms": waits.mean(),
            "sojourn_p50_ms": waits.quantile(0.5),
            "sojourn_p95_ms": waits.quantile(0.95),
            "sojourn_max_ms": waits.max(),
        }

    def _transfers(self) -> pl.DataFrame:
        rows = [
            (number, "transfer", start / 1e9, (end - start) / 1e9, flow.size)
            for number, flow in self._tcp_flows()
            for start, end in self.result["flows"][number]["completed"]
        ]
        return pl.DataFrame(rows, schema=run_tables()["transfers"].schema, orient="row")


_NO_WAITS = pl.DataFrame(
    schema={"number": pl.Int64, "queue": pl.Int64, "sojourn_mean_ms": pl.Float64, "sojourn_max_ms": pl.Float64}
)
_TIMES = (("rtt", "srtt_ms"), ("rttvar", "rttvar_ms"), ("rto", "rto_ms"))
_CONTINUED = (("bytes_sent", "sent_bytes"), ("bytes_acked", "acked_bytes"))


def _delay_frame(flow: int, delays: list[Any]) -> pl.DataFrame:
    columns = {"at_ns": pl.Int64, "ns": pl.Int64}
    frame = pl.DataFrame([tuple(delay) for delay in delays], schema=columns, orient="row")
    return frame.select(pl.lit(flow, dtype=pl.Int64).alias("flow"), "at_ns", (pl.col("ns") / 1e6).alias("ms"))


def _on_the_wire(packets: pl.Series, framing: said.Framing) -> int:
    """The octets that IP packets of these sizes take on a line."""
    frames = (packets + framing["overhead_bytes"]).clip(lower_bound=framing["minimum_bytes"])
    if framing["cell_format"] == "atm":
        frames = (frames + 47) // 48 * 53
    if framing["cell_format"] == "ptm":
        frames = frames + (frames + 63) // 64
    return int(frames.sum())


def _delay_summary(ms: pl.Series) -> dict[str, Any]:
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
