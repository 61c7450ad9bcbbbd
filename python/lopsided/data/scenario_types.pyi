"""The resolved scenario as plain values: the keys that `Scenario.resolved` has, and the type of each.

`tools/keys` generates this stub from the declarations in the code, and a test compares them. The types exist only for
type checkers: import them under `TYPE_CHECKING`. The unit of a number is in its key (`rate_bps`, `delay_s`,
`size_bytes`). `docs/scenario.md` explains each key. Left out: kinds that are declared outside of this repository, such
as a discipline in your own Rust crate.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict, final

@final
class Packets(TypedDict):
    """An amount counted in packets."""

    packets: int

@final
class Bytes(TypedDict):
    """An amount counted in IP bytes."""

    bytes: int

@final
class Bins(TypedDict):
    """A number of memory bins of this size."""

    bins: int
    bin_bytes: int

@final
class Segments(TypedDict):
    """An amount counted in full segments."""

    segments: int

@final
class Span(TypedDict):
    """A depth of a queue, measured as the waiting time of a packet."""

    time_s: float

Limit: TypeAlias = Packets | Bytes | Bins
Depth: TypeAlias = Packets | Bytes
Window: TypeAlias = Segments | Bytes

class FifoQueue(TypedDict):
    """First in, first out."""

    kind: Literal["fifo"]
    limit: Limit
    drop: Literal["tail", "front"]

class RedQueue(TypedDict):
    """Random early detection, as in tc-red(8)."""

    kind: Literal["red"]
    limit: Limit
    min: Depth
    max: Depth
    probability: float
    weight: float
    avpkt_bytes: int
    bandwidth_bps: int | None
    idle_decay: bool
    ecn: bool
    harddrop: bool
    gentle: bool
    adaptive: bool
    marks: Literal["capable", "capable_and_acks", "all", "data"]
    victim: Literal["tail", "random"]
    count_first: bool
    least: int

class StepQueue(TypedDict):
    """Marks all packets above a threshold, as DCTCP requires."""

    kind: Literal["step"]
    limit: Limit
    mark_threshold: Depth | Span
    ect: Literal["ect", "ect1"]

class CodelQueue(TypedDict):
    """CoDel (RFC 8289): drops or marks departing packets once waiting times have exceeded a target for a whole
    interval.
    """

    kind: Literal["codel"]
    limit: Limit
    target_s: float
    interval_s: float
    ecn: bool
    ce_threshold_s: float | None
    mtu_bytes: int
    header_bytes: int

class FqCodelQueue(TypedDict):
    """FQ-CoDel (RFC 8290): a queue for each flow, served in turn, each under CoDel."""

    kind: Literal["fq_codel"]
    limit_packets: int
    flows: int
    quantum_bytes: int
    drop_batch: int
    target_s: float
    interval_s: float
    ecn: bool
    ce_threshold_s: float | None
    mtu_bytes: int
    header_bytes: int

class PieQueue(TypedDict):
    """PIE (RFC 8033): drops or marks arriving packets with a probability that follows the queueing delay."""

    kind: Literal["pie"]
    limit: Limit
    target_s: float
    tupdate_s: float
    alpha: float
    beta: float
    max_burst_s: float
    ecn: bool
    mark_threshold: float
    bytemode: bool
    dq_rate_estimator: bool
    derandomise: bool

class FqPieQueue(TypedDict):
    """FQ-PIE: one queue for each flow, served in turn. PIE controls each queue."""

    kind: Literal["fq_pie"]
    limit_packets: int
    flows: int
    quantum_bytes: int
    target_s: float
    tupdate_s: float
    alpha: float
    beta: float
    max_burst_s: float
    ecn: bool
    mark_threshold: float
    bytemode: bool
    dq_rate_estimator: bool
    derandomise: bool
    header_bytes: int

class DocsisPieQueue(TypedDict):
    """DOCSIS-PIE (RFC 8034): PIE as in cable modems, with a queueing delay that the modem predicts."""

    kind: Literal["docsis-pie"]
    limit: Limit
    latency_target_s: float
    msr_bps: int | None
    peak_rate_bps: int | None
    burst_bytes: int

class Dualpi2Queue(TypedDict):
    """DualPI2 (RFC 9332): a low-latency queue for ECT(1) next to the classic queue, with coupled signals."""

    kind: Literal["dualpi2"]
    limit: Limit
    target_s: float
    tupdate_s: float
    alpha: float
    beta: float
    coupling_factor: float
    min_th_s: float
    range_s: float
    c_protection: float

class CobaltQueue(TypedDict):
    """COBALT, the queue management of CAKE: CoDel, combined with BLUE against unresponsive flows."""

    kind: Literal["cobalt"]
    limit: Limit
    target_s: float
    interval_s: float
    ecn: bool
    mtu_time_s: float
    p_inc: float
    p_dec: float

class Framing(TypedDict):
    """Link-layer framing, which determines the size of a packet on the wire."""

    overhead_bytes: int
    minimum_bytes: int
    cell_format: Literal["none", "atm", "ptm"]

class CakeQueue(TypedDict):
    """CAKE: a shaper that accounts for the line's framing, tins selected by DSCP, fairness between hosts and flows,
    and COBALT.
    """

    kind: Literal["cake"]
    bandwidth_bps: int | None
    tins: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]
    isolation: Literal[
        "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"
    ]
    rtt_s: float
    framing: Framing
    memlimit_bytes: int | None

class AsqmQueue(TypedDict):
    """ASQM (Havey 2015): sends probe packets to measure the round-trip delay of the whole link, and drops or marks
    packets if this delay exceeds a target.
    """

    kind: Literal["asqm"]
    limit: Limit
    target_s: float
    interval_s: float
    ecn: bool
    far_end: Literal["link", "stage"]
    base_delay: Literal["subtract", "keep"]
    smoothing: Literal["rfc6298", "printed"]

class BdpQueue(TypedDict):
    """BDP (Havey 2015): a queue for each flow, whose length is computed from the round-trip times of the flow and of
    the link.
    """

    kind: Literal["bdp"]
    limit_packets: int
    flows: int
    ecn: bool
    far_end: Literal["link", "stage"]
    base_delay: Literal["subtract", "keep"]
    bound: Literal["max", "min"]
    smoothing: Literal["rfc6298", "printed"]

_Rule = TypedDict("_Rule", {"class": int})

class Rule(_Rule):
    """A condition on packet headers, and the class of the packets that match it."""

    dscp: int | None
    ecn: Literal["not_ect", "ect0", "ect1", "ce"] | None
    flow: int | None
    protocol: Literal["tcp", "udp"] | None
    src_port: int | None
    dst_port: int | None
    packet: Literal["ack", "data", "control"] | None

class PrioQueue(TypedDict):
    """Strict priorities: the first band that has a packet is served next."""

    kind: Literal["prio"]
    bands: list[Queue]
    classify: list[Rule]
    default_class: int | None

class PolicerQueue(TypedDict):
    """Drops packets that exceed a rate instead of delaying them."""

    kind: Literal["policer"]
    rate_bps: int
    burst_bytes: int
    limit: Limit

class AckFilterQueue(TypedDict):
    """Removes the queued ACKs that a new ACK of the same connection makes redundant. Works with any queue."""

    kind: Literal["ack_filter"]
    queue: Queue
    rule: Literal["cumulative", "window", "conservative", "aggressive", "accurate_ecn"]
    share: float
    pick: Literal["even", "random"]
    above: Depth | None
    below: Depth | None
    fast_retransmit: int
    segment_bytes: int
    prefix: Literal["none", "count", "spacing"]
    prefix_most: int

class AfvqQueue(TypedDict):
    """Sends ACKs before data, and limits the number of queued ACKs to the number that can leave between two data
    packets (Park and others 2011).
    """

    kind: Literal["afvq"]
    queue: Queue
    ack_limit_packets: int
    ack_share: float

class HtbClass(TypedDict):
    """A class of HTB."""

    parent: int | None
    rate_bps: int
    ceil_bps: int | None
    burst_bytes: int | None
    cburst_bytes: int | None
    quantum_bytes: int | None
    prio: int
    queue: Queue | None

class HtbQueue(TypedDict):
    """Hierarchical token bucket: classes have committed rates and may borrow up to a ceiling."""

    kind: Literal["htb"]
    classes: list[HtbClass]
    classify: list[Rule]
    default_class: int | None
    r2q: int
    overhead_bytes: int

class TbfQueue(TypedDict):
    """A token bucket in front of a queue: a shaper inside a tree of disciplines."""

    kind: Literal["tbf"]
    rate_bps: int
    burst_bytes: int
    peakrate_bps: int | None
    mtu_bytes: int
    overhead_bytes: int
    queue: Queue

class DrrClass(TypedDict):
    """A class of deficit round robin."""

    quantum_bytes: int
    queue: Queue

class DrrQueue(TypedDict):
    """Deficit round robin: classes share the line in proportion to their quanta."""

    kind: Literal["drr"]
    classes: list[DrrClass]
    classify: list[Rule]
    default_class: int | None

class FqQueue(TypedDict):
    """Linux's fair queue: a queue for each flow, served in turn, with optional pacing."""

    kind: Literal["fq"]
    limit_packets: int
    flow_limit_packets: int
    quantum_bytes: int
    initial_quantum_bytes: int
    maxrate_bps: int | None
    low_rate_threshold_bps: int
    refill_delay_s: float
    orphan_mask: int
    ce_threshold_s: float | None

