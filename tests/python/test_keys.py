"""Checks that each key in docs/scenario.md changes the run, or causes a note that names the key.

`tools/keys` generates the page from the declarations of the keys, so this test finds a new key. If the
test cannot derive a second value of a key from the default, `SECTIONS` must contain a value.
"""

from __future__ import annotations

import copy
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lopsided as lop
from lopsided.settings import scenario_text
from lopsided.studies.doubts import doubts

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"

Table = dict[str, Any]


def of_line(*flows: Table, **settings: Any) -> Table:
    return {
        "scenario": {"duration": "4 s"},
        "link": {
            "rtt": "20 ms",
            "down": {"rate": "8 Mbit/s", "queue": "30 packets"},
            "up": {"rate": "1 Mbit/s", "queue": "20 packets"},
        },
        "stack": {"cc": "cubic", "ecn": "on"},
        "flow": list(flows),
        **settings,
    }


def changed(tables: Table, path: str, value: Any) -> Table:
    """Returns a copy of the scenario in which the setting has this value; `None` removes it."""
    copied = copy.deepcopy(tables)
    place: Any = copied
    *parents, last = path.split(".")
    for number, name in enumerate(parents):
        if name.isdecimal():
            place = place[int(name)]
        else:
            if not isinstance(place.get(name), dict | list):
                # The parent is missing, or is written in a short form, such as a string. Replace it with a table.
                place[name] = [{}] if [*parents, last][number + 1].isdecimal() else {}
            place = place[name]
    if value is None:
        place.pop(last, None)
    elif isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return copied


