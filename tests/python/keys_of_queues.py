"""The tables of docs/scenario.md that describe queue disciplines."""

from __future__ import annotations

from typing import Any

from key_section import DOWNLOAD, LINE, TWO_QUEUES, UPLOAD, Section, Table, With, changed, of_line


def queue(kind: str, part: Table | None = None, base: Table = LINE, **values: Any) -> tuple[str, Section]:
    return f"queue kind `{kind}`", Section(base, "link.up.queue", {"kind": kind, **(part or {})}, values)


IDLE = of_line(DOWNLOAD, {**UPLOAD, "count": 3, "app": {"kind": "on_off", "on": "200 ms", "off": "300 ms"}})
L4S = of_line(DOWNLOAD, {**UPLOAD, "count": 2}, {**UPLOAD, "name": "fast", "cc": "prague"})
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

QUEUES: dict[str, Section] = {
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
}
