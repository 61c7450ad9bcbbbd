"""The native module: the simulator, in Rust. It exchanges plain values; users call `lopsided.Scenario` and `Run`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Final, Literal, final

__version__: str
PACKET_FIELDS: list[str]
PROFILES: list[str]
CONGESTION_CONTROLS: list[str]
WINDOW_RULES: list[str]
CONGESTION_CONTROL_TEXTS: list[tuple[str, str]]

_Columns = dict[str, tuple[str, Any]]
_Overrides = list[tuple[str, str]]
_Axis = tuple[str, list[tuple[str, _Overrides]]]
_ControllerFactory = Callable[[Setup], Controller | WindowAlgorithm]
_Controllers = list[tuple[str, _ControllerFactory | None]]

@final
class Scenario:
    @staticmethod
    def parse(text: str, file: str, overrides: _Overrides = ..., controllers: _Controllers = ...) -> Scenario: ...
    def with_changes(self, overrides: _Overrides, controllers: _Controllers = ...) -> Scenario: ...
    def controllers(self) -> _Controllers: ...
    def source(self) -> tuple[str, _Overrides]: ...
    def paths(self) -> list[list[tuple[str, str]]]: ...
    def only(self, flows: list[str]) -> Scenario: ...
    name: Final[str]
    title: Final[str | None]
    duration_s: Final[float]
    seed: Final[int]
    def axes(self) -> tuple[list[_Axis], int]: ...
    def receivers(self) -> list[tuple[str, int]]: ...
    def addresses(self) -> list[str]: ...
    def to_toml(self) -> str: ...
    def to_json(self) -> str: ...

@final
class Batch:
    def __init__(
        self,
        jobs: list[tuple[Scenario, int]],
        workers: int,
        capture: tuple[str, bool, bool] | None = None,
        cores: int = 1,
    ) -> None: ...
    def wait(self, seconds: float) -> tuple[int, dict[str, Any]] | None: ...
    def stop(self, seconds: float) -> bool: ...
    def within_python(self) -> list[int]: ...
    def fraction(self) -> float: ...

@final
class Steps:
    def __init__(self, scenario: Scenario, seed: int) -> None: ...
    def advance(self, until_s: float) -> bool: ...
    now_s: Final[float]
    def recorded(self) -> dict[str, dict[str, tuple[str, Any]]]: ...
    def finish(self) -> dict[str, Any]: ...

class Transfer:
    """Decides which range of an object to request next on each stream, and stores the missing ranges."""

    def __init__(
        self,
        missing: list[tuple[int, int]],
        *,
        mode: str,
        streams: int,
        window: str,
        detection: str,
        min_chunk: int,
        stall_timeout_ns: int,
    ) -> None: ...
    @property
    def streams(self) -> int: ...
    def request(self, now_ns: int, stream: int) -> tuple[int, int] | None: ...
    def received(self, now_ns: int, stream: int, octets: int, late_ns: int = 0) -> tuple[int, int]: ...
    def observe(self, now_ns: int, stream: int, out_of_order: int, mss: int) -> None: ...
    def failed(self, now_ns: int, stream: int) -> None: ...
    def record(self) -> None:
        """Starts to record every step."""
    def take_steps(
        self,
    ) -> list[tuple[int, int, str, int, int, int, int, int, str, int | None, int]]:
        """Returns the steps since the last call, as rows of the table `fetches`; times are in nanoseconds."""
    def stalled(self, now_ns: int) -> list[int]: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def left(self) -> int: ...
    @property
    def requested(self) -> int: ...
    @property
    def first_missing(self) -> int | None: ...
    @property
    def window(self) -> int | None: ...
    @property
    def reductions(self) -> int: ...
    @property
    def rtt_ns(self) -> int | None: ...

class QueueSetup:
    """The place of a queue in its run, and the seed of the run."""

    @property
    def seed(self) -> int:
        """The seed of the run. `random.Random(f"{seed} {role}")` makes the discipline's random numbers repeatable."""
    @property
    def role(self) -> str:
        """Name of the link with the direction, such as `link/up`."""

