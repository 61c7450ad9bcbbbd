"""Compares whole runs with managed queues in the simulator and on Linux, for scenarios without random numbers."""

import pytest

from reference.fidelity import disciplines
from reference.fidelity.chance import Both

NOT_BY_CHANCE = [("fifo", 20), ("fifo", 100), ("fq", 20), ("codel", 20), ("fq_codel", 20), ("choke", 20)]


@pytest.mark.parametrize(("queue", "rtt"), NOT_BY_CHANCE)
def test_a_run_over_a_managed_queue_matches_linux(queue: str, rtt: int) -> None:
    cell, records = disciplines.Cell(queue, rtt, False), disciplines.records()
    linux = records.current((cell, seed) for seed in disciplines.SEEDS)
    assert linux, "recorded of another scenario"
    sim = {(one.cell, one.seed): disciplines.measured("sim", cell, one.seed).values for one in linux}
    assert disciplines.beyond(Both(linux, sim), cell) == []