DOWNLOAD: Table = {"name": "download", "direction": "down"}
UPLOAD: Table = {"name": "upload", "direction": "up"}
CALL: Table = {
    "name": "call",
    "direction": "up",
    "app": {"kind": "udp", "rate": "80 kbit/s"},
    "stack": {"dscp": 46},
}
PAGES: Table = {"name": "pages", "direction": "down", "app": {"kind": "http", "pages": "forever"}}
LINE = of_line({**DOWNLOAD, "count": 2}, {**UPLOAD, "count": 3, "start_spacing": "300 ms"}, CALL, PAGES)
LOSSY = of_line(DOWNLOAD)
LOSSY["link"]["down"]["loss"] = 0.02
ROUTED: Table = {
    "scenario": {"duration": "2 s"},
    "topology": {
        "hosts": ["a", "b"],
        "routers": ["r", "s"],
        "link": [
            {"name": "tested", "between": ["b", "r"], "rate": "1 Mbit/s", "delay": "5 ms"},
            {"between": ["a", "r"], "rate": "10 Mbit/s", "delay": "5 ms"},
            {"between": ["b", "s"], "rate": "9 Mbit/s", "delay": "9 ms"},
            {"between": ["s", "r"], "rate": "9 Mbit/s", "delay": "9 ms"},
        ],
    },
    "flow": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}],
}
DUMBBELL: Table = {
    "scenario": {"duration": "2 s"},
    "topology": {
        "dumbbell": {
            "pairs": 2,
            "access": {"rate": "9 Mbit/s", "delay": "2 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "5 ms"},
        }
    },
    "flow": [{"direction": "down", "count": 2}, {"direction": "up"}],
}


def shared(kind: str) -> Table:
    """Returns a network in which a router and three stations share a medium."""
    nodes = ["ap", "a", "b", "c"]
    return {
        "scenario": {"duration": "3 s"},
        "topology": {
            "hosts": [*nodes[1:], "far"],
            "routers": ["ap"],
            "medium": [{"kind": kind, "name": "air"}],
            "link": [
                {"between": ["far", "ap"], "rate": "1 Gbit/s", "delay": "5 ms", "queue": "1000 packets"},
                *({"between": [node, "air"], "rate": "unlimited"} for node in nodes),
            ],
        },
        "flow": [
            {"from": "far", "to": "a"},
            {"from": "b", "to": "far"},
            {"from": "c", "to": "far"},
            {"from": "a", "to": "b"},
        ],
    }


class With(NamedTuple):
    """A value of a key, and other settings that the key needs. The settings are identified by their paths. `None`
    removes a setting."""

    value: Any
    needs: Table


class Section(NamedTuple):
    """A table of docs/scenario.md, and a scenario in which the keys of this table have an effect."""

    base: Table
    path: str
    """The table's path in the scenario."""
    part: Table
    """The table's settings in the tested scenario."""
    values: Table
    """Second values of keys, where the test cannot derive one from the default."""


DIRECTION: Table = {
    "rate": "700 kbit/s",
    "delay": "13 ms",
    "mtu": "900 B",
    "framing": "pppoe-llcsnap",
    "header_compression": "cslip",
    "queue": "5 packets",
    "shaper": "1600 B",
    "access": {"kind": "grants"},
    "jitter": "5 ms",
    "loss": "5 %",
    "stages": [{"kind": "ack_thinning"}],
}
ONE_RATE: Table = {"rate": "1 Mbit/s", "queue": "20 packets", "delay": "10 ms"}
TWO_WAYS: Table = {
    **DIRECTION,
    "rtt": With("35 ms", {"+delay": None}),
    "down": {"loss": 0.05},
    "up": {"loss": 0.05},
}
RATE = {"rate": "700 kbit/s"}
ECN_OFF = {"stack.ecn": "off"}


def queue(kind: str, part: Table | None = None, base: Table = LINE, **values: Any) -> tuple[str, Section]:
    return f"queue kind `{kind}`", Section(base, "link.up.queue", {"kind": kind, **(part or {})}, values)


PAUSE = {
    "kind": "rates",
    "steps": [{"rate": "8 Mbit/s"}, {"at": "1 s", "rate": "1 kbit/s"}, {"at": "2 s", "rate": "8 Mbit/s"}],
}
OUTAGE = {"link.down.loss": {"outages": [["500 ms", "2 s"]]}}
IDLE = of_line(DOWNLOAD, {**UPLOAD, "count": 3, "app": {"kind": "on_off", "on": "200 ms", "off": "300 ms"}})
L4S = of_line(DOWNLOAD, {**UPLOAD, "count": 2}, {**UPLOAD, "name": "fast", "cc": "prague"})
FILTERED = copy.deepcopy(LINE)
FILTERED["link"]["up"]["queue"] = {"kind": "ack_filter"}
TWO_QUEUES = [{"limit": "3 packets"}, {"limit": "30 packets"}]
TWO_RATES = {"kind": "rates", "steps": [{"rate": "1 Mbit/s"}, {"at": "1 s", "rate": "300 kbit/s"}]}
UDP_FIRST = [{"class": 0, "protocol": "udp"}]
RED_PROFILES = 3 * [{"min": "2 packets", "max": "8 packets", "probability": 0.3}]
TWO_CLASSES = [{"bandwidth": "30 kbit/s"}, {"bandwidth": "300 kbit/s"}]
THREE_CLASSES = [
    {"rate": "900 kbit/s"},
    {"parent": 0, "rate": "100 kbit/s", "ceil": "900 kbit/s"},
    {"parent": 0, "rate": "200 kbit/s", "ceil": "800 kbit/s"},
]
TO_FIRST = [{"class": 0, "flow": 2}, {"class": 0, "flow": 3}]
TO_CLASSES = [{"class": 1, "flow": 2}, {"class": 1, "flow": 3}]
STACKS = of_line(
    DOWNLOAD,
    UPLOAD,
    {**PAGES, "app": {"kind": "transfer", "size": "30 kB", "repeat": "forever"}},
    {**UPLOAD, "name": "backup", "cc": "reno"},
)
STACKS["link"]["down"] |= {"queue": {"kind": "red", "ecn": True, "limit": "30 packets"}, "loss": {"random": 0.02}}
STACKS["link"]["down"]["jitter"] = {"spread": "9 ms", "reorder": True}
RED: Table = {
    "min": "2 packets",
    "max": "7 packets",
    "probability": 0.3,
    "weight": 0.4,
    "burst": 40,
    "avpkt": "300 B",
    "bandwidth": "100 kbit/s",
}
MEASURED: Table = {
    "far_end": With("stage", {"lan": {"rate": "90 Mbit/s", "delay": "3 ms", "stages": [{"kind": "reflector"}]}}),
}

SECTIONS: dict[str, Section] = {
    "scenario file": Section(
        LINE,
        "",
        {},
        {
            "scenario": {"duration": "3 s"},
            "link": {"preset": "adsl2plus-16-1"},
            "lan": ONE_RATE,
            "topology": With(
                changed(ROUTED, "topology.link.0.rate", "2 Mbit/s")["topology"],
                {"link": None, "topology": ROUTED["topology"], "flow": ROUTED["flow"]},
            ),
            "stack": {"profile": "freebsd-7"},
            "host": {"server": {"interface": "20 ms"}},
            "flow": [DOWNLOAD],
            "record": {"events": True},
            "fairness": {},
        },
    ),
    "scenario": Section(LOSSY, "scenario", {}, {"duration": "3 s", "seed": 2}),
    "access line": Section(
        of_line(DOWNLOAD, UPLOAD, link=ONE_RATE),
        "link",
        {},
        {
            **TWO_WAYS,
            "rtt": With("35 ms", {"+delay": None, "+rtt": "20 ms"}),
            "preset": With("lte-50-15", {"link": {"preset": "adsl2plus-16-1"}}),
        },
    ),
    "line": Section(of_line(DOWNLOAD, UPLOAD, lan=ONE_RATE), "lan", {}, TWO_WAYS),
    "topology": Section(
        ROUTED,
        "topology",
        {},
        {
            "hosts": ["a", "b", "c"],
            "routers": ["r", "s", "t"],
            "link": ROUTED["topology"]["link"][:2],
            "medium": With([{"kind": "csma_cd", "name": "air"}], shared("polled")),
            "dumbbell": DUMBBELL["topology"]["dumbbell"],
        },
    ),
    "topology link": Section(
        ROUTED,
        "topology.link.0",
        {},
        {**TWO_WAYS, "between": ["s", "r"], "one_way": True},
    ),
    "dumbbell": Section(
        DUMBBELL,
        "topology.dumbbell",
        {},
        {"pairs": 3, "access": RATE, "left": RATE, "right": RATE, "bottleneck": RATE},
    ),
    "direction": Section(of_line(DOWNLOAD, UPLOAD, link={"down": ONE_RATE, "up": ONE_RATE}), "link.up", {}, DIRECTION),
    "stack": Section(
        STACKS,
        "stack",
        {},
        {
            "profile": "freebsd-7",
            "cc": "vegas",
            "mss": "536 B",
            "mtu": "900 B",
            "sack": False,
            "dsack": False,
            "timestamps": False,
            "window_scaling": False,
            "ecn": "off",
            "ecn_fallback": With(False, {"link.down.loss.packets": [1, 2], "link.up.loss.packets": [1, 2]}),
            "ecn_option": With(False, {"+ecn": "accurate"}),
            "ecn_expects_thinning": With(
                False,
                {
                    "+ecn": "accurate",
                    "+ecn_option": False,
                    "+delayed_ack": {"segments": 8},
                    "link.down": {
                        "rate": "8 Mbit/s",
                        "queue": {"kind": "red", "ecn": True, "min": "1 packets", "max": "9 packets"},
                    },
                },
            ),
            "abe": With(True, {"+cc": "reno"}),
            "rack": False,
            "fack": With(True, {"+rack": False}),
            "tlp": False,
            "prr": False,
            "rate_halving": With(True, {"+prr": False}),
            "frto": With(False, {"link.down.access": PAUSE}),
            "dup_threshold": With(5, {"+rack": False}),
            "fast_recovery": With("reno", {"+sack": False}),
            "limited_transmit": With(False, {"+rack": False}),
            "abc": 1,
            "abc_half": True,
            "ack_policy": "immediate",
            "max_delack": With(3, {"+ack_policy": "growing"}),
            "min_acks_per_window": With(8, {"+ack_policy": "ace"}),
            "mark_duplicates": With(1, {"+ack_policy": "acc", "+marked_retransmit": True}),
            "marked_retransmit": With(True, {"+ack_policy": "acc", "+mark_duplicates": 1}),
            "max_burst": 2,
            "burst_tick": With("50 ms", {"+max_burst": 2}),
            "acks_per_rtt": With(9, {"+ack_policy": "tack"}),
            "ack_before_read": With(True, {"+receive_buffer": "9 kB", "+delayed_ack": "off"}),
            "window_update": With("closed", {"+profile": "freebsd-7"}),
            "reassembly_limit": 2,
            "placeholders": 0.05,
            "placeholder_margin": With(0, {"+placeholders": 0.05}),
            "duplicates": With(
                "in_a_row",
                {
                    "+sack": False,
                    "+rack": False,
                    "link.up.rate": "5 Mbit/s",
                    "scenario.duration": "20 s",
                    "flow.0.app": {"kind": "rdra", "size": "50 MB"},
                },
            ),
            "delayed_ack": "off",
            "initial_window": "3 segments",
            "remembered_threshold": "20 kB",
            "metrics_save": "all",
            "handshake_sample": False,
            "min_rto": "1 s",
            "hz": 100,
            "max_window": "5 segments",
            "send_buffer": "9 kB",
            "receive_buffer": "9 kB",
            "dscp": With(46, {"link.up.queue": {"kind": "prio", "bands": TWO_QUEUES, "classify": [{"dscp": 46}]}}),
        },
    ),
    "host": Section(LINE, "host.server", {}, {"stack": {"cc": "bbr"}, "interface": {"delay": "20 ms"}}),
    "interface": Section(
        LINE, "host.server.interface", {}, {"delay": "20 ms", "limit": "5 packets", "ring": "3 packets"}
    ),
    "flow": Section(
        DUMBBELL,
        "flow.0",
        {},
        {
            "group": With("some", {"fairness": {"harm": False}}),
            "direction": "up",
            "start": "100 ms",
            "start_jitter": "500 ms",
            "start_spacing": With("100 ms", {"+count": 2}),
            "stop": "1 s",
            "count": 3,
            "app": "50 kB",
            "transport": "quic",
            "from": With("left2", {"+direction": None, "+count": None, "+from": "left1", "+to": "right1"}),
            "to": With("right2", {"+direction": None, "+count": None, "+from": "left1", "+to": "right1"}),
            "cc": "vegas",
            "stack": {"cc": "vegas"},
            "sender_stack": {"cc": "vegas"},
            "receiver_stack": {"delayed_ack": "off"},
        },
    ),
    "record": Section(LINE, "record", {}, {"interval": "500 ms", "on_change": True, "events": True}),
    "fairness": Section(
        of_line(DOWNLOAD, {**DOWNLOAD, "name": "other", "cc": "bbr", "start": "1 s"}),
        "fairness",
        {"hold": "500 ms"},
        {"warmup": "2 s", "within": 0.9, "hold": "100 ms"},
    ),
    "framing": Section(
        LINE, "link.up.framing", {}, {"kind": "ethernet", "overhead": "40 B", "minimum": "300 B", "cell_format": "atm"}
    ),
    "header_compression": Section(
        changed(LINE, "link.down.loss", 0.02),
        "link.down.header_compression",
        {"scheme": "cslip"},
        {
            "scheme": "rohc",
            "slots": With(1, {"stack.timestamps": False}),
            "twice": With(False, {"+scheme": "iphc"}),
            "feedback": With(False, {"+scheme": "rohc"}),
            "octets": With(20, {"+scheme": "fixed"}),
        },
    ),
    **dict(
        [
            queue("fifo", limit="5 packets"),
            queue(
                "red",
                {"min": "4 packets", "max": "12 packets"},
                **{**RED, "bandwidth": With("100 kbit/s", {"flow": IDLE["flow"]})},
                limit="9 packets",
                idle_decay=With(False, {"flow": IDLE["flow"]}),
                count_first=With(True, {"flow": IDLE["flow"]}),
                harddrop=With(True, {"+ecn": True}),
                marks=With("all", {"+ecn": True}),
                least=5,
            ),
            queue("step", {"mark_threshold": "5 packets"}, mark_threshold="9 packets", limit="8 packets"),
            queue("codel", limit="5 packets", ce_threshold="1 ms", mtu="9 kB", header="200 B"),
            queue(
                "fq_codel",
                limit="5 packets",
                flows=1,
                quantum="300 B",
                drop_batch=With(1, {"+limit": "9 packets"}),
                ce_threshold="1 ms",
                mtu="9 kB",
                header="200 B",
            ),
            queue("pie", limit="5 packets", mark_threshold=With(0.001, {"+ecn": True})),
            queue(
                "fq_pie",
                limit="5 packets",
                flows=1,
                quantum="300 B",
                ecn=With(True, {"+mark_threshold": 1}),
                mark_threshold=With(1, {"+ecn": True}),
                bytemode=With(True, {"+flows": 1}),
                header="200 B",
            ),
            queue(
                "docsis-pie",
                {"limit": "60 packets"},
                limit="5 packets",
                msr="300 kbit/s",
                peak_rate="3 Mbit/s",
                burst=With("50 kB", {"+peak_rate": "3 Mbit/s"}),
            ),
            queue("dualpi2", base=changed(L4S, "link.up.rate", "30 Mbit/s"), limit="5 packets", c_protection=0.8),
            queue(
                "cobalt",
                limit="5 packets",
                mtu_time="30 ms",
                target="200 ms",
                p_inc=With(0.3, {"+limit": "5 packets"}),
                p_dec=With(0.3, {"+limit": "5 packets"}),
            ),
            queue(
                "cake",
                bandwidth="700 kbit/s",
                tins=With("besteffort", {"+bandwidth": "700 kbit/s"}),
                isolation="flowblind",
                framing="pppoe-llcsnap",
                memlimit="9 kB",
            ),
            queue("asqm", limit="5 packets", target="10 ms", interval="30 ms", **MEASURED),
            queue("bdp", limit="5 packets", flows=1, **MEASURED),
            queue("prio", bands=TWO_QUEUES, classify=UDP_FIRST, default_class=0),
            queue("policer", {"rate": "700 kbit/s"}, rate="300 kbit/s", burst="3 kB", limit="2 packets"),
            queue(
                "ack_filter",
                queue={"limit": "5 packets"},
                rule="aggressive",
                share=0.5,
                pick=With("random", {"+share": 0.5}),
                above="19 packets",
                below="9 packets",
                fast_retransmit=2,
                segment=With("200 B", {"+rule": "accurate_ecn", "stack.ecn": "accurate", "stack.ecn_option": False}),
                prefix="count",
                prefix_most=With(5, {"+prefix": "count"}),
            ),
            queue("afvq", queue={"limit": "5 packets"}, ack_limit="1 packets", ack_share=0.01),
            queue(
                "htb",
                {"classes": THREE_CLASSES, "classify": TO_CLASSES},
                classes=[*THREE_CLASSES[:2], {"parent": 0, "rate": "300 kbit/s"}],
                classify=[],
                default_class=1,
                r2q=1,
                overhead="90 B",
            ),
            queue(
                "tbf",
                {"rate": "700 kbit/s"},
                rate="300 kbit/s",
                burst="30 kB",
                peakrate="900 kbit/s",
                mtu=With("9 kB", {"+peakrate": "900 kbit/s"}),
                overhead="90 B",
                queue={"limit": "5 packets"},
            ),
            queue("drr", classes=[{"quantum": "300 B"}, {}], classify=TO_FIRST, default_class=0),
            queue(
                "fq",
                limit="5 packets",
                flow_limit="3 packets",
                quantum="300 B",
                initial_quantum="300 B",
                maxrate="100 kbit/s",
                low_rate_threshold=With("50 kbit/s", {"+maxrate": "100 kbit/s"}),
                refill_delay=With("1 ms", {"flow": IDLE["flow"]}),
                orphan_mask=0,
                ce_threshold="1 ms",
            ),
            queue("sfq", limit="5 packets", depth="2 packets", flows=2, divisor=1, quantum="300 B", perturb="100 ms"),
            queue("wfq", limit="5 packets", threshold="2 packets", flows=16),
            queue(
                "cbwfq",
                {"classes": TWO_CLASSES, "classify": UDP_FIRST},
                classes=[{"bandwidth": "100 kbit/s"}, {"bandwidth": "300 kbit/s", "queue": "3 packets"}],
                classify=TO_FIRST,
                default_class=0,
            ),
            queue(
                "wred",
                limit="5 packets",
                profiles=RED_PROFILES,
                classify=[{"class": 0, "protocol": "udp"}],
                default_class=0,
                weight=0.3,
                avpkt="300 B",
                bandwidth=With("100 kbit/s", {"flow": IDLE["flow"], "+weight": 0.3, "+profiles": RED_PROFILES}),
            ),
            queue("ared", limit="5 packets", target="300 ms", bandwidth="100 kbit/s", avpkt="300 B"),
            queue(
                "choke",
                {"min": "4 packets", "max": "12 packets"},
                **{**RED, "bandwidth": With("100 kbit/s", {"flow": IDLE["flow"]})},
                limit="9 packets",
                idle_decay=With(False, {"flow": IDLE["flow"]}),
            ),
        ]
    ),
    "shaper": Section(
        LINE,
        "link.up.shaper",
        {"burst": "3 kB"},
        {"burst": "30 kB", "refill_interval": With("100 ms", {"+burst": "30 kB"}), "line_rate": "2 Mbit/s"},
    ),
    "access kind `trace`": Section(
        of_line(DOWNLOAD, UPLOAD, link={"delay": "9 ms", "down": ONE_RATE, "up": {"queue": "20 packets"}}),
        "link.up.access",
        {"kind": "trace", "opportunities": [1, 7, 9]},
        {"opportunities": [2, 9], "size": "700 B"},
    ),
    "access kind `rates`": Section(
        LINE,
        "link.up.access",
        TWO_RATES,
        {"steps": [{"rate": "1 Mbit/s"}], "repeat": "2 s"},
    ),
    "access kind `reallocation`": Section(
        LINE,
        "link.up.access",
        {"kind": "reallocation", "period": "1 s", "low": "300 kbit/s", "high": "2 Mbit/s"},
        {"period": "500 ms", "low": "200 kbit/s", "high": "5 Mbit/s", "gap": "100 ms", "delay_spread": "50 ms"},
    ),
    "access kind `grants`": Section(LINE, "link.up.access", {"kind": "grants", "error": 0.1}, {"retransmissions": 0}),
    "access kind `aggregation`": Section(
        LINE,
        "link.up.access",
        {"kind": "aggregation"},
        {"contention": "5 ms", "max_size": With("3 kB", {"+max_time": "90 ms"})},
    ),
    "jitter": Section(LINE, "link.up.jitter", {"spread": "20 ms"}, {"spread": "5 ms", "reorder": True}),
    "loss": Section(
        LINE,
        "link.down.loss",
        {},
        {
            "random": 0.1,
            "gilbert": {"to_bad": 0.1, "to_good": 0.5},
            "packets": [3, 9],
            "outages": [["1 s", "1.5 s"]],
        },
    ),
    "stage kind `ack_thinning`": Section(LINE, "link.up.stages.0", {"kind": "ack_thinning"}, {}),
    "stage kind `ack_reconstruct`": Section(
        FILTERED, "link.up.stages.0", {"kind": "ack_reconstruct"}, {"every": 1, "interval": "10 ms", "segment": "300 B"}
    ),
    "stage kind `ack_expand`": Section(
        FILTERED,
        "link.up.stages.0",
        {"kind": "ack_expand"},
        {
            key: With(value, {"link.up.queue.prefix": "spacing", "link.up.queue.prefix_most": 9})
            for key, value in {"side": "entry", "most": 1, "max_delay": "1 ms"}.items()
        },
    ),
    "stage kind `ack_pacing`": Section(
        LINE, "link.up.stages.0", {"kind": "ack_pacing", "rate": "8 Mbit/s"}, {"rate": "2 Mbit/s", "max_delay": "2 ms"}
    ),
    "medium kind `polled`": Section(
        shared("polled"), "topology.medium.0", {}, {"framing": "ethernet", "retries": With(0, {"+loss": 0.1})}
    ),
    "medium kind `packet_radio`": Section(
        shared("packet_radio"),
        "topology.medium.0",
        {"rate": "1 Mbit/s"},
        {"framing": "ethernet", "queue": "2 packets", "latency": "2 ms", "retries": With(0, {"+loss": 0.1})},
    ),
    "medium kind `csma_cd`": Section(shared("csma_cd"), "topology.medium.0", {}, {"framing": "none"}),
    "medium kind `wifi`": Section(
        shared("wifi"),
        "topology.medium.0",
        {"frame_error": 0.1},
        {
            "standard": "802.11n",
            "mcs": 1,
            "width_mhz": 20,
            "streams": 1,
            "guard": "800 ns",
            "rate": "30 Mbit/s",
            "symbol": "100 us",
            "preamble": "90 us",
            "aifsn": 9,
            "edca": False,
            "rts_threshold": "500 B",
            "header": "90 B",
            "amsdu": "4 kB",
            "ampdu": 2,
            "ampdu_size": "4 kB",
            "window": 3,
            "stations": [{"name": "a", "mcs": 0}],
            "cw_max": 15,
            "retries": 0,
            "ppdu_time": "300 us",
        },
    ),
    "medium kind `docsis`": Section(
        shared("docsis"),
        "topology.medium.0",
        {},
        {"cmts": "a", "framing": "none", "burst": "2 kB", "backoff_end": With(3, {"+request_slots": 1})},
    ),
    "delayed ACK": Section(LINE, "stack.delayed_ack", {}, {"mode": "off", "segments": 8, "timeout": "5 ms"}),
    "app kind `bulk`": Section(LINE, "flow.0.app", {"kind": "bulk"}, {}),
    "app kind `transfer`": Section(
        LINE,
        "flow.0.app",
        {"kind": "transfer", "size": "30 kB", "repeat": 3},
        {"size": "9 kB", "repeat": 2, "pause": "50 ms"},
    ),
    "app kind `on_off`": Section(
        LINE, "flow.0.app", {"kind": "on_off", "on": "300 ms", "off": "200 ms"}, {"on": "100 ms", "off": "100 ms"}
    ),
    "app kind `udp`": Section(LINE, "flow.0.app", {"kind": "udp", "rate": "90 kbit/s"}, {"rate": "50 kbit/s"}),
    "app kind `ftp`": Section(
        LINE, "flow.0.app", {"kind": "ftp", "size": "30 kB", "repeat": 2}, {"size": "9 kB", "repeat": 3}
    ),
    "app kind `http`": Section(
        LOSSY, "flow.0.app", {"kind": "http", "pages": 2, "object_size": "5 kB"}, {"pages": 3, "pause": "50 ms"}
    ),
    "app kind `rdra`": Section(
        LOSSY,
        "flow.0.app",
        {"kind": "rdra", "size": "1 MB"},
        {
            "size": "2 MB",
            "mode": "greedy",
            "window": "reno",
            "detection": "every",
            "min_chunk": "90 kB",
            "stall_timeout": With("200 ms", OUTAGE),
        },
    ),
    "app kind `repair`": Section(
        LOSSY,
        "flow.0.app",
        {"kind": "repair", "size": "1 MB"},
        {
            "size": "2 MB",
            "range_connections": With(3, {"stack.placeholders": 0.05}),
            "stall_timeout": With("200 ms", OUTAGE),
        },
    ),
    "transport kind `quic`": Section(
        LOSSY,
        "flow.0.transport",
        {"kind": "quic"},
        {
            "acks": "mvfst",
            "ack_start": With(30, {"+ack_packets": 10}),
            "ack_window_share": 0.5,
            "ack_packets_most": With(3, {"+ack_window_share": 0.5}),
            "ack_delay_rtts": 0.1,
            "cc_source": With("quinn", {"stack.cc": "cubic"}),
            "max_datagram": "1300 B",
            "stream_window": "9 kB",
            "connection_window": "9 kB",
            "send_window": "9 kB",
            "idle_timeout": With("200 ms", OUTAGE),
            "max_ack_delay": "5 ms",
            "gso_packets": 1,
        },
    ),
    "queue limit": Section(
        LINE,
        "link.up.queue.limit",
        {"amount": "20 packets"},
        {
            "amount": "5 packets",
            "bins": With(9, {"+amount": None, "+bins": 5, "+size": "2 kB"}),
            "size": With("1 kB", {"+amount": None, "+bins": 9, "+size": "2 kB"}),
        },
    ),
    "rule": Section(
        changed(
            LINE, "link.up.queue", {"kind": "prio", "bands": TWO_QUEUES, "default_class": 1, "classify": [{"class": 0}]}
        ),
        "link.up.queue.classify.0",
        {"protocol": "tcp"},
        {
            "class": 1,
            "dscp": 46,
            "ecn": "ect0",
            "flow": 3,
            "protocol": "udp",
            "src_port": 9,
            "dst_port": 9,
            "packet": "ack",
        },
    ),
    "htb_class": Section(
        changed(LINE, "link.up.queue", {"kind": "htb", "classes": THREE_CLASSES, "classify": TO_CLASSES}),
        "link.up.queue.classes.2",
        {},
        {
            "parent": "root",
            "rate": "400 kbit/s",
            "ceil": "300 kbit/s",
            "prio": 1,
            "quantum": "9 kB",
            "cburst": "100 B",
            "queue": "3 packets",
        },
    ),
    "drr_class": Section(
        changed(LINE, "link.up.queue", {"kind": "drr", "classes": [{}, {}], "classify": TO_FIRST}),
        "link.up.queue.classes.0",
        {},
        {"quantum": "300 B", "queue": "3 packets"},
    ),
    "cbwfq_class": Section(
        changed(LINE, "link.up.queue", {"kind": "cbwfq", "classes": TWO_CLASSES, "classify": TO_FIRST}),
        "link.up.queue.classes.0",
        {},
        {"bandwidth": "500 kbit/s", "burst": With("9 kB", {"+priority": True}), "queue": "1 packets"},
    ),
    "wred_profile": Section(
        changed(LINE, "link.up.queue", {"kind": "wred", "profiles": RED_PROFILES}),
        "link.up.queue.profiles.2",
        {},
        {"min": "1 packets", "max": "6 packets", "probability": 0.9},
    ),
    "rate step": Section(
        changed(LINE, "link.up.access", TWO_RATES), "link.up.access.steps.1", {}, {"at": "2 s", "rate": "500 kbit/s"}
    ),
    "gilbert": Section(
        LINE, "link.down.loss.gilbert", {"to_bad": 0.1, "to_good": 0.5}, {"to_bad": 0.2, "to_good": 0.2}
    ),
    "wifi station": Section(
        shared("wifi"),
        "topology.medium.0.stations.0",
        {"name": "a", "frame_error": 0.1},
        {"name": "b", "rate": "9 Mbit/s", "mcs": 1, "acknowledge": False, "reorder": False, "frame_error": 0.3},
    ),
}


class Key(NamedTuple):
    section: str
    name: str
    kind: str
    default: str

    @property
    def id(self) -> str:
        return f"{self.section}-{self.name}"


def page_keys() -> list[Key]:
    """Returns the keys that the tables in docs/scenario.md list."""
    found: list[Key] = []
    section = ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"##+ Keys of (?:an? )?(.+)", line):
            section = re.sub(r"^`(\w+)`(?: with `kind = \"([\w-]+)\"`)?$", section_name, heading[1])
        elif line.startswith("| `"):
            name, kind, default = (cell.strip() for cell in line.split(" | ")[:3])
            found.append(Key(section, name.strip("|` "), kind, default))
    return found


