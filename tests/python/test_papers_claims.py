"""Tests how the verdicts of claims are computed, and how published values are looked up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    Statements,
    all_of,
    at_least,
    between,
    falls,
    inversely_proportional,
    near,
    number,
    ordered,
    ratio,
)
from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Curve, Measurements
from lopsided.papers.framework.model import (
    Measured,
    Paper,
    Verdict,
)
from lopsided.papers.framework.published import Published
from lopsided.papers.framework.reproduction import run as run_paper
from lopsided.studies.jobs import run_jobs
from of_papers import reasons_beyond_the_data
from of_reasons import unexplained, wider_than_said
from toy_paper import PUBLISHED
from toy_paper import paper as paper


def curve(*values: float) -> Curve:
    y = np.array(values)
    return Curve(np.arange(1.0, 1 + len(values)), y, y, y)


def test_near_means_10_points_and_a_factor_of_2_for_shares_and_15_percent_otherwise(paper: Paper) -> None:
    printed = paper.published.find("Table 1", "goodput", queue_packets=40)  # The published value is 1.80.
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


def test_bounds_wider_than_the_statement_are_found(paper: Paper) -> None:
    claim = Statements(("queues",))("Between 14 to 15.5 Mbit/s.", "section 1")(lambda m: between(14, 16, []))
    assert wider_than_said(claim, between(14, 16, [Measured("rate", 15.7)])) == ["from 14 to 16 for 14 to 15.5"]
    assert wider_than_said(claim, between(14, 15.5, [Measured("rate", 15.7)])) == []
    # The criterion's range is not compared with the statement, because it belongs to another quantity.
    assert wider_than_said(claim, between(0, 30, [Measured("time", 15.7)])) == []


def test_inversely_proportional_is_more_than_falling() -> None:
    x = np.array([20.0, 100.0, 200.0, 400.0])
    inverse, falling = (Curve(x, y, y, y) for y in (8000 / x, np.array([47.0, 45.0, 40.0, 23.0])))
    assert inversely_proportional("rate", inverse).holds and falls("rate", falling).holds
    verdict = inversely_proportional("rate", falling)
    assert not verdict.holds and verdict.measured[0].value > 50
    assert unexplained(verdict) == []


def test_arithmetic_claims_are_counted_separately(paper: Paper) -> None:
    moves, miracle = paper.claims
    counted = replace(paper, claims=(replace(moves, origin="arithmetic"), miracle))
    found = run_paper(counted, run_jobs, figures=(), claims=True, sensitivity=False, repetitions=3)
    assert found.held_of_paper == "0 of 1"
    assert found.counts()[1] == "1 of 1 hold among the statements that the settings alone decide (arithmetic)"
