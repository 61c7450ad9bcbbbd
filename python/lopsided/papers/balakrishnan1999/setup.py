"""The paper's networks, protocols and loads, and the experiments on them (sections 4 to 9).

A remedy is a set of scenario keys, so each remedy can be combined with each network. An experiment that uses no random
numbers runs once. If its result is sensitive to small changes, it runs once for each of `RETURN_DELAYS_MS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lopsided.papers.balakrishnan1999 import measure
from lopsided.papers.framework.measurements import Label
from lopsided.papers.framework.model import Case, Experiment, Overrides

FORWARD_BPS = 10e6
PACKET_BYTES, ACK_BYTES, COMPRESSED_BYTES = 1000, 40, 6
"""Packet sizes in bytes: a data packet with headers, an ACK, and an ACK with compressed headers."""


@dataclass(frozen=True)
class Line:
    """A return line: its rate in bit/s, and the size of an ACK on it in bytes."""

    key: str
    rate_bps: float
    ack_bytes: int

    @property
    def title(self) -> str:
        """The line's name in reports, such as "28.8 kbit/s, compressed"."""
        compressed = ", compressed" if self.ack_bytes == COMPRESSED_BYTES else ""
        return f"{self.rate_bps / 1e3:g} kbit/s{compressed}"

    @property
    def overrides(self) -> Overrides:
        """The scenario keys of the line. Headers are also compressed on the LANs, because an ACK has the same size on
        all links in the authors' simulator."""
        fixed = f'{{ scheme = "fixed", octets = {COMPRESSED_BYTES} }}'
        compression = fixed if self.ack_bytes == COMPRESSED_BYTES else "none"
        places = {f"{link}.up.header_compression": compression for link in ("link", "lan")}
        return {"link.up.rate": f"{self.rate_bps / 1e3:g} kbit/s", **places}


LINES = (
    Line("9.6", 9600, ACK_BYTES),
    Line("9.6C", 9600, COMPRESSED_BYTES),
    Line("28.8", 28800, ACK_BYTES),
    Line("28.8C", 28800, COMPRESSED_BYTES),
)
"""The return lines of figure 8. A name that ends in "C" means that the line uses header compression."""

SLOWEST, COMPRESSED_SLOW, UNCOMPRESSED, DIALUP = LINES


@dataclass(frozen=True)
class Scheme:
    """A scheme that the paper compares: a queue before the slow line, and changes to TCP."""

    key: str
    title: str
    tables: tuple[int, ...] = ()
    """Numbers of the paper's tables that contain the scheme."""
    filtered: bool = False
    acks_first: bool = False
    marked: bool = False
    """True for ACC: RED marks ACKs, and the receiver then sends fewer ACKs."""
    adapted: bool = False
    """True for SA: the window grows by acknowledged bytes, and the sender sends bursts of at most `MAX_BURST`
    segments."""
    reconstructed: bool = False
    """True for AR: ACKs are reconstructed after the return line."""
    forced: bool = False
    """True if RED drops above its upper threshold, as in the authors' code. In the text, RED marks until the queue is
    full."""
    spared: bool = False
    """True if RED marks only data packets. ACC then has no effect (section 7.1.3)."""

    def queue(self, limit: int, acks_alone: bool = False, *, implemented: bool = False) -> str:
        """Returns the queue discipline before the return line, as TOML.

        The authors' drop-tail queues store one packet less than their limit. If the queue is full, an arriving ACK is
        dropped before the filter can remove an older ACK.

        Parameters
        ----------
        limit
            The authors' limit in packets.
        acks_alone
            True if the queue stores only ACKs. RED's thresholds are then in bytes, because 1.5 ACKs are not a whole
            number of packets.
        implemented
            True for the filter of section 8.4. It also removes ACKs with the same number and a different window, and it
            removes older ACKs from a full queue.
        """
        plain = f'{{ kind = "fifo", limit = "{limit - 1} packets" }}'
        if self.marked:
            thresholds = RED_THRESHOLDS_OF_ACKS if acks_alone else RED_THRESHOLDS
            plain = RED.format(
                limit=limit,
                thresholds=thresholds,
                harddrop=str(self.forced).lower(),
                marks="data" if self.spared else "all",
            )
        if self.acks_first:
            plain = f'{{ kind = "prio", bands = [{plain}, {plain}] }}'
        if not self.filtered:
            return plain
        if implemented:
            return f'{{ kind = "ack_filter", rule = "window", queue = {plain} }}'
        below = "" if self.acks_first else f', below = "{limit - 1} packets"'
        return f'{{ kind = "ack_filter", queue = {plain}{below} }}'

    def overrides(self, place: str = "link.up.queue", acks_alone: bool = False) -> Overrides:
        """Returns the scenario keys of the scheme. `place` is the key of the slow line's queue."""
        found = {place: self.queue(10, acks_alone)}
        if self.adapted:
            found |= {"stack.max_burst": str(MAX_BURST), "stack.abc": EVERY_OCTET}
        if self.marked and not self.forced:
            # Section 6.1: "Upon receiving a packet with ECN set, the sender reduces its sending rate".
            found |= {"stack.ecn": "on"}
        if self.marked and not self.spared:
            found |= {"stack.ack_policy": "acc", "stack.max_delack": "25", "stack.min_acks_per_window": "2"}
        if self.reconstructed:
            found |= {"link.up.stages": RECONSTRUCT}
        return found


