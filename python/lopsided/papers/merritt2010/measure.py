"""Measures one run: the averages of the thesis, and numbers for the thesis's observations in traces.

"Alone" is the time before the upload starts, and "both active" is the time afterwards (MER-M02, MER-M17). Goodput
counts the bytes that the receiving application reads (one interpretation of MER-A08).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from lopsided import metrics
from lopsided.papers.framework.traces import Array, Buffers, Trace, buffers_of, traces_of

if TYPE_CHECKING:
    from lopsided.scenario import Run

GOODPUT_STEP_S = 0.5
"""Bin width, in seconds, of the goodput series that measures interference. It is a few RTTs."""

TREND_S = 30.0
"""Changes that last longer than this number of seconds count as a trend."""


class Rates(Protocol):
    @property
    def down_bps(self) -> float: ...
    @property
    def up_bps(self) -> float: ...


def logged(trace: Trace, value: Array, t0_s: float, t1_s: float) -> tuple[float, float]:
    """Averages a column in the same way as the thesis's log, which has one row per write of the sender.

    The sender writes when acknowledged data frees space in its buffer. The weight of a sample is therefore the number
    of acknowledged bytes.

    Parameters
    ----------
    trace
        Samples of one flow.
    value
        Column to average, one value per sample.
    t0_s, t1_s
        Interval in seconds.

    Returns
    -------
    tuple[float, float]
        Mean and standard deviation in the unit of `value`; NaN if nothing was acknowledged.
    """
    inside = (trace.time_s > t0_s) & (trace.time_s <= t1_s) & np.isfinite(value)
    weight = np.diff(trace.acked_bytes, prepend=0.0)[inside]
    if weight.sum() == 0:
        return float("nan"), float("nan")
    mean = float(np.average(value[inside], weights=weight))
    return mean, float(np.sqrt(np.average((value[inside] - mean) ** 2, weights=weight)))


@dataclass(frozen=True)
class TwoWay:
    """The traces of a run with a download and an upload."""

    download: Trace
    upload: Trace
    start_s: float
    """Start of the upload, in seconds."""
    end_s: float

    @classmethod
    def of(cls, run: Run) -> TwoWay:
        """Reads the traces of the flows `download` and `upload` from a run."""
        flows = {row["name"]: row for row in run.flows.rows()}
        traces = traces_of(run, ("download", "upload"))
        return cls(
            download=traces["download"],
            upload=traces["upload"],
            start_s=float(flows["upload"]["start_s"]),
            end_s=float(flows["download"]["stop_s"]),
        )


def two_way(run: Run, rates: Rates) -> Mapping[str, float]:
    """Returns one row of the sweep: goodputs, performance, RTT, windows, estimates, phase and interference."""
    both = TwoWay.of(run)
    start, end = both.start_s, both.end_s
    down, up = both.download, both.upload
    flows = {row["name"]: row for row in run.flows.rows()}
    goodput_down, goodput_up = down.goodput_bps(start, end), up.goodput_bps(start, end)
    alone_rtt, both_rtt = down.rtt_ms(0.0, start), down.rtt_ms(start, end)
    logged_alone, logged_both = logged(down, down.srtt_ms, 0.0, start), logged(down, down.srtt_ms, start, end)
    cwnd_down, cwnd_up = (logged(each, each.cwnd_bytes, start, end)[0] for each in (down, up))
    max_down, max_up = float(flows["download"]["cwnd_max_bytes"]), float(flows["upload"]["cwnd_max_bytes"])
    # MER-A19: use only the time in which both flows are active. The largest window of the whole run would be the
    # overshoot of the first slow start.
    max_down_both = metrics.largest(down.time_s, down.cwnd_bytes, start, end)
    # Appendices E and J and section 6.3 take windows and RTTs from the sender's log.
    bdp = metrics.bandwidth_delay_product_bytes(rates.down_bps, logged_both[0] / 1e3)
    rtt_alone_s = logged_alone[0] / 1e3
    return {
        "goodput_down_alone_bps": down.goodput_bps(0.0, start),
        "goodput_down_bps": goodput_down,
        "goodput_up_bps": goodput_up,
        "down_ratio": metrics.throughput_ratio(goodput_down, down.goodput_bps(0.0, start)),
        "down_share": goodput_down / rates.down_bps,
        "up_share": goodput_up / rates.up_bps,
        "performance": metrics.min_normalised_goodput(goodput_down, goodput_up, rates.down_bps, rates.up_bps),
        **_halves(both, rates),
        "net_performance": metrics.normalised_net_goodput(goodput_down, goodput_up, rates.down_bps, rates.up_bps),
        **_logged(both, rates),
        "rtt_alone_ms": alone_rtt.mean,
        "rtt_alone_logged_ms": logged_alone[0],
        "rtt_ms": both_rtt.mean,
        "rtt_std_ms": both_rtt.std,
        "rtt_std_logged_ms": logged_both[1],
        "rtt_up_ms": up.rtt_ms(start, end).mean,
        "cwnd_down_bytes": cwnd_down,
        "cwnd_up_bytes": cwnd_up,
        "cwnd_ratio": metrics.cwnd_efficiency_ratio(cwnd_down, cwnd_up),
        "max_cwnd_down_bytes": max_down,
        "max_cwnd_down_both_bytes": max_down_both,
        "max_cwnd_up_bytes": max_up,
        "estimate_packets": metrics.uplink_buffer_bound_packets(max_down, max_up, rtt_alone_s, rates.up_bps),
        "estimate_both_packets": metrics.uplink_buffer_bound_packets(max_down_both, max_up, rtt_alone_s, rates.up_bps),
        "bdp_down_bytes": bdp,
        "bdp_over_cwnd": bdp / cwnd_down,
        "retransmits_down": float(flows["download"]["retransmits"]),
        "retransmits_up": float(flows["upload"]["retransmits"]),
        "timeouts_down": float(flows["download"]["timeouts"]),
        "timeouts_up": float(flows["upload"]["timeouts"]),
        **_phase(both),
        **_interference(both, rates),
        **_queues(run, both),
    }


def _halves(both: TwoWay, rates: Rates) -> dict[str, float]:
    """Returns the performance in the first half and in the second half of the time in which both flows are active. A
    small difference between the halves shows that 2 minutes are enough."""
    middle = (both.start_s + both.end_s) / 2
    found: dict[str, float] = {}
    for name, t0, t1 in (("first", both.start_s, middle), ("second", middle, both.end_s)):
        found[f"performance_{name}_half"] = metrics.min_normalised_goodput(
            both.download.goodput_bps(t0, t1), both.upload.goodput_bps(t0, t1), rates.down_bps, rates.up_bps
        )
    return found


def _logged(both: TwoWay, rates: Rates) -> dict[str, float]:
    """Returns the performance according to equation 1.2 of the thesis. Each throughput is the mean logged window
    divided by the mean logged RTT, as in the scripts of appendices E, F and I (MER-A08)."""
    shares: dict[str, float] = {}
    for name, trace, rate in (("down", both.download, rates.down_bps), ("up", both.upload, rates.up_bps)):
        rtt, _ = logged(trace, trace.srtt_ms, both.start_s, both.end_s)
        cwnd, _ = logged(trace, trace.cwnd_bytes, both.start_s, both.end_s)
        shares[f"logged_{name}"] = metrics.window_over_rtt_bps(cwnd, rtt * 1e3) / rate if rtt > 0 else float("nan")
    return {"logged_performance": min(shares.values()), **shares}


def phase_of(both: TwoWay) -> metrics.Phase:
    """Returns the phase of the two windows while both flows are active."""
    return metrics.window_phase(*_windows(both), trend_s=TREND_S)


def _windows(both: TwoWay) -> tuple[Array, Array, Array, Array, float, float]:
    down, up = both.download, both.upload
    return down.time_s, down.cwnd_bytes, up.time_s, up.cwnd_bytes, both.start_s, both.end_s


def _phase(both: TwoWay) -> dict[str, float]:
    phase = phase_of(both)
    falls = metrics.fall_coincidence(*_windows(both))
    return {
        "falls_down": float(falls.falls),
        "falls_together": falls.share,
        "falls_together_lift": falls.lift,
        "phase_correlation": phase.correlation,
        "phase_agreement": phase.agreement,
        "phase_score": phase.score,
    }


def _interference(both: TwoWay, rates: Rates) -> dict[str, float]:
    trace = both.download
    _, rate = metrics.rate_series_bps(trace.time_s, trace.delivered_bytes, both.start_s, both.end_s, GOODPUT_STEP_S)
    cycle = metrics.periodicity(rate, GOODPUT_STEP_S, trend_s=TREND_S)
    dips = metrics.dips(rate, GOODPUT_STEP_S, rates.down_bps)
    return {
        "goodput_variation": float(rate.std() / rate.mean()) if rate.mean() > 0 else float("nan"),
        "period_strength": cycle.strength,
        "period_s": cycle.period_s if cycle.period_s is not None else float("nan"),
        "line_share": cycle.line_share,
        "dip_share": dips.time_share,
        "dip_interval_variation": dips.interval_variation if dips.interval_variation is not None else float("nan"),
    }


def _queues(run: Run, both: TwoWay) -> dict[str, float]:
    """Returns the backlogs and waiting times of both buffers, while both flows are active and before the second flow
    starts."""
    buffers = buffers_of(run)
    found: dict[str, float] = {}
    for direction, columns in buffers.items():
        time, backlog, wait = (columns[name] for name in ("time_s", "backlog_packets", "sojourn_mean_ms"))
        together = time > both.start_s
        found |= {
            f"{direction}link_empty_share": float((backlog[together] == 0).mean()),
            f"{direction}link_backlog_packets": float(backlog[together].mean()),
            f"{direction}link_backlog_alone_max_packets": float(backlog[~together].max()),
            f"wait_{direction}_ms": _mean_known(wait[together]),
            f"wait_{direction}_alone_ms": _mean_known(wait[~together]),
        }
    return {**found, **cycle(buffers, both)}


FULL, DRAIN = 0.9, 0.1
"""Fractions of the largest backlog of R2. R2 counts as full if its backlog is at least `FULL`, and as drained if its
backlog has fallen by `DRAIN`."""
BURST = 5.0
"""R1 counts as filled by a burst if it contains at least this number of packets."""


def cycle(buffers: Buffers, both: TwoWay) -> dict[str, float]:
    """Finds the steps of the feedback cycle in figure 3.2 (MER-M25). The time of a step is its first occurrence after
    the previous step.

    1. Before the upload, R1 contains data and R2 is empty.
    2. The upload fills R2.
    3. R1 becomes empty, because the download's ACKs are late.
    4. R2 sends part of its backlog, and the ACKs in this part fill R1 in a burst.

    Returns
    -------
    dict[str, float]
        Mean backlogs in packets in the 10 s before the upload, and the time of each step in seconds after the start of
        the upload. NaN for a step that never happens.
    """
    time = buffers["up"]["time_s"]
    r1, r2 = (buffers[way]["backlog_packets"] for way in ("down", "up"))
    before, after = (time > both.start_s - 10) & (time <= both.start_s), time > both.start_s
    most = float(r2[after].max())
    full = _first(time, r2 >= FULL * most, both.start_s)
    empty = _first(time, r1 == 0, full)
    # R2's backlog at the time when R1 becomes empty. R2 counts as drained when its backlog is `DRAIN * most` below this
    # level.
    level = float(np.interp(empty, time, r2)) if np.isfinite(empty) else 0.0
    drained = _first(time, r2 <= level - DRAIN * most, empty)
    filled = _first(time, r1 >= BURST, drained)
    steps = {"r2_full": full, "r1_empty": empty, "r2_drained": drained, "r1_filled": filled}
    return {
        "cycle_r1_before_packets": float(r1[before].mean()),
        "cycle_r2_before_packets": float(r2[before].mean()),
        **{f"cycle_{name}_s": at - both.start_s for name, at in steps.items()},
    }


def _first(time: Array, reached: NDArray[np.bool_], past_s: float) -> float:
    # No time is greater than NaN, so all steps after a missing step are also NaN.
    places = np.flatnonzero(reached & (time > past_s))
    return float(time[places[0]]) if places.size else float("nan")


def _mean_known(value: Array) -> float:
    known = value[np.isfinite(value)]
    return float(known.mean()) if known.size else float("nan")


def acknowledgements(run: Run, rates: Rates) -> Mapping[str, float]:
    """Measures each flow's ACK compression while both flows are active, from samples every 10 ms."""
    both = TwoWay.of(run)
    found: dict[str, float] = {}
    for name, trace, rate in (("up", both.upload, rates.up_bps), ("down", both.download, rates.down_bps)):
        acks = trace.ack_compression(both.start_s, both.end_s, rate)
        found |= {
            f"compressed_share_{name}": acks.compressed_share,
            f"burst_{name}_bytes": acks.mean_burst_bytes,
            f"max_burst_{name}_bytes": acks.max_burst_bytes,
            f"silent_share_{name}": acks.silent_share,
            f"longest_silence_{name}_s": acks.longest_silence_s,
        }
    return found
