"""Tests the report, the console output and the figures that `lopsided reproduce` produces."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from rich.console import Console

from lopsided import papers
from lopsided.errors import FolderError, UsageError
from lopsided.papers.framework import covered as covering
from lopsided.papers.framework import page
from lopsided.papers.framework.coverage import judged, measured, nothing
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import (
    Paper,
)
from lopsided.papers.framework.plots import Plot
from lopsided.papers.framework.reproduction import drawn
from lopsided.papers.framework.reproduction import run as run_paper
from lopsided.studies.jobs import run_jobs
from toy_paper import PUBLISHED
from toy_paper import paper as paper


def test_the_report_is_self_contained_and_its_data_are_next_to_it(paper: Paper, tmp_path: Path) -> None:
    reproduction = run_paper(paper, run_jobs, figures=paper.figures, claims=True, sensitivity=True, repetitions=2)
    report = page.write(drawn(reproduction, paper.figures), tmp_path / "out").read_text()
    targets = re.findall(r"""(?:href|src)=["']([^"']*)|url\(([^)]*)""", report)
    found = {address or inner for address, inner in targets}
    # The report may link to `coverage.html`, the page of published values, which is in the same folder.
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
    # With fewer seeds, a verdict may differ by chance, so unexpected verdicts are not reported.
    code, printed = reproduce(paper, monkeypatch, tmp_path / "b", claims_only=True, repeat=1)
    assert code == 0 and "not as recorded" not in printed
    # With another first seed, verdicts are not compared with the recorded verdicts. The report states the first seed.
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
    # A new full report does not delete partial reports.
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
