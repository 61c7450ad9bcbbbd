"""Tests the paper framework with a small paper."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from lopsided import Run, Scenario, papers
from lopsided.errors import FolderError, UsageError
from lopsided.papers.balakrishnan1999.live import LIVE
from lopsided.papers.framework import assumptions, page, recorded, text
from lopsided.papers.framework import covered as covering
from lopsided.papers.framework.claims import (
    Statements,
    all_of,
    at_least,
    between,
    falls,
    near,
    number,
    ordered,
    proportional,
    ratio,
    wider_than_said,
)
from lopsided.papers.framework.coverage import judged, measured, nothing
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.framework.model import (
    Assumption,
    Case,
    Experiment,
    Figure,
    KeyResult,
    Measured,
    Paper,
    Variant,
    Verdict,
)
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.published import Published
from lopsided.papers.framework.reasons import unexplained
from lopsided.papers.framework.reproduction import drawn, held_in_short
from lopsided.papers.framework.reproduction import run as run_paper
from lopsided.papers.framework.tables import compare
from lopsided.studies.jobs import run_jobs
from of_papers import reasons_beyond_the_data

SCENARIO = """
[scenario]
duration = "3 s"
seed = 7

[link]
rtt = "20 ms"
[link.down]
rate = "2 Mbit/s"
[link.up]
rate = "1 Mbit/s"