def section_name(heading: re.Match[str]) -> str:
    table, kind = heading.groups()
    return f"{table} kind `{kind}`" if kind else table


def other_than(key: Key) -> Any:
    """Returns a value that differs from the default of the key."""
    default = key.default.partition(";")[0]
    if default in ("true", "false"):
        return default == "false"
    if re.fullmatch(r"[0-9.]+", default):
        number = float(default)
        if "." in default or "probability" in key.kind:
            return number / 3 if number * 3 > 1 else number * 3 or 0.3
        return int(default) * 2 + 3
    if found := re.fullmatch(r"([0-9.]+) ([A-Za-z/]+)", default):
        return f"{float(found[1]) * 2 + 3:g} {found[2]}"
    if words := [word for word in re.findall("`([^`]+)`", key.kind) if word not in (default, "true", "false")]:
        return words[0]
    raise AssertionError(f"SECTIONS has no value of the key {key.name} in {key.section}")


NAMES = "it names a part of the scenario"
ELSEWHERE = {
    "scenario file-sweep": "`lopsided sweep` reads it (test_sweeps.py); `run` makes one run without it",
    "scenario-name": NAMES,
    "scenario-title": NAMES,
    "flow-name": NAMES,
    "topology link-name": NAMES,
    **{f"medium kind `{kind}`-name": NAMES for kind in ("polled", "packet_radio", "csma_cd", "wifi", "docsis")},
    "access kind `trace`-file": "a resolved scenario contains `opportunities` instead",
    "app kind `custom`-name": "only a Rust program can supply the application",
}
"""Keys that need not change a run, each with the reason. The next test skips these keys."""


