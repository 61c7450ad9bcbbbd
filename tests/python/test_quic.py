"""QUIC flows from Python: rejected and noted settings, the tables of a run, and the studies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lopsided as lop
from lopsided import ScenarioError
from lopsided.errors import LopsidedError
from lopsided.scenario import Scenario
from lopsided.studies.ackpath import ackpath
from lopsided.studies.doubts import doubts
from lopsided.studies.explain import of_run as explain
from reference.quic.envelope import area, hull, overlap

LINE = """\
[scenario]
duration = "4 s"
[link]
rtt = "20 ms"
queue.limit = "50 packets"
down.rate = "10 Mbit/s"
up.rate = "200 kbit/s"
[[flow]]
name = "it"
direction = "down"
cc = "cubic"
transport = "quic"
"""


def scenario(**settings: object) -> Scenario:
    return Scenario.from_text(LINE, "quic").with_(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flow.it.transport.acks": "quinnn"}, ["quinnn", "quinn", "picoquic"]),
        ({"flow.it.stack.sack": False}, ["`sack` is a TCP setting", "remove it"]),
        ({"flow.it.receiver_stack.ack_policy": "tack"}, ["`ack_policy` is a TCP setting", "remove it"]),
        ({"flow.it.cc": "bbr"}, ["paces", "TCP"]),
        ({"flow.it.cc": "ledbat"}, ["one-way delays", "TCP"]),
        ({"flow.it.cc": "prague"}, ["marked", "TCP"]),
        ({"flow.it.transport.cc_source": "quinn", "flow.it.cc": "vegas"}, ["quinn has no congestion control", "reno"]),
        ({"flow.it.app": {"kind": "udp", "rate": "1 Mbit/s"}}, ["cannot carry", "bulk"]),
        ({"flow.it.app": {"kind": "http", "connections": 2}}, ["one connection", "remove"]),
        ({"flow.it.transport.max_ack_delay": "100 ms"}, ["25 ms", "ack_frequency = true"]),
        ({"flow.it.transport.max_datagram": "1100 B"}, ["1200 B"]),
        ({"flow.it.transport.ack_packets": 0}, ["from 1"]),
    ],
)
def test_what_quic_cannot_do_is_refused_with_its_place_and_cure(settings: dict[str, object], words: list[str]):
    with pytest.raises(ScenarioError) as refused:
        scenario(**settings)
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert "flow" in str(refused.value)


def test_the_kernel_has_no_quic():
    with pytest.raises(LopsidedError, match="Linux has no QUIC"):
        scenario().run(world="kernel")


def test_a_part_that_reads_tcp_headers_is_noted_and_changes_nothing():
    plain, filtered = (
        scenario(),
        scenario(**{"link.up.queue": {"kind": "ack_filter", "queue": {"limit": "50 packets"}}}),
    )
    assert not doubts(plain)
    assert any("no effect" in doubt and "ack_filter" in doubt for doubt in doubts(filtered))
    assert plain.run().digest == filtered.run().digest


def test_a_story_tells_what_held_the_sender_back():
    story = explain(scenario().run())
    assert story.limited_s
    assert set(story.limited_s) <= {
        "congestion window",
        "pacing",
        "application",
        "anti-amplification limit",
        "stream flow control",
        "connection flow control",
        "send buffer",
    }
    small = explain(scenario(**{"flow.it.transport.stream_window": "8 kB", "link.up.rate": "10 Mbit/s"}).run())
    assert max(small.limited_s, key=lambda limit: small.limited_s[limit]) == "stream flow control"
    slow = explain(scenario(**{"flow.it.transport.connection_window": "8 kB", "link.up.rate": "10 Mbit/s"}).run())
    assert max(slow.limited_s, key=lambda limit: slow.limited_s[limit]) == "connection flow control"


def test_a_qlog_has_every_packet_of_the_capture(tmp_path: Path):
    scenario().run(pcap=tmp_path, pcap_at=["hosts"])
    records = [
        json.loads(text) for text in (tmp_path / "qlog-it-sender.sqlog").read_text().split("\x1e") if text.strip()
    ]
    head, events = records[0], records[1:]
    assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert head["trace"]["vantage_point"]["type"] == "server"
    names = {event["name"] for event in events}
    assert {"quic:packet_sent", "quic:packet_received", "quic:congestion_state_updated"} <= names
    sent = [event["data"]["header"] for event in events if event["name"] == "quic:packet_sent"]
    numbers = [header["packet_number"] for header in sent if header["packet_type"] == "1RTT"]
    assert numbers == sorted(set(numbers))


def test_ackpath_shows_that_the_network_cannot_see_quics_acks():
    found = {row["remedies"]: row for row in ackpath(scenario(), "none,filter,quic_10").cells.rows()}
    assert found["none"]["down_goodput_bps"] == found["filter"]["down_goodput_bps"]
    assert found["quic_10"]["ack_ratio"] < 0.5 * found["none"]["ack_ratio"]


def test_envelopes_overlap_by_their_areas():
    square = [(float(x), float(y)) for x in range(41) for y in range(41)]
    shifted = [(x + 20.0, y) for x, y in square]
    assert overlap(square, square) == pytest.approx(1.0)
    assert overlap(square, [(x + 100.0, y) for x, y in square]) == 0.0
    assert 0.2 < overlap(square, shifted) < 0.45
    assert area(hull(square)) == pytest.approx(1600.0)


def test_a_search_chooses_the_ack_ratio_of_a_narrow_uplink():
    pytest.importorskip("optuna")
    narrow = scenario(**{"link.up.rate": "100 kbit/s"})
    found = lop.search(narrow, {"flow.it.transport.ack_packets": "2|10"}, maximise="goodput.it", trials=2)
    assert found.best.labels == {"flow.it.transport.ack_packets": "10"}
