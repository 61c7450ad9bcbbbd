"""The tables of docs/scenario.md that describe flows, TCP stacks, applications, and the records of a run."""

from __future__ import annotations

from key_section import DOWNLOAD, DUMBBELL, LINE, LOSSY, PAGES, TWO_QUEUES, UPLOAD, Section, With, of_line

PAUSE = {
    "kind": "rates",
    "steps": [{"rate": "8 Mbit/s"}, {"at": "1 s", "rate": "1 kbit/s"}, {"at": "2 s", "rate": "8 Mbit/s"}],
}
OUTAGE = {"link.down.loss": {"outages": [["500 ms", "2 s"]]}}
STACKS = of_line(
    DOWNLOAD,
    UPLOAD,
    {**PAGES, "app": {"kind": "transfer", "size": "30 kB", "repeat": "forever"}},
    {**UPLOAD, "name": "backup", "cc": "reno"},
)
STACKS["link"]["down"] |= {"queue": {"kind": "red", "ecn": True, "limit": "30 packets"}, "loss": {"random": 0.02}}
STACKS["link"]["down"]["jitter"] = {"spread": "9 ms", "reorder": True}

FLOWS: dict[str, Section] = {
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
            "ack_before_read": With(False, {"+profile": "freebsd-7"}),
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
}
