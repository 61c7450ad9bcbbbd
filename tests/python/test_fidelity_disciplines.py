"""Managed queues beside Linux', in whole runs: those cells that no draw decides."""

import pytest

from reference.fidelity import disciplines

NOT_BY_CHANCE = [("fifo", 20), ("fifo", 100), ("fq", 20), ("codel", 20), ("fq_codel", 20), ("choke", 20)]


@pytest.mark.parametrize(("queue", "rtt"), NOT_BY_CHANCE)
def test_a_run_over_a_managed_queue_is_the_one_on_linux(queue: str, rtt: int) -> None:
    linux = [row for row in disciplines.recorded() if (row["queue"], row["rtt_ms"], row["ecn"]) == (queue, rtt, False)]
    sim = [disciplines.measured("sim", queue, rtt, False, row["seed"]) for row in linux]
    assert disciplines.beyond(disciplines.medians(linux), disciplines.medians(sim)) == {(queue, rtt, False): []}
