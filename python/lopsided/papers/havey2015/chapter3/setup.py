"""Defines chapter 3's experiments (HAV-E11 to HAV-E15), and experiments with current Wi-Fi.

Throughput counts bytes before repair, as in figures 3.7 and 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided import metrics
from lopsided.papers.framework.measurements import Array
from lopsided.papers.framework.model import Case, Experiment, Overrides, Variant

if TYPE_CHECKING:
    from lopsided.scenario import Run

ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Frame error rates to simulate for figures 3.7 and 3.11."""

RIVALS = (0, 1, 3, 6, 9)
"""Numbers of competing stations to simulate for figure 3.8."""

RTTS = (30, 40, 50, 60, 70)
TIMED = 40
"""RTT in ms to simulate for figure 3.9. Figure 3.10 varies the RTT."""

STANDARDS = ("802.11n", "802.11ac", "802.11ax")

PARTS = ("fwp", "ampdu")

BEGUN_S = 10.0
"""Time in seconds at which the measurement of shares in figures 3.9 and 3.10 starts. Slow start has then ended."""

CUT_S = 6.0
"""The completion time in seconds that is reported for an incomplete page: the duration of the run."""

STEADY = 0.6
"""Fraction of a run after which throughput is measured (figures 3.7 and 3.8).

A lost SYN-ACK delays a connection by 1 s or more. The effect is large in these short runs, but small in the
dissertation's runs of 2 minutes.
"""

FULL = Variant("two minutes", {"scenario.duration": "120 s"}, {"9.99 s": "119.99 s"})
FULL_RUNS = 10
"""Number of repetitions for table 3.1."""
SEEDS = 4
"""Number of seeds for `fwp-is-linear`, `half-at-20-percent` and `speedup-at-40-percent`. A connection that loses its
first segments reverses these verdicts in 3, 2 and 3 of 10 single seeds.
"""
FULL_SHARING = Variant(
    "two minutes at 600 Mbit/s",
    {
        "scenario.duration": "120 s",
        "topology.link.bottleneck.rate": "600 Mbit/s",
        "topology.link.bottleneck.queue": "2000 packets",
        "stack.receive_buffer": "16 MB",
        "stack.send_buffer": "16 MB",
    },
)

CURLS = 64
"""Number of missing ranges that are fetched at a time in the experiment `fwp-repair-curl`."""
CURL_DURATION = "300 s"
"""Duration of the experiment `fwp-repair-curl`. The channel also loses handshakes, which TCP repeats after a second."""

OBJECT = 10_000_000
"""Size in bytes of the object that is downloaded and repaired."""


def _station(mode: str, error: float) -> Overrides:
    """Returns scenario keys for the tested station. The station uses FWP if `mode` is "fwp". Otherwise it uses plain
    802.11, like the other stations."""
    station = '{ name = "station0", acknowledge = false, reorder = false }'
    return {
        "topology.medium.wifi.frame_error": str(error),
        "topology.medium.wifi.stations": f"[{station}]" if mode == "fwp" else "[]",
        "flow.tested.receiver_stack": f"{{ placeholders = {error} }}" if mode == "fwp" else "{}",
    }


def _rivals(count: int) -> Overrides:
    """Returns scenario keys with `count` active competitors. The remaining competitors of the 9 start only at the end
    of the run, after 10 s."""
    late = {f"flow.other{number}.start": "9.99 s" for number in range(count + 1, 10)}
    return {**late, **{f"flow.other{number}.start_jitter": "0 s" for number in range(count + 1, 10)}}


def _case(mode: str, error: float, rivals: int) -> Case:
    overrides = {**_station(mode, error), **_rivals(rivals)}
    return Case("stations.toml", overrides, {"mode": mode, "error": error, "rivals": rivals})


