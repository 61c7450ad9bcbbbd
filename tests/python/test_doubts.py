from __future__ import annotations

from typing import Any

import pytest

import lopsided as lop
from lopsided.studies.doubts import _CONDITIONS as CONDITIONS
from lopsided.studies.doubts import doubts

LINE = """\
[scenario]
duration = "5 s"
[link]
preset = "docsis30-100-10"
[[flow]]
direction = "down"
"""
FILTER = {"kind": "ack_filter", "queue": {"limit": "50 packets"}}
EXPANDER = [{"kind": "ack_expand"}]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"link.up.queue": {**FILTER, "prefix": "count"}}, "`prefix` only lengthens ACKs"),
        ({"link.up.queue": {**FILTER, "prefix_most": 200}}, "`prefix_most` has no effect"),
        ({"link.up.stages": EXPANDER}, "`ack_expand` has no effect"),
        ({"link.up.queue": FILTER, "link.up.stages": EXPANDER}, "`ack_expand` has no effect"),
        ({"link.up.queue": FILTER}, None),
        ({"link.up.queue": {**FILTER, "prefix": "spacing"}, "link.up.stages": EXPANDER}, None),
    ],
)
def test_half_of_an_ack_compaction_is_noted(settings: dict[str, Any], word: str | None):
    found = doubts(lop.Scenario.from_text(LINE, "line").with_(**settings))
    assert [word in doubt for doubt in found] == ([True] if word else []), found


def test_an_expander_on_a_line_without_tcp_is_noted():
    quic = lop.Scenario.from_text(LINE + 'transport = "quic"\n', "line").with_(**{"link.up.stages": EXPANDER})
    assert any("`ack_expand` reads TCP headers" in doubt for doubt in doubts(quic))


ACC = {"stack.ack_policy": "acc", "stack.mark_duplicates": 3}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stack.max_delack": 4}, ["`max_delack` has no effect here: set ack_policy to acc or"]),
        ({"stack.acks_per_rtt": 4, "stack.ack_policy": "acc"}, ["set ack_policy to tack or tarr"]),
        (ACC, ["`mark_duplicates` marks ACKs without effect"]),
        ({**ACC, "stack.marked_retransmit": True}, []),
        ({"stack.marked_retransmit": True}, ["`marked_retransmit` has no effect: nothing marks"]),
        ({"link.up.queue": {**FILTER, "fast_retransmit": 3}}, ["`fast_retransmit` marks ACKs without effect"]),
        ({"link.up.queue": {**FILTER, "fast_retransmit": 3}, "stack.marked_retransmit": True}, []),
        ({"stack.ecn_option": False}, ["`ecn_option` has no effect here: set ecn to accurate"]),
        ({"stack.ecn_expects_thinning": False, "stack.ecn": "on"}, ["`ecn_expects_thinning` has no effect here"]),
        ({"stack.ecn_option": False, "stack.ecn": "accurate"}, []),
        ({"stack.ecn_option": False, "stack.cc": "prague"}, []),
        ({"stack.burst_tick": "10 ms"}, ["`burst_tick` has no effect here: set max_burst"]),
        ({"link.up.queue": {**FILTER, "pick": "random"}}, ["`pick` has no effect in this `ack_filter`: set share"]),
        ({"link.up.queue": {**FILTER, "pick": "random", "share": 0.5}}, []),
        ({"link.up.queue": {"kind": "red", "marks": "all"}}, ["`marks` has no effect in this `red`: set ecn"]),
        ({"link.up.queue": {"kind": "red", "marks": "all", "ecn": True}}, []),
        ({"link.up.access": {"kind": "grants", "retransmissions": 9}}, ["`retransmissions` has no effect in this"]),
        (
            {
                "link.up.access": {
                    "kind": "grants",
                    "proactive": True,
                    "request_interval": "5 ms",
                    "grant_delay": "9 ms",
                }
            },
            ["`request_interval` has no effect in this `grants`: set", "`grant_delay` has no effect in this `grants`"],
        ),
        ({"flow.1.receiver_stack.cc": "cubic", "flow.1.cc": "reno"}, ["`receiver_stack.cc` has no effect in flow1"]),
        (
            {"flow.1.receiver_stack": {"cc": "cubic"}, "flow.1.count": 3, "flow.1.cc": "reno"},
            ["has no effect in flow1.1"],
        ),
        ({"flow.1.receiver_stack.cc": "dctcp"}, []),
        ({"flow.1.receiver_stack.cc": "cubic", "flow.1.cc": "reno", "flow.1.app": "http"}, []),
        ({"flow.1.sender_stack.cc": "bbr"}, []),
        ({"link.up.jitter": {"reorder": True}}, ["`reorder` has no effect in this `jitter`: set a spread"]),
        ({"link.up.header_compression.octets": 9}, ["`octets` has no effect in this `header_compression`"]),
        ({"link.preset": "adsl2plus-16-1", "link.up.header_compression": {"scheme": "fixed", "octets": 9}}, []),
        ({"flow.1.transport": {"kind": "quic", "ack_packets_most": 9}}, ["`ack_packets_most` has no effect in this"]),
    ],
)
def test_a_setting_that_no_other_setting_uses_is_noted(settings: dict[str, Any], words: list[str]):
    found = doubts(lop.Scenario.from_text(LINE, "line").with_(**settings))
    assert len(found) == len(words) and all(word in doubt for word, doubt in zip(words, found, strict=True)), found


