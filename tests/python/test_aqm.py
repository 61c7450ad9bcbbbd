import csv
import math
from pathlib import Path

import pytest

import lopsided as lop
from lines import DOWNLOAD, UPLOAD, line_of
from lopsided.cli import invoke
from lopsided.errors import UsageError
from lopsided.metrics.responsiveness import round_trips_per_minute, saturation, trimmed_mean, weighted_quantiles
from lopsided.studies.aqm import WORKLOADS, Aqm, known, run_suite
from lopsided.studies.aqm.disciplines import disciplines
from lopsided.studies.suite import cases

LINE = line_of("15 s", "8 Mbit/s", "1 Mbit/s", "100 packets", "60 packets", rtt="30 ms")
LINE += DOWNLOAD + UPLOAD + 'start_jitter = "1 s"\n'


@pytest.fixture(scope="module")
def line() -> lop.Scenario:
    return lop.Scenario.from_text(LINE, "line")


@pytest.fixture(scope="module")
def found(line: lop.Scenario):
    return lop.aqm(line, "file,fifo,fq_codel", repeat=2)


def test_disciplines_are_given_by_name_or_table():
    first, second, third = disciplines(
        "codel, { kind = 'codel', target = '10 ms', ecn = true },{ kind = 'pie', label = 'p' }"
    )
    assert (first.label, first.queue) == ("codel", "codel")
    assert second.label == "codel target=10 ms ecn=True"
    assert third.label == "p"
    assert "label" not in third.queue
    assert disciplines([{"kind": "codel", "target": "10 ms", "ecn": True}])[0].queue == second.queue