def throughput(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the tested station's goodput, the mean goodput of the other stations, and the frames per aggregate."""
    rows = list(run.flows.rows())
    end = float(run.scenario.duration_s)
    begin = STEADY * end
    samples = run.samples_of["tested"]
    time, octets = (samples[name].cast(float).to_numpy() for name in ("time_s", "delivered_bytes"))
    others = [float(row["goodput_bps"]) for row in rows if row["name"] != "tested" and row["goodput_bps"]]
    access = run.parts["part"] == "access"
    quantities, values = run.parts["quantity"].filter(access), run.parts["value"].filter(access)
    # The counters are cumulative.
    frames, ppdus = (values.filter(quantities == name)[-1] for name in ("frames_sent", "ppdus_sent"))
    return {
        "tested_bps": metrics.counter_rate_bps(time, octets, begin, end),
        "others_bps": float(np.mean(others)) if others else float("nan"),
        "frames_per_ppdu": float(frames) / float(ppdus),
    }


def shares(run: Run) -> Array:
    """Returns the compatible flow's percentage of the total rate, in bins of 1 s after slow start."""
    queues = run.queues.to_polars().filter(pl.col("direction") == "down")
    rates: list[Array] = []
    for link in ("home1", "home2"):
        rows = queues.filter(pl.col("link") == link)
        time, octets = (rows[name].cast(pl.Float64).to_numpy() for name in ("time_s", "sent_bytes"))
        ends = np.arange(BEGUN_S, float(time.max()) + 0.5, 1.0)
        rates.append(np.diff(np.interp(ends, time, octets)))
    # The bottleneck is always busy, so every second of the run has equal weight.
    return 100 * rates[0] / (rates[0] + rates[1])


def sharing(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the compatible flow's share of the rate, and how often the leading flow changes."""
    share = shares(run)
    leads = share > 50
    return {
        "share_percent": float(share.mean()),
        **{f"share_p{each}_percent": float(np.percentile(share, each)) for each in (0, 10, 50, 75, 100)},
        "swing_points": float(np.ptp(share)),
        "lead_changes": float((leads[1:] != leads[:-1]).sum()),
    }


def repair(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the bytes on the path, the repair requests, and the object's completion time."""
    path = run.links.to_polars().filter(pl.col("link") == "path")
    down, up = (float(path.filter(pl.col("direction") == each)["sent_bytes"].sum()) for each in ("down", "up"))
    rows = list(run.transfers.rows())
    whole = [float(row["completion_s"]) for row in rows if row["what"] == "object"]
    requests = sum(row["what"] == "repair" for row in rows)
    app = run.scenario.resolved["flows"][0]["app"]
    asked = requests * app["request_size_bytes"] if app["kind"] == "repair" else 0
    return {
        "sent_bytes": down,
        "up_bytes": up,
        "arrived_bytes": float(run.flows["delivered_bytes"][0]),
        "retransmits": float(run.flows["retransmits"][0]),
        "requests": float(requests),
        "request_overhead_percent": 100.0 * asked / OBJECT,
        "completion_s": whole[0] if whole else float("nan"),
    }


LOSS = Experiment(
    key="fwp-loss",
    summary="a station of FWP among nine of A-MPDU at six frame error rates, and one of A-MPDU at 20 %, more seeds",
    cases=(*(_case("fwp", error, 9) for error in ERRORS[1:]), _case("ampdu", 0.2, 9)),
    measure=throughput,
    usual=SEEDS,
    full=FULL,
    full_repetitions=FULL_RUNS,
)

LOSS_REST = Experiment(
    key="fwp-loss-rest",
    summary="the same station of A-MPDU at six other frame error rates, and FWP without frame errors",
    cases=(*(_case("ampdu", error, 9) for error in ERRORS if error != 0.2), _case("fwp", 0.0, 9)),
    measure=throughput,
    usual=1,
    full=FULL,
    full_repetitions=FULL_RUNS,
)

ALONE = Experiment(
    key="fwp-alone",
    summary="the station of FWP alone, at the same frame error rates",
    cases=tuple(_case("fwp", error, 0) for error in ERRORS[1:]),
    measure=throughput,
    usual=1,
    full=FULL,
    only_in_full=True,
)

RIVALRY = Experiment(
    key="fwp-rivals",
    summary="both at a frame error rate of 10 % with none to nine others, and alone at 40 %",
    cases=tuple(
        _case(mode, error, rivals) for mode in PARTS for error, rivals in (*((0.1, each) for each in RIVALS), (0.4, 0))
    ),
    measure=throughput,
    usual=1,
    full=FULL,
    full_repetitions=FULL_RUNS,
)

RIVALRY_40 = Experiment(
    key="fwp-rivals-40",
    summary="both at a frame error rate of 40 % with one to nine others, with more seeds",
    cases=tuple(_case(mode, 0.4, rivals) for mode in PARTS for rivals in RIVALS[1:]),
    measure=throughput,
    usual=SEEDS,
    full=FULL,
    full_repetitions=FULL_RUNS,
)

RULES: dict[str, tuple[Overrides, float]] = {
    "margin 4": ({"flow.compatible.receiver_stack": "{ placeholders = 0.01 }"}, 0.01),
    "literal": ({"flow.compatible.receiver_stack": "{ placeholders = 0.01, placeholder_margin = 0 }"}, 0.01),
    "two Cubics": ({"flow.compatible.receiver_stack": "{}"}, 0.0),
}
"""The congestion-control rules that the experiment compares: the published rule, the rule with a margin of 4 standard
deviations above the expected loss, and Cubic without the rule."""


def _sharing(rule: str, rtt: int) -> Case:
    overrides, loss = RULES[rule]
    rtts = {f"topology.link.far{number}.rtt": f"{rtt} ms" for number in (1, 2)}
    settings = {**overrides, "topology.link.home1.down.loss": str(loss), **rtts}
    return Case("sharing.toml", settings, {"rule": rule, "rtt_ms": rtt})


SHARING = Experiment(
    key="fwp-sharing",
    summary="compatible TCP as printed behind a channel that loses 1 %, next to Cubic, at five round trips",
    cases=tuple(_sharing("literal", rtt) for rtt in RTTS),
    measure=sharing,
    usual=1,
    full=FULL_SHARING,
    full_repetitions=FULL_RUNS,
)

RULES_APART = Experiment(
    key="fwp-sharing-rules",
    summary="the same with a margin above the expected loss, and two Cubics, at three round trips",
    cases=tuple(_sharing(rule, rtt) for rule in RULES if rule != "literal" for rtt in (30, TIMED, 70)),
    measure=sharing,
    full=FULL_SHARING,
    full_repetitions=FULL_RUNS,
    usual=1,
)

IN_TIME = Experiment(
    key="fwp-sharing-time",
    summary="these three at 40 ms, second by second",
    cases=tuple(_sharing(rule, TIMED) for rule in RULES),
    measure=sharing,
    full=FULL_SHARING,
    full_repetitions=FULL_RUNS,
    keep=True,
    usual=1,
)


def _repaired(error: float, overrides: Overrides) -> Case:
    settings = {
        "topology.medium.wifi.frame_error": str(error),
        "flow.object.receiver_stack": f"{{ placeholders = {error} }}",
    }
    return Case("repair.toml", {**settings, **overrides}, {"error": error})


REPAIR = Experiment(
    key="fwp-repair",
    summary="one object of 10 MB to a single FWP station, whose missing ranges are fetched again",
    cases=tuple(_repaired(error, {}) for error in ERRORS),
    measure=repair,
)

CURL = Experiment(
    key="fwp-repair-curl",
    summary="the same, with one curl for each missing range: a handshake and a request precede its data",
    cases=tuple(
        _repaired(error, {"flow.object.app.range_connections": str(CURLS), "scenario.duration": CURL_DURATION})
        for error in ERRORS
    ),
    measure=repair,
    usual=1,
)


def _today(standard: str, mode: str, cc: str = "cubic") -> Case:
    acknowledged = mode == "ampdu"
    overrides = {
        **_station("ampdu" if acknowledged else "fwp", 0.1),
        "topology.medium.wifi.standard": standard,
        "flow.tested.cc": cc,
    }
    if mode == "plain":
        overrides["flow.tested.receiver_stack"] = "{}"
    return Case("today.toml", overrides, {"standard": standard, "mode": mode, "cc": cc})


TODAY = Experiment(
    key="fwp-today",
    summary="ours: FWP, A-MPDU, and no repair, with current standards, contention and BBR",
    cases=(
        *(_today(standard, mode) for standard in STANDARDS for mode in PARTS),
        *(_today("802.11ac", mode, cc) for mode, cc in (("ampdu", "bbr"), ("plain", "bbr"), ("plain", "cubic"))),
    ),
    measure=throughput,
    usual=1,
    only_in_full=True,
)


def _page(mode: str, multiplexed: bool) -> Case:
    what = "true" if multiplexed else "false"
    app = f'{{ kind = "http", objects = 20, object_size = "100 kB", multiplexed = {what} }}'
    if mode == "fwp":
        app = '{ kind = "repair", size = "2020 kB" }'
    case = _today("802.11ac", mode)
    labels = {"mode": mode, "how": "repair" if mode == "fwp" else "one connection" if multiplexed else "six"}
    return Case("today.toml", {**case.overrides, "flow.tested.app": app}, labels)


def page(run: Run, _case: Case) -> Mapping[str, float]:
    """Measures the completion time of the page or object; `CUT_S` if the page or object stays incomplete."""
    rows = [row for row in run.transfers.rows() if row["what"] in ("page", "object")]
    longest = max(rows, key=lambda row: float(row["size_bytes"]), default=None)
    whole = longest is not None and float(longest["size_bytes"]) > 2e6
    return {"completion_s": float(longest["completion_s"]) if longest is not None and whole else CUT_S}


PAGES = Experiment(
    key="fwp-pages",
    summary="ours: a page of 2 MB over six connections and over one with streams, with and without MAC repair",
    cases=(
        *(_page(mode, multiplexed) for mode in ("ampdu", "plain") for multiplexed in (False, True)),
        _page("fwp", False),
    ),
    measure=page,
    usual=1,
    only_in_full=True,
)

EXPERIMENTS = (LOSS, LOSS_REST, ALONE, RIVALRY, RIVALRY_40, SHARING, RULES_APART, IN_TIME, REPAIR, CURL, TODAY, PAGES)
