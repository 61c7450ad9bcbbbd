"""Determines the true limit of each flow over time, from `tcp_info` every 20 ms and the queueing delays of the flow's
data and ACKs.

The limits have the same names as in `lopsided analyze`:

- recovery: the kernel's state is Recovery or Loss;
- RTO idle: no data is sent or delivered, and the state Loss follows;
- receive window: the receive window has no room for two more segments, and is at most as large as cwnd;
- application: both windows have room, and the congestion control is not BBR;
- pacing: both windows have room, the congestion control is BBR, and data is sent or delivered;
- ACK path: cwnd is full, and the queueing delay of ACKs exceeds 2 ms, 20 % of the smallest RTT, and 1.5 times the
  queueing delay of data;
- slow start: cwnd is full and below ssthresh;
- congestion avoidance: cwnd is full and not below ssthresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import lopsided as lop
from reference.analyze.corpus import Case

LIMITS = (
    "application", "receive_window", "slow_start", "avoidance", "recovery", "pacing", "ack_path", "rto_idle",
)  # fmt: skip
SEGMENT = 1448
ROOM = 2 * SEGMENT
"""A window counts as full if at most this number of bytes is free. With delayed ACKs, up to two segments of a full
window are free."""

SILENT = 3
"""Number of consecutive samples without sent or delivered data after which the sender counts as waiting for a timer."""


@dataclass(frozen=True)
class Truth:
    """The true limit of one flow at the time of each sample."""

    time_s: NDArray[np.float64]
    """Times, in seconds, at which `tcp_info` of the sender was sampled."""
    limit: NDArray[np.int8]
    """Limit per sample, as an index into `LIMITS`; -1 before the first data and without a connection."""
    queued_s: NDArray[np.float64]
    """Queueing delay, in seconds, of the data that is sent at the time of each sample."""

    def seen(self, vantage: str, rtt_s: float) -> NDArray[np.float64]:
        """Returns, for each sample, the time in seconds from which the effect of the limit is visible at the point of
        capture, and the end of this time for the last sample.

        The effect is visible until the middle of the gap between two samples. While the queue drains, these times are
        shorter than the interval of the samples, and while the queue grows, they are longer.
        """
        times = self.time_s
        if vantage != "sender":
            way = rtt_s / 2 if vantage == "receiver" else 0.0
            times = np.maximum.accumulate(times + self.queued_s + way)
        return np.concatenate([times[:1], (times[:-1] + times[1:]) / 2, times[-1:]])


def limits(home: Path, case: Case) -> list[Truth]:
    """Returns the true limits of each flow in a run."""
    samples, flows = (pl.read_parquet(home / f"{name}.parquet") for name in ("samples", "flows"))
    delays = _delays(home)
    found: list[Truth] = []
    for flow, ends in zip(
        flows.iter_rows(named=True), pl.read_csv(home / "pcap" / "flows.csv").to_dicts(), strict=True
    ):
        rows = samples.filter(pl.col("flow") == flow["flow"])
        limit = _of_flow(rows, delays, ends, case, flow["rtt_min_ms"] or 0.0)
        found.append(Truth(rows["time_s"].to_numpy(), limit, _queued(home, flow["direction"], case)))
    return found


def _queued(home: Path, way: str, case: Case) -> NDArray[np.float64]:
    queues = pl.read_parquet(home / "queues.parquet").filter(pl.col("direction") == way)
    return queues["backlog_bytes"].to_numpy() * 8 / (case.down_bps if way == "down" else case.up_bps)


def _delays(home: Path) -> pl.DataFrame:
    """Returns the queueing delay of each packet that arrived: its addresses and ports, time of arrival and delay in ms.

    The captures at both hosts show the delay of each packet. The smallest delay in a direction is not queueing delay.
    """
    both = lop.analyze(home / "pcap" / "host-server.pcapng", home / "pcap" / "host-client.pcapng")
    ends = both.between.to_polars().select("from", "from_port", "to", "to_port").with_row_index("way", offset=1)
    return (
        both.passages.to_polars()
        .drop_nulls("delay_ms")
        .join(ends.with_columns(pl.col("way").cast(pl.Int64)), on="way")
        .with_columns(
            time_s=both.facts["begin_s"] + pl.col("time_s") + pl.col("delay_ms") / 1e3,
            wait_ms=pl.col("delay_ms") - pl.col("delay_ms").min().over("from"),
        )
    )


def _waits(packets: pl.DataFrame, time_s: NDArray[np.float64], rtt_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean queueing delay in ms over the last RTT at each sample, or over the last 0.5 s if the RTT is
    longer; 0 if no packet arrived in this time."""
    arrived = packets.sort("time_s")
    times = arrived["time_s"].to_numpy()
    sums = np.concatenate([[0.0], np.cumsum(arrived["wait_ms"].to_numpy())])
    since, until = (np.searchsorted(times, each) for each in (time_s - np.clip(rtt_ms / 1e3, 0.02, 0.5), time_s))
    return (sums[until] - sums[since]) / np.maximum(until - since, 1)


