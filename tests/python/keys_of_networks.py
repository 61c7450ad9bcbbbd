"""The tables of docs/scenario.md that describe lines, topologies and media."""

from __future__ import annotations

import copy

from key_section import DOWNLOAD, DUMBBELL, LINE, LOSSY, UPLOAD, Section, Table, With, changed, of_line

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
FILTERED = copy.deepcopy(LINE)
FILTERED["link"]["up"]["queue"] = {"kind": "ack_filter"}
TWO_RATES = {"kind": "rates", "steps": [{"rate": "1 Mbit/s"}, {"at": "1 s", "rate": "300 kbit/s"}]}

NETWORKS: dict[str, Section] = {
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
