"""Tests that `fit` derives rates, framing, token buckets and buffers from the packets of both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

import lopsided as lop
from lopsided.studies.fit.line import Framing, Observed, Way
from lopsided.studies.fit.queues import observed

SERVER, CLIENT = "10.0.0.1", "10.0.0.2"
FLOOR_S = 0.0311
"""Smallest RTT of the line of `two_way`, in seconds: 30 ms, and the transmission of 60 bytes in both directions."""


def two_way(folder: Path, place: str, *, link: str = "", up: str = "", flow: str = "") -> dict[Way, Observed]:
    """Runs a download and an upload. Returns what a host's capture reveals about the queues."""
    text = f"""\
[scenario]
duration = "20 s"
[link]
rtt = "30 ms"
{link}
down = {{ rate = "4 Mbit/s", queue = {{ limit = "30 packets" }} }}
up = {{ rate = "500 kbit/s", queue = {{ limit = "20 packets" }}, {up} }}
[stack]
cc = "cubic"
{flow}
[[flow]]
direction = "down"
[[flow]]
direction = "up"
start = "3 s"
"""
    lop.Scenario.from_text(text, "line.toml").run(pcap=folder, pcap_at=["hosts"])
    return observed(folder / f"host-{place}.pcapng", {CLIENT}, {SERVER}, place, FLOOR_S)


def test_rates_and_buffers_are_measured_although_data_and_acks_share_the_queues(tmp_path: Path) -> None:
    found = two_way(tmp_path, "server")
    assert found["down"].rate_bps == pytest.approx(4e6, rel=found["down"].error)
    assert found["up"].rate_bps == pytest.approx(5e5, rel=found["up"].error)
    assert found["down"].buffer_packets == pytest.approx(30, abs=1)
    assert found["up"].buffer_packets == pytest.approx(20, abs=1)
    assert {queue.discipline for queue in found.values()} == {"drop_tail"}


def test_the_uplink_is_less_exact_at_the_client_where_dropped_acks_are_unknown(tmp_path: Path) -> None:
    found = two_way(tmp_path, "client")
    assert found["down"].rate_bps == pytest.approx(4e6, rel=found["down"].error)
    assert found["down"].buffer_packets == pytest.approx(30, abs=1)
    assert found["up"].error > found["down"].error
    assert found["up"].rate_bps == pytest.approx(5e5, rel=found["up"].error)


@pytest.mark.parametrize(
    ("framing", "expected"), [('"ethernet"', Framing(14)), ('{ cell_format = "atm", overhead = "40 B" }', None)]
)
def test_the_framing_follows_from_packets_of_several_sizes(
    tmp_path: Path, framing: str, expected: Framing | None
) -> None:
    found = two_way(tmp_path, "server", link=f"framing = {framing}")["up"]
    assert found.rate_bps == pytest.approx(5e5, rel=0.003)
    if expected is not None:
        assert found.framing == expected
    else:
        # Packets of different sizes can need the same number of ATM cells.
        assert found.framing is not None
        assert found.framing.cells
        assert [found.framing.on_wire(size) for size in (52, 64, 1500)] == [106, 159, 1749]


def test_the_bucket_of_a_shaper_is_measured(tmp_path: Path) -> None:
    found = two_way(tmp_path, "server", up='shaper = { burst = "6000 B" }')["up"]
    assert found.burst_bytes == pytest.approx(6000, abs=100)
    assert found.buffer_packets == pytest.approx(20, abs=1)


@pytest.mark.parametrize("burst", [0, 3000, 20_000])
def test_the_bucket_in_front_of_a_busy_line_is_measured(tmp_path: Path, burst: int) -> None:
    down = f'down.shaper = {{ burst = "{burst} B" }}\n' if burst else ""
    line = f"""\
[scenario]
duration = "10 s"
[link]
rtt = "30 ms"
down.rate = "4 Mbit/s"
down.queue.limit = "60 packets"
{down}
up.rate = "500 kbit/s"
[[flow]]
direction = "down"
"""
    lop.Scenario.from_text(line, "line.toml").run(pcap=tmp_path, pcap_at=["hosts"])
    found = observed(tmp_path / "host-server.pcapng", {CLIENT}, {SERVER}, "server", 0.031)["down"]
    assert (found.burst_bytes or 0) == pytest.approx(burst, abs=200)
    assert found.rate_bps == pytest.approx(4e6, rel=0.001)


def test_a_capture_without_timestamps_yields_no_queues(tmp_path: Path) -> None:
    assert two_way(tmp_path, "server", flow="timestamps = false") == {}


def test_a_capture_in_the_middle_yields_no_queues() -> None:
    assert observed("not read", {CLIENT}, {SERVER}, "link", FLOOR_S) == {}