def _of_flow(
    rows: pl.DataFrame, delays: pl.DataFrame, ends: dict[str, Any], case: Case, floor_ms: float
) -> NDArray[np.int8]:
    state = rows["state"].to_numpy()
    flight, cwnd, window = (rows[name].to_numpy() for name in ("in_flight_bytes", "cwnd_bytes", "snd_wnd_bytes"))
    threshold = rows["ssthresh_bytes"].fill_null(float("inf")).to_numpy()
    moved = rows["sent_bytes"].to_numpy() + rows["delivered_bytes"].to_numpy() + rows["retransmits"].to_numpy()
    rtt_ms = rows["srtt_ms"].fill_null(0.0).to_numpy()
    at_receiver = {
        name: (pl.col(name) == ends["address"]) & (pl.col(f"{name}_port") == ends["port"]) for name in ("to", "from")
    }
    data, acks = (_waits(delays.filter(of), rows["time_s"].to_numpy(), rtt_ms) for of in at_receiver.values())
    late = (acks > np.maximum(2.0, floor_ms / 5)) & (acks > 1.5 * data)
    full = flight + ROOM >= cwnd
    held = (flight + ROOM > window) & (window <= cwnd + ROOM)
    by_window = np.where(late, 6, np.where(cwnd < threshold, 2, 3))
    if case.control == "bbr":
        # BBR has no slow-start threshold. If cwnd is not full, the limit is pacing while data is sent or delivered, and
        # otherwise the application.
        by_window = np.where(late, 6, 3)
        idle = np.where(_quiet(moved), 0, 5)
    else:
        idle = np.zeros(len(rows), dtype=int)
    limit = np.where(held, 1, np.where(full, by_window, idle))
    limit = np.where(np.isin(state, ["recovery", "loss"]), 4, limit)
    limit = np.where(_timers(state, moved), 7, limit)
    # Until the first data, the sender waits for the handshake, and its receive window is 0.
    return np.where((state == "closed") | (rows["sent_bytes"].to_numpy() == 0), -1, limit).astype(np.int8)


def _quiet(moved: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns an array that is true for samples without sent or delivered data if the adjacent samples have none
    either."""
    same = np.concatenate([[False], moved[1:] == moved[:-1]])
    return same & np.roll(same, 1) & np.roll(same, -1)


def _timers(state: NDArray[np.object_], moved: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns an array that is true for samples in which the sender waits for a retransmission timer. In these samples
    no data is sent or delivered, and the state Loss follows."""
    found = np.zeros(len(state), dtype=bool)
    begin = 0
    for place in range(1, len(state) + 1):
        if place < len(state) and moved[place] == moved[place - 1]:
            continue
        ends_in_loss = place < len(state) and state[place] == "loss"
        if place - begin > SILENT and ends_in_loss:
            found[begin + 1 : place] = True
        begin = place
    return found
