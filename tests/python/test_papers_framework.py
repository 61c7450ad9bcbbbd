"""The paper framework on a paper of its own, made here: what a new paper needs is what this file writes."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from lopsided import papers
from lopsided.errors import UsageError
from lopsided.papers.framework import page, text
from lopsided.papers.framework.lab import Lab, carry_out
from lopsided.papers.framework.model import (
    Assumption,
    Case,
    Collection,
    Comparison,
    Exhibit,
    Experiment,
    KeyResult,
    Measured,
    Paper,
    Variant,
    Verdict,
)
from lopsided.papers.framework.published import Published
from lopsided.papers.framework.reproduction import carry_through
from lopsided.studies.jobs import run_jobs
from lopsided.views.plot import style

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
    """One experiment with two settings, a figure, a claim that holds, one that does not, and an open parameter."""
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "line.toml").write_text(SCENARIO)
    (folder / "published.csv").write_text(PUBLISHED)
    collection = Collection()

    @collection.figure("1", "Goodput against queue", needs=("queues",))
    def figure(lab: Lab) -> Exhibit:
        table = lab.table("queues")
        sheet = style.sheet("Goodput", "toy", (2.0,), "queue (packets)")
        sheet.panels[0].plot(table["queue_packets"], table["goodput_bps"])
        comparisons = tuple(
            Comparison(
                lab.published.find("Table 1", "goodput", queue_packets=row["queue_packets"]),
                *(row[f"goodput_bps{end}"] / 1e6 for end in ("", "_low", "_high")),
            )
            for row in table.rows(named=True)
        )
        return Exhibit(table, sheet.figure, comparisons)

    @collection.claim("moves", "Data is delivered.", where="section 1", needs=("queues",))
    def moves(lab: Lab) -> Verdict:
        """More than half of the link."""
        least = float(lab.table("queues")["goodput_bps"].min())  # type: ignore[arg-type]
        return Verdict(least > 1e6, (Measured("least", least / 1e6, "Mbit/s"),), "" if least > 1e6 else "it is slow")

    @collection.claim("miracle", "More than the link carries.", where="section 1", needs=("queues",))
    def miracle(lab: Lab) -> Verdict:
        """More than 2 Mbit/s."""
        most = float(lab.table("queues")["goodput_bps"].max())  # type: ignore[arg-type]
        return Verdict(most > 2e6, (Measured("most", most / 1e6, "Mbit/s"),), "" if most > 2e6 else "no link does that")

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
        figures=collection.ordered_figures(),
        claims=tuple(collection.claims),
        assumptions=(
            Assumption("rate", "downlink rate", "2 Mbit/s", "guessed", (Variant("8", {"link.down.rate": "8 Mbit/s"}),)),
        ),
        key_results=(
            KeyResult("most", "goodput", "most", "bit/s", lambda lab: float(lab.table("queues")["goodput_bps"].max())),  # type: ignore[arg-type]
        ),
        repeat=3,
        varied=("queues",),
    )


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    folder = tmp_path / "toy2024"
    folder.mkdir()
    return toy(folder)


def test_medians_are_over_seeds_that_all_settings_share(paper: Paper) -> None:
    lab = carry_out(paper, paper.experiments, 3, run_jobs)
    every = lab.every("queues")
    assert every["queue_packets"].to_list() == [10, 40] * 3
    assert every.filter(pl.col("queue_packets") == 10)["seed"].to_list() == [7, 8, 9]
    assert every.filter(pl.col("queue_packets") == 40)["seed"].to_list() == [7, 8, 9]
    for row in lab.table("queues").rows(named=True):
        values = every.filter(pl.col("queue_packets") == row["queue_packets"])["goodput_bps"].to_numpy()
        assert np.ptp(values) > 0  # the start's jitter differs by seed
        assert row["goodput_bps"] == np.median(values)
        assert (row["goodput_bps_low"], row["goodput_bps_high"]) == (values.min(), values.max())
        assert row["runs"] == 3


def test_one_repetition_stands_alone_and_only_the_first_keeps_its_runs(paper: Paper) -> None:
    lab = carry_out(paper, paper.experiments, 2, run_jobs)
    second = lab.only(1)
    assert second.repetitions == (1,)
    assert second.table("queues")["goodput_bps"].to_list() == second.every("queues")["goodput_bps"].to_list()
    assert lab.run("queues", queue_packets=40).seed == 7
    with pytest.raises(KeyError):
        second.run("queues", queue_packets=40)
    with pytest.raises(KeyError):
        lab.run("queues", queue_packets=41)


def test_the_digest_is_that_of_the_runs(paper: Paper) -> None:
    first, again = (carry_out(paper, paper.experiments, 2, run_jobs).digest("queues") for _ in range(2))
    other = carry_out(paper, paper.experiments, 2, run_jobs, overrides={"link.rtt": "21 ms"}).digest("queues")
    assert first == again != other


def test_claims_are_judged_on_medians_and_on_every_seed(paper: Paper) -> None:
    reproduction = carry_through(paper, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    moves, miracle = reproduction.claims
    assert moves.verdict.holds and (moves.held_in, moves.repetitions) == (3, 3) and not moves.surprising
    assert not miracle.verdict.holds and miracle.held_in == 0 and miracle.surprising
    assert miracle.verdict.reason == "no link does that"
    with pytest.raises(ValueError, match="reason"):
        Verdict(False, ())


def test_a_variant_shows_what_it_moves_and_which_claims_it_turns(paper: Paper) -> None:
    reproduction = carry_through(paper, run_jobs, figures=(), claims=True, sensitivity=True, repetitions=3)
    (variant,) = reproduction.sensitivities
    (base,) = reproduction.key_outcomes
    assert variant.flipped == ("miracle",)
    assert variant.results["most"] > 2 * base.high
    assert text.leaves_spread(variant.results["most"], base)
    assert not text.leaves_spread((base.low + base.high) / 2, base)
    assert list(text.largest_changes(variant.results, [base])) == ["goodput"]


def test_only_what_a_figure_needs_is_run(paper: Paper) -> None:
    unused = replace(paper.experiments[0], key="unused")
    larger = replace(paper, experiments=(*paper.experiments, unused))
    reproduction = carry_through(
        larger, run_jobs, figures=larger.figures, claims=False, sensitivity=False, repetitions=1
    )
    assert list(reproduction.digests) == ["queues"]
    ((_, exhibit),) = reproduction.exhibits
    assert [comparison.published.value for comparison in exhibit.comparisons] == ["1.50", "1.80"]
    assert exhibit.comparisons[0].measured == pytest.approx(exhibit.data["goodput_bps"][0] / 1e6)


def test_the_report_is_self_contained_and_the_numbers_lie_beside_it(paper: Paper, tmp_path: Path) -> None:
    reproduction = carry_through(paper, run_jobs, figures=paper.figures, claims=True, sensitivity=True, repetitions=2)
    report = page.write(reproduction, tmp_path / "out").read_text()
    targets = re.findall(r"""(?:href|src)=["']([^"']*)|url\(([^)]*)""", report)
    assert targets and all((address or inner).startswith("#") for address, inner in targets)
    assert "<script" not in report and "@import" not in report
    for words in ("does not hold", "no link does that", "about 1.50 Mbit/s", "read off by eye", "downlink rate"):
        assert words in report
    out = tmp_path / "out"
    assert (out / "figures" / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    data = pl.read_csv(out / "data" / "figure-1.csv")
    assert data["goodput_bps"].to_list() == pytest.approx(reproduction.lab.table("queues")["goodput_bps"].to_list())
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


def test_the_exit_code_tells_of_surprises(paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, printed = reproduce(paper, monkeypatch, tmp_path / "a", claims_only=True)
    assert code == 1 and "Claims: 1 of 2 hold" in printed and "not as recorded" in printed
    # With another number of seeds than the paper's own a verdict may differ by chance: no alarm.
    assert reproduce(paper, monkeypatch, tmp_path / "b", claims_only=True, repeat=1)[0] == 0
    recorded = tuple(replace(claim, known_not_to_hold=claim.key == "miracle") for claim in paper.claims)
    code, printed = reproduce(replace(paper, claims=recorded), monkeypatch, tmp_path / "c")
    assert code == 0 and "not as recorded" not in printed and "Published beside measured" in printed


def test_a_figure_alone(paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, printed = reproduce(paper, monkeypatch, tmp_path / "a", figure="figure 1", repeat=1)
    assert code == 0 and "1.80 Mbit/s" in printed and "Claims" not in printed
    with pytest.raises(UsageError, match="no figure '12'; did you mean '1'"):
        reproduce(paper, monkeypatch, tmp_path / "b", figure="12")


def test_unknown_papers_are_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'merritt2010'"):
        papers.load("meritt2010")
    assert "merritt2010" in papers.available()


@pytest.mark.parametrize("name", ["1", "figure 1", "Figure-1", "fig 1", "Fig. 1"])
def test_figures_are_found_by_number_and_name(paper: Paper, name: str) -> None:
    found = paper.figure(name)
    assert found is not None and found.slug == "figure-1"


def test_figures_are_in_the_paper_s_order() -> None:
    collection = Collection()
    for number in ("E4", "5.12", "5.2", "1.1"):
        collection.figure(number, "", needs=())(lambda _lab: Exhibit(pl.DataFrame()))
    assert [figure.number for figure in collection.ordered_figures()] == ["1.1", "5.2", "5.12", "E4"]


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
