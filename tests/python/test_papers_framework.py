"""Tests the framework for papers with a small example paper: experiments, repetitions, variants and reports."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lopsided import Run, Scenario, papers
from lopsided.errors import UsageError
from lopsided.papers.framework import assumptions, page, recorded, text
from lopsided.papers.framework.claims import (
    Statements,
    at_least,
    number,
)
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import (
    Assumption,
    Case,
    Paper,
    Variant,
    Verdict,
)
from lopsided.papers.framework.reproduction import drawn, held_in_short
from lopsided.papers.framework.reproduction import run as run_paper
from lopsided.studies.jobs import run_jobs
from toy_paper import SCENARIO
from toy_paper import paper as paper


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


def test_a_case_without_random_numbers_runs_once_for_all_seeds(paper: Paper) -> None:
    first, *others = paper.experiments[0].cases
    mixed = replace(paper.experiments[0], cases=(replace(first, draws=False), *others))
    lab = run_experiments(paper, [mixed], 3, run_jobs)
    packets = first.labels["queue_packets"]
    seeds = dict(lab.runs("queues").group_by("queue_packets").len().iter_rows())
    assert seeds == {case.labels["queue_packets"]: 3 if case.draws else 1 for case in mixed.cases}
    last = lab.repetition(2)
    assert last.value("queues", "goodput_bps", queue_packets=packets) == lab.value(
        "queues", "goodput_bps", queue_packets=packets
    )
    assert last.runs("queues").height == len(mixed.cases)


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
    # Two interpretations of the same statement count as one statement.
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
    assert found.counts()[-1] == (
        "1 of these is a coin toss: at least 25 % of the seeds disagree; seeds in which it holds: more 2 of 4"
    )
    # The summary also counts the statements that hold with only some of the seeds.
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
    # The variant sets a key of the flow `other`, which does not exist in the first experiment.
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


def test_a_single_repetition_reads_another_experiment_in_its_place(paper: Paper) -> None:
    """A claim that is checked with one seed must read the same seed of the other experiment."""
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


def test_a_variant_changes_only_its_own_settings(paper: Paper) -> None:
    case = Case("line.toml", {"queue": "{ harddrop = false }", "burst": "4"}, {})
    edited = Variant("other", {"rtt": "5 ms"}, {"harddrop = false": "harddrop = true", "burst": "3", "missing": "1"})
    assert edited.applied_to(case).overrides == {"queue": "{ harddrop = true }", "burst": "3", "rtt": "5 ms"}
    # Experiments that the variant does not change are not measured again.
    other = replace(paper.experiments[0], key="other")
    assumption = replace(paper.assumptions[0], experiments=("other",))
    wide = replace(paper, experiments=(*paper.experiments, other), assumptions=(assumption,), varied=("queues",))
    shown = replace(paper.figures[0], needs=("other",))
    found = run_paper(wide, run_jobs, figures=(shown,), claims=True, sensitivity=True, repetitions=3)
    assert found.sensitivities[0].moves == ()
    assert found.sensitivities[0].results["most"] == found.key_outcomes[0].value


def test_claims_that_need_real_packets_are_counted(paper: Paper) -> None:
    moves, miracle = paper.claims
    whole = replace(paper, claims=(moves,), live=replace(paper, world="live"))
    found = run_paper(whole, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert found.counts()[-1] == "1 more statements are judged on real packets only: --world live"
    both = replace(whole, claims=(moves, miracle))
    found = run_paper(both, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert not any("real packets" in count for count in found.counts())


# --- Reports for readers without the paper

WELL_KNOWN = {"ACK", "ACKs", "BIC", "CUBIC", "FIFO", "IP", "LAN", "MB", "RED", "RFC", "RTT", "RTTs", "TCP"} | {
    *("ADSL", "BBR", "BSD", "DOCSIS", "ECN", "HTTP", "MSS", "MTU", "QUIC", "SACK"),
}
"""Abbreviations that a report need not explain, because readers who know TCP know them."""


@pytest.mark.parametrize("key", papers.available())
def test_reports_explain_their_abbreviations(key: str) -> None:
    study = papers.load(key)
    said = " ".join([study.summary, *(each.statement for each in study.claims)])
    used = {word for word in re.findall(r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z0-9]*\b", said)}
    explained = " ".join([*study.terms, *study.terms.values(), study.summary])
    assert [word for word in sorted(used - WELL_KNOWN) if not re.search(rf"\b{word}\b", explained)] == []


def test_reports_show_terms_and_verdicts_that_full_length_reverses(paper: Paper, tmp_path: Path) -> None:
    told = replace(paper, terms={"queue": "Waiting packets."}, reversed_in_full={"moves": "Runs of a day differ."})
    found = run_paper(told, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=1)
    assert found.counts()[-1] == "1 verdict is reversed with --full: moves"
    report = page.write(drawn(found, ()), tmp_path / "out").read_text(encoding="utf-8")
    assert "Waiting packets." in report
    # Every report lists the assumptions, with and without `--sensitivity`.
    assert "downlink rate" in report and "--sensitivity</code> repeats the study" in report
    assert "With --full, it does not hold:</b> Runs of a day differ." in report
    assert told.at_full_length.reversed_in_full == {}
    for key in papers.available():
        study = papers.load(key)
        assert study.reversed_in_full.keys() <= {each.key for each in study.claims}, key
        assert all(each.endswith(".") for each in (*study.reversed_in_full.values(), *study.terms.values())), key


def test_reports_contain_no_numbers_of_an_unpublished_catalogue() -> None:
    for key in papers.available():
        folder = papers.load(key).folder
        texts = [*folder.glob("*.toml"), *folder.glob("*.csv")]
        assert [each.name for each in texts if re.search(r"\b[A-Z]{3}-[MEA]\d\d\b", each.read_text("utf-8"))] == [], key


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


def test_a_full_length_run_is_longer_and_has_more_seeds(paper: Paper) -> None:
    longer = Variant("longer", {"scenario.duration": "4 s"})
    experiment = replace(paper.experiments[0], full=longer, full_repetitions=4, usual=1)
    at_length = replace(paper, experiments=(experiment,)).at_full_length.experiments[0]
    assert {case.overrides["scenario.duration"] for case in at_length.cases} == {"4 s"}
    assert at_length.repetitions(3, usual=True) == 4 and experiment.repetitions(3, usual=True) == 1
