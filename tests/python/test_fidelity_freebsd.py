"""Compares the profile `freebsd-7` with FreeBSD's TCP, for some of the cases in docs/fidelity/freebsd.md."""

from pathlib import Path
from statistics import median

import pytest

from reference.fidelity import freebsd, mechanisms

RECORDED = Path(__file__).parents[2] / "docs" / "fidelity" / "freebsd.csv"


def test_every_rule_has_a_packet_script() -> None:
    root = Path(__file__).parents[2]
    scripts = [script for rule in freebsd.RULES for script in rule.scripts]
    assert scripts and [script for script in scripts if not mechanisms.exists(root, script)] == []


def test_a_download_gets_two_acks_for_three_segments() -> None:
    assert freebsd.acks_per_segment() == pytest.approx(freebsd.ACKS_PER_SEGMENT, rel=freebsd.ACKS_WITHIN)


@pytest.mark.slow
def test_performance_matches_freebsd() -> None:
    """Tests two variants with half of the seeds and buffers. The variant without delayed ACKs was not used to derive
    the profile."""
    wanted = {
        key: values
        for key, values in freebsd.recorded(RECORDED).items()
        if key[0] in (freebsd.MAIN, "no delayed ACKs") and key[1] % 10 == 5
    }
    assert len(wanted) == 10
    for cell in freebsd.cells(wanted, range(1, 6)):
        assert abs(cell.off("performance")) <= freebsd.PERFORMANCE_WITHIN, cell


@pytest.mark.slow
def test_the_upload_retransmits_as_often_as_on_freebsd() -> None:
    """The test uses buffers of 35 to 50 packets, for which the result does not depend on a single packet."""
    wanted = {
        key: values for key, values in freebsd.recorded(RECORDED).items() if key[0] == freebsd.MAIN and key[1] >= 35
    }
    for cell in freebsd.cells(wanted):
        assert cell.is_within_seeds("upload_recoveries"), cell
        assert median(cell.simulated["upload_timeouts"]) <= max(cell.freebsd["upload_timeouts"]), cell