class PacketView:
    """A packet that is being enqueued or is in the queue. The header fields have their values from the arrival."""

    @property
    def id(self) -> int:
        """Identifier of the packet, unique within the run."""
    @property
    def flow(self) -> int:
        """Index of the flow in the scenario."""
    @property
    def size_bytes(self) -> int:
        """Size of the IP packet in bytes."""
    @property
    def payload_bytes(self) -> int: ...
    @property
    def ecn(self) -> Literal["not_ect", "ect0", "ect1", "ce"]: ...
    @property
    def dscp(self) -> int: ...
    @property
    def protocol(self) -> Literal["tcp", "udp", "other"]: ...
    @property
    def kind(self) -> Literal["ack", "data", "control"]:
        """The kind of packet: a pure ACK, a packet with payload, or a TCP segment that opens or closes a connection."""
    @property
    def src_port(self) -> int | None: ...
    @property
    def dst_port(self) -> int | None: ...
    @property
    def seq(self) -> int | None:
        """Sequence number; `None` if the packet is not TCP."""
    @property
    def ack(self) -> int | None:
        """Acknowledgement number; `None` if the packet is not TCP."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

class QueueDiscipline:
    """Base class of queue disciplines. Derive a class, define `enqueue` and `dequeue`, and register it with
    `queue_discipline`."""

    parameters: ClassVar[dict[str, bool | int | float | str]]
    """The discipline's keys in a scenario, with their defaults. Each key is an attribute of the object before
    `__init__` runs."""

    def __init__(self, setup: QueueSetup) -> None: ...
    @property
    def now_s(self) -> float:
        """Virtual time of the current call, in seconds."""
    @property
    def backlog_packets(self) -> int:
        """Number of packets in the queue at the start of the current call."""
    @property
    def backlog_bytes(self) -> int:
        """Size of the packets in the queue at the start of the current call, in bytes including IP headers."""
    def drop(self, packet: PacketView, why: Literal["queue_full", "head_drop", "early"] = "early") -> None:
        """Drops a packet that is being enqueued or is in the queue."""
    def mark(self, packet: PacketView) -> None:
        """Marks a packet that is being enqueued or is in the queue, if its transport supports ECN (RFC 3168)."""
    def enqueue(self, packet: PacketView) -> None:
        """Called when a packet arrives. The packet enters the queue unless this method drops it."""
    def dequeue(self) -> PacketView:
        """Returns the packet to send. Called only if the queue is not empty."""
    def ready_s(self) -> float:
        """Returns the time at which the next packet may leave, for a discipline that delays packets."""
    def gauges(self) -> dict[str, float]:
        """Returns quantities to record in the results, by name."""

def register_queue(
    name: str, cls: type[QueueDiscipline], text: str, parameters: list[tuple[str, bool | int | float | str]]
) -> None: ...

class Controller:
    """Base class of congestion controls. Derive a class, define `on_ack`, `on_congestion` and `on_undo`, and assign the
    targets.

    Each connection creates one object. The initial value of the window is the stack's initial window.
    """

    owns_recovery: bool = False
    """True if the controller also sets the window during recovery. If false, the connection reduces the window with PRR
    (RFC 6937)."""
    ecn: Literal["classic", "dctcp echo", "accurate"] = "classic"
    """The feedback of ECN marks that the controller requests.

    `classic` is RFC 3168, if the profile uses ECN. The other two values apply to every profile. `dctcp echo` is an echo
    of each mark by the receiver (RFC 8257). `accurate` is accurate feedback, with data as ECT(1) (RFC 9331).
    """

    def __init__(self, setup: Setup, *own: Any, **named: Any) -> None: ...
    @property
    def now_s(self) -> float:
        """Virtual time since the start of the run, in seconds."""

    cwnd_bytes: float
    """The congestion window in bytes. The connection rounds the value down, and uses at least one segment."""
    ssthresh_bytes: float | None
    """The slow-start threshold in bytes; `None` before the first congestion signal."""
    pacing_rate_bps: float | None
    """Pacing rate in bits of payload per second; `None` without pacing. A controller that paces must set the rate in
    `on_established` or earlier."""

    def on_feedback_agreed(self, feedback: Literal["none", "classic", "dctcp echo", "accurate"]) -> None:
        """Called before `on_established`, when the handshake has settled how ECN marks are fed back.

        `now_s` is 0 in this call.
        """

    def on_established(self, path: PathState) -> None:
        """Called after the handshake, when the segment size and possibly an RTT are known."""

    def on_idle(self, idle: Idle, path: PathState) -> None:
        """Called after an idle time, or if the window was not used.

        The default calls `limit_window` if the event has a window.
        """

    def on_ack(self, ack: Acked, path: PathState) -> None:
        """Called for each ACK that delivers data."""

    def on_congestion(self, signal: Signal, path: PathState) -> None:
        """Called when the window must be reduced.

        After a timeout, `path.in_flight_bytes` is the amount of data that may still be in the network.
        """

    def on_lost(self, lost: Lost, path: PathState) -> None:
        """Called when a segment is marked lost, before the congestion signal and the ACK event that result from the
        loss."""

    def on_recovered(self, path: PathState) -> None:
        """Called when a reduction is complete, because all data that was outstanding at its start is acknowledged."""

    def on_undo(self) -> None:
        """Called when the last congestion signal turns out to be wrong. Restore the state before the signal."""

    def limit_window(self, most_bytes: int) -> None:
        """Called to reduce the window to `most_bytes` if the window is larger: with the initial window before
        `on_established`, at the end of a reduction, and by `on_idle`. The default does nothing."""

class WindowAlgorithm:
    """Base class of window algorithms, which compute the growth of the window and its size after congestion, in
    segments.

    Derive a class, and define `cong_avoid` and `ssthresh`. Slow start is part of the growth (`window.reno_cong_avoid`).
    Timeouts, undo and idle times are handled automatically.
    """

    increase_when_app_limited: bool = False
    """True if `cong_avoid` must also be called while the application or the receiver limits the sender."""
    ecn: Literal["classic", "dctcp echo", "accurate"] = "classic"
    """The feedback of ECN marks that the algorithm requests; see `Controller.ecn`."""

    def __init__(self, setup: Setup, *own: Any, **named: Any) -> None: ...
    @property
    def now_s(self) -> float:
        """Virtual time since the start of the run, in seconds."""

    def cong_avoid(self, ack: Acked, path: PathState, window: Window) -> None:
        """Called for each ACK that may increase the window."""

    def ssthresh(self, signal: Signal, path: PathState, window: Window) -> float:
        """Returns the slow-start threshold after a congestion signal, in segments. Values below 2 are raised to 2."""

    def pkts_acked(self, ack: Acked, path: PathState, window: Window) -> None:
        """Called for every ACK, including those during recovery."""

    def on_established(self, path: PathState, window: Window) -> None:
        """Called after the handshake, when the segment size and possibly an RTT are known."""

    def on_transmit_start(self, idle_s: float, path: PathState) -> None:
        """Called when data is sent while no data is in flight. `idle_s` is the time since new data was last sent."""

    def on_timeout(self, path: PathState, window: Window) -> None:
        """Called when the retransmission timer has expired. The window is already reduced."""

    def on_recovered(self, path: PathState, window: Window) -> None:
        """Called when a reduction is complete, because all data that was outstanding at its start is acknowledged."""

    def on_undo(self) -> None:
        """Called when the last congestion signal turns out to be wrong. The window is already restored."""

@final
class Window:
    """The congestion window of a window algorithm. It can be changed only during the call to which it is passed."""

    octets: float
    segments: float
    """The window in segments, rounded down when read."""

    @property
    def ssthresh(self) -> int | None:
        """Slow-start threshold in segments, rounded down; `None` before the first congestion signal."""

    @ssthresh.setter
    def ssthresh(self, segments: float) -> None: ...
    @property
    def in_slow_start(self) -> bool: ...
    @property
    def mss_bytes(self) -> int: ...
    def end_slow_start(self) -> None:
        """Sets the slow-start threshold to the current window."""

    def acked_bytes_for_growth(self, ack: Acked) -> int:
        """Returns the number of bytes for which an ACK counts in the growth of the window, according to the stack's
        byte counting."""

    def slow_start(self, octets: int) -> int:
        """Increases the window by `octets`, up to the threshold. Returns the remaining bytes for congestion
        avoidance."""

    def add_one_per(self, every: float, octets: int) -> None:
        """Increases the window by 1 segment for each `every` segments acknowledged."""

    def reno_cong_avoid(self, octets: int) -> None:
        """Increases the window like Reno: slow start, and then 1 segment for each acknowledged window."""

@final
class Setup:
    """The facts from which a controller is created."""

    initial_window_bytes: Final[int]
    @property
    def byte_counting(
        self,
    ) -> Literal["acks", "acks_exactly", "acks_through_threshold", "delivered", "limited", "half"]:
        """The amount for which an ACK counts (RFC 3465): one increment, or all, half or a limited part of the
        acknowledged bytes."""
    counted_segments: Final[int | None]
    """Largest number of segments for which an ACK counts in slow start; `None` unless the counting is `limited`."""
    fractional: Final[bool]
    """True if the window is a real number, as in ns-2: half of a window of 5 segments is 2.5 segments."""
    abe: Final[bool]
    """True to reduce the window less after a mark than after a loss (RFC 8511). Not all controls support this."""
    tick_s: Final[float]
    """Granularity of the stack's clock in seconds; 0 for an exact clock."""
    seed: Final[int]
    """Seed for algorithms with random choices: `random.Random(setup.seed)`."""

