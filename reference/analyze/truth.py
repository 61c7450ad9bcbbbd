"""Determines the true limit of each flow over time, from `tcp_info` every 20 ms and the queueing delays in both
directions.

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

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    """Limit per sample, as an index into `LIMITS`; -1 if there is no connection."""
    queued_s: NDArray[np.float64]
    """Queueing delay, in seconds, of the data that is sent at the time of each sample."""

    def seen(self, vantage: str, rtt_s: float) -> NDArray[np.float64]:
        """Returns, for each sample, the time in seconds at which the effect of the limit is visible at the point of
        capture."""
        if vantage == "sender":
            return self.time_s
        way = rtt_s / 2 if vantage == "receiver" else 0.0
        return np.maximum.accumulate(self.time_s + self.queued_s + way)


def limits(home: Path, case: Case) -> list[Truth]:
    """Returns the true limits of each flow in a run."""
    samples, flows = (pl.read_parquet(home / f"{name}.parquet") for name in ("samples", "flows"))
    waits = _waits(home)
    found: list[Truth] = []
    for flow in flows.iter_rows(named=True):
        rows = samples.filter(pl.col("flow") == flow["flow"])
        way = flow["direction"]
        limit = _of_flow(rows, waits, way, case, flow["rtt_min_ms"] or 0.0)
        found.append(Truth(rows["time_s"].to_numpy(), limit, _queued(home, way, case)))
    return found


def _queued(home: Path, way: str, case: Case) -> NDArray[np.float64]:
    queues = pl.read_parquet(home / "queues.parquet").filter(pl.col("direction") == way)
    return queues["backlog_bytes"].to_numpy() * 8 / (case.down_bps if way == "down" else case.up_bps)


def _waits(home: Path) -> dict[str, NDArray[np.float64]]:
    """Returns, for each direction, the mean queueing delay in ms during each sample; 0 if no packet left the queue."""
    queues = pl.read_parquet(home / "queues.parquet")
    return {
        way: queues.filter(pl.col("direction") == way)["sojourn_mean_ms"].fill_null(0.0).to_numpy()
        for way in ("down", "up")
    }


def _of_flow(
    rows: pl.DataFrame, waits: dict[str, NDArray[np.float64]], way: str, case: Case, floor_ms: float
) -> NDArray[np.int8]:
    state = rows["state"].to_numpy()
    flight, cwnd, window = (rows[name].to_numpy() for name in ("in_flight_bytes", "cwnd_bytes", "snd_wnd_bytes"))
    threshold = rows["ssthresh_bytes"].fill_null(float("inf")).to_numpy()
    moved = rows["sent_bytes"].to_numpy() + rows["delivered_bytes"].to_numpy() + rows["retransmits"].to_numpy()
    data, acks = waits[way], waits["up" if way == "down" else "down"]
    data, acks = (_recent(each, rows["srtt_ms"].fill_null(0.0).to_numpy()) for each in (data, acks))
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
    return np.where(state == "closed", -1, limit).astype(np.int8)


def _recent(waits: NDArray[np.float64], srtt_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean queueing delay in ms over the last RTT, or over the last 25 samples if the RTT is longer."""
    found = waits.copy()
    for place in range(len(waits)):
        back = max(1, min(25, int(srtt_ms[place] // 20)))
        found[place] = waits[max(0, place - back) : place + 1].mean()
    return found


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