class Outcome(NamedTuple):
    """All results of a run that a key can change."""

    resolved: str
    results: tuple[str, ...]
    notes: frozenset[str]


@functools.cache
def outcome(text: str) -> Outcome:
    scenario = lop.Scenario.from_text(text)
    run = scenario.run()
    tables = [run.samples, run.events, run.tcp_events, run.traces, run.fetches]
    shapes = [str(table.to_polars().shape) for table in tables]
    if scenario.asks_for_fairness:
        shapes += [run.fairness().text, str([*run.fairness().groups.rows()])]
    return Outcome(scenario.to_toml(), (run.digest, *shapes), frozenset(doubts(scenario)))


def pair(key: Key, *, needs: bool = True) -> tuple[Table, Table]:
    """Returns two scenarios that differ only in the value of the key."""
    section = SECTIONS[key.section]
    value = section.values[key.name] if key.name in section.values else other_than(key)
    base = section.base
    for name, setting in section.part.items():
        base = changed(base, of_table(section, name), setting)
    if isinstance(value, With):
        for needed, setting in value.needs.items() if needs else ():
            base = changed(base, of_table(section, needed[1:]) if needed.startswith("+") else needed, setting)
        value = value.value
    return base, changed(base, of_table(section, key.name), value)


def of_table(section: Section, key: str) -> str:
    return f"{section.path}.{key}".lstrip(".")


