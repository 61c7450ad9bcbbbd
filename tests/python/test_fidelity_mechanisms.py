"""Checks that each mechanism of Linux's TCP has packet scripts, and that the simulator sends the same packets as
Linux."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lopsided.worlds.kernel import KernelUnavailable
from reference.fidelity import mechanisms

ROOT = Path(__file__).resolve().parents[2]
TO_THE_END = ("pingpong", "an unused window", "lost acknowledgements")
"""Mechanisms whose scenarios produce equal packets on Linux and in the simulator until the end of the run. The command
`python -m reference.fidelity.mechanisms` checks all mechanisms."""


def test_every_script_that_is_named_exists():
    assert mechanisms.missing(ROOT) == []
    names = [mechanism.name for mechanism in mechanisms.MECHANISMS]
    assert len(set(names)) == len(names)


def test_the_page_shows_differing_packets_and_mechanisms_that_did_not_act():
    first, second = mechanisms.MECHANISMS[:2]
    page = mechanisms.render(
        [mechanisms.Held(first, 900, 900, None, True), mechanisms.Held(second, 900, 42, None, False)]
    )
    assert "**1 of 2**" in page
    assert f"| {first.name} | 900 | all | none |" in page
    assert f"| {second.name} (no effect) | 900 | 42 | none |" in page


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize("name", TO_THE_END)
def test_linux_sends_the_same_packets(name):
    [mechanism] = [each for each in mechanisms.MECHANISMS if each.name.startswith(name)]
    try:
        held = mechanisms.hold(mechanism, kernel="timetravel")
    except KernelUnavailable as reason:
        pytest.skip(str(reason))
    assert held.acted
    assert held.same == held.packets > 200
