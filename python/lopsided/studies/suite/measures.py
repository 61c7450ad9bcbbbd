"""Computes the numbers that suites judge. Each number comes from one run.

A check names a measure, flows and a time span. The sampling interval (`[record] interval`) limits the resolution of
times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lopsided.data import series
from lopsided.data.catalogue import Column, Unit
from lopsided.data.series import Floats
from lopsided.metrics import jain_index
from lopsided.metrics.responsiveness import weighted_quantiles
from lopsided.studies.suite import aim

if TYPE_CHECKING:
    import polars as pl

    from lopsided.scenario import Run
    from lopsided.studies.suite.cases import Check

UNDER_TEST = "test"
"""Name prefix of the flows under test."""
_HOLD_S = 1.0
"""The delay must stay below the level for this number of seconds before `settle_s` counts it as settled."""
_WINDOW_S = 0.2
_REACHED = 4
"""The goodput must reach the level in this number of consecutive samples, so that a single burst does not count for
`reach_s`."""


@dataclass(frozen=True)
class View:
    """The part of a run that a check uses: flows, time span and bottleneck."""

    run: Run
    check: Check
    link: str
    way: str
    tested: str = UNDER_TEST
    """Name prefix of the flows that are measured if the check names no flows."""

    @cached_property
    def span(self) -> tuple[float, float]:
        """Start and end of the time span in seconds."""
        end = self.run.scenario.duration_s if self.check.until_s is None else self.check.until_s
        return self.check.since_s, end

    @cached_property
    def flows(self) -> list[str]:
        wanted = self.check.of or (self.tested,)
        return [name for name in self.run.flows.values("name") if name.startswith(wanted)]

    def rows(self) -> list[Mapping[str, Any]]:
        return [row for row in self.run.flows.rows() if row["name"] in self.flows]

    def goodputs(self, names: Sequence[str] | None = None) -> list[float]:
        """Returns each flow's goodput in bit/s within the time span."""
        return [series.goodput_between(self.run, name, *self.span) for name in names or self.flows]

    def samples(self, column: str) -> tuple[Floats, Floats]:
        """Returns the times and values of a column of the flows' samples, within the time span."""
        curves = [series.flow_column(self.run, name, column) for name in self.flows]
        none: Floats = np.empty(0)
        time = np.concatenate([none, *(curve.time_s for curve in curves)])
        value = np.concatenate([none, *(curve.value for curve in curves)])
        within = (time > self.span[0]) & (time <= self.span[1] + 1e-9) & ~np.isnan(value)
        return time[within], value[within]

    def queue(self, column: str) -> tuple[Floats, Floats]:
        """Returns the times and values of a column of the bottleneck queue's samples, within the time span."""
        curve = series.queue_column(self.run, self.link, self.way, column)
        within = (curve.time_s > self.span[0]) & (curve.time_s <= self.span[1] + 1e-9)
        return curve.time_s[within], curve.value[within]

    def grown(self, column: str) -> float:
        """Returns the increase of one of the bottleneck queue's counters during the time span."""
        return series.queue_column(self.run, self.link, self.way, column).growth(*self.span)

    def sojourns(self) -> tuple[Floats, Floats]:
        """Returns the mean sojourn time in ms and the number of sent packets, for each sampling interval of the
        bottleneck queue."""
        curve = series.queue_column(self.run, self.link, self.way, "sojourn_mean_ms")
        sent = series.queue_column(self.run, self.link, self.way, "sent_packets")
        packets = np.diff(sent.value, prepend=0.0)
        within = (curve.time_s > self.span[0]) & (curve.time_s <= self.span[1] + 1e-9) & ~np.isnan(curve.value)
        return curve.value[within], packets[within]

    def phases(self) -> pl.DataFrame:
        """Returns the congestion control states that the flows entered in the time span, by time."""
        import polars as pl

        told = self.run.tcp_events.to_polars()
        numbers = [row["flow"] for row in self.rows()]
        return told.filter(
            (pl.col("event") == "cc_phase")
            & pl.col("flow").is_in(numbers)
            & (pl.col("end") == "sender")
            & pl.col("time_s").is_between(*self.span)
        ).sort("time_s")


def _goodput(view: View) -> float:
    return sum(view.goodputs())