MAX_BURST = 4
EVERY_OCTET = "1000"
"""Limit of byte counting (L in RFC 3465). It is so high that an ACK for s segments always counts as s segments."""

RED = (
    '{{ kind = "red", limit = "{limit} packets", {thresholds}, weight = 0.01, '
    'probability = 0.1, ecn = true, harddrop = {harddrop}, marks = "{marks}", victim = "random", avpkt = "500 B", '
    "count_first = true, least = 2 }}"
)
"""RED with the parameters of the authors' example scripts, except for `harddrop`.

Section 7.1.1: "mark packets (acks) and drop packets when the queue is full". In the scripts, RED drops above the upper
threshold.
"""

RED_THRESHOLDS = 'min = "2 packets", max = "6 packets"'
RED_THRESHOLDS_OF_ACKS = 'min = "60 B", max = "240 B"'
"""RED's thresholds in bytes: the sizes of 1.5 and 6 ACKs, because the authors' thresholds are 1.5 and 6 packets."""

RECONSTRUCT = (
    '[{ kind = "ack_reconstruct", every = 2, threshold = 2, gain = 0.25, interval = "10 ms", segment = "960 B", '
    'spacing = "interval", max_delay = "100 s" }]'
)
"""AR as in the authors' code. Neither this code nor the text (section 6.4) limits the time for which an ACK waits, so
the limit is longer than any run.
"""

RENO = Scheme("reno", "Reno", (1, 2, 3, 5, 6))
ACC_SA = Scheme("acc_sa", "ACC/SA", (1, 2, 3, 5), marked=True, adapted=True)
AF_SA = Scheme("af_sa", "AF/SA", (1, 2, 3, 5, 6), filtered=True, adapted=True)
AF_AR = Scheme("af_ar", "AF/AR", (1, 3), filtered=True, reconstructed=True)
AF_ALONE = Scheme("af", "AF alone", (1,), filtered=True)

ACC_SA_CODE = replace(ACC_SA, key="acc_sa_code", title="ACC/SA, RED as in the authors' code", tables=(), forced=True)
"""ACC/SA as in the authors' code: RED drops packets above its upper threshold."""
DATA_MARKED = replace(ACC_SA, key="data_marked", title="RED marks data only", tables=(), adapted=False, spared=True)
"""Section 7.1.3: RED marks the upload's data packets, and ACC is off."""
CODE_SCHEMES: tuple[Scheme, ...] = (RENO, ACC_SA_CODE, AF_SA, AF_AR, AF_ALONE)
"""Schemes as in the authors' code, for the tables that compare the simulator with this code."""

SCHEMES: tuple[Scheme, ...] = (RENO, ACC_SA, AF_SA, AF_AR, AF_ALONE)
"""Schemes of the simulations, in the order of table 1."""

RADIO_SCHEMES = (RENO, ACC_SA, AF_SA, AF_ALONE)


def with_acks_first(scheme: Scheme) -> Scheme:
    """Returns the scheme with a return-line queue that sends ACKs before data."""
    tables = (3,) if scheme is not RENO else ()
    title = f"{scheme.title} + acks-first"
    return replace(scheme, key=f"{scheme.key}_first", title=title, tables=tables, acks_first=True)


