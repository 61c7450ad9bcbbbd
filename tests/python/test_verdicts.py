"""Checks that the verdicts of studies name the right subjects and numbers."""

from types import SimpleNamespace

import pytest

import lopsided as lop
from lines import DOWNLOAD, line_of
from lopsided.data.study_tables import AQM_CELLS, AQM_USERS, CELLS, SWEEP
from lopsided.data.table import Table
from lopsided.studies import probe as probe_study
from lopsided.studies import probe_verdict as probe
from lopsided.studies.ackpath import result as ackpath
from lopsided.studies.aqm import result as aqm
from lopsided.studies.arms import Arm
from lopsided.studies.compare import Comparison, Row, compare_arms
from lopsided.studies.compare import result as compare
from lopsided.studies.fairness import result as fairness
from lopsided.studies.search import result as search
from lopsided.studies.sweep import verdict as sweep
from lopsided.studies.sweep.result import Sweep


def table(spec, rows):
    names = [column.name for column in spec.columns]
    return Table(spec.frame([{name: row.get(name) for name in names} for row in rows]), spec)


def queues(slow, rates, rpm=(), lost=()):
    """Returns the result of a comparison of queue disciplines, with these values on the downlink."""
    names = list(slow)
    cells = [
        {"queue": name, "world": "sim", "direction": "down", "rtt_p95_ms": slow[name], "goodput_bps": rates[name]}
        | ({"datagram_loss": lost[name]} if lost else {})
        for name in names
    ]
    users = [{"queue": name, "world": "sim", "rpm": rpm[name] if rpm else None} for name in names]
    return SimpleNamespace(
        disciplines=[SimpleNamespace(label=name) for name in names],
        worlds=("sim",),
        cells=table(AQM_CELLS, cells),
        users=table(AQM_USERS, users),
        start_jitter_s=None,
    )


def test_the_queue_with_short_round_trips_is_named_with_its_cost():
    said = aqm.verdict(
        queues(
            {"fifo": 300.0, "codel": 100.0, "cake": 50.0},
            {"fifo": 10e6, "codel": 9e6, "cake": 8e6},
            {"fifo": 200.0, "codel": 900.0, "cake": 800.0},
            {"fifo": 0.05, "codel": 0.02, "cake": 0.0},
        )
    )
    assert said == [
        "Round trips are shortest with cake: 50.0 ms at the 95th percentile of the slower direction (fifo: 300 ms).",
        "All flows together get 8.00 Mbit/s with cake, 20 % less than with fifo.",
        "For users, the line responds fastest with codel (900 round trips per minute, fifo 200).",
        "cake loses the fewest datagrams (0 %), and fifo the most (5.0 %).",
    ]


def test_the_verdict_states_that_queues_are_equal():
    (said,) = aqm.verdict(queues({"fifo": 100.0, "pie": 101.0}, {"fifo": 1e6, "pie": 1e6}))
    assert said.startswith("Round trips are similar with all disciplines: 100 ms to 101 ms")
    assert "alone" in aqm.verdict(queues({"fifo": 1.0}, {"fifo": 1.0}))[0]


def remedies(**scores):
    rows = [
        {"remedies": name, "rank_score": score, "down_goodput_bps": score * 1e6, "up_goodput_bps": None}
        for name, score in sorted(scores.items(), key=lambda item: -item[1])
    ]
    cells = SimpleNamespace(rows=lambda: rows)
    return SimpleNamespace(
        cells=cells, limits=dict.fromkeys(scores, "the downlink itself"), repeat=1, start_jitter_s=None
    )


def test_the_verdict_names_the_best_remedy_and_the_harmful_ones():
    assert ackpath.verdict(remedies(none=0.8, filter=1.0, acc=0.5)) == [
        "filter gains most: 1.00 Mbit/s down, compared with 800 kbit/s down without a remedy.",
        "Without a remedy the downloads are limited by the downlink itself.",
        "Worse than no remedy: acc.",
        "Each remedy has one run, so small differences may be chance; use --repeat 5 to check.",
        "Available routers support none of these remedies; the remedies need changes in modems or in TCP.",
    ]
    assert "No remedy improves goodput" in ackpath.verdict(remedies(none=1.0, filter=0.995))[0]
    assert "No remedy improves goodput" in ackpath.verdict(remedies(none=0.995, filter=1.0))[0]
    assert ackpath.verdict(remedies(filter=1.0, acc=0.5))[0].startswith("filter is the best remedy")


