"""Tests balakrishnan1999: the scenarios match the paper, and with two of its schemes, the metrics match the results of
the authors' code. The tests use one seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from lopsided import Scenario, papers
from lopsided.errors import UsageError
from lopsided.papers.balakrishnan1999 import bursts, ns2, section9, tables
from lopsided.papers.balakrishnan1999.setup import AF_SA, LINES, RENO, Scheme
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Paper
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.live import plan
from of_papers import reasons_beyond_the_data
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

pytestmark = pytest.mark.slow
PAPER = "balakrishnan1999"


def test_the_simulated_networks_equal_those_of_the_paper(paper: Paper) -> None:
    def printed(where: str, case: str, metric: str) -> float:
        return paper.published.find(where, metric, case=case).number

    hybrid = Scenario.load(paper.folder / "scenarios" / "hybrid.toml")
    up = next(link for link in hybrid.resolved["links"] if link["name"] == "link")["up"]
    assert up["delay_s"] * 1e3 == printed("Section 7.1", "reverse channel in simulation", "one_way_latency")
    assert hybrid.duration_s == printed("Section 7.1.1", "case A and B", "transfer_duration")
    for hops in (1, 2, 3):
        radio = Scenario.load(paper.folder / "scenarios" / f"radio-{hops}.toml")
        assert len([each for each in radio.resolved["links"] if "radio" in each["to"]]) == hops + 1
        assert radio.duration_s == printed("Section 7.2.2", "transfer", "duration")


@pytest.mark.parametrize("scheme", [RENO, AF_SA], ids=lambda scheme: scheme.key)
@pytest.mark.parametrize("line", [line.key for line in LINES])
def test_one_way_cells_match_the_authors_code(m: Measurements, line: str, scheme: Scheme) -> None:
    authors = tables.authors("A", line, scheme)
    assert authors is not None
    measured = m.row("one-way", line=line, scheme=scheme.key)
    # The tolerance is the relative spread of the authors' runs, but at least 5 %. The window varies as much as the
    # throughput.
    spread = max(0.05, authors["throughput_std_mbps"] / authors["throughput_mbps"])
    assert measured["throughput_bps"] / 1e6 == pytest.approx(authors["throughput_mbps"], rel=spread)
    assert measured["cwnd_packets"] == pytest.approx(authors["cwnd_packets"], rel=spread)
    assert measured["rtt_ms"] == pytest.approx(authors["rtt_ms"], rel=0.05)
    assert measured["acks_delivered"] == pytest.approx(authors["acks_delivered"], rel=0.1)


@pytest.mark.parametrize("scheme", [RENO, AF_SA], ids=lambda scheme: scheme.key)
def test_forward_losses_have_the_effect_of_the_authors_code(m: Measurements, scheme: Scheme) -> None:
    authors = tables.authors("B", "28.8C", scheme)
    assert authors is not None
    assert lossy(m, scheme, "throughput_bps").median / 1e6 == pytest.approx(authors["throughput_mbps"], rel=0.05)
    assert lossy(m, scheme, "cwnd_packets").median == pytest.approx(authors["cwnd_packets"], rel=0.05)
    assert lossy(m, scheme, "rtt_ms").median == pytest.approx(authors["rtt_ms"], rel=0.05)
    assert lossy(m, scheme, "acks_delivered").median == pytest.approx(authors["acks_delivered"], rel=0.1)


def test_table_n_does_not_depend_on_an_installed_ns_2(m: Measurements, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    rows = ns2.table_n(m).data
    assert rows["Mbit/s_ns-2"].is_not_nan().all()
    one_way = rows.filter(pl.col("cell").str.starts_with("A"))
    assert one_way["Mbit/s"].to_list() == pytest.approx(one_way["Mbit/s_ns-2"].to_list(), rel=0.02)


def test_ns_2_runs_with_zeros_in_new_memory(tmp_path: Path) -> None:
    program = tmp_path / "ns"
    program.write_text('#!/bin/sh\necho "perturbed=$MALLOC_PERTURB_"\n')
    program.chmod(0o755)
    assert ns2.printed(str(program), {}) == {"perturbed": 255}


def test_the_arithmetic_of_section_4_equals_the_printed_digits(m: Measurements) -> None:
    for row in tables.table_k(m).comparisons:
        if row.remark != "by the paper's own formula":
            assert row.measured == pytest.approx(row.published.number, rel=0.02), row.published


def test_the_part_on_real_packets_can_be_measured_and_drawn(paper: Paper) -> None:
    """The test runs the experiments with real packets in the simulator instead, because the simulator is faster."""
    assert paper.live is not None
    measured = run_experiments(paper.live, paper.live.experiments, 1, run_jobs)
    made = {figure.name: figure.make(measured) for figure in paper.live.figures}
    assert all(artifact.data.height for artifact in made.values())
    assert [len(artifact.comparisons) for artifact in made.values()] == [4, 3, 13, 0]
    for experiment in paper.live.experiments:
        for case in experiment.cases:
            scenario = Scenario.load(paper.folder / "scenarios" / case.scenario).with_(**case.overrides)
            made_for = plan.make(scenario, 1, frozenset(experiment.ours))
            played = {node.name.partition("/")[0] for node in made_for.job.nodes if node.is_host}
            assert played.isdisjoint(experiment.ours)
            assert bool(played) != bool(made_for.passages), "packets cross the kernel at one end or between them"
    assert reasons_beyond_the_data(paper.live, measured) == {}


def test_section_9_filters_acks_as_implemented(paper: Paper) -> None:
    """Section 8.4: the filter removes ACKs with the same number and another window, and it searches a full queue."""
    for experiment in (bursts.BURST_SWEEP, section9.IMPLEMENTED_TWO_WAY):
        for case in experiment.cases:
            scenario = Scenario.load(paper.folder / "scenarios" / case.scenario).with_(**case.overrides)
            links: list[Any] = scenario.resolved["links"]
            queue = next(link["up"]["queue"] for link in links if link["name"] == "link")
            filtered = str(case.labels["scheme"]).startswith("af_")
            assert (queue["kind"] == "ack_filter") == filtered
            assert not filtered or (queue["rule"], queue["below"]) == ("window", None)


def test_a_study_without_a_live_part_is_rejected_in_the_live_world() -> None:
    with pytest.raises(UsageError, match="no part of merritt2010 runs on real packets; parts of balakrishnan1999 do"):
        papers.reproduce("merritt2010", None, False, Path("nowhere"), 1, Console(), world="live")