@final
class Acked:
    """The information that one ACK gives the sender."""

    delivered_bytes: Final[int]
    """Bytes newly acknowledged, cumulatively or by SACK."""
    cumulative_bytes: Final[int]
    """Bytes by which the cumulative acknowledgement advanced."""
    rtt_s: Final[float | None]
    """RTT of the oldest segment acknowledged; `None` if the segment was retransmitted (Karn's rule)."""
    newest_rtt_s: Final[float | None]
    """RTT of the newest segment acknowledged. This RTT excludes the peer's ACK delay."""
    forward_ms: Final[int | None]
    """One-way delay to the peer plus an unknown constant, from timestamps. Only differences between two values are
    meaningful."""
    prior_in_flight_bytes: Final[int]
    """Bytes in flight before this ACK."""
    cwnd_limited: Final[bool]
    """True if the window limited the sender in the last round trip, not the application or the receiver (RFC
    7661)."""
    cwnd_full: Final[bool]
    """True if the window was full at some time in the last round trip."""
    in_recovery: Final[bool]
    """True while the connection controls the window, until the current reduction ends."""
    ca_state: Final[Literal["open", "disorder", "cwr", "recovery", "loss"]]
    """The sender's congestion state (Linux's ca_state) after this ACK."""
    ecn_echo: Final[bool]
    """True if the ACK carried an ECN echo or a higher count of marks."""
    marked_bytes: Final[int]
    """Bytes newly reported as marked: the counted bytes, or after an echo all bytes that the ACK delivered."""
    rate: Final[RateSample]

