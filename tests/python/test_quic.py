"""Tests QUIC flows from Python: settings, tables, and studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lopsided as lop
from lines import QUIC, line_of
from lopsided import ScenarioError
from lopsided.scenario import Scenario
from lopsided.studies.ackpath import ackpath
from lopsided.studies.doubts import doubts
from lopsided.studies.explain import of_run as explain
from lopsided.worlds import kernel
from qlog_schema import EVENTS, faults
from reference.quic.envelope import area, hull, moved_onto, overlap

LINE = line_of("4 s", "10 Mbit/s", "200 kbit/s", "50 packets", "50 packets") + QUIC


def scenario(**settings: object) -> Scenario:
    return Scenario.from_text(LINE, "quic").with_(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flow.it.transport.acks": "quinnn"}, ["quinnn", "quinn", "picoquic"]),
        ({"flow.it.stack.sack": False}, ["`sack` is a TCP setting", "remove it"]),
        ({"flow.it.receiver_stack.ack_policy": "tack"}, ["`ack_policy` is a TCP setting", "remove it"]),
        ({"flow.it.cc": "bbr"}, ["paces", "TCP"]),
        ({"flow.it.cc": "bbr3"}, ["paces", "TCP"]),
        ({"flow.it.cc": "ledbat"}, ["one-way delays", "TCP"]),
        ({"flow.it.cc": "prague"}, ["marked", "TCP"]),
        ({"flow.it.cc": "dctcp"}, ["marked", "TCP"]),
        ({"flow.it.transport.cc_source": "quinn", "flow.it.cc": "vegas"}, ["quinn has no congestion control", "reno"]),
        ({"flow.it.app": {"kind": "udp", "rate": "1 Mbit/s"}}, ["cannot carry", "bulk"]),
        ({"flow.it.app": {"kind": "http", "connections": 2}}, ["one connection", "remove"]),
        ({"flow.it.transport.max_ack_delay": "100 ms"}, ["25 ms", "ack_frequency = true"]),
        ({"flow.it.transport.max_datagram": "1100 B"}, ["1200 B"]),
        ({"flow.it.transport.ack_packets": 0}, ["from 1"]),
    ],
)
def test_settings_that_quic_lacks_are_rejected_with_place_and_advice(settings: dict[str, object], words: list[str]):
    with pytest.raises(ScenarioError) as refused:
        scenario(**settings)
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert "flow" in str(refused.value)


def test_the_kernel_world_rejects_quic():
    # Call `kernel.refusals` instead of a run in the kernel world, because it needs no kernel.
    assert any("Linux has no QUIC" in refused for refused in kernel.refusals(scenario()))


def test_a_part_that_reads_tcp_headers_is_noted_and_changes_nothing():
    plain, filtered = (
        scenario(),
        scenario(**{"link.up.queue": {"kind": "ack_filter", "queue": {"limit": "50 packets"}}}),
    )
    assert not doubts(plain)
    assert any("no effect" in doubt and "ack_filter" in doubt for doubt in doubts(filtered))
    assert plain.run().digest == filtered.run().digest


_QUEUE = {"limit": "50 packets"}


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("queue", {"kind": "ack_filter", "queue": _QUEUE}, "ack_filter"),
        ("queue", {"kind": "afvq", "queue": _QUEUE}, "afvq"),
        (
            "queue",
            {"kind": "prio", "bands": [_QUEUE, _QUEUE], "classify": [{"class": 0, "packet": "ack"}]},
            'packet = "ack"',
        ),
        ("stages", [{"kind": "ack_thinning", "keep": 4}], "ack_thinning"),
        ("stages", [{"kind": "ack_reconstruct"}], "ack_reconstruct"),
        ("stages", [{"kind": "ack_pacing", "rate": "10 Mbit/s"}], "ack_pacing"),
        ("header_compression", "cslip", "header_compression"),
        ("header_compression", "rohc", "header_compression"),
    ],
)
def test_each_part_that_reads_tcp_headers_is_noted(key: str, value: Any, name: str):
    noted = doubts(scenario(**{f"link.up.{key}": value}))
    assert any(f"`{name}` reads TCP headers and has no effect" in doubt for doubt in noted), noted
    # If the scenario also contains a TCP flow, the part has an effect, so `lopsided` prints no note.
    both = Scenario.from_text(LINE + '[[flow]]\nname = "tcp"\ndirection = "down"\n', "both")
    assert not any("no effect" in doubt for doubt in doubts(both.with_(**{f"link.up.{key}": value})))


def test_a_story_names_what_limited_the_sender():
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


def records(file: Path) -> list[Any]:
    """Returns the records of a JSON text sequence (RFC 7464)."""
    texts = file.read_text().split("\x1e")
    assert texts[0] == "" and all(text.endswith("\n") for text in texts[1:])
    return [json.loads(text) for text in texts[1:]]


def test_a_qlog_has_the_structure_of_the_draft(tmp_path: Path):
    web = {"app": {"kind": "http", "objects": 5, "object_size": "30 kB"}}
    settings = {f"flow.it.{key}": value for key, value in web.items()}
    asked = {"flow.it.transport.ack_frequency": True, "link.down.loss": "1 %", "scenario.duration": "2 s"}
    scenario(**settings, **asked).run(pcap=tmp_path, pcap_at=["hosts"])
    frames: set[str] = set()
    for end, role in (("sender", "server"), ("receiver", "client")):
        head, *events = records(tmp_path / f"qlog-it-{end}.sqlog")
        assert not faults(head, events)
        assert head["trace"]["vantage_point"]["type"] == role
        names = {event["name"] for event in events}
        assert {"quic:packet_sent", "quic:packet_received", "quic:connection_state_updated"} <= names
        sent = [event["data"] for event in events if event["name"] == "quic:packet_sent"]
        numbers = [each["header"]["packet_number"] for each in sent if each["header"]["packet_type"] == "1RTT"]
        assert numbers == sorted(set(numbers))
        frames |= {frame["frame_type"] for each in sent for frame in each["frames"]}
    assert {"padding", "ack", "crypto", "stream", "new_connection_id", "handshake_done", "ack_frequency"} <= frames


def test_a_qlog_has_the_packets_of_the_table_and_the_limits_of_the_sender(tmp_path: Path):
    run = scenario().run(pcap=tmp_path, pcap_at=["hosts"])
    _, *events = records(tmp_path / "qlog-it-sender.sqlog")
    data = {name: [event["data"] for event in events if event["name"] == name] for name in EVENTS}
    kinds = [{frame["frame_type"] for frame in each["frames"]} for each in data["quic:packet_sent"]]
    assert sum("stream" in kind for kind in kinds) == next(iter(run.flows.rows()))["data_segments_out"] > 1000
    assert {each["reason"] for each in data["quic:connection_data_blocked_updated"]} >= {"congestion_control", "pacing"}
    assert all(each["congestion_window"] > 0 for each in data["quic:recovery_metrics_updated"])


def test_ackpath_shows_that_the_network_cannot_see_quics_acks():
    remedies = "none,filter,quic_10,quic_chrome,quic_picoquic"
    found = {row["remedies"]: row for row in ackpath(scenario(), remedies).cells.rows()}
    assert found["none"]["down_goodput_bps"] == found["filter"]["down_goodput_bps"]
    for remedy in ("quic_10", "quic_chrome", "quic_picoquic"):
        assert found[remedy]["ack_ratio"] < 0.5 * found["none"]["ack_ratio"]


def test_envelopes_overlap_by_their_areas():
    square = [(float(x), float(y)) for x in range(41) for y in range(41)]
    shifted = [(x + 20.0, y) for x, y in square]
    assert overlap(square, square) == pytest.approx(1.0)
    assert overlap(square, [(x + 100.0, y) for x, y in square]) == 0.0
    assert 0.2 < overlap(square, shifted) < 0.45
    assert overlap(square, moved_onto(shifted, square)) == pytest.approx(1.0)
    assert area(hull(square)) == pytest.approx(1600.0)


def test_a_search_chooses_the_ack_ratio_of_a_narrow_uplink():
    pytest.importorskip("optuna")
    narrow = scenario(**{"link.up.rate": "100 kbit/s"})
    found = lop.search(narrow, {"flow.it.transport.ack_packets": "2|10"}, maximise="goodput.it", trials=2)
    assert found.best.labels == {"flow.it.transport.ack_packets": "10"}
