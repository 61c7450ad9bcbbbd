"""Tests buffer sizing on a slow line, and the formulas for buffer sizes."""

import itertools

import pytest

import lopsided as lop
from lopsided import metrics
from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.studies import device_configs, sizing
from lopsided.studies.options import SizeOptions
from lopsided.studies.sizing import plan as size_plan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sized() -> sizing.Sizing:
    return lop.size("2.4M", "196k", "20ms", sizes=[5, 15, 25, 40, 60], repeat=2, queues=())


def test_the_curve_has_one_row_per_size_and_the_runs_have_two(sized):
    assert sized.curve["buffer_packets"].to_list() == [5, 15, 25, 40, 60]
    assert len(sized.runs) == 5 * 2 * 2


def test_performance_is_the_smaller_of_the_two_shares(sized):
    for row in sized.runs.to_polars().filter(part="sweep").iter_rows(named=True):
        shares = row["goodput_down_bps"] / 2.4e6, row["goodput_up_bps"] / 196e3
        assert row["performance"] == pytest.approx(min(shares))


def test_the_measured_size_is_the_largest_that_still_performs(sized):
    measured, curve = sized.measured, sized.curve.to_polars()
    floor = measured.best_performance * (1 - sizing.TOLERANCE)
    larger = curve.filter(curve["buffer_packets"] > measured.knee_packets)
    assert measured.best_performance == curve["performance"].max()
    assert measured.knee_performance >= floor
    assert (larger["performance"] < floor).all()
    # With a large uplink buffer, the download starves, as it does in merritt2010 and on Linux.
    assert measured.falls
    assert measured.worst_performance < 0.8 * measured.best_performance


def test_the_model_is_inequality_6_6_with_inputs_of_the_field_procedure(sized):
    for row in sized.runs.to_polars().filter(part="field").iter_rows(named=True):
        windows = row["window_down_bytes"], row["window_up_bytes"]
        expected = ((windows[0] - windows[1]) / 2 - row["rtt_alone_ms"] / 1e3 * 196e3 / 8) / 1500
        assert row["estimate_packets"] == pytest.approx(expected)
        assert row["window_down_both_bytes"] <= row["window_down_bytes"]
        # Without an upload, the download fills and drains a buffer of 50 packets, so its RTT varies from 20 ms to
        # 20 + 250 ms.
        assert 100 < row["rtt_alone_ms"] < 270


def test_the_limit_of_the_model_is_on_the_diagonal(sized):
    curve = sized.curve
    crossing = metrics.diagonal_crossing(curve["buffer_packets"].to_numpy(), curve["estimate_packets"].to_numpy())
    assert sized.model.packets == int(crossing.packets)


def test_the_rules_of_thumb_are_computed(sized):
    assert sized.rule_of_thumb_packets == pytest.approx(196_000 * 0.02 / 8 / 1500)
    assert sized.many_flows_packets(4) == pytest.approx(sized.rule_of_thumb_packets / 2)


def test_the_reason_has_the_numbers_of_the_line(sized):
    for text in ("196 kbit/s", f"{sized.measured.knee_packets} packets", f"{sized.model.packets} packets", "61.2 ms"):
        assert text in sized.why


def test_the_same_question_has_the_same_answer(sized):
    again = lop.size("2.4M", "196k", "20ms", sizes=[5, 15, 25, 40, 60], repeat=2, queues=(), workers=1)
    assert again.digest == sized.digest
    assert again.to_dict() == sized.to_dict()


PLAIN = {"overhead_bytes": 14, "minimum_bytes": 0, "cell_format": "none"}


def test_device_configurations_contain_the_size():
    up = device_configs.Shaped(200_000, PLAIN)
    texts = {config.device: config.lines for config in device_configs.configs(up, 17, "eth0")}
    assert "pfifo limit 17" in texts["Linux, tc"]
    assert "rate 190000bit burst 1600" in texts["Linux, tc"]
    assert "queue-limit 17" in texts["Cisco IOS"]
    assert "elimit='17'" in texts["OpenWrt, sqm-scripts"]
    assert "upload='190'" in texts["OpenWrt, sqm-scripts"]