@final
class RateSample:
    """The delivery rate between two ACKs (draft-cheng-iccrg-delivery-rate-estimation)."""

    delivered_bytes: Final[int]
    """Bytes delivered over `interval_s`; 0 if there is no sample."""
    interval_s: Final[float]
    prior_delivered_bytes: Final[int]
    """Value of `path.delivered_bytes` when the newest segment acknowledged was sent."""
    lost_bytes: Final[int]
    """Bytes marked lost by this ACK."""
    tx_in_flight_bytes: Final[int]
    """Bytes in flight when the newest segment acknowledged was sent, that segment included."""
    lost_since_sent_bytes: Final[int]
    """Bytes marked lost since the newest segment acknowledged was sent."""
    app_limited: Final[bool]

@final
class PathState:
    """The state of the connection that a controller can read."""

    mss_bytes: Final[int]
    """Largest payload of a segment in bytes."""
    in_flight_bytes: Final[int]
    srtt_s: Final[float | None]
    min_rtt_s: Final[float | None]
    delivered_bytes: Final[int]
    """Bytes delivered since the start of the connection."""
    lost_bytes: Final[int]
    """Bytes marked lost since the start of the connection."""
    una: Final[int]
    """Stream offset of the oldest unacknowledged byte."""
    nxt: Final[int]
    """Stream offset of the next byte to send. A round trip ends when `una` passes the `nxt` of its start."""
    app_limited: Final[bool]
    """True if some of the data in flight was sent when the application had no more data to send."""
    sack: Final[bool]
    """True if the peer sends SACK. The sender can then detect more than one loss per round trip."""