def _goodputs_by_window(pick: Callable[[Floats], Any]) -> Callable[[View], float | None]:
    """Returns a measure: `pick` chooses a value, such as the smallest, from the flows' total goodput in bins of 200 ms.
    ns-3 samples at this interval."""

    def measure(view: View) -> float | None:
        curves = [series.goodput(view.run, name, _WINDOW_S) for name in view.flows]
        time, total = curves[0].time_s, sum((curve.value for curve in curves[1:]), curves[0].value)
        within = (time - _WINDOW_S / 2 >= view.span[0] - 1e-9) & (time + _WINDOW_S / 2 <= view.span[1] + 1e-9)
        return float(pick(total[within])) if within.any() else None

    return measure


def _dctcp_alpha(pick: Callable[[Floats], Any]) -> Callable[[View], float | None]:
    """Returns a measure of alpha, DCTCP's estimate of the fraction of marked packets (RFC 8257, section 3.3). `pick`
    chooses one of the values of alpha, such as the largest.

    The bottleneck's counters provide the fraction of marked packets. Once per RTT, alpha moves by 1/16 of the distance
    to the fraction that was marked in this RTT.
    """

    def measure(view: View) -> float | None:
        time, marked = (
            (curve := series.queue_column(view.run, view.link, view.way, "marked_packets")).time_s,
            curve.value,
        )
        sent = series.queue_column(view.run, view.link, view.way, "sent_packets").value
        round_s = min((row["rtt_min_ms"] for row in view.rows() if row["rtt_min_ms"]), default=0.0) / 1e3
        alpha, last, found = 1.0, 0, list[float]()
        for place in range(1, len(time)):
            if time[place] - time[last] < round_s - 1e-9 or sent[place] == sent[last]:
                continue
            alpha += ((marked[place] - marked[last]) / (sent[place] - sent[last]) - alpha) / 16
            last = place
            if view.span[0] <= time[place] <= view.span[1]:
                found.append(alpha)
        return float(pick(np.array(found))) if found else None

    return measure


def _share(view: View) -> float | None:
    paths = view.run.scenario.paths
    every = [name for name in view.run.flows.values("name") if (view.link, view.way) in paths[name]]
    total = sum(view.goodputs(every))
    return _goodput(view) / total if total else None


def _jain(view: View) -> float | None:
    rates = view.goodputs()
    return jain_index(rates) if any(rates) else 0.0


def _least_share(view: View) -> float | None:
    """Returns the slowest flow's goodput divided by the mean goodput of all flows; 0 if nothing was delivered."""
    rates = view.goodputs()
    return min(rates) * len(rates) / sum(rates) if sum(rates) else 0.0


def _utilisation(view: View) -> float | None:
    link = next(each for each in view.run.scenario.resolved["links"] if each["name"] == view.link)
    rate = cast("Mapping[str, Any]", link)[view.way]["rate_bps"]
    since, until = view.span
    return view.grown("sent_bytes") * 8 / (until - since) / rate if rate else None


def _queue_mean(view: View) -> float | None:
    value, weight = view.sojourns()
    return float(np.average(value, weights=weight)) if weight.sum() else None


def _queue_p95(view: View) -> float | None:
    return weighted_quantiles(*view.sojourns(), (0.95,))[0]


def _queue_max(view: View) -> float | None:
    _, value = view.queue("sojourn_max_ms")
    value = value[~np.isnan(value)]
    return float(value.max()) if len(value) else None


def _of_arrived(column: str) -> Callable[[View], float | None]:
    def measure(view: View) -> float | None:
        arrived = view.grown("arrived_packets")
        return view.grown(column) / arrived if arrived else None

    return measure


def _rtt_mean(view: View) -> float | None:
    means = [series.rtt_between(view.run, name, *view.span) for name in view.flows]
    known = [mean for mean in means if mean == mean]
    return float(np.mean(known)) if known else None


def _completion(view: View) -> float | None:
    """Returns the mean completion time of the slowest flow's transfers in seconds; `None` if a flow completed no
    transfer."""
    rows = view.rows()
    if not rows or any(not row["transfers"] for row in rows):
        return None
    return max(float(row["completion_s"]) for row in rows)


def _counted(column: str) -> Callable[[View], float]:
    return lambda view: float(sum(row[column] or 0 for row in view.rows()))


def _retransmitted(view: View) -> float | None:
    rows = view.rows()
    sent = sum(row["data_segments_out"] for row in rows)
    return sum(row["retransmits"] for row in rows) / sent if sent else None


def _lost_datagrams(view: View) -> float | None:
    rows = view.rows()
    sent = sum(row["data_segments_out"] for row in rows)
    return sum(row["lost_packets"] or 0 for row in rows) / sent if sent else None


