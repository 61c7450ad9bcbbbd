"""Checks that links with an MTU drop larger packets, and that the sender then sends smaller segments."""

from __future__ import annotations

import sys

import pytest

import lopsided as lop
from lopsided.errors import ScenarioError
from lopsided.studies import packets
from lopsided.worlds.kernel import KernelUnavailable, Unsupported, translate

TUNNEL = """
[scenario]
duration = "2 s"
[link]
rtt = "40 ms"
down = { rate = "8 Mbit/s", mtu = "1400 B" }
up.rate = "1 Mbit/s"
[[flow]]
name = "download"
direction = "down"
cc = "vegas"
"""


@pytest.fixture
def tunnel() -> lop.Scenario:
    return lop.Scenario.from_text(TUNNEL, "tunnel.toml")


def too_big(run: lop.Run) -> int:
    reasons, counts = run.drops["reason"], run.drops["packets"]
    return sum(int(count) for reason, count in zip(reasons, counts, strict=True) if reason == "too_big")


def test_the_first_window_is_refused_and_the_rest_passes(tunnel):
    run = tunnel.run()
    assert too_big(run) == 10
    assert run.flows["timeouts"][0] == 0
    assert run.flows["goodput_bps"][0] > 6.5e6


def test_later_connections_to_the_same_host_use_the_cached_mtu(tunnel):
    again = '{ kind = "transfer", size = "100 kB", repeat = 4, pause = "100 ms" }'
    run = tunnel.with_(**{"flow.download.app": again}).run()
    assert len(run.transfers["flow"]) == 4
    assert too_big(run) == 10


def test_each_direction_has_its_own_mtu(tunnel):
    up = tunnel.with_(**{"link.down.mtu": "any", "link.up.mtu": "1000 B"}).run()
    assert too_big(up) == 0, "acknowledgements are small"
    assert too_big(tunnel.with_(**{"flow.download.direction": "up"}).run()) == 0, "it is the way down that is narrow"


def test_an_mtu_that_linux_would_send_fragments_for_is_refused(tunnel):
    with pytest.raises(ScenarioError, match="from 552 to 65535"):
        tunnel.with_(**{"link.down.mtu": "500 B"}).run()


def test_datagrams_beyond_the_mtu_are_dropped_here_and_rejected_on_linux(tunnel):
    datagrams = tunnel.with_(**{"flow.download.app": '{ kind = "udp", rate = "1 Mbit/s", size = "1500 B" }'})
    run = datagrams.run()
    assert too_big(run) > 100 and run.flows["goodput_bps"][0] == 0
    with pytest.raises(Unsupported, match="fragments"):
        translate.layout(datagrams.resolved)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_linux_sends_the_same_packets(tunnel):
    """After the MTU is reported, data that was sent or buffered earlier is sent again in smaller pieces. Later data is
    sent in smaller segments."""
    try:
        found = packets.compare(tunnel, ignored=["psh", "window"], kernel="timetravel")
    except KernelUnavailable as reason:
        pytest.skip(str(reason))
    assert found.parted is None, found.parted
    assert all(min(one.packets) > 500 for one in found.found if one.host == "server")