class SfqQueue(TypedDict):
    """Stochastic fair queueing: flows are hashed to queues, which take turns. The longest queue drops."""

    kind: Literal["sfq"]
    limit_packets: int
    depth_packets: int
    flows: int
    divisor: int
    quantum_bytes: int
    perturb_s: float | None
    headdrop: bool

class WfqQueue(TypedDict):
    """Weighted fair queueing by flow and IP precedence, as in Cisco's routers."""

    kind: Literal["wfq"]
    limit_packets: int
    threshold_packets: int
    flows: int

class CbwfqClass(TypedDict):
    """A class of class-based weighted fair queueing."""

    bandwidth_bps: int
    priority: bool
    burst_bytes: int | None
    queue: Queue

class CbwfqQueue(TypedDict):
    """Class-based weighted fair queueing with a low-latency queue, as in Cisco's routers."""

    kind: Literal["cbwfq"]
    classes: list[CbwfqClass]
    classify: list[Rule]
    default_class: int | None

class WredProfile(TypedDict):
    """The RED thresholds of one drop precedence."""

    min_packets: int
    max_packets: int
    probability: float

class WredQueue(TypedDict):
    """Weighted RED: one queue, with thresholds for each drop precedence."""

    kind: Literal["wred"]
    limit: Limit
    profiles: list[WredProfile]
    classify: list[Rule]
    default_class: int | None
    weight: float
    avpkt_bytes: int
    bandwidth_bps: int | None
    ecn: bool

