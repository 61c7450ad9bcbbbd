"""merritt2010: the scenarios say what the thesis says, every printed result is compared, and the robust claims hold.

One seed of the 30 runs of the study, which take a second; chaos between seeds is the report's business.
"""

from __future__ import annotations

import io
import tomllib

import numpy as np
import pytest
from PIL import Image

from lopsided import Scenario, metrics, papers
from lopsided.papers.framework.drawing import column
from lopsided.papers.framework.lab import Lab, carry_out
from lopsided.papers.framework.model import Exhibit, Figure, Paper
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.merritt2010.exhibits import of_line
from lopsided.papers.merritt2010.measure import TwoWay, two_way
from lopsided.papers.merritt2010.testbed import BUFFERS, LINES, MAIN, Line
from lopsided.studies.jobs import run_jobs
from lopsided.views.plot import style


@pytest.fixture(scope="module")
def paper() -> Paper:
    return papers.load("merritt2010")


@pytest.fixture(scope="module")
def lab(paper: Paper) -> Lab:
    return carry_out(paper, paper.experiments, 1, run_jobs)


@pytest.fixture(scope="module")
def exhibits(paper: Paper, lab: Lab) -> dict[str, tuple[Figure, Exhibit]]:
    return {figure.name: (figure, figure.make(lab)) for figure in paper.figures}


# --- What is run is what the thesis describes


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_the_scenario_says_what_tables_4_1_to_4_4_say(paper: Paper, line: Line) -> None:
    published = paper.published
    text = (paper.folder / "scenarios" / line.scenario).read_text()
    written = tomllib.loads(text)
    for direction, name in (("down", "downlink"), ("up", "uplink")):
        printed = {
            metric: published.find("Table 4.3", metric, link=line.name, direction=name).number
            for metric in ("cir", "bc", "tc")
        }
        link = written["link"][direction]
        assert link["rate"] == f"{printed['cir']:.0f} kbit/s"
        # Printed in bits (MER-A03), written in octets; the credit of an interval is the rate's (MER-M11).
        assert link["shaper"]["burst"] == f"{printed['bc'] / 8:.0f} B"
        assert link["shaper"]["interval"] == f"{printed['tc']:.0f} ms"
        assert printed["bc"] == printed["cir"] * printed["tc"]
        assert link["shaper"]["line_rate"] == "100 Mbit/s"
        assert link["queue"]["kind"] == "fifo" and link["queue"]["drop"] == "tail"
    assert written["link"]["down"]["queue"]["limit"] == "50 packets"
    assert [published.find("Table 4.1", "r2_uplink_buffer", item=f"experiment {n}").number for n in range(1, 11)] == [
        *BUFFERS
    ]
    assert line.asymmetry == pytest.approx(
        published.find("Table 4.3", "asymmetry_ratio", link=line.name).number, rel=0.03
    )
    alone, both = (
        published.find("Section 1.3", "duration", item=item).number * 60
        for item in ("download alone", "download and upload together")
    )
    start, duration = written["flow"][1]["start"], written["scenario"]["duration"]
    assert (start, duration) == (f"{alone:.0f} s", f"{alone + both:.0f} s")
    assert written["stack"] == {"profile": "freebsd-7", "cc": "reno", "sack": True}


def test_every_setting_and_every_variant_is_a_valid_scenario(paper: Paper) -> None:
    variants = [{}, *(variant.overrides for each in paper.assumptions for variant in each.variants)]
    for experiment in paper.experiments:
        for case in experiment.cases[::10]:
            scenario = Scenario.load(paper.folder / "scenarios" / case.scenario)
            for overrides in variants:
                scenario.with_(**{**case.overrides, **overrides})


def test_the_sweep_is_every_line_with_every_buffer(lab: Lab) -> None:
    table = lab.table("sweep")
    assert {(row["link"], row["uplink_buffer_packets"]) for row in table.rows(named=True)} == {
        (line.name, packets) for line in LINES for packets in BUFFERS
    }
    assert table.height == 30