def compared(key: Key, *, needs: bool) -> bool:
    """Returns true if the key changes the results, or if a note names the key."""
    before, after = (outcome(scenario_text(tables)) for tables in pair(key, needs=needs))
    assert before.resolved != after.resolved, "the value is the default"
    if before.results != after.results or any(f"`{key.name}`" in note for note in after.notes - before.notes):
        return True
    # Also accept a note that the whole part that contains the key, such as the queue, has no effect.
    part = re.search(r"kind `(.+)`", key.section)
    return part is not None and any(f"`{part[1]}` has no effect" in note for note in after.notes)


KEYS = page_keys()


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in KEYS if key.id not in ELSEWHERE])
def test_every_key_changes_the_run(key: Key):
    assert compared(key, needs=True)


def test_only_keys_of_the_page_are_tested():
    tested = {f"{section}-{key}" for section, found in SECTIONS.items() for key in found.values}
    assert (tested | ELSEWHERE.keys()) <= {key.id for key in KEYS}


DEPENDENT = [
    key for key in KEYS if key.section in SECTIONS and isinstance(SECTIONS[key.section].values.get(key.name), With)
]
TRAFFIC = {
    "flow-group": "the fairness metrics and the reports use the group",
    "stack-ecn_fallback": "no SYN is lost",
    "stack-frto": "no timeout expires too early",
    "stack-dup_threshold": "RACK uses the threshold until it measures reordering",
    "stack-ack_before_read": "the receive buffer is larger than the window",
    "stack-window_update": "the application reads all data at once",
    "stack-duplicates": "no data arrives between duplicate ACKs",
    "stack-dscp": "no queue reads it, but captures show it",
    "header_compression-slots": "the timestamps of each packet differ, so cslip compresses none",
    "queue kind `fq_codel`-drop_batch": "the limit is not exceeded",
    "queue kind `fq_pie`-ecn": "the probability is above mark_threshold",
    "queue kind `fq_pie`-bytemode": "no flow has both large and small packets",
    "queue kind `cobalt`-p_inc": "the queue does not overflow",
    "queue kind `cobalt`-p_dec": "the queue does not overflow",
    "access kind `aggregation`-max_size": "an aggregate takes max_time",
    "medium kind `packet_radio`-retries": "no frame is lost",
    "medium kind `docsis`-backoff_end": "requests collide seldom",
    "app kind `repair`-stall_timeout": "no connection stalls",
    "transport kind `quic`-idle_timeout": "packets arrive all the time",
}
"""Keys whose effect depends on the packets of a run, each with the reason why the tested run shows no effect. A note
before the run is not possible for these keys."""


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in DEPENDENT if key.id not in TRAFFIC])
def test_a_key_whose_condition_is_not_met_changes_the_run_or_causes_a_note(key: Key):
    try:
        assert compared(key, needs=False)
    except (lop.ScenarioError, lop.RunError) as refusal:
        assert key.name in str(refusal)


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in DEPENDENT if key.id in TRAFFIC])
def test_a_key_that_depends_on_the_packets_needs_its_reason(key: Key):
    assert not compared(key, needs=False), "remove the key from TRAFFIC"