TRACE = 'access = { kind = "trace", opportunities = [1, 2] }'


@pytest.mark.parametrize(
    ("line", "settings", "key"),
    [
        (f'rtt = "20 ms"\nrate = "5 Mbit/s"\nup = {{ {TRACE} }}', {}, "link.rate"),
        (f'rtt = "20 ms"\nrate = "5 Mbit/s"\nup = {{ {TRACE}, rate = "1 Mbit/s" }}', {}, "link.up.rate"),
        (f'rtt = "20 ms"\ndown.rate = "5 Mbit/s"\nup = {{ {TRACE} }}', {}, None),
        (f'rtt = "20 ms"\ndown.rate = "5 Mbit/s"\nup = {{ {TRACE} }}', {"link.rate": "1 Mbit/s"}, "link.rate"),
        ('preset = "starlink-200-20"', {"link.up": {"rate": "5 Mbit/s"}}, "link.up.rate"),
        (f'preset = "docsis30-100-10"\nup = {{ {TRACE} }}', {}, None),
        ('preset = "starlink-200-20"', {"link.down.rate": "5 Mbit/s"}, "link.down.rate"),
        ('preset = "docsis30-100-10"', {"link.up.rate": "5 Mbit/s"}, None),
    ],
)
def test_a_rate_beside_an_access_with_rates_of_its_own_is_noted(line: str, settings: dict[str, Any], key: str | None):
    found = doubts(lop.Scenario.from_text(LINE.replace('preset = "docsis30-100-10"', line), "line").with_(**settings))
    assert [doubt.startswith(f"`{key}` does not limit link") for doubt in found] == ([True] if key else []), found


PARTS = {
    "grants": {"link.up.access": {"kind": "grants"}},
    "tbf": {"link.up.queue": {"kind": "tbf", "rate": "1 Mbit/s"}},
    "jitter": {},
    "header_compression": {},
    "quic": {"flow.1.transport": "quic"},
}
"""For each kind of part, the settings that add the part with default values. Queue disciplines are not listed, because
they need only their kind and a limit."""

SHARED = """\
[scenario]
duration = "5 s"
[topology]
hosts = ["a", "far"]
medium = [{ kind = "polled", name = "air" }]
link = [{ between = ["far", "air"], rate = "unlimited" }, { between = ["a", "air"], rate = "unlimited" }]
[[flow]]
from = "far"
to = "a"
"""


@pytest.mark.parametrize("part", sorted({condition.part for condition in CONDITIONS}))
def test_a_part_with_default_settings_causes_no_note(part: str):
    if part == "polled":
        assert doubts(lop.Scenario.from_text(SHARED, "medium")) == []
        return
    settings = PARTS.get(
        part, {"link.up.queue": {"kind": part, "limit": "100 packets"} if part != "ack_filter" else FILTER}
    )
    assert doubts(lop.Scenario.from_text(LINE, "line").with_(**settings)) == []