@final
class Lost:
    """A segment that was marked lost."""

    start: Final[int]
    """Stream offset of the segment's first byte."""
    end: Final[int]
    """Stream offset of the byte after the segment's last byte."""
    tx_in_flight_bytes: Final[int]
    """Bytes in flight when the segment was last sent, the segment included."""
    lost_since_sent_bytes: Final[int]
    """Bytes marked lost since the segment was last sent, the segment included."""
    app_limited: Final[bool]

@final
class Idle:
    """An idle time, or a time in which the sender did not use its window."""

    kind: Final[Literal["transmit start", "restart", "unused"]]
    """`transmit start`: data is sent while no data is in flight. `restart`: no data was sent for more than one RTO (RFC
    5681). `unused`: the window was not full for one RTO, or no data was sent and the stack halves an idle window. The
    slow-start threshold then becomes at least 3/4 of the old window (RFC 2861)."""
    since_s: Final[float | None]
    """Time since data was last sent, for `transmit start`."""
    window_bytes: Final[int | None]
    """Largest window that the event permits, for `restart` and `unused`."""

@final
class Signal:
    """The reason why the window must be reduced."""

    kind: Final[Literal["ecn", "loss", "timeout"]]
    consecutive: Final[int]
    """Number of consecutive timeouts; 0 for another signal. From the second timeout on, the slow-start threshold
    must not be reduced further."""

def simulate_controller(
    make: _ControllerFactory, mbits: float, rtt_ns: int, room: int, span_ns: int
) -> tuple[float, int, list[float], list[tuple[float, int]]]: ...
def axis(text: str) -> _Axis: ...
def schema() -> str: ...
def presets() -> list[tuple[str, str, str, str]]: ...
def align(
    one: str | PathLike[str],
    other: str | PathLike[str],
    flows: list[tuple[tuple[str, int], tuple[str, int]]],
    tolerance_ns: int,
    ignored: list[str],
    *,
    before: int,
    after: int,
    drawn: int,
    parts: int,
) -> list[dict[str, Any]]: ...

class LivePath:
    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        devices: list[tuple[int, list[tuple[int, bool]]]],
        passages: list[int],
        capture: tuple[str, bool, bool] | None = None,
    ) -> None: ...
    def descriptor(self) -> int | None: ...
    def begin(self) -> None: ...
    def finish(self) -> tuple[dict[str, Any], bytes, dict[str, Any]] | None: ...

def emulate(arguments: list[str]) -> tuple[int, dict[str, _Columns], dict[str, Any]]: ...
def shape(arguments: list[str], note: str | None = None) -> int: ...
def reflect(arguments: list[str]) -> int: ...

