"""Compares fairness metrics with known results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import lopsided as lop
from lopsided import cli, metrics
from lopsided.data.view import View
from lopsided.studies import fairness
from lopsided.studies import sweep as sweeps
from lopsided.studies.fairness import Contender
from lopsided.studies.fairness.pairs import Bottleneck, pair_orders, pairs_of
from lopsided.studies.options import FairnessOptions
from lopsided.views.plot import heat_maps
from own_controllers import RenoAlgorithm

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[2] / "scenarios"
QUICK = {"duration": 30.0, "lead": 5.0, "repeat": 1}


@pytest.fixture(scope="module")
def small() -> fairness.Matrix:
    return fairness.matrix(["reno", "vegas"], [20, 80], "5M", **QUICK)


@pytest.fixture(scope="module")
def parking_lot() -> lop.Run:
    return lop.Scenario.load(SCENARIOS / "parking-lot.toml").run()


def cell(matrix: fairness.Matrix, side: Contender, other: Contender) -> dict:
    (row,) = (
        matrix.cells.to_polars()
        .filter(cc=side.cc, rtt_ms=side.rtt_ms, against_cc=other.cc, against_rtt_ms=other.rtt_ms)
        .rows(named=True)
    )
    return row


# --- Pairs of contenders (congestion control and RTT) in a study


@pytest.mark.parametrize(("kind", "count"), [("inter", 2 * 6), ("intra", 3), ("usual", 15), ("full", 21)])
def test_every_pair_is_run_once(kind, count):
    pairs = pairs_of(["reno", "cubic", "bbr"], [20, 100], kind)
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == count


def test_pairs_run_in_both_orders_and_a_control_against_itself_once():
    one, other = Contender("reno", 20), Contender("cubic", 20)
    assert [(each.first, each.second) for each in pair_orders((one, other), 10)] == [(one, other), (other, one)]
    assert len(list(pair_orders((one, one), 10))) == 1
    # If both contenders start at the same time, there is no starting order to vary, so one run is sufficient.
    assert len(list(pair_orders((one, other), 0))) == 1


def test_the_scenario_contains_the_pair():
    line = Bottleneck.of(FairnessOptions(link="20M", up="1M", buffer="2 BDP", flows=3))
    scenario = line.scenario(Contender("reno", 20), Contender("cubic", 60))
    resolved = scenario.resolved
    (bottleneck,) = [link for link in resolved["links"] if link["name"] == "line"]
    # The mean RTT is 40 ms, so one BDP at 20 Mbit/s is 100 kB.
    assert bottleneck["down"]["queue"]["limit"] == {"bytes": 200_000}
    assert bottleneck["up"]["queue"]["limit"] == {"bytes": 10_000}
    delays = {link["from"]: link["down"]["delay_s"] + bottleneck["down"]["delay_s"] for link in resolved["links"]}
    assert delays["host1"] == pytest.approx(0.010)
    assert delays["host2"] == pytest.approx(0.030)
    assert [flow["sender_stack"]["cc"] for flow in resolved["flows"]] == ["reno"] * 3 + ["cubic"] * 3
    assert {flow["from"] for flow in resolved["flows"]} == {"host1", "host2"}
    upwards = Bottleneck.of(FairnessOptions(link=20_000_000, up=1_000_000, direction="up")).scenario(
        Contender("reno", 20), Contender("cubic", 60)
    )
    assert set(upwards.paths["side1"]) >= {("line", "up")}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"cc": ["cubik"]}, "unknown congestion control `cubik`; did you mean `cubic`"),
        ({"cc": ["reno", "reno"]}, "given twice"),
        ({"cc": []}, "at least one congestion control"),
        ({"rtt_ms": [0]}, "impossible for a line on Earth"),
        ({"rtt_ms": [20], "pairs": "intra"}, "two different round-trip times"),
        ({"pairs": "some"}, "no pairs called 'some'; there are usual, inter"),
        ({"buffer": "3x"}, "or '1 BDP'"),
        ({"duration": 10, "warmup": 10}, "leaves nothing"),
        ({"link": "10k"}, "nothing to share"),
        ({"flows": 0}, "at least one|one at least"),
        ({"repeat": 0}, "0 times"),
        ({"within": 2}, "between 0 and 1"),
        ({"direction": "left"}, "down or up"),
        ({"socket_buffer": "huge"}, "is not a size"),
    ],
)
def test_wrong_options_are_rejected_before_any_run(wrong, said):
    cc, rtt_ms = wrong.get("cc", ["reno", "cubic"]), wrong.get("rtt_ms", [20, 100])
    options = {name: value for name, value in wrong.items() if name not in ("cc", "rtt_ms")}
    with pytest.raises(lop.UsageError, match=said):
        fairness.plan(cc, rtt_ms, FairnessOptions(**options)).check()


# --- The results of a matrix


def test_the_number_of_runs_is_known_in_advance(small):
    # The first term counts pairs with equal RTTs. For each of 2 RTTs, there are 2 controls against themselves, and one
    # pair of different controls in 2 starting orders. The second term counts pairs with unequal RTTs: 2 controls
    # against themselves in 2 starting orders. The third term counts runs of a single flow: 2 controls at 20 and 80 ms,
    # each with the queue for its own RTT and with the queue for the mean RTT of 50 ms.
    assert len(small.study) == 2 * 4 + 2 * 2 + 2 * 4
    assert small.runs["digest"].n_unique() == 12
    # Each run of a single flow has two rows, because it is the reference for the first and the second flow of a pair.
    assert len(small.alone) == 2 * 8


def test_one_flow_gains_what_the_other_flow_loses(small):
    for row in small.cells.rows():
        mirrored = cell(small, Contender(row["against_cc"], row["against_rtt_ms"]), Contender(row["cc"], row["rtt_ms"]))
        assert row["share"] + mirrored["share"] == pytest.approx(1)
        assert row["jain"] == mirrored["jain"]
        assert row["share_least"] <= row["share"] <= row["share_most"]
        assert 0 < row["utilisation"] < 1


def test_harm_is_relative_to_the_same_flow_without_competition(small):
    for row in small.runs.rows():
        expected = max(0, 1 - row["goodput_bps"] / row["alone_goodput_bps"])
        assert row["harm_rate"] == pytest.approx(expected)
        assert row["alone_goodput_bps"] > 0.85 * 5e6
    vegas, reno = Contender("vegas", 80), Contender("reno", 80)
    # Vegas gets less than its fair share, because it reduces its window when Reno fills the queue.
    suffers = cell(small, vegas, reno)
    assert suffers["harm_rate"] > suffers["harm_rate_own"] + 0.1
    assert suffers["harm_rate_own"] == cell(small, vegas, vegas)["harm_rate"]
    assert suffers["harm_rtt"] > 0.15
    assert cell(small, reno, vegas)["harm_rate"] < 0.35


def test_means_have_intervals_if_there_are_enough_seeds(small):
    # One run per starting order is not sufficient for a confidence interval.
    assert small.cells["share_ci95"].to_list() == [None] * len(small.cells)
    matrix = fairness.matrix(["reno", "vegas"], [20], "5M", duration=15, lead=2, repeat=2, harm=False)
    one, other = Contender("reno", 20), Contender("vegas", 20)
    mine, theirs = cell(matrix, one, other), cell(matrix, other, one)
    shares = {
        first: [row["share"] for row in matrix.runs.rows() if _is(row, one, other) and row["first"] == first]
        for first in (True, False)
    }
    expected = metrics.stratified_interval(list(shares.values()))
    assert (mine["share_mean"], mine["share_ci95"]) == pytest.approx((expected.mean, expected.half_width))
    assert mine["share_mean"] + theirs["share_mean"] == pytest.approx(1)
    assert mine["share_ci95"] == pytest.approx(theirs["share_ci95"])
    assert mine["jain_ci95"] == pytest.approx(theirs["jain_ci95"])
    # If a contender competes with itself, its share is 50 % by definition. The goodputs of both flows count as one
    # observation per run.
    itself = cell(matrix, one, one)
    assert (itself["share_mean"], itself["share_ci95"]) == (pytest.approx(0.5), None)
    rates = [
        [row["goodput_bps"] for row in matrix.runs.rows() if _is(row, one, one) and row["repetition"] == k]
        for k in (0, 1)
    ]
    expected = metrics.mean_interval([sum(pair) / 2 for pair in rates])
    assert (itself["goodput_mean_bps"], itself["goodput_ci95_bps"]) == pytest.approx(
        (expected.mean, expected.half_width)
    )


def _is(row: dict, side: Contender, other: Contender) -> bool:
    return (row["cc"], row["rtt_ms"], row["against_cc"], row["against_rtt_ms"]) == (
        side.cc,
        side.rtt_ms,
        other.cc,
        other.rtt_ms,
    )


def test_without_harm_no_flow_runs_by_itself():
    matrix = fairness.matrix(["reno"], [20], "5M", harm=False, duration=10, lead=0, repeat=1)
    assert len(matrix.study) == 1
    assert matrix.cells["harm_rate"].to_list() == [None]
    # Without a lead, neither flow starts first. Both flows of the single run therefore count as joining.
    assert (matrix.cells["runs"][0], matrix.cells["joined_runs"][0]) == (1, 2)
    with pytest.raises(lop.UsageError, match="no side ran alone"):
        matrix.plot("harm_rate")


def test_a_user_control_can_be_compared():
    matrix = fairness.matrix(
        ["reno", "mine"], [20], "1M", controllers={"mine": RenoAlgorithm}, duration=20, lead=0, repeat=1, buffer="20p"
    )
    # The user's congestion control is a copy of Reno, so both flows get almost the same goodput.
    assert cell(matrix, Contender("reno", 20), Contender("mine", 20))["jain"] > 0.95
    with pytest.raises(lop.UsageError, match="unknown congestion control `mine`"):
        fairness.plan(["mine"], [20], FairnessOptions()).check()


def test_a_side_can_run_over_quic():
    line = Bottleneck.of(FairnessOptions(link="4M", duration="5s", lead="0s"))
    run = line.scenario(Contender("quic:cubic", 20), Contender("cubic", 20)).run()
    flows = list(run.flows.rows())
    assert [flow["profile"] for flow in flows] == ["quic", "linux-6.1"]
    assert all(flow["goodput_bps"] > 1e6 for flow in flows)
    with pytest.raises(lop.UsageError, match=r"bbr.*QUIC"):
        fairness.plan(["quic:bbr"], [20], FairnessOptions()).check()


def test_the_same_question_has_the_same_answer(small):
    again = fairness.matrix(["reno", "vegas"], [20, 80], "5M", workers=1, **QUICK)
    assert again.digest == small.digest
    assert again.to_dict() == small.to_dict()


def test_figures_show_every_cell(small):
    for metric in heat_maps.MAPS:
        figure = small.plot(metric)
        texts = [artist.get_text() for artist in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
        for label in ("both at 20 ms", "both at 80 ms", "reno with itself", "vegas", "80 ms"):
            assert label in texts, (metric, label)
        assert any(small.digest in text for text in texts)
    with pytest.raises(lop.UsageError, match="no figure of fairness is called 'pie'; there are share"):
        small.plot("pie")


def test_a_folder_holds_the_study(small, tmp_path):
    folder = small.save(tmp_path / "study")
    assert pl.read_parquet(folder / "cells.parquet").equals(small.cells.to_polars())
    assert len(pl.read_csv(folder / "cells.csv")) == len(small.cells)
    assert (folder / "figures" / "share.png").stat().st_size > 1000
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == len(heat_maps.MAPS)
    assert json.loads((folder / "manifest.json").read_text())["digest"] == small.digest
    with pytest.raises(lop.FolderError, match="study of fairness, not a run"):
        lop.Run.load(folder)
    with pytest.raises(lop.FolderError, match="already holds"):
        small.save(folder)


def test_every_column_is_described(small, parking_lot):
    page = (SCENARIOS.parent / "docs" / "fairness.md").read_text()
    tables = (small.cells, small.runs, small.alone, parking_lot.fairness().groups)
    columns = {column for table in tables for column in table.columns}
    assert columns <= set(re.findall(r"`([^`\s]+)`", page))


def test_the_printed_pairs_have_the_values_of_their_cells(small):
    [pairs] = (part for part in small.shown() if isinstance(part, View) and part.keys == 2)
    names = [heading.text for heading in pairs.headings]
    shown = {(row[0], row[1]): dict(zip(names, row, strict=True)) for row in pairs.rows}
    sides = Contender("reno", 20), Contender("vegas", 20)
    mine, theirs = cell(small, *sides), cell(small, *reversed(sides))
    values = {"mean": ("share_mean", mine), "Jain": ("jain", mine), "to other": ("harm_rate", theirs)}
    for heading, (column, row) in values.items():
        text = small.cells.column(column).text(row[column])
        assert shown["reno 20 ms", "vegas 20 ms"][heading] == text, heading


# --- Known results for congestion controls. docs/fairness.md shows results of longer runs


def test_equal_reno_flows_share_and_converge():
    matrix = fairness.matrix(["reno"], [20], "20M", harm=False, repeat=2)
    (row,) = matrix.cells.rows()
    assert row["jain"] > 0.99
    assert row["converged_runs"] == row["joined_runs"] == 2


def test_scalable_keeps_the_unfairness_it_finds():
    # Chiu and Jain 1989: if both the increase and the decrease are multiplicative, shares do not change.
    matrix = fairness.matrix(["scalable"], [50], "50M", harm=False, repeat=1)
    (row,) = matrix.cells.rows()
    assert row["jain"] < 0.9
    assert row["converged_s"] is None
    assert row["share_most"] > 0.65


def test_rtt_unfairness_of_reno_and_of_cubic():
    # Lakshman and Madhow 1997: Reno's goodput is proportional to RTT^-a, where a is between 1 and 2. The growth of
    # CUBIC's window does not depend on the RTT.
    matrix = fairness.matrix(["reno", "cubic"], [20, 80], "10M", pairs="intra", harm=False, duration=90, repeat=6)
    reno, cubic = (cell(matrix, Contender(cc, 20), Contender(cc, 80))["rtt_exponent"] for cc in ("reno", "cubic"))
    # The exponent is 2 if both flows lose packets in every loss event. The bound of 2.2 allows for the sampling error.
    assert 1 < reno < 2.2
    assert cubic < reno - 0.3
    assert reno == pytest.approx(cell(matrix, Contender("reno", 80), Contender("reno", 20))["rtt_exponent"])


def test_bbr_gets_more_than_cubic_at_a_small_buffer_and_less_at_a_deep_one():
    # Sources: Hock, Bless, Zitterbart 2017; Ware et al. 2019 (IMC).
    shares = []
    for buffer in ("0.5 BDP", "8 BDP"):
        matrix = fairness.matrix(["bbr", "cubic"], [40], "10M", pairs="full", buffer=buffer, harm=False, repeat=1)
        shares.append(cell(matrix, Contender("bbr", 40), Contender("cubic", 40))["share"])
    assert shares[0] > 0.8
    assert shares[1] < 0.6


# --- Fairness of any run


def test_a_long_path_is_entitled_to_its_max_min_share(parking_lot):
    found = parking_lot.fairness(harm=False)
    rows = {row["group"]: row for row in found.groups.rows()}
    assert rows["long"]["fair_bps"] == pytest.approx(4e6)
    assert rows["short"]["fair_bps"] == pytest.approx(6e6 + 4e6 + 6e6)
    assert rows["long"]["of_fair"] == pytest.approx(rows["long"]["goodput_bps"] / 4e6)
    goodput = parking_lot.flows["goodput_bps"].to_list()
    assert found.jain == pytest.approx(lop.metrics.jain_index(goodput), abs=0.05)
    assert found.jain_max_min > found.jain


def test_harm_of_a_run_is_relative_to_each_group_by_itself(parking_lot):
    found = parking_lot.fairness()
    rows = {row["group"]: row for row in found.groups.rows()}
    # Alone, the long flow gets 8 Mbit/s, the rate of the middle link. In the mixed run, it competes in three queues.
    assert rows["long"]["alone_goodput_bps"] == pytest.approx(8e6, rel=0.06)
    assert rows["long"]["harm_rate"] > 0.7
    assert rows["short"]["harm_rate"] < 0.3
    assert "harm_rate" not in parking_lot.fairness(harm=False).groups.columns


def test_a_flow_by_itself_starts_at_the_same_time_as_in_competition(parking_lot):
    alone = parking_lot.scenario.only(["short.2"]).run(seed=parking_lot.seed)
    starts = dict(zip(parking_lot.flows["name"], parking_lot.flows["start_s"], strict=True))
    assert alone.flows["name"].to_list() == ["short.2"]
    assert alone.flows["start_s"][0] == starts["short.2"]
    with pytest.raises(lop.UsageError, match="no flow called 'tall'"):
        parking_lot.scenario.only(["tall"])


def test_a_scenario_can_request_fairness(adsl, tmp_path):
    asking = adsl.with_(**{"fairness.warmup": "2 s", "fairness.harm": False})
    assert asking.asks_for_fairness
    assert not adsl.asks_for_fairness
    run = asking.run()
    found = run.fairness()
    assert found.start_s == pytest.approx(run.flows["start_s"].max() + 2)
    folder = run.save(tmp_path / "run")
    assert pl.read_parquet(folder / "fairness.parquet")["group"].to_list() == ["download", "upload"]
    assert "<h2>Fairness</h2>" in (folder / "report.html").read_text()
    assert lop.Run.load(folder).manifest()["fairness"]["jain"] == pytest.approx(found.jain)
    # Measuring fairness must not change the run.
    assert run.digest == adsl.run().digest


def test_fairness_that_cannot_be_measured_is_rejected(adsl):
    with pytest.raises(lop.UsageError, match=r"set \[record\] interval"):
        adsl.with_(**{"record.interval": False}).run().fairness()
    with pytest.raises(lop.UsageError, match="leaves nothing"):
        adsl.run().fairness(warmup_s=100)
    apart = adsl.with_(**{"flow.download.stop": "7 s"}).run()
    with pytest.raises(lop.UsageError, match="no time in which all its flows"):
        apart.fairness()


def test_a_single_group_has_no_harm(adsl):
    settings = {"flow.upload.group": "all", "flow.download.group": "all"}
    (row,) = adsl.with_(**settings).run().fairness().groups.rows()
    assert row["flows"] == 2
    assert "harm_rate" not in row


ASK = ["fairness", "--cc", "reno,vegas", "--rtt", "20ms,80ms", "--link", "5M", "--duration", "30s", "--lead", "5s"]


@pytest.mark.usefixtures("own_folder")
def test_the_command_prints_the_result_of_the_function(small, capsys):
    assert cli.invoke([*ASK, "--repeat", "1", "--out", "here", "--no-report"]) == 0
    said = capsys.readouterr()
    for text in ("20 runs", small.digest, "both at 20 ms", "reno with itself", "vegas 80 ms", "Jain", "folder"):
        assert text in said.out
    assert said.err == ""
    quick = ["--cc", "reno", "--rtt", "20ms", "--link", "5M", "--duration", "10s", "--no-harm", "--no-report"]
    assert cli.invoke(["fairness", *quick, "--out", "here", "--overwrite", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["runs"], result["alone"], result["folder"]) == (2, [], "here")
    assert result["cells"][0]["share"] == pytest.approx(0.5)


@pytest.mark.usefixtures("own_folder")
def test_an_error_leaves_no_folder(tmp_path, capsys):
    assert cli.invoke(["fairness", "--cc", "cubik", "--out", "here"]) == 2
    assert "did you mean `cubic`" in capsys.readouterr().err
    assert cli.invoke(["fairness", "--within", "much", "--out", "here"]) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("own_folder")
def test_run_prints_fairness_on_request(adsl_file, capsys):
    assert cli.invoke(["run", str(adsl_file), "--fairness", "--no-report", "--out", "here", "--repeat", "2"]) == 0
    said = capsys.readouterr().out
    for text in ("harm", "Jain's index", "over the seeds"):
        assert text in said
    assert cli.invoke(["run", str(adsl_file), "--fairness", "--no-report", "--json", "--out", "there"]) == 0
    assert [row["group"] for row in json.loads(capsys.readouterr().out)["fairness"]["groups"]] == ["download", "upload"]


def test_a_sweep_can_measure_fairness(adsl):
    table = sweeps.sweep(
        adsl,
        {"link.up.queue.limit": ["10 packets", "40 packets"]},
        repeat=1,
        measure=lambda run: [{"jain_max_min": run.fairness(harm=False).jain_max_min}],
    )
    assert len(table) == 2
    assert table["jain_max_min"].is_between(0.5, 1).all()