def test_a_fast_shaper_gets_a_bucket_that_outlasts_a_timer_tick():
    (linux, *_) = device_configs.configs(device_configs.Shaped(1_000_000_000, PLAIN), 500, "eth0")
    assert "burst 475000" in linux.lines


def test_the_downlink_buffer_is_one_bdp_but_at_least_fifty_packets():
    assert sizing.line_of("2.4M", "196k", "20ms").queue_down == units.QueueLimit(50, "packets")
    assert sizing.line_of("100M", "10M", "40ms").queue_down == units.QueueLimit(334, "packets")
    assert sizing.line_of("100M", "10M", "40ms", SizeOptions(queue_down="64kB")).queue_down == units.QueueLimit(
        64_000, "B"
    )


@pytest.mark.parametrize(
    ("down", "up", "rtt"), [("2.4M", "196k", "20ms"), ("1G", "50M", "5ms"), ("1M", "64k", "600ms")]
)
def test_default_sizes_span_the_relevant_range(down, up, rtt):
    sizes = sizing.default_sizes(sizing.line_of(down, up, rtt))
    assert sizes == sorted(set(sizes))
    assert sizes[0] <= 3
    assert sizes[-1] >= 50
    assert len(sizes) <= 14


@pytest.mark.parametrize("wrong", [{"sizes": [0, 5]}, {"sizes": []}, {"repeat": 0}])
def test_impossible_lines_are_rejected(wrong):
    with pytest.raises(lop.UsageError):
        lop.size("2.4M", "196k", "20ms", **wrong)


def test_an_unknown_control_is_refused():
    with pytest.raises(lop.ScenarioError, match="renoo"):
        lop.size("2.4M", "196k", "20ms", cc="renoo")


def test_a_discipline_is_recommended_with_its_settings_in_both_directions():
    found = sizing.size("8M", "512k", "40ms", sizes=[10], repeat=1, queues=["unmanaged", "fifo", "fq_codel", "cake"])
    assert found.advice is not None
    rows = {row["queue"]: row for row in found.advice.candidates.rows()}
    assert rows["fq_codel"]["rpm"] > 2 * rows["unmanaged"]["rpm"]
    assert found.advice.recommended in ("fq_codel", "cake")
    # A full frame takes 24 ms on the uplink and 1.5 ms on the downlink. A CoDel target of 5 ms is therefore suitable
    # only for the downlink.
    down, up = found.advice.settings["fq_codel"]
    assert (down["target"], down["interval"]) == ("5 ms", "100 ms")
    assert (up["target"], up["interval"]) == ("35.48 ms", "130.5 ms")
    lines = {config.device: config.lines for config in found.configs}
    assert f"{found.advice.recommended}" in lines["Linux, tc"]
    assert "ifb4eth0" in lines["Linux, tc"]
    assert found.to_dict()["recommended"] == found.advice.recommended


@pytest.mark.parametrize("queues", [["unmanaged", "fq_codel"], ["fq_codel"]])
def test_the_first_sentence_states_the_effect_on_calls(queues):
    found = sizing.size("8M", "512k", "40ms", sizes=[10], repeat=1, queues=queues)
    first = found.conclusions()[0]
    assert first.startswith("While the line is busy, a call's packets wait ")
    assert all(f"with {queue}" in first or f"in an {queue} queue" in first for queue in queues)


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "pie", "fq_pie", "cake"])
def test_every_discipline_has_lines_for_devices(queue: str):
    settings = {"kind": queue, "target": "7.5 ms", "interval": "105 ms", "rtt": "100 ms"}
    tc, sqm, ios = device_configs.discipline_configs(
        queue,
        (device_configs.Shaped(8_000_000, PLAIN), device_configs.Shaped(400_000, PLAIN)),
        (settings, settings),
        "eth1",
    )
    assert f"{queue} " in tc.lines and "380000bit" in tc.lines and "7600000bit" in tc.lines and "ifb4eth1" in tc.lines
    assert f"qdisc='{queue}'" in sqm.lines and "upload='380'" in sqm.lines
    assert "shape average 380000" in ios.lines
    assert "7500us" in tc.lines or queue == "cake"


