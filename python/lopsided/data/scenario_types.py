"""The resolved scenario as plain values: the keys that `Scenario.resolved` has, and the type of each.

The types cost nothing at run time: they describe what the JSON of a scenario becomes. A number's unit is in its key
(`rate_bps`, `delay_s`, `size_bytes`); `docs/scenario.md` says what each key means. Left out: parts of kinds that are
declared outside this repository, such as a discipline in a Rust crate of one's own.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict, final

Way: TypeAlias = Literal["down", "up"]
"""The direction of a link or of a flow."""


@final
class Packets(TypedDict):
    """An amount counted in packets."""

    packets: int


@final
class Bytes(TypedDict):
    """An amount counted in octets of IP."""

    bytes: int


@final
class Bins(TypedDict):
    """So many pieces of memory, each of this size."""

    bins: int
    bin_bytes: int


@final
class Segments(TypedDict):
    """An amount counted in full segments."""

    segments: int


@final
class Span(TypedDict):
    """A depth of a queue that is measured as the time that a packet waits."""

    time_s: float


Limit: TypeAlias = Packets | Bytes | Bins
Depth: TypeAlias = Packets | Bytes
Window: TypeAlias = Segments | Bytes


class FifoQueue(TypedDict):
    kind: Literal["fifo"]
    limit: Limit
    drop: Literal["tail", "front"]


class RedQueue(TypedDict):
    kind: Literal["red"]
    limit: Limit
    min: Depth
    max: Depth
    probability: float
    weight: float
    avpkt_bytes: int
    bandwidth_bps: int | None
    ecn: bool
    harddrop: bool
    gentle: bool


class StepQueue(TypedDict):
    kind: Literal["step"]
    limit: Limit
    mark_threshold: Depth | Span
    ect: Literal["ect", "ect1"]


class CodelQueue(TypedDict):
    kind: Literal["codel"]
    limit: Limit
    target_s: float
    interval_s: float
    ecn: bool
    ce_threshold_s: float | None
    mtu_bytes: int
    header_bytes: int


class FqCodelQueue(TypedDict):
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


class PolicerQueue(TypedDict):
    kind: Literal["policer"]
    rate_bps: int
    burst_bytes: int
    limit: Limit


_Rule = TypedDict("_Rule", {"class": int})


class Rule(_Rule):
    """Packets that match all that is not None are of the class."""

    dscp: int | None
    ecn: Literal["not_ect", "ect0", "ect1", "ce"] | None
    flow: int | None
    protocol: Literal["tcp", "udp"] | None
    src_port: int | None
    dst_port: int | None
    packet: Literal["ack", "data", "control"] | None


class PrioQueue(TypedDict):
    kind: Literal["prio"]
    bands: list[Queue]
    classify: list[Rule]
    default_class: int | None


Queue: TypeAlias = FifoQueue | RedQueue | StepQueue | CodelQueue | FqCodelQueue | PieQueue | PolicerQueue | PrioQueue


class Framing(TypedDict):
    overhead_bytes: int
    minimum_bytes: int
    cell_format: Literal["none", "atm", "ptm"]


class Shaper(TypedDict):
    burst_bytes: int
    refill_interval_s: float | None
    line_rate_bps: int | None


class Gilbert(TypedDict):
    to_bad: float
    to_good: float
    loss_bad: float
    loss_good: float


class Loss(TypedDict):
    random: float
    gilbert: Gilbert | None
    packets: list[int]
    outages_s: list[tuple[float, float]]


class AckThinning(TypedDict):
    kind: Literal["ack_thinning"]
    side: Literal["entry", "exit"]
    keep: int
    max_delay_s: float


Stage: TypeAlias = AckThinning


class Direction(TypedDict):
    """One direction of a link."""

    rate_bps: int | None
    delay_s: float
    framing: Framing
    queue: Queue
    shaper: Shaper | None
    loss: Loss
    stages: list[Stage]


_Ends = TypedDict("_Ends", {"from": str, "to": str})


class Link(_Ends):
    """A link between two nodes: `down` leads from `from` to `to`."""

    name: str
    down: Direction
    up: Direction


class PolledMedium(TypedDict):
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


Medium: TypeAlias = PolledMedium


class Interface(TypedDict):
    """A host's own interface, in front of its links."""

    host: str
    delay_s: float
    limit_packets: int | None
    ring_packets: int | None


class BulkApp(TypedDict):
    kind: Literal["bulk"]


class TransferApp(TypedDict):
    kind: Literal["transfer"]
    size_bytes: int
    repeat: int | None
    pause_s: float


class OnOffApp(TypedDict):
    kind: Literal["on_off"]
    on_s: float
    off_s: float


class HttpApp(TypedDict):
    kind: Literal["http"]
    objects: int
    object_size_bytes: int
    index_size_bytes: int
    request_size_bytes: int
    connections: int
    multiplexed: bool
    pages: int | None
    pause_s: float


class UdpApp(TypedDict):
    kind: Literal["udp"]
    rate_bps: int
    size_bytes: int


class CustomApp(TypedDict):
    kind: Literal["custom"]
    name: str


App: TypeAlias = BulkApp | TransferApp | OnOffApp | HttpApp | UdpApp | CustomApp


class DelayedAck(TypedDict):
    mode: Literal["on", "off"]
    segments: int | None
    timeout_s: float | None


class Stack(TypedDict):
    """One end's TCP. None stands for what the profile says."""

    profile: str
    cc: str
    mss_bytes: int | None
    sack: bool | None
    dsack: bool | None
    timestamps: bool | None
    window_scaling: bool | None
    ecn: Literal["off", "accept", "on", "accurate"] | None
    abe: bool | None
    rack: bool | None
    fack: bool | None
    tlp: bool | None
    prr: bool | None
    rate_halving: bool | None
    frto: bool | None
    dup_threshold: int | None
    limited_transmit: bool | None
    abc: int | None
    ack_policy: str | None
    acks_per_rtt: int | None
    delayed_ack: DelayedAck | None
    initial_window: Window | None
    remembered_threshold: Window | None
    min_rto_s: float | None
    max_window: Window | None
    send_buffer_bytes: int | Literal["auto"] | None
    receive_buffer_bytes: int | Literal["auto"] | None
    dscp: int | None


class Flow(_Ends):
    name: str
    group: str
    direction: Way | None
    start_s: float
    start_jitter_s: float
    stop_s: float
    app: App
    sender_stack: Stack
    receiver_stack: Stack


class Record(TypedDict):
    interval_s: float | None
    on_change: bool
    events: bool
    tcp_events: bool
    traces: bool


class Fairness(TypedDict):
    warmup_s: float | None
    within: float
    hold_s: float
    harm: bool


class Resolved(TypedDict):
    """The whole scenario, every default filled in."""

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
