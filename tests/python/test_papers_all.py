"""Checks the rules that all papers must follow."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lopsided import Scenario, papers
from lopsided.papers.balakrishnan1999.live import LIVE


def test_fitted_statements_do_not_count_as_statements_of_the_paper() -> None:
    for key in papers.available():
        paper = papers.load(key)
        origins = {claim.key: claim.origin for claim in paper.claims}
        for assumption in paper.assumptions:
            for claim in assumption.fits:
                assert origins.get(claim) == "fitted", f"{key}: {assumption.key} was chosen with {claim} in view"
    fitted = {each.key for key in papers.available() for each in papers.load(key).claims if each.origin == "fitted"}
    assert {
        "one-mbit",
        "clock-half",
        "clock-full",
        "clock-is-never-true",
        "codel-passes-a-second",
        "pie-passes-a-second",
    } <= fitted
    assert {"uploads-are-alike", "rtt-without-delay"} <= fitted


def test_statements_that_a_single_seed_often_reverses_have_four_seeds() -> None:
    """At least two of ten single seeds contradict each of these verdicts."""
    tossed = {
        "havey2015": ("fwp-is-linear", "half-at-20-percent", "speedup-at-40-percent"),
        "balakrishnan1999": (
            "remedies-with-forward-loss",
            "utilisation-hardly-depends-on-connections",
            "filtering-serves-pages-best",
        ),
    }
    for key, statements in tossed.items():
        paper = papers.load(key)
        for claim in (each for each in paper.claims if each.key in statements):
            needed = [paper.experiment(each) for each in claim.needs]
            assert min(each.repetitions(paper.repeat, usual=True) for each in needed) >= 4, claim.key


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


def test_no_text_cites_an_unrecorded_run() -> None:
    root = Path(papers.__file__).parent
    texts = [*root.rglob("*.py"), *root.rglob("*.toml"), root.parents[2] / "docs" / "studies.md"]
    assert [each.name for each in texts if "tried beside" in each.read_text(encoding="utf-8")] == []


def test_every_failing_statement_has_a_cause() -> None:
    for key in papers.available():
        paper = papers.load(key)
        failing = {each.key for each in paper.claims if each.known_not_to_hold and each.origin == "paper"}
        assert failing == set(paper.causes.claims), key
        if paper.live is not None:
            live = {each.key for each in paper.live.claims if each.known_not_to_hold and each.origin == "paper"}
            assert live <= set(paper.live.causes.claims), key


def test_every_statement_of_a_paper_is_judged_without_full() -> None:
    for key in papers.available():
        usual = papers.load(key).by_default
        assert {each.origin for each in usual.left_to_full} <= {"ours"}, key
        run = {each.key for each in usual.experiments}
        assert run.issuperset((*usual.answer_needs, *usual.varied)), key
        # A rule in `coverage.toml` must not need an experiment that runs only with `--full`.
        needed = {name for rule in usual.coverage for name in rule.needs}
        assert run.issuperset(needed), key
        assert {rule.by for rule in usual.coverage if rule.by} <= {each.key for each in usual.claims}, key


@pytest.mark.parametrize("key", papers.available())
def test_every_listed_statement_is_a_claim(key):
    paper = papers.load(key)
    path = paper.folder / "statements.toml"
    listed = tomllib.loads(path.read_text()) if path.exists() else {}
    claims = {claim.key for claim in (*paper.claims, *(LIVE.claims if key == LIVE.key else ()))}
    assert listed.keys() <= claims