class AredQueue(TypedDict):
    """Adaptive RED (Floyd 2001): RED whose settings follow from the rate and a target delay."""

    kind: Literal["ared"]
    limit: Limit
    target_s: float
    bandwidth_bps: int | None
    avpkt_bytes: int
    ecn: bool

class ChokeQueue(TypedDict):
    """CHOKe: RED that also drops an arriving packet together with a queued packet of the same flow."""

    kind: Literal["choke"]
    limit: Limit
    min: Depth
    max: Depth
    probability: float
    weight: float
    avpkt_bytes: int
    bandwidth_bps: int | None
    idle_decay: bool
    ecn: bool

Queue: TypeAlias = (
    FifoQueue
    | RedQueue
    | StepQueue
    | CodelQueue
    | FqCodelQueue
    | PieQueue
    | FqPieQueue
    | DocsisPieQueue
    | Dualpi2Queue
    | CobaltQueue
    | CakeQueue
    | AsqmQueue
    | BdpQueue
    | PrioQueue
    | PolicerQueue
    | AckFilterQueue
    | AfvqQueue
    | HtbQueue
    | TbfQueue
    | DrrQueue
    | FqQueue
    | SfqQueue
    | WfqQueue
    | CbwfqQueue
    | WredQueue
    | AredQueue
    | ChokeQueue
)

class PolledMedium(TypedDict):
    """A half-duplex channel whose stations are polled in turn, with stop-and-wait ARQ."""

    kind: Literal["polled"]
    name: str
    queue: Queue
    rate_bps: int
    framing: Framing
    turnaround_s: float
    poll_bytes: int
    ack_bytes: int
    loss: float
    retries: int

class PacketRadioMedium(TypedDict):
    """Half-duplex radios over several hops, with RTS, CTS and stop-and-wait ARQ."""

    kind: Literal["packet_radio"]
    name: str
    queue: Queue
    rate_bps: int
    framing: Framing
    transmit_to_receive_s: float
    receive_to_transmit_s: float
    latency_s: float
    control_bytes: int
    piggyback: bool
    chain: bool
    overhear: bool
    backoff_s: float
    loss: float
    retries: int

class CsmaCdMedium(TypedDict):
    """A shared Ethernet: a station sends if the cable is free, and waits for a random time after a collision."""

    kind: Literal["csma_cd"]
    name: str
    queue: Queue
    rate_bps: int
    framing: Framing
    reach_s: float