RENO_FIRST, ACC_SA_FIRST, AF_SA_FIRST, AF_AR_FIRST = map(with_acks_first, (RENO, ACC_SA, AF_SA, AF_AR))

TWO_WAY_SCHEMES: tuple[Scheme, ...] = (
    RENO,
    RENO_FIRST,
    ACC_SA,
    ACC_SA_FIRST,
    AF_SA,
    AF_SA_FIRST,
    AF_AR,
    AF_AR_FIRST,
    DATA_MARKED,
)
"""The schemes of table 3, and the scheme of section 7.1.3."""

RETURN_DELAYS_MS = (49.6, 49.8, 50.0, 50.2, 50.4)
"""Delays of the return line in ms, one run each. Case B uses no random numbers, so repetitions with one delay would be
identical."""

SERIES = range(5)
"""Indices of the series. A series consists of 10 runs. Most table cells of the paper report one series, and a cell with
50 runs reports five series."""

BUFFERS_KB = (4, 8, 16, 24, 32, 48, 64)
"""Socket buffer sizes in the measured transfers, in kB."""

TOSSED = 4
"""Number of seeds of the experiments in which a single seed often reverses a verdict."""

HOSTS = (1, 5, 10, 20, 30, 40, 50)
HOPS = (1, 2, 3)
CONNECTIONS = (1, 2, 4, 6, 8, 10, 12)


def cases(
    scenario: str,
    schemes: Iterable[Scheme],
    settings: Iterable[tuple[Mapping[str, Label], Overrides]] = (({}, {}),),
    place: str = "link.up.queue",
    acks_alone: bool = False,
) -> tuple[Case, ...]:
    """Returns a case for every scheme in every setting.

    Parameters
    ----------
    scenario
        Scenario file.
    schemes
        Schemes to run.
    settings
        Each setting's labels and scenario keys.
    place
        Key of the slow line's queue.
    acks_alone
        True if the queue stores only ACKs.
    """
    settings = tuple(settings)
    return tuple(
        Case(
            scenario, {**overrides, **scheme.overrides(place, acks_alone=acks_alone)}, {"scheme": scheme.key, **labels}
        )
        for scheme in schemes
        for labels, overrides in settings
    )


CASE_B = {
    "stack.max_window": "120 segments",
    "stack.remembered_threshold": "120 segments",
    "link.down.queue": "9 packets",
    "lan.queue": "9 packets",
}
"""Scenario keys of case B: every queue is limited to 10 packets, and the window to 120 packets."""

ONE_WAY = Experiment(
    key="one-way",
    summary="case A: one download for 50 s over four return lines, without forward loss",
    cases=cases(
        "hybrid.toml",
        (*SCHEMES, ACC_SA_CODE),
        [({"line": line.key}, line.overrides) for line in LINES],
        acks_alone=True,
    ),
    measure=measure.one_way,
    most=1,
)

LOSSY = Experiment(
    key="lossy",
    summary="case B: the same with every queue of 10 packets, so that packets are lost forward; ACC with more seeds",
    cases=tuple(
        # Only RED uses random numbers.
        replace(case, draws=scheme.marked)
        for scheme in (*SCHEMES, ACC_SA_CODE)
        for case in cases(
            "hybrid.toml",
            [scheme],
            [({"return_delay_ms": delay}, {**CASE_B, "link.up.delay": f"{delay:g} ms"}) for delay in RETURN_DELAYS_MS],
            acks_alone=True,
        )
    ),
    measure=measure.one_way,
    keep=True,
    usual=TOSSED,
)

TWO_DOWNLOADS = Experiment(
    key="two-downloads",
    summary="a second download that starts 5 to 10 s after the first",
    cases=cases("hybrid-two.toml", SCHEMES, acks_alone=True),
    measure=measure.two_downloads,
    usual=3,
    full_repetitions=10,
)

TWO_WAY = Experiment(
    key="two-way",
    summary="an upload that starts 5 to 10 s after the download",
    cases=tuple(
        case
        for scheme in TWO_WAY_SCHEMES
        for series in (SERIES if scheme is RENO else SERIES[:1])
        for case in cases(
            "hybrid-two-way.toml", [scheme], [({"series": series}, {"scenario.seed": str(1 + 1000 * series)})]
        )
    ),
    measure=measure.two_way,
    keep=True,
    full_repetitions=50,
)

