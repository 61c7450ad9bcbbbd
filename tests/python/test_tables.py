"""Checks that the measured tables in docs/rfc3449.md, docs/reverse-path.md and docs/ecn.md equal the output of the
tools that write them."""

import pytest

from lopsided.papers.rfc3449 import setup
from lopsided.papers.rfc3449.setup import mechanism
from of_tools import load

rfc3449, reverse_path = load("rfc3449-table"), load("reverse-path-table")
accurate_ecn = load("accurate-ecn-table")
documents = load("made.py")


def _rows(name: str) -> list[list[str]]:
    """Returns the rows of a table that `tools/rfc3449-table` wrote, without the heading."""
    lines = [line for line in rfc3449.in_document(name).splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def test_each_mechanism_has_its_verdict_and_each_remedy_the_same_ratios():
    verdicts = {row[1]: row for row in _rows("verdicts")}
    assert list(verdicts) == [each.title for each in (*setup.IN_TABLES, *setup.COMBINED)]
    for title, row in verdicts.items():
        each = next(each for each in setup.ALL if each.title == title)
        assert (row[0], row[2]) == (each.section, each.advice)
    remedies = _rows("remedies")
    assert [row[0] for row in remedies] == [mechanism(key).title for key in rfc3449.OF_REMEDIES]
    for title, down, up, _ in remedies:
        assert f"{down}, {up}" == verdicts[title][6], title


def test_the_table_of_buffers_has_a_column_for_each_variant():
    from lopsided import papers

    assumption = next(each for each in papers.load("rfc3449").assumptions if each.key == "uplink-buffer")
    names = {f"right with {size}" for size in (rfc3449.ASSUMED, *(variant.value for variant in assumption.variants))}
    lines = rfc3449.in_document("buffers").splitlines()
    assert set(lines[2].strip("| ").split(" | ")[1:]) == names
    rows = _rows("buffers")
    assert int(lines[0].split()[0]) == len(rows)
    assert all(set(row[1:]) == {"yes", "no"} for row in rows)


@pytest.mark.slow
def test_the_verdict_table_is_measured():
    chosen = [mechanism(key) for key in ("reconstruct", "per-flow", "acks-first")]
    m = rfc3449.measured(chosen)
    for each in chosen:
        assert rfc3449.verdict_row(m, each) in rfc3449.in_document("verdicts").splitlines()
    claims = [claim for claim in rfc3449.of_1999() if claim.key == "advice-per-flow"]
    held = rfc3449.with_buffers(m, claims, chosen)
    assert rfc3449.buffer_row(claims[0], held) in rfc3449.in_document("buffers").splitlines()
    assert rfc3449.remedy_row(m, chosen[1]) in rfc3449.in_document("remedies").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("case", "cc"), [("6.1-bdp", "vegas"), ("7.1-fq_codel", "bbr3"), ("5.1.4", "cubic")])
def test_the_reverse_path_table_is_measured(case: str, cc: str):
    _, made, _ = documents.parts(documents.DOCS / "reverse-path.md", "reverse-path-table")
    table = made.partition(reverse_path.head(case))[2].partition("\n\n")[0].splitlines()[1:]
    table = [row for row in table if row.startswith("|")]
    assert [row.split()[1] for row in table] == list(reverse_path.CONTROLS)
    assert reverse_path.row(case, cc) in table


def test_the_counts_of_thinned_acks_have_a_row_for_each_remedy():
    _, made, _ = documents.parts(documents.DOCS / "ecn.md", "accurate-ecn-table")
    rows = [line for line in made.splitlines() if line.startswith("|")][2:]
    assert [line.split("|")[1].strip() for line in rows] == list(accurate_ecn.THINNING)


@pytest.mark.slow
def test_the_counts_of_thinned_acks_are_measured():
    receiver = list(accurate_ecn.THINNING)[-1]
    assert accurate_ecn.row(receiver) in (documents.DOCS / "ecn.md").read_text(encoding="utf-8").splitlines()
    newer, older = (accurate_ecn.cell(receiver, f"without the option, Linux {version}") for version in ("7.0", "6.18"))
    assert newer.counted < 1.2 and older.counted > 100
    assert older.goodput_bps < newer.goodput_bps / 10
