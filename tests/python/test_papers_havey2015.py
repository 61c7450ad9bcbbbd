"""Tests havey2015: its chapters, its metrics, and a reproduction of all of chapter 4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lopsided as lop
from lopsided import _native
from lopsided.cli import invoke
from lopsided.errors import UsageError
from lopsided.papers import load
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.havey2015 import measure
from lopsided.papers.havey2015.chapter3 import setup as chapter3
from lopsided.papers.havey2015.setup import CHAPTERS, EXPERIMENTS
from lopsided.studies.jobs import run_jobs
from of_papers import disturbed, of_one_case_each, reasons_beyond_the_data
from of_reasons import unexplained

SHORT = {"scenario.duration": "32 s"}


def test_each_figure_and_claim_belongs_to_one_chapter():
    paper = load("havey2015")
    parts = [paper.only(chapter) for chapter in CHAPTERS]
    assert sum(len(part.figures) for part in parts) == len(paper.figures)
    assert sum(len(part.claims) for part in parts) == len(paper.claims)
    assert {key for keys in CHAPTERS.values() for key in keys} == {each.key for each in EXPERIMENTS}
    assert len(paper.published) > 100


def test_every_experiment_is_shown_or_judged():
    paper = load("havey2015")
    shown = {key for each in (*paper.figures, *paper.claims) for key in each.needs}
    assert shown == {each.key for each in EXPERIMENTS}


def test_every_setting_is_a_scenario():
    paper = load("havey2015")
    files = {case.scenario for each in EXPERIMENTS for case in each.cases}
    scenarios = {name: lop.Scenario.load(paper.folder / "scenarios" / name) for name in files}
    for experiment in EXPERIMENTS:
        for case in experiment.cases:
            scenarios[case.scenario].with_(**case.overrides)


def test_quantiles_count_packets():
    values, weights = np.array([30.0, 10.0, 20.0]), np.array([1.0, 98.0, 1.0])
    found = dict(zip(measure.PERCENTILES, measure._quantiles(values, weights), strict=True))
    assert (found[1], found[95], found[99]) == (10.0, 10.0, 20.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "direction"),
    [("modem.toml", "down"), ("channel-up.toml", "up"), ("cable.toml", "down"), ("cable-up.toml", "up")],
)
def test_a_short_run_is_measured(name, direction):
    paper = load("havey2015")
    scenario = lop.Scenario.load(paper.folder / "scenarios" / name, **{"scenario.duration": "35 s"})
    case = next(each for experiment in EXPERIMENTS for each in experiment.cases if each.scenario == name)
    row = measure.modems(scenario.run(), case)
    assert row["rtt_p1_ms"] >= 99.0
    assert row["rtt_p1_ms"] <= row["rtt_p50_ms"] <= row["rtt_p99_ms"]
    assert 0.9 * (16e6 if direction == "down" else 7e6) < row["throughput_bps"] < 16e6
    assert 0.004 < row["sensing_share"] < 0.005


@pytest.mark.slow
def test_chapter_4_can_run_alone(tmp_path, capsys):
    assert invoke(["reproduce", "havey2015", "--chapter", "4", "--repeat", "1", "--out", str(tmp_path)]) == 0
    assert "3 of the paper's 3 statements hold" in capsys.readouterr().out
    assert (tmp_path / "chapter-4" / "figures" / "figure-4.1.svg").exists()


LENGTHS = {
    **dict.fromkeys(CHAPTERS["3"], "14 s"),
    **dict.fromkeys(("fwp-sharing", "fwp-sharing-rules", "fwp-sharing-time"), "45 s"),
    "fwp-repair": "2 s",
    "alone": "130 s",
    "clock": "140 s",
}
"""For each experiment, a duration that is long enough for all of its flows. All other experiments run for 32 s."""


@pytest.mark.slow
def test_reasons_state_what_was_measured():
    """Every number in a verdict's reason must be a measured number. The test uses randomly changed measurements."""
    paper = load("havey2015")
    short = {each.key: {"scenario.duration": LENGTHS.get(each.key, "32 s")} for each in EXPERIMENTS}
    m = of_one_case_each(paper, EXPERIMENTS, short)
    assert all(m.has(*claim.needs) for claim in paper.claims)
    assert reasons_beyond_the_data(paper, disturbed(paper, m, 0)) == {}
    assert all(figure.make(m) for figure in paper.figures if figure.kind == "Table")


@pytest.mark.slow
def test_results_of_chapter_3_are_complete_and_its_reasons_are_measured():
    paper = load("havey2015")
    m = run_experiments(paper, [chapter3.REPAIR, chapter3.CURL], 1, run_jobs)
    claims = [each for each in paper.claims if each.needs[:1] == (chapter3.REPAIR.key,)]
    assert [(each.key, unexplained(each.check(m))) for each in claims if unexplained(each.check(m))] == []
    assert {each.key: each.check(m).holds for each in claims} == {
        each.key: not each.known_not_to_hold for each in claims
    }
    sent = [m.value("fwp-repair", "sent_bytes", error=error).median for error in chapter3.ERRORS]
    assert sent == sorted(sent) and sent[0] > chapter3.OBJECT