def pair(one, other, share, rtts=(20.0, 20.0), least=None):
    """Returns the cells of a fairness matrix for two flows: one cell for each flow, or a single cell if both flows are
    equal. `share` is the share of the flow `one`."""
    cells = []
    for (cc, rtt), (against, its), part in (
        ((one, rtts[0]), (other, rtts[1]), share),
        ((other, rtts[1]), (one, rtts[0]), 1 - share),
    ):
        cell = {"cc": cc, "rtt_ms": rtt, "against_cc": against, "against_rtt_ms": its, "share": part}
        cells.append(cell | {"harm_rate": 1 - part, "share_least": least or part, "share_most": 1 - (least or part)})
    return cells[:1] if (one, rtts[0]) == (other, rtts[1]) else cells


def test_the_verdict_names_the_dominant_control_and_its_harm():
    cells = [*pair("reno", "bbr", 0.1), *pair("reno", "cubic", 0.45), *pair("bbr", "bbr", 0.5, least=0.2)]
    cells += pair("reno", "reno", 0.8, (20.0, 100.0))
    study = SimpleNamespace(rtts_ms=[20.0, 100.0])
    assert fairness.verdict(SimpleNamespace(cells=table(CELLS, cells), study=study)) == [
        "bbr is the most dominant: against reno (both at 20 ms), it gets 90 % of the goodput, and reno loses 90 % of "
        "the goodput that it gets alone.",
        "cubic and reno at 20 ms are closest to equal shares: 55 % for cubic.",
        "Two flows of bbr (20 % to 80 %) with the same RTT do not share evenly in every run.",
        "With unequal round trips, the flow with the shorter round trip gets 80 % with reno at 20 against 100 ms.",
    ]
    even = SimpleNamespace(cells=table(CELLS, pair("reno", "cubic", 0.45)), study=study)
    assert fairness.verdict(even) == ["No control takes more than 55 % next to another: all pairs share evenly."]


def worlds(*errors):
    rows = tuple(
        Row(f"flow{number}", "goodput_bps", {"sim": (1 + error,), "kernel": (1.0,)}, 0.05)
        for number, error in enumerate(errors)
    )
    return Comparison(None, ("sim", "kernel"), rows, {})


def test_the_verdict_states_agreement_of_worlds_and_the_largest_difference():
    agreed = compare.verdict(worlds(0.01, -0.02))
    assert agreed[0].startswith("sim agrees with kernel in all 2 quantities") and "of flow1, by -2.0 %" in agreed[0]
    assert agreed[1] == "Goodput differs by -2.0 % to +1.0 %."
    (apart, _) = compare.verdict(worlds(0.01, 0.2))
    assert apart.startswith("sim differs from kernel: 1 of 2 quantities") and "of flow1, by +20.0 %" in apart


@pytest.fixture
def swept():
    pl = pytest.importorskip("polars")
    rows = [
        {"limit": limit, "repetition": seed, "name": name, "goodput_overlap_bps": rate, "rtt_mean_ms": rtt}
        | {"direction": "down", "goodput_bps": rate, "performance": performance, "digest": f"{limit}{seed}"}
        for limit, performance, flows in (
            (10, 0.6, {"download": (2e6, 100.0), "upload": (1e5, 200.0)}),
            (50, 0.3, {"download": (1e6, 300.0), "upload": (1.5e5, 800.0)}),
        )
        for seed in (0, 1)
        for name, (rate, rtt) in flows.items()
    ]
    return Table(pl.DataFrame(rows), SWEEP)


def test_the_verdict_of_a_sweep_names_best_and_worst_values(swept, monkeypatch):
    monkeypatch.setattr(sweep, "axis_columns", lambda _: ["limit"])
    assert sweep.verdict(swept) == [
        "Performance is best, 60 %, with limit 10, and worst, 30 %, with 50.",
        "download gets the most, 2.00 Mbit/s, with 10, and the least, 1.00 Mbit/s, with 50; its mean round trip is "
        "100 ms to "
        "300 ms.",
        "upload gets the most, 150 kbit/s, with 50, and the least, 100 kbit/s, with 10; its mean round trip is "
        "200 ms to "
        "800 ms.",
    ]


