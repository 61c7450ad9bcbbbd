"""Computes tables of measurements with QUIC flows. Most tables compare QUIC with TCP. Cells are medians over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from lopsided import _native
from lopsided.scenario import Run, Scenario
from lopsided.studies.ackpath import ackpath, two_way
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from reference.quic.envelope import moved_onto, overlap

Settings = Mapping[str, Any]

SEEDS = 5
UPLINKS = (100, 200, 300, 400)

_QUIC_2: Settings = {"flow.download.cc": "cubic", "flow.download.transport": "quic"}
LADDER: Mapping[str, Settings] = {
    "QUIC, CUBIC, 1:2": _QUIC_2,
    "QUIC, CUBIC, 1:10 by the receiver": {**_QUIC_2, "flow.download.transport.ack_packets": 10},
    "QUIC, CUBIC, 1:10 by ACK_FREQUENCY": {
        **_QUIC_2,
        "flow.download.transport.ack_packets": 10,
        "flow.download.transport.ack_frequency": True,
        "flow.download.transport.reordering_threshold": 0,
    },
    "QUIC, CUBIC, as Chrome": {**_QUIC_2, "flow.download.transport.acks": "chrome"},
    "QUIC, CUBIC, as picoquic": {**_QUIC_2, "flow.download.transport.acks": "picoquic"},
    "QUIC, quinn's CUBIC, 1:2": {**_QUIC_2, "flow.download.transport.cc_source": "quinn"},
    "QUIC, quinn's CUBIC, 1:10 by ACK_FREQUENCY": {
        **_QUIC_2,
        "flow.download.transport.cc_source": "quinn",
        "flow.download.transport.ack_packets": 10,
        "flow.download.transport.ack_frequency": True,
        "flow.download.transport.reordering_threshold": 0,
    },
    "TCP, CUBIC": {"flow.download.cc": "cubic"},
    "TCP, BBR": {"flow.download.cc": "bbr"},
}


def ladder() -> list[str]:
    """Returns a table with the goodput of a 10 MB download at several uplink rates. The downlink rate is 10 Mbit/s, the
    RTT 20 ms, and the buffer 50 packets."""
    return _ladder({"rtt": "20 ms", "queue": "50 packets"})


def picoquic() -> list[str]:
    """Returns a table with the goodput of a 10 MB download at several uplink rates, on the path of picoquic's test
    bbr_asym100: a delay of 1 ms in each direction, 0.75 ms of jitter, and a buffer of 50 ms."""
    # picoquic's link accepts a packet if the packets queued before it take at most 50 ms. The buffer must therefore be
    # 50 ms plus one packet.
    return _ladder(
        {"rtt": "2 ms", "jitter": "0.75 ms", "queue": {"limit": "64 kB"}},
        lambda up: {"link.up.queue.limit": f"{round(6.25 * up) + 1228} B"},
    )


def _ladder(line: Settings, also: Callable[[int], Settings] = lambda _: {}) -> list[str]:
    tables = {
        "scenario": {"duration": "120 s"},
        "link": {"down": {"rate": "10 Mbit/s"}, "up": {"rate": "100 kbit/s"}, **line},
        "flow": [{"name": "download", "direction": "down", "app": "10 MB"}],
    }
    base = Scenario.build(tables, "ladder")
    arms = [(name, up) for name in LADDER for up in UPLINKS]
    changed = [base.with_(**{"link.up.rate": f"{up} kbit/s", **also(up), **LADDER[name]}) for name, up in arms]

    def measure(run: Run) -> tuple[float, float]:
        row = next(iter(run.flows.rows()))
        up = next(each for each in run.links.rows() if each["direction"] == "up")
        return row["goodput_bps"] / 1e6, up["sent_packets"] / max(row["data_segments_in"], 1)

    cells = _medians(changed, measure)
    rows = [
        [name, *(f"{rate:.2f} ({ratio:.2f})" for rate, ratio in cells[number * 4 : number * 4 + 4])]
        for number, name in enumerate(LADDER)
    ]
    return _markdown(["uplink (kbit/s)", *map(str, UPLINKS)], rows)


_TCP_ARMS = {"none": "TCP", "filter": "TCP, filter", "few_acks": "TCP, few ACKs"}
_QUIC_ARMS = {
    "none": "QUIC",
    "quic_10": "QUIC, 1:10",
    "quic_ask_10": "QUIC, 1:10 requested",
    "quic_chrome": "QUIC, as Chrome",
    "quic_picoquic": "QUIC, as picoquic",
}
_WIDE: Settings = {"stream_window": "16 MB", "send_window": "32 MB"}
"""Flow control windows that are large enough for every preset. quinn's default windows are sized for 100 Mbit/s and an
RTT of 100 ms."""


def presets() -> list[str]:
    """Returns a table with the goodput of a download and of a simultaneous upload in Mbit/s, for each access line and
    with one seed."""
    head = ["line", *_TCP_ARMS.values(), *_QUIC_ARMS.values(), "QUIC, filter"]
    return _markdown(head, [preset(name) for name, *_ in _native.presets()])


def preset(name: str) -> list[str]:
    """Returns the row of the table `presets` for one access line."""
    tcp = two_way(name).with_(**{"flow.*.cc": "cubic"})
    quic = tcp.with_(**{"flow.*.transport": {"kind": "quic", **_WIDE}})
    of_tcp = ackpath(tcp, list(_TCP_ARMS), repeat=1)
    of_quic = ackpath(quic, [*_QUIC_ARMS, "filter"], repeat=1)
    cells = [_cells(of_tcp.cells.rows(), arm) for arm in _TCP_ARMS]
    cells += [_cells(of_quic.cells.rows(), arm) for arm in _QUIC_ARMS]
    digests = {row["remedies"]: row["digest"] for row in of_quic.runs.rows()}
    # The filter must not change a run of QUIC, because QUIC encrypts its ACKs.
    return [name, *cells, "the same run" if digests["filter"] == digests["none"] else "differs"]


def _cells(rows: Iterable[Mapping[str, Any]], arm: str) -> str:
    row = next(each for each in rows if each["remedies"] == arm)
    return f"{row['down_goodput_bps'] / 1e6:.1f} / {row['up_goodput_bps'] / 1e6:.2f}"


_DOWNLOADS = {
    "one TCP download": ("tcp",),
    "one QUIC download": ("quic",),
    "one TCP and one QUIC download": ("tcp", "quic"),
}


def ack_filter() -> list[str]:
    """Returns a table with each flow's goodput through CAKE on a 50/1 Mbit/s line, with and without CAKE's ACK
    filter."""
    rows: list[list[str]] = []
    for name, transports in _DOWNLOADS.items():
        for busy in (False, True):
            flows = [{"name": kind, "direction": "down", "cc": "cubic", "transport": kind} for kind in transports]
            flows += [{"name": "upload", "direction": "up", "cc": "cubic"}] if busy else []
            cake = {"kind": "cake", "bandwidth": "980 kbit/s"}
            link = {
                "rtt": "40 ms",
                "down": {"rate": "50 Mbit/s", "queue": {"kind": "cake", "bandwidth": "49 Mbit/s"}},
                "up": {"rate": "1 Mbit/s", "queue": cake},
            }
            plain = Scenario.build({"scenario": {"duration": "60 s"}, "link": link, "flow": flows}, "filter")
            filtered = plain.with_(**{"link.up.queue": {"kind": "ack_filter", "rule": "conservative", "queue": cake}})

            def measure(run: Run) -> tuple[float, ...]:
                return tuple(row["goodput_bps"] / 1e6 for row in run.flows.rows())

            without, with_filter = _medians([plain, filtered], measure)
            for number, kind in enumerate([*transports, *(["upload"] if busy else [])]):
                what = "upload (TCP)" if kind == "upload" else str(kind).upper()
                change = with_filter[number] / without[number] - 1
                rows.append(
                    [
                        name + (", and an upload" if busy else ""),
                        what,
                        f"{without[number]:.2f}",
                        f"{with_filter[number]:.2f}",
                        f"{100 * change:+.0f} %",
                    ]
                )
    return _markdown(["downloads", "flow", "without filter (Mbit/s)", "with filter (Mbit/s)", "change"], rows)


_QUEUES = {
    "FIFO, 1 BDP": {"limit": "1 BDP"},
    "fq_codel": {"kind": "fq_codel"},
    "CAKE": {"kind": "cake", "bandwidth": "19.5 Mbit/s"},
    "DualPI2": {"kind": "dualpi2"},
}


def shares() -> list[str]:
    """Returns a table with the share of the goodput that a QUIC flow gets next to one TCP flow, without and with
    ECN."""
    pairs = [("reno", "reno"), ("cubic", "cubic"), ("bbr", "cubic"), ("bbr", "reno")]
    arms = [(tcp, quic, queue, ecn) for tcp, quic in pairs for ecn in (False, True) for queue in _QUEUES]

    def scenario(tcp: str, quic: str, queue: str, ecn: bool) -> Scenario:
        down = {"rate": "20 Mbit/s", "queue": _QUEUES[queue]}
        over_tcp = {"cc": tcp, "stack": {"ecn": "on" if ecn else "off"}}
        over_quic = {"cc": quic, "transport": {"kind": "quic", "ecn": ecn}}
        tables = {
            "scenario": {"duration": "40 s"},
            "link": {"rtt": "40 ms", "down": down, "up": {"rate": "20 Mbit/s"}},
            "flow": [
                {"name": "tcp", "direction": "down", **over_tcp},
                {"name": "quic", "direction": "down", **over_quic},
            ],
        }
        return Scenario.build(tables, "shares")

    def measure(run: Run) -> tuple[float, float]:
        tcp, quic = (row["goodput_bps"] for row in run.flows.rows())
        return quic / (tcp + quic), (tcp + quic) / 1e6

    cells = _medians([scenario(*arm) for arm in arms], measure, 3)
    rows: list[list[str]] = []
    for start in range(0, len(arms), len(_QUEUES)):
        tcp, quic, _, ecn = arms[start]
        found = cells[start : start + len(_QUEUES)]
        rows.append(
            [
                f"TCP {tcp} against QUIC {quic}",
                "on" if ecn else "off",
                *(f"{100 * share:.0f} % of {total:.1f}" for share, total in found),
            ]
        )
    return _markdown(["pair", "ECN", *_QUEUES], rows)


CONTROLS = (
    *("reno", "newreno", "cubic", "cubic-hystart++", "cubic-slow-start", "cubic-0.8", "bic", "highspeed", "htcp"),
    *("westwood", "vegas", "scalable", "hybla", "illinois", "veno", "yeah", "compound"),
)
"""Every congestion control that can run over QUIC, except `cubic-ns3`, which is CUBIC for the suite
`ns3-validation`."""
_ALONE = {
    "scenario": {"duration": "40 s"},
    "stack": {"ecn": "off"},
    "link": {
        "rtt": "40 ms",
        "queue": {"limit": "1 BDP"},
        "down": {"rate": "20 Mbit/s"},
        "up": {"rate": "20 Mbit/s"},
    },
    "flow": [{"name": "it", "direction": "down"}],
    "record": {"interval": "500 ms"},
}


def controls() -> list[str]:
    """Returns a table that compares each congestion control over TCP and over QUIC, in a download without other
    traffic: goodput, RTT, and the overlap of the envelopes."""
    rows: list[list[str]] = []
    base = Scenario.build(_ALONE, "alone")
    quic = {"flow.it.transport": "quic", "flow.it.transport.ecn": False}
    arms = [(name, name, "lopsided") for name in CONTROLS]
    arms += [("reno", "quinn's NewReno", "quinn"), ("cubic", "quinn's CUBIC", "quinn")]

    def measure(run: Run) -> tuple[float, float, list[tuple[float, float]]]:
        row = next(iter(run.flows.rows()))
        return row["goodput_bps"] / 1e6, row["rtt_mean_ms"], _points(run)

    for cc, name, source in arms:
        tcp = [each.with_(**{"flow.it.cc": cc}) for each in [base]]
        over_quic = [each.with_(**{"flow.it.cc": cc, "flow.it.transport.cc_source": source} | quic) for each in [base]]
        jobs = [Job(each, seed) for each in (*tcp, *over_quic) for seed in range(1, 4)]
        found = run_jobs(jobs, lambda _, run: measure(run))
        of_tcp, of_quic = found[:3], found[3:]
        tcp_points, quic_points = ([p for one in found for p in one[2]] for found in (of_tcp, of_quic))
        shared = overlap(tcp_points, quic_points)
        alike = overlap(tcp_points, moved_onto(quic_points, tcp_points))
        rows.append(
            [
                name,
                *(f"{median(one[0] for one in of):.2f}" for of in (of_tcp, of_quic)),
                *(f"{median(one[1] for one in of):.0f}" for of in (of_tcp, of_quic)),
                f"{100 * shared:.0f} %",
                f"{100 * alike:.0f} %",
            ]
        )
    head = ["control", "TCP (Mbit/s)", "QUIC (Mbit/s)", "TCP RTT (ms)", "QUIC RTT (ms)", "overlap", "overlap, moved"]
    return _markdown(head, rows)


def _points(run: Run) -> list[tuple[float, float]]:
    """Returns, for each interval of 0.5 s, the mean RTT in ms and the throughput in Mbit/s. The first 10 s are
    excluded."""
    samples = [row for row in run.samples.rows() if row["time_s"] > 10 and row["rtt_count"]]
    return [
        (now["rtt_sum_ms"] / now["rtt_count"], (now["delivered_bytes"] - before["delivered_bytes"]) * 16e-6)
        for before, now in pairwise(samples)
    ]


def _medians(scenarios: Sequence[Scenario], measure: Any, seeds: int = SEEDS) -> list[tuple[float, ...]]:
    """Runs each scenario with several seeds. Returns one tuple per scenario with the median of each measured value."""
    jobs = [Job(each, seed) for each in scenarios for seed in range(1, seeds + 1)]
    found = run_jobs(jobs, lambda _, run: measure(run))
    groups = [found[start : start + seeds] for start in range(0, len(found), seeds)]
    return [tuple(median(values) for values in zip(*group, strict=True)) for group in groups]


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]