def test_a_discipline_without_known_settings_is_refused():
    with pytest.raises(UsageError, match="`size` has no settings for the queue 'red'"):
        sizing.size("8M", "512k", "40ms", sizes=[10], repeat=1, queues=["red"])


@pytest.mark.parametrize(("down", "up", "rtt"), [("50M", "10M", "30ms"), ("1G", "100M", "10ms"), ("10G", "10G", "5ms")])
def test_a_fast_line_is_planned_within_the_budget(down, up, rtt):
    line = sizing.line_of(down, up, rtt)
    packets_per_second = (line.down_bps + line.up_bps) / 12000
    plan = size_plan.plan_for(packets_per_second, line.rtt_s, 14, 5, 6, 3)
    assert not plan.whole and plan.both_s > 20 * line.rtt_s
    # At 10 Gbit/s, the plan may exceed the budget of simulated packets, because shorter runs would not fill the line.
    assert plan.packets <= (4 if down == "10G" else 1.01) * size_plan.BUDGET_PACKETS


def test_a_slow_line_has_the_whole_procedure():
    plan = size_plan.plan_for(216, 0.2, 14, 5, 6, 3)
    assert plan.whole and (plan.alone_s, plan.both_s, plan.repeat, plan.coarse) == (30, 120, 5, 14)


def test_an_estimate_is_refined_near_the_knee(monkeypatch):
    monkeypatch.setattr(size_plan, "BUDGET_PACKETS", 100_000)
    plans = []
    found = lop.size("2.4M", "196k", "200ms", queues=(), repeat=2, estimate=plans.append)
    assert [plan.whole for plan in plans] == [False]
    tried = found.curve["buffer_packets"].to_list()
    assert 7 <= len(tried) <= 10
    at = tried.index(found.measured.knee_packets)
    assert min(after - before for before, after in itertools.pairwise(tried)) <= 10
    assert at > 0 and "an estimate" in found.why
    assert lop.size("2.4M", "196k", "200ms", queues=(), repeat=1, sizes=[5, 20]).curve["buffer_packets"].to_list() == [
        5,
        20,
    ]


def test_a_target_delay_bounds_the_buffer_with_framing_accounted_for():
    found = lop.size("8M", "512k", "40ms", sizes=[4, 8, 40], repeat=1, queues=(), target_delay="100ms")
    assert found.target_packets == 4 and found.packets == min(4, found.measured.knee_packets)
    assert found.drain_s(found.target_packets) <= 0.1 < found.drain_s(found.target_packets + 1)
    # A packet of 1,500 bytes and the 40 bytes of PPPoE, LLC and AAL5 need 33 ATM cells.
    line = sizing.line_of("8M", "512k", "40ms", SizeOptions(framing="pppoe-llcsnap"))
    assert line.wire_s == pytest.approx(33 * 53 * 8 / 512e3)
    assert line.packets_within(0.1) == 3 and line.packets_within(0.001) == 1
    # For full packets, the shaper's rate is 5 % below the line's rate.
    down, up = found.shaped_bps
    assert (down, up) == (int(0.95 * 8e6 * 1514 / 1500), int(0.95 * 512e3 * 1514 / 1500))
    assert str(up) in found.configs[0].lines and "95 %" in found.assumed and "no framing" in found.assumed
    with pytest.raises(lop.UsageError, match="no buffer keeps"):
        lop.size("8M", "512k", "40ms", target_delay="0 s")