class WifiStation(TypedDict):
    """A station of a Wi-Fi channel, with the settings of the link between the station and the access point."""

    name: str
    rate_bps: int | None
    frame_error: float | None
    acknowledge: bool | None
    reorder: bool | None

class WifiMedium(TypedDict):
    """Wi-Fi: stations that contend for a channel (IEEE 802.11 DCF and EDCA), with aggregation."""

    kind: Literal["wifi"]
    name: str
    queue: Queue
    standard: Literal["802.11a", "802.11n", "802.11ac", "802.11ax"]
    rate_bps: int
    symbol_s: float
    preamble_s: float
    control_rate_bps: int
    control_preamble_s: float
    slot_s: float
    sifs_s: float
    aifsn: int
    cw_min: int
    cw_max: int
    edca: bool
    eifs_extra_s: float
    propagation_s: float
    retries: int
    rts_threshold_bytes: int | None
    header_bytes: int
    amsdu_bytes: int
    ampdu: int
    ampdu_size_bytes: int
    ppdu_time_s: float
    window: int
    aggregation_queues: int
    acknowledge: bool
    reorder: bool
    frame_error: float
    ack_error: float
    access_point: bool
    stations: list[WifiStation]

class DocsisMedium(TypedDict):
    """A cable channel between a CMTS and its modems, in which modems contend for requests and send in granted slots."""

    kind: Literal["docsis"]
    name: str
    queue: Queue
    cmts: str | None
    down_bps: int
    up_bps: int
    framing: Framing
    map_interval_s: float
    request_slots: int
    request_bytes: int
    burst_bytes: int
    backoff_start: int
    backoff_end: int

Medium: TypeAlias = PolledMedium | PacketRadioMedium | CsmaCdMedium | WifiMedium | DocsisMedium

class HeaderCompression(TypedDict):
    """Compression of TCP/IP headers on the line, including the loss of context after lost packets."""

    scheme: Literal["none", "cslip", "iphc", "rohc", "fixed"]
    slots: int
    compress_slot: bool
    twice: bool
    feedback: bool
    octets: int

class Shaper(TypedDict):
    """A token bucket that fills at the direction's rate."""

    burst_bytes: int
    refill_interval_s: float | None
    line_rate_bps: int | None

class TraceAccess(TypedDict):
    """Sends at the times in a recorded trace in Mahimahi's format."""

    kind: Literal["trace"]
    file: str | None
    opportunities: list[int]
    size_bytes: int

class RateStep(TypedDict):
    """A rate, and the time from which it applies."""

    at_s: float
    rate_bps: int | None

class RatesAccess(TypedDict):
    """A rate that changes at given times."""

    kind: Literal["rates"]
    steps: list[RateStep]
    repeat_s: float | None

class ReallocationAccess(TypedDict):
    """A rate and a delay that are chosen at random every few seconds, as in Starlink."""

    kind: Literal["reallocation"]
    period_s: float
    low_bps: int
    high_bps: int
    gap_s: float
    delay_spread_s: float

class GrantsAccess(TypedDict):
    """Sends only in granted slots, as uplinks of DOCSIS, GPON, LTE and 5G do."""

    kind: Literal["grants"]
    request_interval_s: float
    grant_delay_s: float
    slot_s: float
    proactive: bool
    error: float
    retransmit_delay_s: float
    retransmissions: int

class AggregationAccess(TypedDict):
    """Waits for the medium, and then sends many packets at once, as Wi-Fi does."""

    kind: Literal["aggregation"]
    access_delay_s: float
    contention_s: float
    max_size_bytes: int
    max_time_s: float
    overhead_s: float

Access: TypeAlias = TraceAccess | RatesAccess | ReallocationAccess | GrantsAccess | AggregationAccess

class Jitter(TypedDict):
    """Propagation delay that varies from packet to packet."""

    spread_s: float
    reorder: bool

class Gilbert(TypedDict):
    """The Gilbert-Elliott model of losses, with a good and a bad state."""

    to_bad: float
    to_good: float
    loss_bad: float
    loss_good: float

class Loss(TypedDict):
    """Loss of packets on the line. If several kinds of loss are set, all of them apply."""

    random: float
    gilbert: Gilbert | None
    packets: list[int]
    outages_s: list[tuple[float, float]]