# --- What is measured


def test_the_measures_agree_with_the_run_s_own_tables(lab: Lab) -> None:
    run = lab.run("sweep", link=MAIN.name, uplink_buffer_packets=25)
    row = two_way(run, MAIN)
    flows = {each["name"]: each for each in run.flows.rows()}
    both = TwoWay.of(run)
    upload, download = flows["upload"], flows["download"]
    active = both.end_s - both.start_s
    assert both.start_s == pytest.approx(120.5, abs=0.5) and both.end_s == 240
    assert row["goodput_up_bps"] * active / 8 == pytest.approx(upload["delivered_bytes"], rel=1e-3)
    split = row["goodput_down_alone_bps"] * both.start_s + row["goodput_down_bps"] * active
    assert split / 8 == pytest.approx(download["delivered_bytes"], rel=1e-3)
    assert row["max_cwnd_up_bytes"] == upload["cwnd_max_bytes"] >= row["cwnd_up_bytes"]
    assert row["performance"] == min(row["down_share"], row["up_share"])
    assert row["rtt_up_ms"] == pytest.approx(upload["rtt_mean_ms"], rel=1e-3)
    halves = (row["performance_first_half"], row["performance_second_half"])
    assert min(halves) <= row["performance"] + 0.02 and max(halves) >= row["performance"] - 0.02


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_goodput_stays_below_what_headers_leave(lab: Lab, line: Line) -> None:
    frame = of_line(lab, line)
    for name in ("down_share", "up_share"):
        # 1448 of 1514 octets; the last queueful of the time before may arrive within the window.
        assert column(frame, name).max() < 1448 / 1514 + 0.02
    alone = column(frame, "goodput_down_alone_bps") / line.down_bps
    assert 0.9 < alone.min() <= alone.max() < 1448 / 1514 + 0.005


# --- What is published


def test_every_printed_result_is_compared_or_judged(
    paper: Paper, lab: Lab, exhibits: dict[str, tuple[Figure, Exhibit]]
) -> None:
    used = {_key(comparison.published) for _, exhibit in exhibits.values() for comparison in exhibit.comparisons}
    for claim in paper.claims:
        used |= {_key(value.published) for value in claim.check(lab).measured if value.published}
    results = [row for row in paper.published if row.kind in ("result", "computed")]
    assert len(results) == 30
    assert [row for row in results if _key(row) not in used] == []


def _key(value: PublishedValue) -> tuple[object, ...]:
    return (value.where, tuple(sorted(value.conditions.items())), value.metric)


def test_table_5_1_agrees_to_the_last_printed_digit(exhibits: dict[str, tuple[Figure, Exhibit]]) -> None:
    _, table = exhibits["Table 5.1"]
    assert len(table.comparisons) == 10
    for each in table.comparisons:
        assert round(each.measured, 3) == pytest.approx(each.published.number, abs=1e-9)


def test_the_thesis_s_figures_and_tables_are_all_there(paper: Paper) -> None:
    wanted = ["1.1", *(f"5.{number}" for number in range(1, 13)), "6.1", "6.2"]
    assert [figure.number for figure in paper.figures if figure.kind == "Figure"][: len(wanted)] == wanted
    assert {figure.number for figure in paper.figures if figure.kind == "Table"} == {"5.1", "6.1", "6.2", "E10"}


# --- What is drawn


def test_every_drawing_names_its_axes_and_its_runs(exhibits: dict[str, tuple[Figure, Exhibit]]) -> None:
    for name, (_, exhibit) in exhibits.items():
        if exhibit.drawing is None:
            continue
        panels = exhibit.drawing.axes
        assert all(panel.get_ylabel() for panel in panels), name
        assert panels[-1].get_xlabel().endswith((" (packets)", " (s)")), name
        words = " ".join(text.get_text() for text in exhibit.drawing.texts)
        assert "merritt2010" in words or name == "Table E10"
        assert "digest" in words, name
        assert exhibit.data.height > 0 and exhibit.data.width > 1


