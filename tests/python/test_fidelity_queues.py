"""Compares the simulator's queue disciplines with Linux's, packet by packet."""

from __future__ import annotations

import pytest

from lopsided.worlds.kernel import KernelUnavailable, backend
from reference.fidelity import queues

RECORDED = queues.load(queues.RECORDS)
EXACT = [case for case in queues.CASES if not case.draws]
DRAWN = [case for case in queues.CASES if case.draws]


def test_every_case_is_recorded():
    assert {name.partition("#")[0] for name in RECORDED} == {case.name for case in queues.CASES}


@pytest.mark.parametrize("case", [case for case in EXACT if case.asked], ids=lambda case: case.name)
def test_every_packet_has_the_same_fate_as_on_linux(case: queues.Case):
    seen = RECORDED[case.name]
    found = queues.agreement(seen, queues.simulate(case, seen, line=False))
    assert (found.same, found.first_difference) == (found.packets, None)


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_packets_depart_from_the_line_at_the_times_of_linux(case: queues.Case):
    seen = RECORDED[case.name]
    found = queues.agreement(seen, queues.simulate(case, seen, line=True))
    assert (found.same, found.first_difference) == (found.packets, None)
    assert max(map(abs, found.late_ns)) <= queues.TOLERANCE_NS


@pytest.mark.slow
@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.name)
def test_random_disciplines_drop_and_mark_as_many_packets_as_linux(case: queues.Case):
    for seen in (RECORDED[queues.recorded_name(case, seed)] for seed in queues.LINUX_SEEDS):
        spread = queues.spread(case, seen)
        assert all(number.holds for number in spread), spread


@pytest.mark.slow
def test_the_recording_equals_linux():
    try:
        backend.choose("timetravel")
    except KernelUnavailable as error:
        pytest.skip(str(error))
    case = next(case for case in queues.CASES if case.name == "fq_codel ecn")
    assert queues.measure(case) == RECORDED[case.name]
