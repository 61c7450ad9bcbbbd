from __future__ import annotations

from typing import Any

import pytest

import lopsided as lop
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
        ({"link.up.queue": {**FILTER, "prefix": "count"}}, "`prefix` only makes ACKs longer"),
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
        (ACC, ["`mark_duplicates` marks ACKs in vain"]),
        ({**ACC, "stack.marked_retransmit": True}, []),
        ({"stack.marked_retransmit": True}, ["`marked_retransmit` has no effect: nothing marks"]),
        ({"link.up.queue": {**FILTER, "fast_retransmit": 3}}, ["`fast_retransmit` marks ACKs in vain"]),
        ({"link.up.queue": {**FILTER, "fast_retransmit": 3}, "stack.marked_retransmit": True}, []),
    ],
)
def test_a_setting_that_no_other_setting_uses_is_noted(settings: dict[str, Any], words: list[str]):
    found = doubts(lop.Scenario.from_text(LINE, "line").with_(**settings))
    assert len(found) == len(words) and all(word in doubt for word, doubt in zip(words, found, strict=True)), found