RADIO = Experiment(
    key="radio",
    summary="a download for 100 s over one, two and three hops of packet radio",
    cases=tuple(
        case
        for hops in HOPS
        for case in cases(f"radio-{hops}.toml", RADIO_SCHEMES, [({"hops": hops}, {})], "topology.medium.radio.queue")
    ),
    measure=measure.radio,
    usual=3,
    full_repetitions=5,
    keep=True,
)

RADIO_MANY = Experiment(
    key="radio-many",
    summary="one to twelve downloads over one hop of packet radio",
    cases=cases(
        "radio-1.toml",
        RADIO_SCHEMES,
        [({"connections": number}, {"flow.transfer.count": str(number)}) for number in CONNECTIONS],
        "topology.medium.radio.queue",
    ),
    measure=measure.radio,
    usual=TOSSED,
    full_repetitions=TOSSED,
)

RETURNS: Mapping[str, Overrides] = {
    "SLIP": {},
    "CSLIP": {"link.up.rate": f"{28.8 * 52 / 18:g} kbit/s"},
    "Ethernet": {"link.up.rate": "10 Mbit/s", "link.up.delay": "1 ms", "link.up.queue": "50 packets"},
}
"""The return links of figure 2, by name. An ACK with timestamps takes 52 bytes, or 18 bytes with header compression."""

MEASURED = Experiment(
    key="measured",
    summary="1 MB between two hosts of BSD/OS over the Hybrid network, by return line and socket buffer",
    cases=tuple(
        Case(
            "hybrid-measured.toml",
            {**overrides, "stack.receive_buffer": f"{size} kB"},
            {"line": line, "buffer_kb": size},
        )
        for line, overrides in RETURNS.items()
        for size in BUFFERS_KB
    ),
    measure=measure.transfer,
    most=1,
)

MEASURED_TWO_WAY = Experiment(
    key="measured-two-way",
    summary="a download that joins an upload over 9.6 kbit/s, between hosts of BSD/OS",
    cases=(Case("hybrid-measured-two-way.toml", {}, {"line": "9.6"}),),
    measure=measure.beside_an_upload,
    keep=True,
    most=1,
)

MEASURED_RADIO = Experiment(
    key="measured-radio",
    summary="200 kB over one hop of packet radio, between hosts of BSD/OS",
    cases=(Case("radio-measured.toml", {"record.traces": "true"}, {"hops": 1}),),
    measure=measure.over_radio,
    usual=3,
    full_repetitions=10,
    keep=True,
)

MEASURED_COMBINED = Experiment(
    key="measured-combined",
    summary="1 MB over the cable with packet radio back, between hosts of BSD/OS, by socket buffer",
    cases=tuple(
        Case("hybrid-radio-measured.toml", {"stack.receive_buffer": f"{size} kB"}, {"buffer_kb": size})
        for size in BUFFERS_KB
    ),
    measure=measure.transfer,
    usual=3,
    full_repetitions=20,
)

WEB = Experiment(
    key="web",
    summary="1 to 50 hosts that each request four objects of 10 kB, over the cable with packet radio back",
    cases=cases(
        "hybrid-radio.toml",
        RADIO_SCHEMES,
        [({"hosts": hosts}, {"flow.host.count": str(hosts)}) for hosts in HOSTS],
        "topology.medium.radio.queue",
    ),
    measure=measure.pages,
    usual=TOSSED,
    full_repetitions=TOSSED,
)

EXPERIMENTS = (
    *(ONE_WAY, LOSSY, TWO_DOWNLOADS, TWO_WAY, RADIO, RADIO_MANY),
    *(MEASURED, MEASURED_TWO_WAY, MEASURED_RADIO, MEASURED_COMBINED, WEB),
)
"""The experiments of sections 4 to 7."""

IMPLEMENTED_QUEUE = 33
"""Limit, in packets, of the queues in the experiments with the BSD/OS implementation. A queue stores one packet less
than its limit."""

NO_LIMIT = 12
"""Axis position of the results without `maxburst`: to the right of the largest `maxburst`."""
BURSTS = (*range(1, 11), NO_LIMIT)
DELAYS = (2, 4, 8, 16)

EMULATED = {"link.up.rate": "28 kbit/s", "link.up.delay": "80 ms"}
"""The emulated return line in the paper's measurements of ACK filtering."""
