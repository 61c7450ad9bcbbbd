"""yahya2011: the scenarios say what the report says, what is measured is tcptrace's, and the robust claims hold.

One seed of the baselines and of some combinations: the whole study takes a minute, and is the report's business.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lopsided import Scenario, papers
from lopsided.papers.framework.lab import Lab, carry_out
from lopsided.papers.framework.model import Paper
from lopsided.papers.yahya2011.exhibits import THROUGHPUT, number, printed, row
from lopsided.papers.yahya2011.tables import recorded
from lopsided.papers.yahya2011.testbed import (
    BASELINES,
    BUFFERS,
    COMBOS,
    CONTROLS,
    FILE_BYTES,
    SCENARIO,
    advertised,
    intended,
    observed,
)
from lopsided.studies.jobs import run_jobs

RUN = {"combos": (9, 11), "observed": (13, 16), "in-network": (5, 8), "kernel": (8,)}
"""The tests of each experiment, by number, that are run here beside the baselines."""


@pytest.fixture(scope="module")
def paper() -> Paper:
    return papers.load("yahya2011")


@pytest.fixture(scope="module")
def lab(paper: Paper) -> Lab:
    baselines = replace(paper.experiment("baselines"), cases=paper.experiment("baselines").cases[3:])
    experiments = [baselines]
    for key, numbers in RUN.items():
        experiment = paper.experiment(key)
        cases = tuple(
            case for case in experiment.cases if re.sub("[A-Za-z]", "", str(case.labels["test"])) in map(str, numbers)
        )
        experiments.append(replace(experiment, cases=cases))
    return carry_out(paper, experiments, 1, run_jobs)


# --- What is run is what the report describes


def test_the_laboratory_is_the_report_s(paper: Paper) -> None:
    resolved = Scenario.load(paper.folder / "scenarios" / SCENARIO).resolved
    rate = paper.published.find("Section 2.1", "rate", item="every link including the bottleneck").number
    assert {link[way]["rate_bps"] for link in resolved["links"] for way in ("down", "up")} == {rate * 1e6}
    size = paper.published.find("Section 2.5.2 step 3", "size", item="file").number
    assert size == FILE_BYTES and {flow["transfer"]["size_bytes"] for flow in resolved["flows"]} == {size}
    (second,) = (each for each in resolved["interfaces"] if each["host"] == "sender2")
    assert (
        second["delay_s"] == paper.published.find("Section 2.1", "added_delay", item="Sender2 interface").number / 1e3
    )
    ping = paper.published.find("Section 2.2.3", "rtt", setting="ping average").number
    for sender, receiver in (("sender1", "receiver1"), ("sender2", "receiver2")):
        names = (f"{sender}-alcatel1", "bottleneck", "egress", f"alcatel2-{receiver}")
        path = [link for link in resolved["links"] if link["name"] in names]
        delays = sum(link[way]["delay_s"] for link in path for way in ("down", "up")) * 1e3
        # A ping's 84 octets take 10 us on each of eight links.
        assert delays + 8 * (84 + 38) * 8 / rate / 1e3 == pytest.approx(ping, abs=0.02)


def test_every_test_is_there_with_its_delay_variant_windows_and_loss(paper: Paper) -> None:
    for experiment, tests in (("baselines", BASELINES), ("combos", COMBOS)):
        cases = paper.experiment(experiment).cases
        assert [case.labels["test"] for case in cases] == [test.name for test in tests]
        for case, test in zip(cases, tests, strict=True):
            of_print = [each for each in paper.published if each.conditions.get("test") == test.name]
            assert {each.conditions["variant"] for each in of_print} == {test.variant}
            assert {float(each.conditions["s1_delay_ms"]) for each in of_print} == {test.delay_ms}
            resolved = Scenario.load(paper.folder / "scenarios" / case.scenario).with_(**case.overrides).resolved
            first, egress = resolved["flows"][0], next(one for one in resolved["links"] if one["name"] == "egress")
            assert first["sender_stack"]["cc"] == CONTROLS[test.variant]
            assert resolved["interfaces"][0]["delay_s"] == test.delay_ms / 1e3
            assert first["receiver_stack"]["receive_buffer_bytes"] == intended(test)["S1"]
            assert egress["down"]["loss"]["outages_s"] == ([[14.0, 14.1]] if test.loss else [])
    for delay, buffer in BUFFERS.items():
        group = f"2: S1 {delay} ms, 50 Mbit/s share"
        assert paper.published.find("Section 2.2.3", "window", group=group).number == buffer


def test_every_variant_of_what_is_assumed_is_a_valid_scenario(paper: Paper) -> None:
    for assumption in paper.assumptions:
        for variant in assumption.variants:
            for key in paper.varied:
                case = paper.experiment(key).cases[-1]
                Scenario.load(paper.folder / "scenarios" / case.scenario).with_(
                    **{**case.overrides, **variant.overrides}
                )


def test_observed_windows_are_settings_of_the_report_or_of_linux() -> None:
    known = {advertised(buffer) for buffer in (*BUFFERS.values(), 87_380, 174_760)} | {BUFFERS[100] // 2}
    assert {window for test in COMBOS for window in observed(test).values()} <= known


# --- What is measured


def test_tcptrace_s_average_leaves_netem_out(lab: Lab) -> None:
    for test in BASELINES[4:]:
        measured = row(lab, "baselines", test)
        assert measured["S1_end_to_end_rtt_ms"] - measured["S1_rtt_ms"] > 100
        assert measured["S1_rtt_ms"] < 10
        # All data once, an acknowledgement for every second segment or more.
        assert 100_000 < measured["S1_total_packets"] < 160_000
    on_wire = row(lab, "in-network", BASELINES[4])
    assert on_wire["S1_rtt_ms"] > 100


def test_a_full_netem_tells_the_variants_apart_without_a_loss(lab: Lab) -> None:
    measured = {test.variant: row(lab, "baselines", test) for test in BASELINES[4:]}
    for variant, numbers in measured.items():
        assert numbers["S1_retransmitted_packets"] == 0 < numbers["S1_local_reductions"], variant
    rates = {variant: numbers["S1_throughput_bps"] for variant, numbers in measured.items()}
    assert rates["CUBIC"] > rates["HIGHSPEED"] > rates["SACK"] > 2 * rates["WESTWOOD"]
    on_wire = [row(lab, "in-network", test)["S1_throughput_bps"] for test in (BASELINES[4], BASELINES[7])]
    assert on_wire[1] > 0.9 * on_wire[0]


def test_print_is_met_where_its_windows_are_not_in_doubt(lab: Lab) -> None:
    for test, bound in ((BASELINES[4], 0.1), (BASELINES[5], 0.1), (BASELINES[6], 0.1), (COMBOS[10], 0.15)):
        experiment = "baselines" if test.alone else "combos"
        measured = row(lab, experiment, test)["S1_throughput_bps"] / 1e6
        assert measured == pytest.approx(number(printed(lab, test, "S1", THROUGHPUT)), rel=bound), test.name


def test_the_loss_takes_one_window_of_the_flow_that_is_bound_by_it(lab: Lab) -> None:
    for test, flow in ((COMBOS[12], "S2"), (COMBOS[15], "S1")):
        window = observed(test)[flow] / 1448
        assert row(lab, "observed", test)[f"{flow}_retransmitted_packets"] == pytest.approx(window, rel=0.05)
    assert row(lab, "combos", COMBOS[8])["blackout_lost_packets"] == 0


def test_linux_has_run_what_is_set_beside_it(paper: Paper, lab: Lab) -> None:
    for experiment in ("kernel", "kernel-pair"):
        for case in paper.experiment(experiment).cases:
            test = next(test for test in (*BASELINES, *COMBOS) if test.name == case.labels["test"])
            assert all(recorded(lab, test, flow)["retransmits"] == 0 for flow in test.flows)
    measured = row(lab, "kernel", BASELINES[7])["S1_completion_s"]
    assert measured == pytest.approx(recorded(lab, BASELINES[7], "S1")["completion_s"], rel=0.03)


# --- What is claimed


def test_what_does_not_hold_says_why(paper: Paper, lab: Lab) -> None:
    judged = 0
    for claim in paper.claims:
        if set(claim.needs) <= {"baselines"} and claim.key not in ("alone-fills-the-link", "rtt-without-delay"):
            verdict = claim.check(lab)
            judged += 1
            assert verdict.holds, (claim.key, verdict.reason)
    assert judged >= 2
    assert {claim.key for claim in paper.claims if claim.known_not_to_hold} >= {"short-delay-wins", "one-always-leads"}


def test_every_printed_throughput_rtt_and_retransmission_is_a_result_of_the_report(paper: Paper) -> None:
    counted = {
        metric: sum(each.metric == metric and each.where.startswith("Section 3") for each in paper.published)
        for metric in (THROUGHPUT, "rtt_average", "retransmitted_data_packets")
    }
    # Baselines 6 and 7 lost their throughput in extraction (YAH-A05).
    assert counted == {THROUGHPUT: 8 + 48 - 2, "rtt_average": 8 + 48, "retransmitted_data_packets": 24}