def test_the_verdict_of_a_sweep_starts_with_the_chosen_metric(swept):
    swept = Table(swept.to_polars().rename({"limit": "link.up.queue.limit_packets"}), SWEEP)
    assert sweep.verdict(swept, "delay") == [
        "download has its lowest mean round trip, 100 ms, with link.up.queue.limit 10 packets, and its highest, "
        "300 ms, with 50 packets.",
        "upload has its lowest mean round trip, 200 ms, with 10 packets, and its highest, 800 ms, with 50 packets.",
    ]
    (together,) = sweep.verdict(swept, "performance")
    assert together.startswith("Performance is lowest, 30 %, with link.up.queue.limit 50 packets, and highest, 60 %,")
    scenario = SimpleNamespace(name="line")
    headings = [heading.text for heading in Sweep(swept.rows(), scenario, metric="delay").means().headings]
    assert headings[:1] == ["link.up.queue.limit (packets)"] and headings.index("RTT mean") < headings.index("goodput")


def test_the_verdict_of_a_suite_counts_the_sections_each_discipline_wins():
    one = queues({"fifo": 200.0, "pie": 100.0}, {"fifo": 9e6, "pie": 8e6})
    other = queues({"fifo": 90.0, "pie": 100.0}, {"fifo": 9e6, "pie": 8e6})
    assert aqm.suite_verdict([one, one, other]) == [
        "In 3 sections, round trips are shortest with pie in 2, fifo in 1.",
        "Goodput is highest with fifo in 3.",
    ]
    assert aqm.suite_verdict([queues({"fifo": 200.0}, {"fifo": 9e6})]) == []


ALONE = line_of("2 s", "1 Mbit/s", "200 kbit/s") + DOWNLOAD


def test_every_repeating_study_states_that_start_times_vary():
    scenario = lop.Scenario.from_text(ALONE)
    vary = "Each flow starts up to 100 ms later, at random, because nothing else is random."
    assert vary in aqm.verdict(lop.aqm(scenario, "fifo,codel", repeat=2, probe=False))
    found = lop.ackpath(scenario, "none,filter", repeat=2)
    assert vary in ackpath.verdict(found) and found.to_dict()["start_jitter_s"] == 0.1
    assert vary in compare.verdict(compare_arms([Arm(name, scenario, "sim") for name in "ab"], repeat=2))
    sought = lop.search(scenario, {"stack.cc": "reno|cubic"}, maximise="goodput.download", trials=2)
    assert vary in search.answer(sought) and sought.manifest()["start_jitter_s"] == 0.1
    assert vary not in ackpath.verdict(lop.ackpath(scenario.with_(**{"flow.*.start_jitter": "1 s"}), "none", repeat=2))


def probed(direction, start_s, rtts_ms, rates_bps):
    """Returns a probe's log with one sample per second. A rate is the amount of data written since the previous
    sample."""
    flow = probe_study.Flow(f"{direction}1", direction, start_s, 20.0)
    samples, sent = [], 0.0
    for second, (rtt_ms, rate_bps) in enumerate(zip(rtts_ms, rates_bps, strict=True)):
        sent += rate_bps * (second > 0)
        throughput = sent / second if second else 0.0
        state = dict.fromkeys(("ssthresh_bytes", "receive_window_bytes", "send_window_bytes", "bandwidth_window_bytes"))
        samples.append(
            probe_study.Sample(
                1e9 + start_s + second,
                int(rtt_ms * 1e3),
                0,
                cwnd_bytes=1,
                throughput_bps=throughput,
                retransmits=0,
                **state,
            )
        )
    return probe_study.Log(flow, samples)


def test_the_verdict_of_a_probe_states_the_effect_of_load_on_rtt_and_downloads():
    down = probed("down", 0.0, [20.0] * 10 + [400.0] * 10, [2.4e6] * 11 + [0.9e6] * 9)
    up = probed("up", 10.0, [400.0] * 10, [0.2e6] * 10)
    first, second, third = probe.verdict([down, up])
    assert first == ("Load raises round trips from 20.0 ms to 273 ms on average and 400 ms at the 95th percentile.")
    assert "380 ms" in second and "`lopsided size --rtt 20ms`" in second
    assert third.startswith("down1 falls from 2.40 Mbit/s to 900 kbit/s when uploads start")
    short = probed("down", 0.0, [20.0] * 20, [2.4e6] * 20)
    assert probe.verdict([short]) == [
        "Round trips stay short under load: 20.0 ms at minimum, 20.0 ms at the 95th percentile."
    ]
    assert "keeps 100 % of its rate" in probe.verdict([short, probed("up", 10.0, [21.0] * 10, [1e5] * 10)])[1]
    assert probe.verdict([probe_study.Log(up.flow)]) == []