def test_curves_stay_inside_their_panels(exhibits: dict[str, tuple[Figure, Exhibit]]) -> None:
    """Whatever is drawn of the run after its first five seconds must be seen."""
    for name, (_, exhibit) in exhibits.items():
        panels = exhibit.drawing.axes if exhibit.drawing else ()
        over_time = bool(panels) and panels[-1].get_xlabel().endswith("(s)")
        for panel in panels:
            (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
            first = max(left, 5.0) if over_time else left
            for curve in panel.get_lines():
                x, y = (np.asarray(value, dtype=float) for value in curve.get_data())
                y = y[(x >= first) & (x <= right)]
                if curve.get_linestyle() != "--":
                    assert not np.any((y < low - 1e-9) | (y > high + 1e-9)), name


@pytest.mark.parametrize("name", ["Figure 5.1", "Figure 5.8"])
def test_a_drawing_is_a_picture(exhibits: dict[str, tuple[Figure, Exhibit]], name: str) -> None:
    drawing = exhibits[name][1].drawing
    assert drawing is not None
    pixels = np.asarray(Image.open(io.BytesIO(style.png(drawing, dpi=50))).convert("L"))
    assert 0.01 < (pixels < 200).mean() < 0.4


# --- What holds whatever the seed


def test_the_robust_claims_hold_and_what_does_not_says_why(paper: Paper, lab: Lab) -> None:
    verdicts = {claim.key: claim.check(lab) for claim in paper.claims}
    for key in (
        "small-buffer-spares-download",
        "upload-gains-little",
        "interference-grows",
        "bdp-outgrows-cwnd",
        "rtt-variability-rises",
        "asymmetry-steepens-variability",
        "rtt-alone",
    ):
        assert verdicts[key].holds, (key, verdicts[key].reason)
    for key, verdict in verdicts.items():
        assert verdict.measured, key
        assert verdict.holds or len(verdict.reason) > 40, key


def test_a_larger_uplink_buffer_costs_the_download_and_fills_r2(lab: Lab) -> None:
    for line in LINES:
        frame = of_line(lab, line)
        sizes = column(frame, "uplink_buffer_packets")
        assert metrics.rank_correlation(sizes, column(frame, "goodput_down_bps")) < -0.9
        assert metrics.rank_correlation(sizes, column(frame, "uplink_backlog_packets")) > 0.9
        assert (column(frame, "uplink_backlog_packets") <= sizes).all()


def test_the_estimate_is_eq_6_6_of_the_run_s_windows(lab: Lab) -> None:
    for row in lab.every("sweep").rows(named=True):
        line = next(each for each in LINES if each.name == row["link"])
        uplink_bytes_per_s = line.up_bps / 8
        expected = (
            (row["max_cwnd_down_bytes"] - row["max_cwnd_up_bytes"]) / 2 - row["rtt_alone_ms"] / 1e3 * uplink_bytes_per_s
        ) / 1500
        assert row["estimate_packets"] == pytest.approx(expected)


def test_the_field_procedure_depends_on_where_it_starts(lab: Lab) -> None:
    field, full = (of_line(lab, MAIN, experiment) for experiment in ("field", "sweep"))
    # Up to 30 s it is the same download: the first slow start, which sets its largest window, is in both.
    assert column(field, "max_cwnd_down_bytes").tolist() == column(full, "max_cwnd_down_bytes").tolist()
    # The upload's largest window is what the configured buffer lets it be, and with it goes the answer.
    assert column(field, "max_cwnd_up_bytes")[-1] > 4 * column(field, "max_cwnd_up_bytes")[0]
    assert column(field, "estimate_packets")[-1] < column(field, "estimate_packets")[0] - 10