def _extreme(column: str, pick: Callable[[Floats], Any], scale: float = 1.0) -> Callable[[View], float | None]:
    def measure(view: View) -> float | None:
        _, value = view.samples(column)
        return float(pick(value)) / scale if len(value) else None

    return measure


def _sent_rate(view: View) -> float:
    """Returns the flows' total sending rate in bit/s, including retransmissions."""
    since, until = view.span
    total = sum(series.flow_column(view.run, name, "sent_bytes").growth(*view.span) for name in view.flows)
    return total * 8 / (until - since)


def _in_flight_bdp(pick: Callable[[Floats], Any]) -> Callable[[View], float | None]:
    """Returns a measure: `pick` chooses a sample of the bytes in flight, in units of the BDP. The BDP is the
    bottleneck's rate times the shortest RTT."""

    def measure(view: View) -> float | None:
        _, value = view.samples("in_flight_bytes")
        rate = view.run.scenario.link_rate_bps(view.way)
        shortest = min((row["rtt_min_ms"] for row in view.rows() if row["rtt_min_ms"]), default=None)
        if not len(value) or not rate or shortest is None:
            return None
        return float(pick(value)) * 8 / (rate * shortest / 1e3)

    return measure


def _reach(view: View) -> float | None:
    """Returns the time in seconds until the goodput reaches the check's level; `None` if the goodput never reaches the
    level."""
    curves = [series.flow_column(view.run, name, "delivered_bytes") for name in view.flows]
    time = curves[0].time_s
    total = sum(np.interp(time, curve.time_s, curve.value) for curve in curves)
    rate = np.diff(total, prepend=0.0) * 8 / np.diff(time, prepend=0.0)
    within = (time > view.span[0]) & (time <= view.span[1] + 1e-9)
    time, above = time[within], rate[within] >= (view.check.level or 0.0)
    for place in range(len(time) - _REACHED + 1):
        if above[place : place + _REACHED].all():
            return float(time[place] - view.span[0])
    return None


def _settle(view: View) -> float | None:
    """Returns the time in seconds until the delay stays below the check's level; `None` if the delay never does."""
    time, value = view.queue("sojourn_max_ms")
    below = np.isnan(value) | (value <= (view.check.level or 0.0))
    for place in range(len(time)):
        held = (time >= time[place]) & (time < time[place] + _HOLD_S)
        if time[place] + _HOLD_S <= view.span[1] + 1e-9 and below[held].all():
            return float(time[place] - view.span[0])
    return None


def _states_in_order(view: View) -> float:
    """Returns the fraction of the check's states that were entered in the listed order."""
    met, wanted = 0, view.check.states
    for state in view.phases()["to"].to_list():
        if met < len(wanted) and state.startswith(wanted[met]):
            met += 1
    return met / len(wanted)


def _entered(view: View) -> float:
    return float(sum(state.startswith(view.check.states) for state in view.phases()["to"].to_list()))


def _longest_state(view: View) -> float | None:
    """Returns the longest uninterrupted time in one of the check's states, in seconds."""
    phases = view.phases()
    times = [*phases["time_s"].to_list(), view.span[1]]
    stays = [
        times[number + 1] - times[number]
        for number, state in enumerate(phases["to"].to_list())
        if state.startswith(view.check.states)
    ]
    return max(stays, default=None)


def _first_state(view: View) -> float | None:
    """Returns the time in seconds until a flow enters one of the check's states; `None` if no flow enters such a
    state."""
    phases = view.phases()
    for time, state in phases.select("time_s", "to").iter_rows():
        if state.startswith(view.check.states):
            return float(time) - view.span[0]
    return None


def _aim(use: str) -> Callable[[View], float]:
    return lambda view: float(aim.points(use, aim.metrics(view.run, view.span)))


SEGMENT = 1448
"""Payload bytes of a full segment with timestamps."""

_Function = Callable[[View], "float | None"]


@dataclass(frozen=True)
class Measure:
    """A number that can be measured in a run: unit, description and function."""

    unit: Unit
    text: str
    of: _Function
    reads: tuple[str, ...]
    """The keys of a check that affect the value of this measure, except `measure` itself."""

    def said(self, value: float | None) -> str:
        return Column("", self.unit, "").text(value)


