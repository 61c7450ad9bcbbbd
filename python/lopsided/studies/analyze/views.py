"""The tables that `analyze` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

from lopsided.data import units
from lopsided.data.table import Row
from lopsided.data.view import Heading, View, numbers, words
from lopsided.studies.analyze.limits import LIMITS, Stretch
from lopsided.studies.analyze.verdict import name

_SHORT = {
    "application": "application",
    "receive_window": "receive window",
    "slow_start": "slow start",
    "avoidance": "congestion avoidance",
    "recovery": "recovery",
    "pacing": "pacing",
    "ack_path": "ACK path",
    "rto_idle": "RTO idle",
    "receiver_stall": "receiver stall",
}


_MEANS = ("rtt_mean_ms", "data_wait_ms", "ack_wait_ms")


def overview(rows: Sequence[Row], most: int = 20) -> View:
    """Returns a table with one row per direction: its data, goodput and main limit."""
    left = len(rows) - most
    return View(
        [
            Heading("#", "number of the direction, which other tables refer to"),
            *words("from > to"),
            Heading("data", spare=True),
            *numbers("goodput"),
            Heading("RTT floor", spare=True),
            Heading("again", "share of retransmitted packets", spare=True),
            *words("limited by"),
            Heading("for", "share of the time"),
        ],
        [
            [
                str(row["direction"]),
                name(row),
                units.size(row["acked_bytes"]),
                units.rate(row["goodput_bps"]),
                units.millis(row["rtt_floor_ms"]),
                units.percent(row["retransmitted_packets"] / row["data_packets"]),
                _SHORT[row["limited_by"]],
                units.percent(row[f"limited_{row['limited_by']}"]),
            ]
            for row in rows[:most]
        ],
        keys=2,
        caption=f"and {left:,} more directions with less data" if left > 0 else "",
    )


def latest(rows: Sequence[Row], most: int = 10) -> View:
    """Returns a table with one row per direction that carried data in the latest second."""
    left = len(rows) - most
    return View(
        [
            *words("from > to"),
            *numbers("goodput"),
            Heading("RTT", "mean round-trip time of the whole path"),
            Heading("data wait", "mean queueing delay of data", spare=True),
            Heading("ACK wait", "mean queueing delay of ACKs", spare=True),
            Heading("again", "retransmitted packets", spare=True),
            *words("limited by"),
        ],
        [
            [
                name(row),
                units.rate(row["goodput_bps"]),
                *(units.millis(None if isnan(row[key]) else row[key]) for key in _MEANS),
                f"{row['retransmitted_packets']:,}",
                _SHORT.get(row["limit"], "–"),
            ]
            for row in rows[:most]
        ],
        caption=f"and {left:,} more directions" if left > 0 else "",
    )


def clocks(facts: Mapping[str, Any]) -> str:
    """Returns a sentence about the offset and the skew between the clocks of two captures."""
    offset, skew = facts["clock_offset_s"], facts["clock_skew_ppm"]
    where = "ahead of" if offset >= 0 else "behind"
    return (
        f"The second capture's clock is {units.seconds(abs(offset))} {where} the first at the first packet, and runs "
        f"{abs(skew):.2f} parts per million {'faster' if skew >= 0 else 'slower'}. The shortest delay between the "
        f"points is assumed to be equal in both directions."
    )


def between(rows: Iterable[Row]) -> View:
    """Returns a table of packets, losses and delays between the two capture points."""
    return View(
        [
            *words("from > to"),
            *numbers("in 1", "in 2"),
            Heading("lost", "packets that passed one point and not the other"),
            *numbers("delay min", "p50", "p95"),
            Heading("max", spare=True),
        ],
        [
            [
                name(row),
                f"{row['packets_1']:,}",
                f"{row['packets_2']:,}",
                f"{row['lost_packets']:,}",
                *(units.millis(row[f"delay_{part}_ms"]) for part in ("min", "p50", "p95", "max")),
            ]
            for row in rows
        ],
    )


def limits(row: Row) -> View:
    """Returns a table of the sender's limits, each with its fraction of the time."""
    shares = {limit: row[f"limited_{limit}"] for limit in LIMITS}
    ordered = sorted((limit for limit in LIMITS if shares[limit] > 0), key=lambda limit: -shares[limit])
    return View(
        [*words("limited by"), *numbers("share"), Heading("that is", numeric=False, spare=True)],
        [[_SHORT[limit], units.percent(shares[limit]), LIMITS[limit]] for limit in ordered],
    )


def path(row: Row) -> View:
    """Returns a table with queueing delay, rate, buffer and discipline in both directions."""
    data_buffer = units.millis(row["data_buffer_ms"])
    if row["data_buffer_ms"] is None and row["data_longest_wait_ms"] is not None:
        data_buffer = f"at least {units.millis(row['data_longest_wait_ms'])}"
    ack_buffer = f"at least {units.millis(row['ack_longest_wait_ms'])}" if row["ack_longest_wait_ms"] else "–"
    return View(
        [*words("way of"), *numbers("wait p50", "wait p95", "rate", "buffer"), *words("discipline")],
        [
            [
                "the data",
                units.millis(row["data_wait_p50_ms"]),
                units.millis(row["data_wait_p95_ms"]),
                units.rate(row["data_rate_bps"]),
                data_buffer,
                row["data_discipline"].replace("_", "-"),
            ],
            [
                "the ACKs",
                units.millis(row["ack_wait_p50_ms"]),
                units.millis(row["ack_wait_p95_ms"]),
                units.rate(row["ack_rate_bps"]),
                ack_buffer,
                "unknown",
            ],
        ],
        caption="waits are in queues, above the smallest delay; rates are of IP packets",
    )


def acks(row: Row) -> View:
    figures = [
        ("ACKs for each data packet", f"{row['ack_ratio']:.2f}"),
        ("octets per ACK, median", units.size(row["ack_bytes_p50_bytes"])),
        ("octets per ACK, 95 %", units.size(row["ack_bytes_p95_bytes"])),
        ("stretch ACKs (more than two segments)", units.percent(row["stretch_share"])),
        ("compressed ACKs", units.percent(row["compressed_share"])),
        ("batches", units.millis(row["batching_ms"])),
        ("thinned by", row["ack_thinning"]),
        ("reordered", f"{row['reordered_acks']:,}"),
        ("share of their line", units.percent(row["ack_uplink_share"])),
    ]  # fmt: skip
    return View([Heading("ACK path", numeric=False), Heading("")], [list(each) for each in figures])


def timeline(stretches: Sequence[Stretch], most: int = 15) -> View:
    left = len(stretches) - most
    return View(
        [*numbers("from", "to"), *words("limited by"), *numbers("confidence", "packets")],
        [
            [
                f"{each.begin_s:.2f} s",
                f"{each.end_s:.2f} s",
                _SHORT[each.limit],
                units.percent(each.confidence),
                f"{each.first_packet:,} to {each.last_packet:,}" if each.last_packet else "–",
            ]
            for each in stretches[:most]
        ],
        keys=2,
        caption=f"and {left:,} more in --json, or in the table of --out" if left > 0 else "",
    )