class AckThinningStage(TypedDict):
    """Forwards only every n-th pure cumulative ACK of a connection, and all ACKs that carry other information."""

    kind: Literal["ack_thinning"]
    side: Literal["entry", "exit"]
    keep: int
    max_delay_s: float

class AckReconstructStage(TypedDict):
    """Fills gaps in the ACK numbers with regenerated ACKs, and spaces the ACKs in time."""

    kind: Literal["ack_reconstruct"]
    side: Literal["entry", "exit"]
    every: int
    threshold: int
    gain: float
    interval_s: float | None
    segment_bytes: int
    max_delay_s: float
    text: bool
    spacing: Literal["share", "interval"]

class AckExpandStage(TypedDict):
    """Regenerates, after the line, the ACKs that an ack_filter with a prefix has removed."""

    kind: Literal["ack_expand"]
    side: Literal["entry", "exit"]
    most: int
    max_delay_s: float

class AckPacingStage(TypedDict):
    """Forwards ACKs at the rate of the data that they release."""

    kind: Literal["ack_pacing"]
    side: Literal["entry", "exit"]
    rate_bps: int
    max_delay_s: float

class ReflectorStage(TypedDict):
    """After the line, returns the probe packets of asqm and bdp disciplines whose far_end is "stage"."""

    kind: Literal["reflector"]

Stage: TypeAlias = AckThinningStage | AckReconstructStage | AckExpandStage | AckPacingStage | ReflectorStage

class Direction(TypedDict):
    """One direction of a link."""

    rate_bps: int | None
    delay_s: float
    mtu_bytes: int | None
    framing: Framing
    header_compression: HeaderCompression
    queue: Queue
    shaper: Shaper | None
    access: Access | None
    jitter: Jitter
    loss: Loss
    stages: list[Stage]

_Link = TypedDict("_Link", {"from": str})

class Link(_Link):
    """A link between two nodes: `down` leads from `from` to `to`."""

    name: str
    to: str
    down: Direction
    up: Direction
    one_way: bool

class Interface(TypedDict):
    """The network interface of a host, in front of its links."""

    host: str
    delay_s: float
    limit_packets: int | None
    ring_packets: int | None

class BulkApp(TypedDict):
    """Unlimited data until the flow stops."""

    kind: Literal["bulk"]
    wait_s: float
    wait_jitter_s: float

class TransferApp(TypedDict):
    """One or more transfers of a fixed size, each on a new connection."""

    kind: Literal["transfer"]
    size_bytes: int
    repeat: int | None
    pause_s: float

class OnOffApp(TypedDict):
    """Bulk data with pauses: phases of sending and of silence alternate on one connection."""

    kind: Literal["on_off"]
    on_s: float
    off_s: float

class UdpApp(TypedDict):
    """UDP datagrams at a constant rate."""

    kind: Literal["udp"]
    rate_bps: int
    size_bytes: int

class FtpApp(TypedDict):
    """Transfers files by FTP, with a control connection for the login and the commands, and a data connection for
    each file.
    """

    kind: Literal["ftp"]
    size_bytes: int
    store: bool
    repeat: int | None
    pause_s: float

class HttpApp(TypedDict):
    """Web pages. The data receiver loads one page after another and requests the objects of each page."""

    kind: Literal["http"]
    objects: int
    object_size_bytes: int
    index_size_bytes: int
    request_size_bytes: int
    connections: int
    multiplexed: bool
    pages: int | None
    pause_s: float

class RdraApp(TypedDict):
    """Downloads one object over several connections, which together take the share of one connection (Receiver
    Driven Rate Adaptation, Havey 2015). The receiver of data requests byte ranges.
    """

    kind: Literal["rdra"]
    size_bytes: int
    mode: Literal["fair", "greedy", "single"]
    streams: int
    window: Literal[
        "cubic", "cubic-0.8", "reno", "bic", "highspeed", "htcp", "hybla", "scalable", "westwood", "vegas", "havey2015"
    ]
    detection: Literal["queued", "every"]
    min_chunk_bytes: int
    stall_timeout_s: float
    request_size_bytes: int
    record_steps: bool

class RepairApp(TypedDict):
    """Fetches one object. Byte ranges that TCP replaced with placeholders are requested again (Fast Wireless
    Protocol, Havey 2015).
    """

    kind: Literal["repair"]
    size_bytes: int
    request_size_bytes: int
    stall_timeout_s: float
    range_connections: int | None

class CustomApp(TypedDict):
    """A custom application, supplied by the program that starts the run."""

    kind: Literal["custom"]
    name: str