class TcpHost:
    @staticmethod
    def towards(peer: str, ports: int) -> TcpHost: ...
    @staticmethod
    def at(own: str, port: int) -> TcpHost: ...
    def connect(self, peer: tuple[str, int], profile: str, cc: str, timeout_s: float) -> TcpSocket: ...
    def listen(self, port: int, profile: str, cc: str, backlog: int) -> TcpAcceptor: ...
    def close(self, timeout_s: float) -> None: ...

class TcpAcceptor:
    def accept(self, timeout_s: float) -> TcpSocket: ...

class TcpSocket:
    def peer(self) -> tuple[str, int]: ...
    def send(self, octets: bytes | memoryview, timeout_s: float | None) -> int: ...
    def recv(self, most: int, timeout_s: float | None) -> bytes: ...
    def set_cc(self, name: str) -> None: ...
    def shutdown_write(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...
    def info(self) -> dict[str, Any]: ...

def replay(
    scenario: Scenario,
    link: str,
    direction: str,
    arrivals: list[tuple[int, int, bytes]],
    *,
    instants: list[int] | None = None,
    credit_ns: int = 0,
    seed: int = 1,
) -> list[tuple[tuple[int, int] | None, tuple[int, str] | None, bool]]: ...
def first_draw(seed: int, role: str, bound: int) -> int: ...
def count_packets(path: str | PathLike[str], before_ns: int) -> tuple[int, int]: ...
def infer_tcp_events(
    sender: tuple[str | PathLike[str], str],
    receiver: tuple[str | PathLike[str], str],
    place: tuple[str, int],
    flow: int,
) -> tuple[_Columns, _Columns]: ...
def page_picture(
    text: str, settings: Sequence[tuple[str, str]], columns: int, packets: tuple[float, float]
) -> bytes: ...
def page_description(text: str, settings: Sequence[tuple[str, str]]) -> str: ...
def verdict(
    flows: Sequence[Mapping[str, Any]],
    links: Sequence[Mapping[str, Any]],
    samples: int,
    goodput: Callable[[int, float, float], float],
) -> list[str]: ...
def difference(
    before: tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]],
    after: tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]],
) -> list[str]: ...
def rate_text(bits_per_second: float) -> str: ...
def size_text(octets: float) -> str: ...
def millis_text(milliseconds: float) -> str: ...
def percent_text(share: float) -> str: ...
def trace(path: str) -> tuple[_Columns, _Columns, int, int, bool]: ...
def round_trips(path: str, ports: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Returns flow, time of the ACK and RTT (both in ns) for each RTT sample. `ports` maps receivers' ports to
    flows."""

def analyze(
    path: str,
    *,
    points: bool,
    other: str | None = None,
    progress: Callable[[int, int], object] | None = None,
    live: Callable[[list[tuple[str, int, str, int, float, float, float, float, int, str]]], object] | None = None,
) -> tuple[dict[str, _Columns], dict[str, Any]]: ...
def json_members(table: _Columns, first: int, end: int) -> list[str]:
    """Returns the members of the JSON objects of a table's rows. See `crates/py/src/json_rows.rs`."""

def capture_packets(path: str, most: int) -> tuple[list[tuple[str, int]], _Columns]:
    """Returns the endpoints of the first `most` TCP packets, and the packets as columns. See
    `crates/py/src/packet_log.rs`."""

def analysis_tables() -> list[
    tuple[
        str,
        str,
        list[
            tuple[
                str,
                Literal["integer", "float", "text"],
                Literal["text", "label", "count", "packets", "number", "share", "s", "ms", "ms2", "bps", "bytes"],
                str,
                str,
            ]
        ],
    ]
]: ...
def catalogue() -> list[
    tuple[
        str,
        str,
        list[
            tuple[
                str,
                Literal["integer", "float", "text"],
                Literal["text", "label", "count", "packets", "number", "share", "s", "ms", "ms2", "bps", "bytes"],
                str,
                str,
            ]
        ],
    ]
]: ...
def reasons() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]: ...