def test_every_channel_of_fwp_is_that_of_section_3_3():
    """Four MIMO streams with one aggregation queue each, 600 Mbit/s in total, 32 frames per aggregate (table 3.1)."""
    folder = load("havey2015").folder / "scenarios"
    for name in ("stations.toml", "repair.toml"):
        media: list[Any] = lop.Scenario.load(folder / name).resolved["media"]
        (channel,) = media
        assert (channel["rate_bps"], channel["aggregation_queues"], channel["ampdu"]) == (600_000_000, 4, 32)
    path = lop.Scenario.load(folder / "repair.toml").resolved["links"][0]["down"]
    assert (path["rate_bps"], path["delay_s"]) == (600_000_000, 0.02)


@pytest.mark.slow
def test_a_full_aggregate_is_measured():
    paper = load("havey2015")
    cases = [each for each in chapter3.LOSS.cases if each.labels["error"] == 0.2]
    found = {}
    for case in cases:
        scenario = lop.Scenario.load(
            paper.folder / "scenarios" / case.scenario, **{**case.overrides, "scenario.duration": "2 s"}
        )
        found[case.labels["mode"]] = chapter3.throughput(scenario.run(), case)
    assert found["fwp"]["tested_bps"] > 1.2 * found["fwp"]["others_bps"]
    assert 1 < found["ampdu"]["frames_per_ppdu"] < found["fwp"]["frames_per_ppdu"] <= 64


@pytest.mark.slow
def test_only_asqm_notices_a_channel_below_its_committed_rate():
    paper = load("havey2015")
    cases = {str(case.labels["aqm"]): case for case in paper.experiment("cable-up-peak").cases}
    found = {}
    for aqm in ("asqm", "codel"):
        settings = {**cases[aqm].overrides, "scenario.duration": "40 s"}
        run = lop.Scenario.load(paper.folder / "scenarios" / cases[aqm].scenario, **settings).run()
        found[aqm] = measure.modems(run, cases[aqm])
    assert found["asqm"]["rtt_p90_ms"] < 400 and found["codel"]["rtt_p90_ms"] > 1000
    assert all(6.3e6 < row["throughput_bps"] < 7e6 for row in found.values())


INTERCONNECT = """
[scenario]
duration = "15 s"
[topology]
hosts = ["server", "home"]
routers = ["edge", "peer", "access"]
[[topology.link]]
name = "egress"
between = ["server", "edge"]
rate = "20 Mbit/s"
[[topology.link]]
between = ["edge", "peer"]
rtt = "20 ms"
rate = "1 Gbit/s"
[[topology.link]]
between = ["peer", "access"]
rate = "10 Mbit/s"
queue = "1 MB"
down.stages = [{ kind = "reflector" }]
[[topology.link]]
between = ["access", "home"]
rate = "1 Gbit/s"
[[flow]]
from = "server"
to = "home"
"""


def test_the_queue_of_an_interconnect_two_networks_away_is_sensed():
    """Section 7.1 of the paper: the congested link belongs to another provider and has no managed queue."""

    def rtt_ms(queue: str) -> float:
        scenario = lop.Scenario.from_text(INTERCONNECT, "interconnect.toml").with_(
            **{"topology.link.egress.queue": queue}
        )
        return float(scenario.run().flows["rtt_mean_ms"][0])

    for kind in ("asqm", "bdp"):
        assert rtt_ms(f'{{ kind = "{kind}", far_end = "stage" }}') < rtt_ms('{ kind = "codel" }') / 3


def test_an_unknown_chapter_is_rejected():
    from lopsided import papers

    with pytest.raises(UsageError, match="no chapter '7'; there are 2, 3, 4, 5, 6"):
        papers._chapter(load("havey2015"), "7")
    with pytest.raises(UsageError, match="there are none"):
        papers._chapter(load("orosz2010"), "2")


def test_presets_are_listed_and_run(capsys):
    assert invoke(["list", "presets"]) == 0
    listed = capsys.readouterr().out
    names = [name for name, *_ in _native.presets()]
    assert len(names) >= 10 and all(name in listed for name in names)
    text = '[scenario]\nduration = "1 s"\n[link]\npreset = "{}"\n[[flow]]\ndirection = "up"\n'
    for name in ("lte-50-15", "starlink-200-20", "wifi5-400-400"):
        assert lop.Scenario.from_text(text.format(name), "x.toml").run().flows["delivered_bytes"][0] > 0
