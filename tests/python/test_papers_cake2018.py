"""Tests cake2018: the scenarios use the settings that their sources state, and claims fail with opposite settings."""

from __future__ import annotations

import tomllib

import pytest

from lopsided.papers.cake2018 import claims, setup
from lopsided.papers.cake2018.figures import ack_limit_bps
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Figure, Paper
from of_papers import one_seed, outside_panels, printed_results
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

PAPER = "cake2018"


def test_the_scenarios_have_the_settings_of_their_sources(paper: Paper) -> None:
    def written(name: str) -> str:
        return (paper.folder / "scenarios" / f"{name}.toml").read_text()

    def setting(where: str, metric: str, **conditions: str) -> str:
        return paper.published.find(where, metric, **conditions).value

    assert tomllib.loads(written("tins"))["link"]["rate"] == f"{setting(claims.DATA, 'rate')} Mbit/s"
    flows = {flow["name"]: flow for flow in tomllib.loads(written("real-time"))["flow"]}
    assert flows["bulk"]["count"] == int(setting("Figure 5", "bulk_flows"))
    assert flows["real-time"]["app"]["rate"] == f"{setting('Figure 5', 'real_time_rate')} Mbit/s"
    down, up = setting("Figure 6", "rates").split("/")
    text = written("ack-filter")
    assert f'bandwidth = "{down} Mbit/s"' in text and f'bandwidth = "{up} Mbit/s"' in text


def test_the_limit_of_acks_is_an_ack_of_66_octets_for_two_segments() -> None:
    # Half of the uplink's rate is enough for 1,000 ACKs per second.
    assert ack_limit_bps(2 * 0.528e6) == pytest.approx(1000 * 2 * 1448 * 8)


def test_isolation_of_hosts_fails_if_cake_is_fair_to_flows(paper: Paper) -> None:
    claim = next(each for each in paper.claims if each.key == "isolation-triple-isolate")
    assert claim.check(one_seed(paper, "hosts", {}, mode="triple-isolate")).holds
    flows = {"topology.link.line.down.queue.isolation": "flows"}
    assert not claim.check(one_seed(paper, "hosts", flows, mode="triple-isolate")).holds


def test_a_real_time_flow_without_its_mark_is_not_isolated(paper: Paper) -> None:
    assert claims.diffserv_isolates.check(one_seed(paper, "real-time", {}, queue="cake_diff4")).holds
    unmarked = one_seed(paper, "real-time", {"flow.real-time.stack.dscp": "0"}, queue="cake_diff4")
    assert not claims.diffserv_isolates.check(unmarked).holds


def test_a_shaper_above_the_modem_s_rate_moves_no_queue(paper: Paper) -> None:
    assert claims.compensation_moves_the_queue.check(one_seed(paper, "overhead", {})).holds
    fast = one_seed(paper, "overhead", {"topology.link.shaped.down.queue.bandwidth": "1100 kbit/s"})
    assert not claims.compensation_moves_the_queue.check(fast).holds


@pytest.mark.slow
def test_the_marked_flows_divide_the_line_as_in_the_authors_data(m: Measurements) -> None:
    for claim in (claims.unmarked_cake, claims.diffserv3_divides, claims.diffserv4_divides, claims.probes_see_the_data):
        verdict = claim.check(m)
        assert verdict.holds, verdict.reason


@pytest.mark.slow
def test_every_printed_result_is_compared_or_judged(
    paper: Paper, m: Measurements, artifacts: dict[str, tuple[Figure, Artifact]]
) -> None:
    results, left_out = printed_results(paper, m, artifacts)
    assert len(results) == 78
    # The metrics for which `coverage.toml` contains a rule.
    covered = {metric for rule in paper.coverage for metric in rule.metrics}
    assert {row.metric for row in left_out} <= covered


@pytest.mark.slow
def test_the_figures_are_drawn_inside_their_panels(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    assert list(artifacts) == ["Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure F"]
    assert all(artifact.drawing and artifact.data.height > 0 for _, artifact in artifacts.values())
    assert outside_panels(artifacts) == []


def test_each_isolation_and_each_queue_is_run(paper: Paper) -> None:
    assert [case.labels["mode"] for case in paper.experiment("hosts").cases] == list(setup.ISOLATIONS)
    assert [case.labels["queue"] for case in paper.experiment("tins").cases] == list(setup.QUEUES)
