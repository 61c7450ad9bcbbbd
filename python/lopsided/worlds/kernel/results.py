"""Builds the tables of a run on Linux. Values that Linux does not report are null.

Waiting times are measured for individual packets, which are captured before and after the queue.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from lopsided import _native
from lopsided.data.catalogue import run_tables
from lopsided.data.table import Row

from . import captures
from .flow_results import FlowReader, Measured, delay_frame
from .guest.job import Job, Watched

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said


def read(folder: Path, job: Job, scenario: said.Resolved) -> Measured:
    """Builds the tables from a finished job's folder."""
    return _Reader(folder, job, scenario).measured()


class _Reader(FlowReader):
    def __init__(self, folder: Path, job: Job, scenario: said.Resolved) -> None:
        super().__init__(folder, job, scenario)
        self.queue_fine = pl.read_csv(folder / "queues.csv", infer_schema_length=None)
        self.waits = [self._waits(queue) for queue in job.watched]

    def measured(self) -> Measured:
        tables = {
            "flows": self.flows(),
            "samples": self.samples(),
            "queues": self._queues(),
            "links": self._links(),
            "drops": self._drops(),
            "marks": self._marks(),
            "transfers": self.transfers(),
        }
        # Captures change the number of clock reads, and thereby the times. The digest therefore covers only counts.
        fates = [tables["flows"].select(pl.col(pl.Int64)).rows(), self.result["queues"]]
        facts = {name: self.result[name] for name in ("kernel", "checks", "load", "capture_lost", "netstat")}
        return Measured(tables, hashlib.sha256(repr(fates).encode()).hexdigest()[:16], facts)

    def read_delays(self) -> pl.DataFrame:
        """Returns the RTTs of TCP and the one-way delays of datagrams: flow, at_ns, ms."""
        frames: list[pl.DataFrame] = []
        for host in self.scenario["hosts"]:
            ports = {flow.port: n for n, flow in self.tcp_flows() if self.scenario["flows"][n]["from"] == host}
            for tap in (tap for tap in self.job.taps if ports and tap.node == host):
                path = self.folder / f"{tap.file}.pcap"
                trips: dict[int, list[tuple[int, int]]] = {number: [] for number in ports.values()}
                for number, at_ns, took_ns in _native.round_trips(str(path), ports):
                    trips[number].append((at_ns - self.result["origin_realtime_ns"], took_ns))
                frames += [delay_frame(*each) for each in trips.items()]
        for number, flow in enumerate(self.job.flows):
            if flow.datagram_rate:
                frames.append(delay_frame(number, self.result["flows"][number]["delays"]))
        return pl.concat(frames) if frames else delay_frame(0, [])

    def _waits(self, queue: Watched) -> pl.DataFrame:
        """Returns the waiting times of packets that left a queue: at_ns, ms, octets."""
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
        """Returns the hardware address of an interface."""
        ends = (end for veth in self.job.veths for end in veth.ends)
        return bytes.fromhex(
            next(end.mac for end in ends if (end.node, end.name) == (node, interface)).replace(":", "")
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

    def _fates(self, fates: list[Row]) -> list[Row]:
        """Returns the rows whose number of lost or marked packets is not 0."""
        return [fate for fate in fates if fate["packets"]]

    def _drops(self) -> pl.DataFrame:
        rows: list[Row] = []
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
        rows: list[Row] = []
        for watched, final in zip(self.job.watched, self.result["queues"], strict=True):
            reason = "early" if self._queue_of(watched)["kind"] == "red" else "threshold"
            place = {"node": watched.link, "direction": watched.direction}
            rows.append({**place, "reason": reason, "packets": final["marked"]})
        return run_tables()["marks"].frame(self._fates(rows))

    def _queue_of(self, watched: Watched) -> said.Queue:
        link = next(link for link in self.scenario["links"] if link["name"] == watched.link)
        return link["down" if watched.direction == "down" else "up"]["queue"]

    def _link(self, link: said.Link, direction: Literal["down", "up"]) -> Row:
        spec = link[direction]
        rate_bps = spec["rate_bps"]
        row: Row = {"link": link["name"], "direction": direction, "rate_bps": rate_bps}
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


_NO_WAITS = pl.DataFrame(
    schema={"number": pl.Int64, "queue": pl.Int64, "sojourn_mean_ms": pl.Float64, "sojourn_max_ms": pl.Float64}
)


def _on_the_wire(packets: pl.Series, framing: said.Framing) -> int:
    """Returns the number of bytes that these IP packets occupy on the line, including framing."""
    frames = (packets + framing["overhead_bytes"]).clip(lower_bound=framing["minimum_bytes"])
    if framing["cell_format"] == "atm":
        frames = (frames + 47) // 48 * 53
    if framing["cell_format"] == "ptm":
        frames = frames + (frames + 63) // 64
    return int(frames.sum())