_SPAN = ("since_s", "until_s")
_FLOWS = ("of", *_SPAN)
_WHOLE = ("of",)
_STATES = (*_FLOWS, "states")
MEASURES: Mapping[str, Measure] = {
    "goodput_bps": Measure("bps", "payload delivered by the flows", _goodput, _FLOWS),
    "goodput_least_bps": Measure("bps", "smallest goodput over 200 ms", _goodputs_by_window(np.min), _FLOWS),
    "goodput_most_bps": Measure("bps", "largest goodput over 200 ms", _goodputs_by_window(np.max), _FLOWS),
    "share": Measure("share", "share of the goodput of all flows that cross the bottleneck", _share, _FLOWS),
    "jain": Measure("index", "Jain's index of the flows' goodputs", _jain, _FLOWS),
    "least_share": Measure("ratio", "goodput of the slowest flow, divided by an equal share", _least_share, _FLOWS),
    "utilisation": Measure("share", "used share of the bottleneck's rate", _utilisation, _SPAN),
    "queue_mean_ms": Measure("ms", "mean wait in the bottleneck's queue", _queue_mean, _SPAN),
    "queue_p95_ms": Measure("ms", "95th percentile of the waits, by sampling interval", _queue_p95, _SPAN),
    "queue_max_ms": Measure("ms", "longest wait in the bottleneck's queue", _queue_max, _SPAN),
    "drop_ratio": Measure(
        "share", "dropped share of the packets at the bottleneck", _of_arrived("dropped_packets"), _SPAN
    ),
    "mark_ratio": Measure(
        "share", "marked share of the packets at the bottleneck", _of_arrived("marked_packets"), _SPAN
    ),
    "alpha_least": Measure("index", "smallest estimate of the marked share (RFC 8257)", _dctcp_alpha(np.min), _FLOWS),
    "alpha_most": Measure("index", "largest estimate of the marked share (RFC 8257)", _dctcp_alpha(np.max), _FLOWS),
    "rtt_mean_ms": Measure("ms", "mean round trip of the flows", _rtt_mean, _FLOWS),
    "completion_s": Measure("s", "mean completion time of the slowest flow's transfers", _completion, _WHOLE),
    "transfers": Measure("count", "transfers completed", _counted("transfers"), _WHOLE),
    "timeouts": Measure("count", "retransmission timeouts", _counted("timeouts"), _WHOLE),
    "undos": Measure("count", "window reductions that were undone", _counted("undos"), _WHOLE),
    "fast_retransmits": Measure("count", "number of fast recoveries", _counted("fast_retransmits"), _WHOLE),
    "retransmitted": Measure("share", "retransmitted share of the sent segments", _retransmitted, _WHOLE),
    "lost_datagrams": Measure("share", "lost share of the sent datagrams", _lost_datagrams, _WHOLE),
    "sent_bps": Measure("bps", "sending rate of the flows, with retransmissions", _sent_rate, _FLOWS),
    "cwnd_max_segments": Measure("number", "largest window", _extreme("cwnd_bytes", np.max, SEGMENT), _FLOWS),
    "cwnd_min_segments": Measure("number", "smallest window", _extreme("cwnd_bytes", np.min, SEGMENT), _FLOWS),
    "in_flight_max_bdp": Measure("ratio", "largest amount of data in flight, in BDPs", _in_flight_bdp(np.max), _FLOWS),
    "in_flight_min_bdp": Measure("ratio", "smallest amount of data in flight, in BDPs", _in_flight_bdp(np.min), _FLOWS),
    "reach_s": Measure("s", "time until the goodput reaches the level", _reach, (*_FLOWS, "level")),
    "settle_s": Measure("s", "time until the longest wait stays below the level", _settle, (*_SPAN, "level")),
    "states_in_order": Measure(
        "share", "share of the named states that were entered in this order", _states_in_order, _STATES
    ),
    "entered": Measure("count", "number of times that the control entered one of the states", _entered, _STATES),
    "longest_state_s": Measure("s", "longest uninterrupted time in one of the states", _longest_state, _STATES),
    "aim_streaming": Measure("count", "points of Cloudflare's AIM for streaming", _aim("streaming"), _SPAN),
    "aim_gaming": Measure("count", "points of Cloudflare's AIM for gaming", _aim("gaming"), _SPAN),
    "aim_rtc": Measure("count", "points of Cloudflare's AIM for calls", _aim("rtc"), _SPAN),
    "first_state_s": Measure("s", "time until one of the states is entered", _first_state, _STATES),
}