@pytest.mark.parametrize(
    ("queues", "complaint"),
    [
        ("", "at least one"),
        ("codel,codel", "named twice"),
        ("cobra", "no queue discipline is called 'cobra'"),
        ("{ kind = codel }", "not a TOML table"),
    ],
)
def test_an_unknown_discipline_is_rejected(queues: str, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        disciplines(queues)


def test_an_impossible_comparison_is_rejected(line: lop.Scenario):
    with pytest.raises(UsageError, match="no workload is called"):
        lop.aqm(line, "fifo", workload="torrent")
    with pytest.raises(UsageError, match="no link is called"):
        lop.aqm(line, "fifo", link="lan")
    with pytest.raises(lop.ScenarioError, match="mark_threshold"):
        lop.aqm(line, "step")


def test_the_fifo_of_the_scenario_equals_the_file(found: Aqm):
    cells = {(row["queue"], row["direction"]): row for row in found.cells.rows()}
    own = {way: {**cells["file", way], "queue": ""} for way in ("down", "up")}
    assert own == {way: {**cells["fifo", way], "queue": ""} for way in ("down", "up")}


def test_fair_queueing_shortens_waits_and_response_times(found: Aqm):
    cells = {(row["queue"], row["direction"]): row for row in found.cells.rows()}
    users = {row["queue"]: row for row in found.users.rows()}
    assert cells["fq_codel", "up"]["sojourn_p95_ms"] < cells["fifo", "up"]["sojourn_p95_ms"] / 3
    assert users["fq_codel"]["rpm"] > 3 * users["fifo"]["rpm"]
    # A line with an idle RTT of 30 ms allows at most 2,000 round trips per minute.
    assert users["fq_codel"]["rpm"] < 2000


def test_cells_are_medians_of_the_runs(found: Aqm):
    runs = [row for row in found.runs.rows() if (row["queue"], row["direction"]) == ("fifo", "up")]
    cell = next(row for row in found.cells.rows() if (row["queue"], row["direction"]) == ("fifo", "up"))
    assert len(runs) == 2
    assert cell["goodput_bps"] == pytest.approx(sum(row["goodput_bps"] for row in runs) / 2)


def test_distribution_functions_increase(found: Aqm):
    curve = found.delays.to_polars().filter(
        (found.delays["queue"] == "fifo") & (found.delays["direction"] == "up") & (found.delays["quantity"] == "rtt")
    )
    values = curve["value_ms"].to_list()
    assert values == sorted(values)
    assert curve["share"][-1] == 1.0


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_fits_the_line(line: lop.Scenario, workload: str):
    short = line.with_(**{"scenario.duration": "6 s"})
    found = lop.aqm(short, "fq_codel", workload=workload, repeat=1)
    assert all(row["goodput_bps"] > 0 for row in found.cells.rows() if workload not in ("rpm_down", "rpm_up"))
    names = found.scenario.flow_names
    assert {"download", "tcp-down-BE", "tcp-down-1", "load-down-1", "load-up-1"} & set(names)
    assert next(found.users.rows())["rpm"] > 0


def test_ecn_marks_in_disciplines_that_support_it(line: lop.Scenario):
    found = lop.aqm(line, "codel,fifo", direction="down", repeat=1, ecn=True)
    cells = {row["queue"]: row for row in found.cells.rows()}
    assert cells["codel"]["marked_packets"] > 0
    assert cells["fifo"]["marked_packets"] == 0
    assert set(found.links) == {"down"}


def test_a_dumbbell_has_its_bottleneck_compared():
    text = """
[scenario]
duration = "5 s"
[topology.dumbbell]
pairs = 2
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }
[[flow]]
direction = "down"
count = 2
"""
    found = lop.aqm(lop.Scenario.from_text(text, "two"), "fifo,codel", direction="down", repeat=1)
    assert found.links == {"down": "bottleneck"}
    assert all(row["jain"] is not None for row in found.cells.rows())


@pytest.mark.slow
def test_the_folder_contains_every_result(tmp_path: Path):
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    folder = tmp_path / "out"
    assert invoke(["aqm", str(file), "--queues", "fifo,pie", "--repeat", "2", "--out", str(folder), "--quiet"]) == 0
    with (folder / "runs.csv").open() as text:
        assert len(list(csv.DictReader(text))) == 2 * 2 * 2
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "RPM" in page
    # The folder contains a study, so it cannot be plotted as a run and is replaced only with --overwrite.
    assert invoke(["plot", str(folder), "goodput"]) == 1
    assert invoke(["aqm", str(file), "--repeat", "1", "--out", str(folder), "--quiet"]) == 2


@pytest.mark.slow
def test_a_suite_has_its_own_sections(tmp_path: Path):
    spec = cases.load("rfc7928")
    for case in spec.case:
        assert f"section {case.key}" in (spec.folder / case.file).read_text()
        assert spec.scenario(case).title
    folder = tmp_path / "suite"
    command = ["aqm", "--suite", "rfc7928", "--repeat", "1", "--out", str(folder), "--quiet"]
    assert invoke([*command, "--sections", "5.1.1,10", "--queues", "fifo,codel"]) == 0
    with (folder / "cells.csv").open() as text:
        assert [row["section"] for row in csv.DictReader(text)] == ["5.1.1", "5.1.1", "10", "10"]
    assert (folder / "10" / "report.html").is_file()
    assert invoke([*command, "--sections", "10", "--queues", "fifo", "--overwrite"]) == 0
    with (folder / "cells.csv").open() as text:
        assert [row["section"] for row in csv.DictReader(text)] == ["10"]


def test_an_unknown_suite_is_rejected():
    with pytest.raises(UsageError, match="no suite is called"):
        run_suite("rfc9999")
    with pytest.raises(UsageError, match="no case"):
        run_suite("rfc7928", sections=["8.3"])
    assert invoke(["aqm"]) == 2


def test_responsiveness_is_the_mean_on_new_and_on_loaded_connections():
    # The draft's TCP-only case is the mean of two numbers in round trips per minute. New connections have 60,000 ms
    # divided by the mean of 20 ms and 40 ms. Loaded connections have 60,000 ms divided by 60 ms.
    assert round_trips_per_minute(20, 40, 60) == (2000 + 1000) / 2
    assert round_trips_per_minute(None, None, 60) == 1000
    assert round_trips_per_minute(20, 40, None) == 2000
    assert round_trips_per_minute(None, None, None) is None


def test_the_draft_ends_when_goodput_and_then_responsiveness_are_stable():
    seen = []

    def rpm_at(interval: int) -> float:
        seen.append(interval)
        return 500.0 if interval < 9 else 100.0

    # The goodput's moving averages are 1, 2, 2.3, ... From interval 7 on, four consecutive averages are close together.
    found = saturation([1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3], rpm_at)
    assert (found.goodput, found.responsiveness) == (True, True)
    # The responsiveness changes at interval 9, so four successive values are equal for the first time at interval 12.
    assert seen[0] > 4 and found.interval == 12
    rising = saturation([2.0**number for number in range(12)], lambda _: 1.0)
    assert (rising.goodput, rising.responsiveness, rising.interval) == (False, False, 11)


def test_the_load_of_the_draft_adds_connections_until_it_is_stable(line: lop.Scenario):
    long = line.with_(**{"scenario.duration": "70 s"})
    found = lop.aqm(long, "fq_codel", workload="rpm_down", repeat=1, direction="down")
    starts = sorted(flow["start_s"] for flow in found.scenario.resolved["flows"] if flow["name"].startswith("load"))
    assert [round(start / 5) for start in starts[:4]] == [0, 1, 2, 3]
    users = next(found.users.rows())
    assert users["rpm_confidence"] == 3
    # With fair queueing, the RPM is close to the value that the idle line would have.
    assert 1000 < users["rpm"] < 2000
    probes = [flow for flow in found.scenario.resolved["flows"] if flow["name"].startswith("responsiveness-probe")]
    assert len(probes) == 1, "a twentieth of 1 Mbit/s allows one pair a second"


def test_means_and_quantiles_of_counts():
    # The mean excludes the slowest 5 %. A value that straddles the 95 % limit is weighted by its fraction below the
    # limit.
    assert trimmed_mean([1.0] * 19 + [1000.0]) == pytest.approx(1.0)
    assert trimmed_mean([1.0, 3.0], [90, 10]) == pytest.approx((90 + 15) / 95)
    assert trimmed_mean([]) is None


def test_weighted_quantiles_are_values_that_occur():
    assert weighted_quantiles([30, 10, 20], [1, 2, 1], (0.5, 0.51, 1.0)) == [10, 20, 30]
    assert weighted_quantiles([math.nan, 5], [10, 1], (0.1,)) == [5]
    assert weighted_quantiles([1], [0], (0.5,)) == [None]


def test_the_names_equal_those_of_the_registry():
    assert {"fifo", "codel", "fq_codel", "pie"} <= set(known())