App: TypeAlias = BulkApp | TransferApp | OnOffApp | UdpApp | FtpApp | HttpApp | RdraApp | RepairApp | CustomApp

class TcpTransport(TypedDict):
    """The simulator's TCP. Its settings are the keys of `stack`."""

    kind: Literal["tcp"]

class QuicTransport(TypedDict):
    """QUIC (RFC 9000) with the stack quinn-proto. The receiver of data opens the connection and requests the data,
    as a browser does. The web application loads a page over one connection, with one stream for each object.
    """

    kind: Literal["quic"]
    ack_packets: int
    ack_start: int
    ack_window_share: float
    ack_packets_most: int
    max_ack_delay_s: float
    ack_delay_rtts: float
    reordering_threshold: int
    ack_frequency: bool
    cc_source: Literal["lopsided", "quinn"]
    initial_window: int
    ecn: bool
    gso_packets: int
    receive_wait_s: float
    packet_cpu_s: float
    mtu_discovery: bool
    max_datagram_bytes: int
    stream_window_bytes: int
    connection_window_bytes: int | None
    send_window_bytes: int
    idle_timeout_s: float | None
    server_flight_bytes: int

Transport: TypeAlias = TcpTransport | QuicTransport

class DelayedAck(TypedDict):
    """Delay of a receiver's ACKs (RFC 5681 section 4.2)."""

    mode: Literal["on", "off"]
    segments: int | None
    timeout_s: float | None

class Stack(TypedDict):
    """The TCP of one end. None means the value of the profile."""

    profile: str
    cc: str
    mss_bytes: int | None
    sack: bool | None
    dsack: bool | None
    timestamps: bool | None
    window_scaling: bool | None
    ecn: Literal["off", "accept", "on", "accept_accurate", "accurate"] | None
    ecn_fallback: bool | None
    ecn_option: bool | None
    ecn_expects_thinning: bool | None
    abe: bool | None
    rack: bool | None
    fack: bool | None
    tlp: bool | None
    prr: bool | None
    rate_halving: bool | None
    frto: bool | None
    dup_threshold: int | None
    fast_recovery: Literal["newreno", "reno", "careful-reno"] | None
    limited_transmit: bool | None
    abc: int | None
    abc_half: bool | None
    ack_policy: (
        Literal["delayed", "immediate", "linux", "acc", "acc_peerwin", "rfc5690", "tarr", "ace", "growing", "tack"]
        | None
    )
    max_delack: int | None
    min_acks_per_window: int | None
    mark_duplicates: int | None
    max_burst: int | None
    burst_tick_s: float | None
    marked_retransmit: bool | None
    acks_per_rtt: int | None
    ack_before_read: bool | None
    window_update: Literal["closed", "two_segments"] | None
    reassembly_limit: int | None
    placeholders: float | None
    placeholder_margin: int | None
    duplicates: Literal["until_progress", "in_a_row"] | None
    delayed_ack: DelayedAck | None
    initial_window: Window | None
    remembered_threshold: Window | None
    metrics_save: Literal["off", "rtt", "all"] | None
    handshake_sample: bool | None
    min_rto_s: float | None
    hz: int | None
    max_window: Window | None
    send_buffer_bytes: int | Literal["auto"] | None
    receive_buffer_bytes: int | Literal["auto"] | None
    dscp: int | None

_Flow = TypedDict("_Flow", {"from": str})

class Flow(_Flow):
    """A flow from one host to another."""

    name: str
    group: str
    to: str
    direction: Literal["down", "up"] | None
    start_s: float
    start_jitter_s: float
    stop_s: float
    app: App
    transport: Transport
    sender_stack: Stack
    receiver_stack: Stack

class Record(TypedDict):
    """Data to record during the run, in addition to the summaries, which are always recorded."""

    interval_s: float | None
    on_change: bool
    events: bool
    tcp_events: bool
    traces: bool

class Fairness(TypedDict):
    """Measures of fairness between flows: Jain's index, shares, convergence time and harm. They need samples
    ([record] interval).
    """

    warmup_s: float | None
    within: float
    hold_s: float
    harm: bool

class Resolved(TypedDict):
    """The whole scenario, with all defaults."""

    name: str
    title: str | None
    duration_s: float
    seed: int
    hosts: list[str]
    routers: list[str]
    media: list[Medium]
    links: list[Link]
    interfaces: list[Interface]
    flows: list[Flow]
    record: Record
    fairness: Fairness | None
