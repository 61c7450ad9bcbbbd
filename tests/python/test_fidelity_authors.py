"""Simulates experiments of Balakrishnan et al. (1999), and compares them with recorded results of the authors' code."""

from __future__ import annotations

import pytest

from lopsided.papers.balakrishnan1999.setup import ACC_SA_CODE, AF_ALONE, AF_AR, Scheme
from reference.fidelity import authors, kept
from reference.fidelity.chance import Both

RECORDS = authors.records()


def test_every_run_is_recorded_with_the_current_script():
    assert all(RECORDS.get(cell, number) is not None for cell in authors.CELLS for number in cell.numbers)


@pytest.mark.parametrize("scheme", [AF_ALONE, AF_AR], ids=["af", "af_ar"])
def test_a_deterministic_cell_matches_the_authors_code(scheme: Scheme):
    [cell] = [each for each in authors.CELLS if each.case == "B" and each.scheme is scheme]
    expected, found = RECORDS.get(cell, 1), cell.values_of(cell.scenario(1).run(seed=1))
    assert expected is not None
    for name in authors.BOUNDS:
        key = ("download", name)
        assert found[key] == pytest.approx(expected.values[key], rel=0.02), name


@pytest.mark.parametrize("name", authors.BOUNDS)
def test_marked_acks_with_forward_loss_match_the_authors_code(name: str):
    """The test compares medians of ten seeds, because single runs differ by up to 8 %."""
    [cell] = [each for each in authors.CELLS if each.case == "B" and each.scheme is ACC_SA_CODE]
    expected = RECORDS.current((cell, number) for number in cell.numbers)
    both = Both(expected, kept.simulate([(cell, one.seed) for one in expected]))
    theirs, ours = both.value(cell.name, ("download", name)).medians
    assert ours == pytest.approx(theirs, rel=authors.BOUNDS[name])
