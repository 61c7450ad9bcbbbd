from __future__ import annotations

import pytest

from reference.fidelity import ack_filter

RECORDED = ack_filter.load(ack_filter.CAPTURES)


def test_every_case_and_every_cell_is_recorded():
    assert set(RECORDED) == {case.name for case in ack_filter.CASES}
    records = ack_filter.records()
    assert {name for name, _ in records.measured()} <= {cell.name for cell in ack_filter.CELLS}


@pytest.mark.parametrize("case", ack_filter.CASES, ids=lambda case: case.name)
def test_exactly_the_acks_that_linux_removed_are_removed(case: ack_filter.Case):
    seen = RECORDED[case.name]
    found = ack_filter.agreement(seen, ack_filter.simulate(case, seen))
    assert found.gone > 200, "the filter had something to do"
    assert (found.same, found.data) == (found.acks, found.packets - found.acks)