[[flow]]
name = "download"
direction = "down"
start_jitter = "500 ms"
"""

PUBLISHED = """\
where,queue_packets,metric,value,unit,qualifier,kind,note
Table 1,10,goodput,1.50,Mbit/s,approx,result,read off by eye
Table 1,40,goodput,1.80,Mbit/s,eq,result,
Section 2,,rate,2,Mbit/s,eq,setting,
"""


def toy(folder: Path) -> Paper:
    """Returns a small paper: one experiment, one figure, a claim that holds, a claim that fails, and an assumption."""
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "line.toml").write_text(SCENARIO)
    (folder / "published.csv").write_text(PUBLISHED)

    def goodput(m: Measurements) -> Curve:
        return m.curve("queues", "goodput_bps", "queue_packets")

    figure = Plot(
        "Goodput",
        "toy",
        "queue (packets)",
        (Panel("Mbit/s", lambda m: [Line.of(goodput(m), "black", 1e-6, column="goodput_mbps")]),),
        ("queues",),
        axis="queue_packets",
        comparisons=lambda m: [
            compare(m.published.find("Table 1", "goodput", queue_packets=size), goodput(m).at(size), "", 1e-6)
            for size in (10, 40)
        ],
    )
    of_paper = Statements(("queues",))

    @of_paper("Data is delivered.", "section 1")
    def moves(m: Measurements) -> Verdict:
        return at_least(1, [number("least", goodput(m).median.min(), "Mbit/s", scale=1e-6)])

    @of_paper("More than the link carries.", "section 1")
    def miracle(m: Measurements) -> Verdict:
        return at_least(2, [number("most", goodput(m).median.max(), "Mbit/s", scale=1e-6)])

    cases = tuple(
        Case("line.toml", {"link.down.queue.limit": f"{packets} packets"}, {"queue_packets": packets})
        for packets in (10, 40)
    )
    return Paper(
        key="toy2024",
        title="Toys",
        authors="A. Author",
        year=2024,
        summary="A toy.",
        folder=folder,
        experiments=(
            Experiment(
                "queues", "two queues", cases, lambda run, _: {"goodput_bps": run.flows["goodput_bps"][0]}, keep=True
            ),
        ),
        figures=(Figure("1", "Goodput against queue", ("queues",), figure),),
        claims=(moves, miracle),
        assumptions=(
            Assumption("rate", "downlink rate", "2 Mbit/s", "guessed", (Variant("8", {"link.down.rate": "8 Mbit/s"}),)),
        ),
        key_results=(KeyResult("most", "most", "bit/s", lambda m: float(goodput(m).median.max())),),
        repeat=3,
        varied=("queues",),
        answer=lambda m: f"It carries {goodput(m).last / 1e6:.1f} Mbit/s.",
        answer_needs=("queues",),
    )


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    folder = tmp_path / "toy2024"
    folder.mkdir()
    return toy(folder)


def test_medians_are_over_seeds_that_all_settings_share(paper: Paper) -> None:
    lab = run_experiments(paper, paper.experiments, 3, run_jobs)
    every = lab.runs("queues")
    assert every["queue_packets"].to_list() == [10, 40] * 3
    assert every.filter(pl.col("queue_packets") == 10)["seed"].to_list() == [7, 8, 9]
    assert every.filter(pl.col("queue_packets") == 40)["seed"].to_list() == [7, 8, 9]
    for row in lab.table("queues").rows(named=True):
        values = every.filter(pl.col("queue_packets") == row["queue_packets"])["goodput_bps"].to_numpy()
        assert np.ptp(values) > 0  # The jitter of the start times depends on the seed.
        assert row["goodput_bps"] == np.median(values)
        assert (row["goodput_bps_low"], row["goodput_bps_high"]) == (values.min(), values.max())
        assert row["runs"] == 3


def test_another_first_seed_moves_every_case(paper: Paper) -> None:
    lab = run_experiments(paper, paper.experiments, 2, run_jobs, seed=101)
    # Seed 1 means the scenario's own seed, which is 7.
    assert set(lab.runs("queues")["seed"].to_list()) == {107, 108}
    with pytest.raises(UsageError, match="exceed 2"):
        run_experiments(paper, paper.experiments, 2, run_jobs, seed=2**64 - 7)


def test_repetitions_are_independent_and_only_the_first_keeps_its_runs(paper: Paper) -> None:
    lab = run_experiments(paper, paper.experiments, 2, run_jobs)
    second = lab.repetition(1)
    assert second.repetitions == (1,)
    assert second.table("queues")["goodput_bps"].to_list() == second.runs("queues")["goodput_bps"].to_list()
    assert lab.run("queues", queue_packets=40).seed == 7
    with pytest.raises(KeyError):
        second.run("queues", queue_packets=40)
    with pytest.raises(KeyError):
        lab.run("queues", queue_packets=41)


def test_the_digest_covers_the_runs(paper: Paper) -> None:
    first, again = (run_experiments(paper, paper.experiments, 2, run_jobs).digest("queues") for _ in range(2))
    other = run_experiments(paper, paper.experiments, 2, run_jobs, overrides={"link.rtt": "21 ms"}).digest("queues")
    assert first == again != other


def test_claims_are_judged_on_medians_and_on_every_seed(paper: Paper) -> None:
    reproduction = run_paper(paper, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    moves, miracle = reproduction.claims
    assert moves.verdict.holds and (moves.held_in, moves.repetitions) == (3, 3) and not moves.surprising
    assert not miracle.verdict.holds and miracle.held_in == 0 and miracle.surprising
    assert miracle.verdict.why_not.startswith("most 1.") and moves.verdict.why_not == ""
    assert reproduction.counts()[0] == "1 of the paper's 2 statements hold"
    assert reproduction.opening()[1:] == [
        "1 of the paper's 2 statements hold.",
        "1 fails because the reason is not recorded.",
    ]
    assert reproduction.held_of_paper == "1 of 2"
    # Two interpretations count as one statement.
    twice = [replace(each, claim=replace(each.claim, reading="goodput")) for each in (moves, miracle)]
    other = replace(moves, claim=replace(moves.claim, reading="windows"))
    assert held_in_short([*twice, other, replace(other, verdict=miracle.verdict)]) == "1 of 2"
    assert held_in_short([twice[1], other]) == "0 or 1 of 1"
    assert reproduction.answer.startswith("It carries 1.")


def test_a_random_claim_has_more_seeds_and_states_in_how_many_it_holds(paper: Paper) -> None:
    every = run_experiments(paper, paper.experiments, 4, run_jobs).runs("queues").filter(pl.col("queue_packets") == 40)
    middle = float(np.median(every["goodput_bps"].to_numpy()))

    @Statements(("queues",))("More than in the middle run.", "section 1")
    def more(m: Measurements) -> Verdict:
        found = m.value("queues", "goodput_bps", queue_packets=40)
        return at_least(middle, [number("goodput", found, "bit/s")])

    tossed = replace(paper, experiments=(replace(paper.experiments[0], usual=4),), claims=(more,))
    run = partial(run_paper, tossed, run_jobs, figures=(), claims=True, sensitivity=False)
    found = run(repetitions=3)
    assert (found.claims[0].held_in, found.claims[0].repetitions, found.claims[0].is_toss) == (2, 4, True)
    assert found.counts()[-1] == "1 of these is a coin toss; seeds in which it holds: more 2 of 4"
    # The summary also counts the statements that hold only for part of the seeds.
    lucky = replace(found.claims[0], verdict=replace(found.claims[0].verdict, holds=True))
    assert replace(found, claims=(lucky,)).counts()[0].endswith("hold, 1 of them by a coin toss between seeds")
    # The caller's number of repetitions overrides the default.
    assert run(repetitions=2).claims[0].repetitions == 2


def test_a_variant_shows_changed_values_and_changed_verdicts(paper: Paper) -> None:
    reproduction = run_paper(paper, run_jobs, figures=(), claims=True, sensitivity=True, repetitions=3)
    (variant,) = reproduction.sensitivities
    (base,) = reproduction.key_outcomes
    assert [str(move) for move in variant.moves] == ["miracle: now holds"]
    assert variant.results["most"] > 2 * base.high
    assert text.leaves_spread(variant.results["most"], base)
    assert not text.leaves_spread((base.low + base.high) / 2, base)


def test_variants_of_a_pair_change_their_own_experiments(paper: Paper) -> None:
    # The key refers to a flow that does not exist in the first experiment.
    (paper.folder / "scenarios" / "other.toml").write_text(SCENARIO.replace('"download"', '"other"'))
    of_other = Statements(("other",))

    @of_other("Most of the downlink is used.", "section 2")
    def used(m: Measurements) -> Verdict:
        return at_least(1.5, [number("rate", m.value("other", "goodput_bps", queue_packets=40), scale=1e-6)])

    cases = (Case("other.toml", {}, {"queue_packets": 40}),)
    upload = Variant("an upload", {"flow.other.direction": "up"})
    direction = replace(paper.assumptions[0], key="direction", variants=(upload,), experiments=("other",))
    wide = replace(
        paper,
        experiments=(*paper.experiments, replace(paper.experiments[0], key="other", cases=cases)),
        assumptions=(*paper.assumptions, direction),
        claims=(*paper.claims, used),
    )
    found = run_paper(wide, run_jobs, figures=(), claims=True, sensitivity=True, repetitions=3)
    assert [[move.claim.key for move in each.moves] for each in found.sensitivities] == [
        ["miracle"],
        ["used"],
        ["miracle", "used"],
    ]


def test_a_figure_runs_only_its_own_jobs(paper: Paper) -> None:
    unused = replace(paper.experiments[0], key="unused")
    larger = replace(paper, experiments=(*paper.experiments, unused))
    reproduction = run_paper(larger, run_jobs, figures=larger.figures, claims=False, sensitivity=False, repetitions=1)
    assert list(reproduction.digests) == ["queues"]
    ((_, artifact),) = drawn(reproduction, larger.figures).artifacts
    assert [comparison.published.value for comparison in artifact.comparisons] == ["1.50", "1.80"]
    assert artifact.comparisons[0].measured == pytest.approx(artifact.data["goodput_mbps"][0])


def test_the_report_is_self_contained_and_its_data_are_next_to_it(paper: Paper, tmp_path: Path) -> None:
    reproduction = run_paper(paper, run_jobs, figures=paper.figures, claims=True, sensitivity=True, repetitions=2)
    report = page.write(drawn(reproduction, paper.figures), tmp_path / "out").read_text()
    targets = re.findall(r"""(?:href|src)=["']([^"']*)|url\(([^)]*)""", report)
    found = {address or inner for address, inner in targets}
    # The folder also contains the page of published values.
    assert found and all(each.startswith("#") for each in found - {"coverage.html"})
    assert "<script" not in report and "@import" not in report
    for words in ("does not hold", "It carries 1.", "about 1.50 Mbit/s", "read off by eye", "downlink rate"):
        assert words in report
    out = tmp_path / "out"
    assert "<svg" in (out / "figures" / "figure-1.svg").read_text(encoding="utf-8")
    assert not (out / "figures" / "figure-1.pdf").exists()
    data = pl.read_csv(out / "data" / "figure-1.csv")
    table = reproduction.measurements.table("queues")
    assert data["goodput_mbps"].to_list() == pytest.approx((table["goodput_bps"] / 1e6).to_list())
    assert data["goodput_mbps_high"].to_list() == pytest.approx((table["goodput_bps_high"] / 1e6).to_list())
    with (out / "claims.csv").open() as file:
        assert [row["holds"] for row in csv.DictReader(file)] == ["true", "false"]
    assert pl.read_csv(out / "comparisons.csv").height == 2
    assert pl.read_csv(out / "assumptions.csv").height == 1


def reproduce(paper: Paper, monkeypatch: pytest.MonkeyPatch, out: Path, **wanted: object) -> tuple[int, str]:
    monkeypatch.setattr(papers, "load", lambda _key: paper)
    console = Console(record=True, width=160, file=(out.parent / "console").open("w"))
    settings = {"figure": None, "claims_only": False, "repeat": None, **wanted}
    code = papers.reproduce("toy2024", out=out, console=console, **settings)  # type: ignore[arg-type]
    return code, console.export_text()


def test_the_exit_code_reports_unexpected_verdicts(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, printed = reproduce(paper, monkeypatch, tmp_path / "a", claims_only=True)
    assert code == 1 and "1 of the paper's 2 statements hold" in printed and "not as recorded" in printed
    # With another number of seeds, a verdict may differ by chance. Unexpected verdicts are then not reported.
    code, printed = reproduce(paper, monkeypatch, tmp_path / "b", claims_only=True, repeat=1)
    assert code == 0 and "not as recorded" not in printed
    # Verdicts with another first seed are not compared with the record either. The report names the first seed.
    code, printed = reproduce(paper, monkeypatch, tmp_path / "d", claims_only=True, seed=5)
    assert code == 0 and "not as recorded" not in printed and ", from 5; digests" in printed
    page = (tmp_path / "d" / "claims" / "report.html").read_text(encoding="utf-8")
    assert "<dt>first seed</dt><dd>5</dd>" in " ".join(page.split())
    recorded = tuple(replace(claim, known_not_to_hold=claim.key == "miracle") for claim in paper.claims)
    code, printed = reproduce(replace(paper, claims=recorded), monkeypatch, tmp_path / "c")
    assert code == 0 and "not as recorded" not in printed


def test_results_are_plain_values(paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept: list[dict[str, object]] = []
    reproduce(paper, monkeypatch, tmp_path / "a", keep=lambda found, report: kept.append(papers.as_dict(found)))
    (said,) = kept
    assert said["study"] == "toy2024" and said["figures"] and said["digests"]
    claims = cast("list[dict[str, object]]", said["claims"])
    assert [claim["holds"] for claim in claims] == [True, False] and claims[1]["reason"]
    assert len(cast("list[object]", said["comparisons"])) == 2
    json.dumps(said)


def test_the_output_of_a_study_fits_one_screen(paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, printed = reproduce(paper, monkeypatch, tmp_path / "a")
    lines = printed.rstrip().splitlines()
    assert len(lines) <= 24
    assert any("It carries" in line for line in lines[:3]) and lines[-1].startswith("report")


def test_a_run_of_one_figure_keeps_the_full_report(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "a"
    reproduce(paper, monkeypatch, out, repeat=2)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, printed = reproduce(paper, monkeypatch, out, figure="figure 1", repeat=1)
    assert code == 0 and "1.80 Mbit/s" in printed and "statements" not in printed
    assert before == {path: path.read_bytes() for path in before}
    assert (out / "figure-1" / "report.html").is_file()
    assert (out / "figure-1" / "figures" / "figure-1.pdf").read_bytes().startswith(b"%PDF")
    # A new full report keeps partial reports.
    reproduce(paper, monkeypatch, out, repeat=1)
    assert (out / "figure-1" / "report.html").is_file()
    assert (out / "report.html").read_bytes() != before[out / "report.html"]
    with pytest.raises(UsageError, match="no figure '12'; did you mean '1'"):
        reproduce(paper, monkeypatch, tmp_path / "b", figure="12")


@pytest.mark.parametrize("place", ["notes.txt", "figures/mine.png", "figure-1/notes.txt"])
def test_foreign_files_are_not_replaced(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    out = tmp_path / "a"
    reproduce(paper, monkeypatch, out, repeat=1)
    mine = out / place
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(FolderError, match=mine.name):
        reproduce(paper, monkeypatch, out, repeat=1)
    assert mine.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_unknown_papers_are_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'merritt2010'"):
        papers.load("meritt2010")
    assert "merritt2010" in papers.available()


@pytest.mark.parametrize("name", ["1", "figure 1", "Figure-1", "fig 1", "Fig. 1"])
def test_figures_are_found_by_number_and_name(paper: Paper, name: str) -> None:
    found = paper.figure(name)
    assert found is not None and found.slug == "figure-1"


def test_values_are_spreads_and_settings_are_named(paper: Paper) -> None:
    m = run_experiments(paper, paper.experiments, 3, run_jobs)
    value = m.value("queues", "goodput_bps", queue_packets=40)
    assert value.low <= value.median <= value.high and value.low < value.high
    assert m.curve("queues", "goodput_bps", "queue_packets").at(40) == value
    with pytest.raises(KeyError, match="0 settings"):
        m.value("queues", "goodput_bps", queue_packets=11)
    with pytest.raises(KeyError, match="2 settings"):
        m.value("queues", "goodput_bps")
    there = m.instead("queues", "queues", queue_packets=10)
    assert there.table("queues")["queue_packets"].to_list() == [10]
    assert Spread(1, 0, 2).map(lambda one: -one) == Spread(-1, -2, 0)


def test_plots_are_derived_from_plots(paper: Paper) -> None:
    m = run_experiments(paper, paper.experiments, 2, run_jobs)
    plot = paper.figures[0].make
    assert isinstance(plot, Plot)
    other = plot.but(title="Another", comparisons=None)(m)
    words = [each.get_text() for each in other.drawing.texts] if other.drawing else []
    assert "Another" in words and any("digest" in word for word in words) and other.comparisons == ()
    assert other.data.columns == ["queue_packets", "goodput_mbps", "goodput_mbps_low", "goodput_mbps_high"]


# --- The functions that judge claims


def curve(*values: float) -> Curve:
    y = np.array(values)
    return Curve(np.arange(1.0, 1 + len(values)), y, y, y)


def test_near_means_10_points_and_a_factor_of_2_for_shares_and_15_percent_otherwise(paper: Paper) -> None:
    printed = paper.published.find("Table 1", "goodput", queue_packets=40)  # 1.80
    shares = {
        value: near([number("", value, "percent", published=printed)], printed=10).holds for value in (8, 10, 27, 29)
    }
    assert shares == {8: False, 10: True, 27: True, 29: False}
    assert near([number("", 2.06, "Mbit/s", published=printed)]).holds
    assert not near([number("", 2.08, "Mbit/s", published=printed)]).holds
    seven = replace(printed, value="7")
    found = {value: near([number("", value, "percent", published=seven)]).holds for value in (3, 4, 14, 16)}
    assert found == {3: False, 4: True, 14: True, 16: False}


def test_reasons_of_several_sentences_stay_sentences() -> None:
    short, long = (at_least(2, [number(name, 1)]).but(why=why) for name, why in (("a", ""), ("b", "the line is full")))
    assert all_of(short, long).reason == "A 1. B 1. The line is full"
    assert all_of(short, at_least(2, [number("c", 1)])).reason == "a 1; c 1"


def test_trends_are_judged_by_ranks_and_end_points() -> None:
    assert falls("x", curve(5, 4, 3, 2)).holds and not falls("x", curve(2, 5, 4, 3)).holds
    assert not falls("x", curve(2, 3, 4, 5)).holds
    verdict = falls("x", curve(5, 4, 3, 2), show=(2,))
    assert [each.name for each in verdict.measured] == ["x at 1", "x at 2", "x at 4", "x: rank correlation"]


def test_orders_and_ratios_are_judged() -> None:
    one, two = number("one", 1.2), number("two", 1.0)
    assert ordered([one, two]).holds and not ordered([two, one]).holds
    assert not ordered([one, number("two", 1.1)]).holds
    assert ratio("one over two", one, two, above=1.1, below=1.3).holds
    assert ratio("one over nothing", one, number("nothing", 0), above=2).holds


def test_a_number_in_a_reason_that_is_not_in_the_verdict_s_data_is_found() -> None:
    def said(reason: str) -> list[str]:
        known = (number("goodput at 50 packets", 0.2691), number("loss", 71.66, "percent"), number("much", 146_240))
        return unexplained(Verdict(False, "above 0.25", known, reason))

    assert said("with 50 packets it is 0.27, or 26.9 %, against 0.25; 72 % are lost, of 146,240") == []
    assert (
        said("figure 5.12, eqs 2.4 and 2.5, sections 5.1 to 5.3 on 2400/196 with linux-2.6 through R2 (MER-A16)") == []
    )
    assert said("it is 0.28") == ["0.28"]
    assert said("with 51 packets it takes two minutes") == ["51", "two"]
    assert said("it falls by -8 points") == ["-8"]


def test_the_search_for_numbers_ignores_misleading_text() -> None:
    def said(reason: str, *values: float) -> list[str]:
        return unexplained(Verdict(False, "above 0.25", tuple(number("it", value) for value in values), reason))

    # The measured value is 0.31, so -0.31 has the wrong sign.
    assert said("the score is -0.31", 0.31) == ["-0.31"] and said("the score is +0.31", 0.31) == []
    assert said("costs -8 points", 8.0) == ["-8"] and said("loses 8 points", -8.0) == []
    assert said("5-20 packets", 5.0, 20.0) == []
    # A number after a reference is a quantity. Only a plural noun starts a list of references.
    assert said("in phase 2, 30 packets wait and in phase 3 and 45 ms later", 1.0) == ["30", "45"]
    assert said("sections 5.1.3 and 5.1.4, tables 3-1 to 3-2") == []
    # Number words of a quantity are checked ("two minutes", "twice"), but counts of objects ("three links") are not.
    assert said("longer than two minutes, twice as often, on three links", 1.0) == ["two", "twice"]
    assert said("longer than two minutes", 2.0) == []


def test_a_number_that_is_right_by_chance_is_found_by_other_data(paper: Paper) -> None:
    of_queues = Statements(needs=("queues",))

    def carried(m: Measurements) -> Measured:
        return number("goodput", m.value("queues", "goodput_bps", queue_packets=40), "Mbit/s", scale=1e-6)

    m = run_experiments(paper, paper.experiments, 1, run_jobs)
    now = carried(m)
    today = text.value(now)

    @of_queues("It is written.", "nowhere")
    def written(m: Measurements) -> Verdict:
        return Verdict(False, "more", (carried(m),), f"it carries {today}")

    @of_queues("It is computed.", "nowhere")
    def computed(m: Measurements) -> Verdict:
        return Verdict(False, "more", (carried(m),), f"it carries {text.value(carried(m))}")

    @of_queues("It is said of less than today.", "nowhere")
    def seldom(m: Measurements) -> Verdict:
        found = carried(m)
        return Verdict(False, "more", (found,), "it is a ninth, 0.11" if found.value < now.value else "")

    found = reasons_beyond_the_data(replace(paper, claims=(written, computed, seldom)), m)
    assert unexplained(written.check(m)) == []
    assert set(found) == {"written", "seldom"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("note", "remark"), "no column note"),
        (("approx", "roughly"), r"published\.csv:2: unknown qualifier 'roughly'"),
        (("setting", "guess"), r"published\.csv:4: unknown kind 'guess'"),
        (("Table 1,40,goodput,1.80", "Table 1,10,goodput,1.80"), "3: the same value is listed twice"),
    ],
)
def test_a_damaged_list_of_published_values_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "published.csv"
    path.write_text(PUBLISHED.replace(*change))
    with pytest.raises(ValueError, match=message):
        Published.load(path)


def test_published_values_are_found_by_all_their_conditions(paper: Paper) -> None:
    found = paper.published.find("Table 1", "goodput", queue_packets=40)
    assert (found.number, str(found)) == (1.8, "1.80 Mbit/s")
    with pytest.raises(KeyError, match="2 published values"):
        paper.published.find("Table 1", "goodput")
    with pytest.raises(KeyError, match="0 published values"):
        paper.published.find("Table 2", "goodput")


def test_numbers_are_written_with_three_digits_and_never_fewer_decimals_than_print() -> None:
    assert [text.number(value) for value in (0.0, 0.0123, 0.5, 17.25, 158.4, 1646.4, float("nan"))] == [
        "0",
        "0.0123",
        "0.500",
        "17.2",
        "158",
        "1,646",
        "–",
    ]
    assert text.spread(1.0, 1.0001) == "" and text.spread(1, 2) == "1.00 to 2.00"


def test_all_studies_are_summarised_on_one_page(paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_m: Measurements) -> object:
        raise UsageError("nothing to <draw>")

    figure = replace(paper.figures[0], make=broken)
    failing = replace(paper, key="toy2025", figures=(figure,))
    studies = {"toy2024": paper, "toy2025": failing}
    monkeypatch.setattr(papers, "available", lambda: list(studies))
    monkeypatch.setattr(papers, "load", studies.__getitem__)
    console = Console(record=True, width=80, file=(tmp_path / "console").open("w"))
    out = tmp_path / "all"
    assert papers.reproduce_all(out, 1, console) == 1
    printed = console.export_text()
    assert "toy2024" in printed and "1 of 2" in printed and "failed" in printed
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'href="toy2024/report.html"' in page and (out / "toy2024" / "report.html").is_file()
    assert "nothing to &lt;draw&gt;" in page and not (out / "toy2025").exists()
    for link in re.findall(r'(?:href|src)="([^"#]+)"', page):
        assert (out / link).is_file(), link
    # The folder can be written again, because it contains only files of an earlier report.
    assert papers.reproduce_all(out, 1, console) == 1
    (out / "toy2024" / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match=r"notes\.txt"):
        papers.reproduce_all(out, 1, console)


def test_a_single_repetition_reads_another_experiment_in_its_place(paper: Paper) -> None:
    """A claim that is judged on one seed reads the same seed of the other experiment."""
    lab = run_experiments(paper, paper.experiments, 3, run_jobs)
    last = lab.repetition(2).instead("queues", "queues").repetition(2)
    assert last.runs("queues")["repetition"].unique().to_list() == [2]


def test_assumptions_are_data(tmp_path: Path) -> None:
    written = tmp_path / "assumptions.toml"
    written.write_text(
        '[rate]\nparameter = "downlink rate"\nvalue = "2 Mbit/s"\nwhy = """\nnot given,\nand guessed\n"""\n'
        'variants."8, SACK off" = { link.down.rate = "8 Mbit/s", stack.sack = false, stack.mss = 512 }\n'
    )
    overrides = {"link.down.rate": "8 Mbit/s", "stack.sack": "false", "stack.mss": "512"}
    assert assumptions.load(tmp_path) == (
        Assumption("rate", "downlink rate", "2 Mbit/s", "not given, and guessed", (Variant("8, SACK off", overrides),)),
    )
    written.write_text('[rate]\nparameter = "downlink rate"\nvalue = "2 Mbit/s"\nwhence = "guessed"\n')
    with pytest.raises(ValueError, match=r"assumptions\.toml: \[rate\].*whence"):
        assumptions.load(tmp_path)


def test_results_of_linux_are_recorded_case_by_case(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = paper.experiment("queues")
    record = paper.folder / "linux-queues.csv"
    record.write_text("queue_packets,seed,kernel,digest,goodput_bps\n10,1,6.1,old,1.0\n40,1,6.1,12,2.0\n")

    def on_linux(scenario: Scenario, *, world: str) -> Run:
        assert world == "kernel"
        run = simulate(scenario)
        run.facts["kernel"] = "6.1.192"
        return run

    simulate = Scenario.run
    monkeypatch.setattr(Scenario, "run", on_linux)
    recorded.record(paper, experiment, ["40"])
    first, second = recorded.read(paper.folder, "queues").sort("queue_packets").rows(named=True)
    assert first == {"queue_packets": 10, "seed": 1, "kernel": "6.1", "digest": "old", "goodput_bps": 1.0}
    assert (second["queue_packets"], second["kernel"]) == (40, "6.1.192") and second["goodput_bps"] > 1e5


# --- Rules that keep statements and verdicts consistent


def test_fitted_statements_do_not_count_as_statements_of_the_paper() -> None:
    for key in papers.available():
        paper = papers.load(key)
        origins = {claim.key: claim.origin for claim in paper.claims}
        for assumption in paper.assumptions:
            for claim in assumption.fits:
                assert origins.get(claim) == "fitted", f"{key}: {assumption.key} was chosen with {claim} in view"
    fitted = {each.key for key in papers.available() for each in papers.load(key).claims if each.origin == "fitted"}
    assert {"one-mbit", "clock-half", "clock-full", "codel-passes-a-second", "pie-passes-a-second"} <= fitted
    assert {"uploads-are-alike", "rtt-without-delay"} <= fitted


def test_bounds_wider_than_the_statement_are_found(paper: Paper) -> None:
    claim = Statements(("queues",))("Between 14 to 15.5 Mbit/s.", "section 1")(lambda m: between(14, 16, []))
    assert wider_than_said(claim, between(14, 16, [Measured("rate", 15.7)])) == ["from 14 to 16 for 14 to 15.5"]
    assert wider_than_said(claim, between(14, 15.5, [Measured("rate", 15.7)])) == []
    # The range of the criterion is ignored, because it belongs to another quantity.
    assert wider_than_said(claim, between(0, 30, [Measured("time", 15.7)])) == []


def test_inversely_proportional_is_more_than_falling() -> None:
    x = np.array([20.0, 100.0, 200.0, 400.0])
    inverse, falling = (Curve(x, y, y, y) for y in (8000 / x, np.array([47.0, 45.0, 40.0, 23.0])))
    assert proportional("rate", inverse).holds and falls("rate", falling).holds
    verdict = proportional("rate", falling)
    assert not verdict.holds and verdict.measured[0].value > 50
    assert unexplained(verdict) == []


def test_arithmetic_claims_are_counted_separately(paper: Paper) -> None:
    moves, miracle = paper.claims
    counted = replace(paper, claims=(replace(moves, origin="arithmetic"), miracle))
    found = run_paper(counted, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert found.held_of_paper == "0 of 1"
    assert found.counts()[1] == "1 of 1 hold among the statements that the settings alone decide (arithmetic)"


def test_every_assumption_has_a_variant_that_changes_something() -> None:
    for key in papers.available():
        paper = papers.load(key)
        for assumption in paper.assumptions:
            assert assumption.variants, f"{key}: {assumption.key}"
            for variant in assumption.variants:
                touched = [paper.experiment(each) for each in assumption.experiments or paper.varied]
                assert touched, f"{key}: {assumption.key}"
                for experiment in touched:
                    pairs = [(case, variant.applied_to(case)) for case in experiment.cases]
                    assert any(one.overrides != other.overrides for one, other in pairs), (key, assumption.key)
                    for _, case in pairs[:: max(1, len(pairs) // 4)]:
                        Scenario.load(paper.folder / "scenarios" / case.scenario).with_(**case.overrides)


def test_a_variant_changes_only_its_own_settings(paper: Paper) -> None:
    case = Case("line.toml", {"queue": "{ harddrop = false }", "burst": "4"}, {})
    edited = Variant("other", {"rtt": "5 ms"}, {"harddrop = false": "harddrop = true", "burst": "3", "missing": "1"})
    assert edited.applied_to(case).overrides == {"queue": "{ harddrop = true }", "burst": "3", "rtt": "5 ms"}
    # Experiments that are not varied keep their measurements.
    other = replace(paper.experiments[0], key="other")
    assumption = replace(paper.assumptions[0], experiments=("other",))
    wide = replace(paper, experiments=(*paper.experiments, other), assumptions=(assumption,), varied=("queues",))
    shown = replace(paper.figures[0], needs=("other",))
    found = run_paper(wide, run_jobs, figures=(shown,), claims=True, sensitivity=True, repetitions=3)
    assert found.sensitivities[0].moves == ()
    assert found.sensitivities[0].results["most"] == found.key_outcomes[0].value


def test_no_text_cites_an_unrecorded_run() -> None:
    root = Path(papers.__file__).parent
    texts = [*root.rglob("*.py"), *root.rglob("*.toml"), root.parents[2] / "docs" / "studies.md"]
    assert [each.name for each in texts if "tried beside" in each.read_text(encoding="utf-8")] == []


def test_claims_that_need_real_packets_are_counted(paper: Paper) -> None:
    moves, miracle = paper.claims
    whole = replace(paper, claims=(moves,), live=replace(paper, world="live"))
    found = run_paper(whole, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert found.counts()[-1] == "1 more statements are judged on real packets only: --world live"
    both = replace(whole, claims=(moves, miracle))
    found = run_paper(both, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert not any("real packets" in count for count in found.counts())


def test_every_failing_statement_has_a_cause() -> None:
    for key in papers.available():
        paper = papers.load(key)
        failing = {each.key for each in paper.claims if each.known_not_to_hold and each.origin == "paper"}
        assert failing == set(paper.causes.claims), key
        if paper.live is not None:
            live = {each.key for each in paper.live.claims if each.known_not_to_hold and each.origin == "paper"}
            assert live <= set(paper.live.causes.claims), key


# --- Printed values


def test_every_printed_value_has_a_counterpart_or_a_reason(paper: Paper, tmp_path: Path) -> None:
    (paper.folder / "published.csv").write_text(
        PUBLISHED
        + "Section 3,,share,90,percent,ge,result,\n"
        + "Section 3,,order,same,text,eq,result,\n"
        + "Section 3,,clock,0.1,ms,eq,result,\n"
        + "Section 3,,other,5,ms,eq,result,\n"
    )
    rules = (
        measured("share", lambda m, _row: 50.0, needs=("queues",)),
        judged("order", by="moves"),
        nothing("clock", "simulated hosts have one clock"),
    )
    whole = replace(paper, coverage=rules)
    found = drawn(
        run_paper(whole, run_jobs, figures=whole.figures, claims=True, sensitivity=False, repetitions=2), whole.figures
    )
    states = {each.published.metric: each for each in found.coverage}
    assert {key: each.state for key, each in states.items()} == {
        "goodput": "measured",
        "rate": "setting",
        "share": "measured",
        "order": "judged",
        "clock": "none",
        "other": "missing",
    }
    count = covering.counts(found.coverage)
    assert (count.results, count.beside, count.without, count.missing, count.bounds, count.kept) == (6, 4, 1, 1, 1, 0)
    assert found.opening()[-1].startswith("4 of 6 printed results have a measured counterpart")
    out = tmp_path / "out"
    page.write(found, out)
    listed = (out / "coverage.html").read_text(encoding="utf-8")
    for words in ("simulated hosts have one clock", "not kept", "the statement holds", "not compared", "4 of 6"):
        assert words in listed
    assert pl.read_csv(out / "coverage.csv").height == 7
    assert '(<a href="coverage.html">coverage.html</a>)' in (out / "report.html").read_text(encoding="utf-8")
    # A partial report does not list the published values.
    part = drawn(run_paper(whole, run_jobs, figures=whole.figures, claims=False, sensitivity=False, repetitions=1), ())
    assert part.coverage == ()


def test_an_experiment_beyond_the_paper_runs_only_with_full(paper: Paper, tmp_path: Path) -> None:
    of_paper = paper.experiments[0]
    beyond = replace(of_paper, key="beyond", summary="our own", only_in_full=True)
    shown = replace(paper.figures[0], number="2", needs=("queues", "beyond"))
    own = replace(paper.claims[0], key="own", statement="It moves too.", needs=("beyond",), origin="ours")
    both = replace(paper.assumptions[0], experiments=("queues", "beyond"))
    alone = replace(paper.assumptions[0], key="other", experiments=("beyond",))
    whole = replace(
        paper,
        experiments=(of_paper, beyond),
        figures=(*paper.figures, shown),
        claims=(*paper.claims, own),
        assumptions=(both, alone),
    )
    usual = whole.by_default
    found = run_paper(usual, run_jobs, figures=usual.figures, claims=True, sensitivity=True, repetitions=1)
    assert set(found.digests) == {"queues"} and [each.claim.key for each in found.claims] == ["moves", "miracle"]
    assert [each.varied[0][0].experiments for each in found.sensitivities] == [("queues",)]
    # The statement that needs `--full` is counted separately.
    assert found.counts() == ["1 of the paper's 2 statements hold", "1 more statement is judged with --full"]
    page.write(drawn(found, usual.figures), tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Judged with --full: 1" in report and "It moves too." in report and "Figure 2 (Goodput" in report
    assert papers.as_dict(found)["judged_with_full"] == ["own"]
    at_length = whole.at_full_length
    found = run_paper(at_length, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=1)
    assert len(found.claims) == 3 and not any("--full" in count for count in found.counts())


def test_every_statement_of_a_paper_is_judged_without_full() -> None:
    for key in papers.available():
        usual = papers.load(key).by_default
        assert {each.origin for each in usual.left_to_full} <= {"ours"}, key
        run = {each.key for each in usual.experiments}
        assert run.issuperset((*usual.answer_needs, *usual.varied)), key
        # A coverage rule must not need an experiment that is skipped without `--full`.
        needed = {name for rule in usual.coverage for name in rule.needs}
        assert run.issuperset(needed), key
        assert {rule.by for rule in usual.coverage if rule.by} <= {each.key for each in usual.claims}, key


def test_a_full_length_run_is_longer_and_has_more_seeds(paper: Paper) -> None:
    longer = Variant("longer", {"scenario.duration": "4 s"})
    experiment = replace(paper.experiments[0], full=longer, full_repetitions=4, usual=1)
    at_length = replace(paper, experiments=(experiment,)).at_full_length.experiments[0]
    assert {case.overrides["scenario.duration"] for case in at_length.cases} == {"4 s"}
    assert at_length.repetitions(3, usual=True) == 4 and experiment.repetitions(3, usual=True) == 1


@pytest.mark.parametrize("key", papers.available())
def test_every_listed_statement_is_a_claim(key):
    paper = papers.load(key)
    path = paper.folder / "statements.toml"
    listed = tomllib.loads(path.read_text()) if path.exists() else {}
    claims = {claim.key for claim in (*paper.claims, *(LIVE.claims if key == LIVE.key else ()))}
    assert listed.keys() <= claims
