"""Measures real networks with a sender and a sink, modelled on merritt2010's appendices B and C.

`serve` is the sink. `run` sends and receives bulk data. It returns the sampled TCP_INFO of each sender, and the number
of bytes that each receiver received. The sink sends the downloads, so `run` fetches their log at the end. Either end
may use the simulator's TCP (`Stack`, needs root). Each connection begins with a line of JSON.

A sink is for experiments on trusted networks, because the protocol has neither encryption nor passwords. The sink
limits duration, connections and memory.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from lopsided import _native, metrics
from lopsided.errors import RunError, UsageError
from lopsided.worlds.kernel.guest import tcp_info

if TYPE_CHECKING:
    import polars as pl

PORT = 5001
INTERVAL_S = 0.02
LONGEST_S = 3600.0
MOST_CONNECTIONS = 64
MOST_FROM_ONE = 40
"""Maximum numbers of parallel connections at the sink: in total, and per address."""
PATIENCE_S = 15.0
"""Seconds to wait for the peer's next message, and for a complete request."""

_SILENCE_S = 30.0
"""Number of seconds without data after which an upload ends. A line may stall for longer than `PATIENCE_S`."""
_LONGEST_LINE, _LONGEST_NAME = 4096, 64
_MOST_SAMPLES = 20_000
"""Maximum number of samples per flow that the sink sends. Longer flows are sampled less often."""
_MOST_KEPT = MOST_CONNECTIONS * _MOST_SAMPLES
"""Maximum number of samples that the sink stores for clients. These samples take a few hundred MB."""
_REPORT_BYTES = _MOST_SAMPLES * 512
"""Maximum size of a flow's report, in bytes."""
_REPORT_S = 120.0
_SHORTEST_INTERVAL_S = 0.001
_CHUNK = bytes(1 << 17)
_RESET = struct.pack("ii", 1, 0)
_LINGER_S = 10.0
"""Seconds allowed for closing the connections of the simulator's TCP."""
_BEGAN_S = time.time() - time.monotonic()


def _wall_s() -> float:
    """Returns the wall-clock time: its value at the start of the process, plus the monotonic time since then.

    Later steps of the wall clock have no effect.
    """
    return _BEGAN_S + time.monotonic()


@dataclass(frozen=True)
class Stack:
    """The TCP of this end: the kernel's TCP, or the simulator's TCP with a profile."""

    profile: str | None = None
    """Stack profile of the simulator's TCP, such as linux-6.1; `None` for the kernel's TCP."""

    def __post_init__(self) -> None:
        if self.profile is not None and self.profile not in _native.PROFILES:
            raise UsageError(f"no TCP profile is called {self.profile!r}; there are {', '.join(_native.PROFILES)}")

    def check(self, cc: str | None) -> None:
        """Raises UsageError if the simulator's TCP does not provide the congestion control."""
        if self.profile is not None and cc is not None and cc not in _native.CONGESTION_CONTROLS:
            known = ", ".join(_native.CONGESTION_CONTROLS)
            raise UsageError(f"lopsided's TCP has no congestion control {cc!r}; it has {known}")


KERNEL = Stack()
DEFAULT_CC = "cubic"


@dataclass(frozen=True)
class Flow:
    """One connection: `up` to the sink, `down` from the sink. The connection ends after `duration_s`, or after `size`
    bytes if `size` is not 0."""

    name: str
    direction: str
    start_s: float
    duration_s: float
    size: int = 0
    cc: str | None = None


@dataclass(frozen=True)
class Sample:
    """A sender's state: times in seconds since 1970, windows in bytes, rates in bit/s."""

    time_s: float
    rtt_us: int
    rtt_var_us: int
    ssthresh_bytes: int | None
    cwnd_bytes: int
    receive_window_bytes: int | None
    send_window_bytes: int | None
    bandwidth_window_bytes: int | None
    """Delivery rate times RTT in bytes, like the bandwidth-limited window of BSD."""
    throughput_bps: float
    """Bytes written so far, divided by the time since the first write, in bit/s."""
    retransmits: int
    state: str | None = None
    """Congestion state, such as recovery; `None` if an older sink sent the sample."""
    in_flight_bytes: int | None = None


@dataclass
class Log:
    """The measurements of one flow."""

    flow: Flow
    samples: list[Sample] = field(default_factory=list[Sample])
    received: int = 0
    """Number of bytes that the receiving application read."""
    seconds: float = 0.0
    """Seconds from the first to the last received byte."""
    port: int = 0
    """Local port of an upload over the kernel's TCP; 0 for other flows."""

    @property
    def goodput_bps(self) -> float:
        """Number of received bits divided by the receiving time, in bit/s."""
        return 8 * self.received / self.seconds if self.seconds > 0 else 0.0


def serve(
    port: int = PORT,
    address: str = "127.0.0.1",
    note: Callable[[str], object] = print,
    stop: threading.Event | None = None,
    stack: Stack = KERNEL,
    cc: str | None = None,
) -> None:
    """Runs the sink until it is interrupted or `stop` is set. `cc` is the default congestion control of the simulator's
    TCP."""
    stack.check(cc)
    sink = _Sink(note)
    listener = _Listener(address, port) if stack.profile is None else _OurListener(address, port, stack.profile, cc)
    with closing(listener):
        note("listening on {} port {}".format(*listener.address))
        while stop is None or not stop.is_set():
            try:
                connection, peer = listener.accept()
            except (TimeoutError, BlockingIOError):
                continue
            except OSError as error:
                # The process has no file descriptor left.
                note(f"a connection was not accepted: {error.strerror or error}")
                time.sleep(0.2)
                continue
            threading.Thread(target=sink.handle, args=(connection, peer), daemon=True).start()


def run(
    host: str,
    flows: list[Flow],
    *,
    port: int = PORT,
    interval_s: float = INTERVAL_S,
    every_write: bool = False,
    stack: Stack = KERNEL,
) -> list[Log]:
    """Runs flows against a sink and returns their logs in order.

    With `every_write`, each write of 1,460 bytes is sampled, as in merritt2010's program. Busy periods then have more
    weight. After `_MOST_SAMPLES` rows, one sample is taken per `interval_s`.
    """
    for flow in flows:
        stack.check(flow.cc)
    if stack.profile is None:
        return _run(_KernelWay(host, port), flows, interval_s, every_write)
    with closing(_OurWay(host, port, stack.profile, len(flows))) as way:
        return _run(way, flows, interval_s, every_write)


def _run(way: _Way, flows: list[Flow], interval_s: float, every_write: bool) -> list[Log]:
    token = secrets.token_hex(16)
    logs = [Log(flow) for flow in flows]
    failures: list[str] = []
    began = time.monotonic()

    def work(log: Log) -> None:
        try:
            time.sleep(max(0.0, began + log.flow.start_s - time.monotonic()))
            _carry_out(way, token, log, interval_s, every_write)
        except ConnectionRefusedError as error:
            failures.append(f"{log.flow.name}: {error.strerror}; is `lopsided probe sink` running there?")
        except OSError as error:
            failures.append(f"{log.flow.name}: {error.strerror or error}")

    threads = [threading.Thread(target=work, args=(log,), daemon=True) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise RunError(f"{way.host}, port {way.port}: {min(failures)}{more}")
    try:
        _fetch(way, token, logs)
    except OSError as error:
        raise RunError(f"{way.host}, port {way.port}: the sink sent no report: {error}") from error
    return logs


def frame(logs: list[Log]) -> pl.DataFrame:
    """Returns all samples as a table. Raises RunError if there are no samples."""
    import polars as pl

    rows = [
        {"flow": log.flow.name, "direction": log.flow.direction, "port": log.port, **asdict(sample)}
        for log in logs
        for sample in log.samples
    ]
    if not rows:
        raise RunError("there are no samples: the flows were shorter than the sampling interval")
    return pl.DataFrame(rows, infer_schema_length=None)


THESIS_EPOCH_S = 1_267_500_000
"""Number of seconds that the thesis's program subtracts from the clock (MER-M15)."""
_THESIS_WRITE = 1460
"""Size of each write of the thesis's program, in bytes."""
THESIS_COLUMNS = ("Time", "RTT", "RTT_Var", "SSTHRESH", "CWND", "Rcv_Wnd", "Snd_Wnd", "Snd_BW_Wnd", "Throughput")


def thesis_lines(log: Log) -> list[str]:
    """Returns the log's lines in the format of appendix C, separated by tabs.

    Times are in seconds since `THESIS_EPOCH_S`, RTTs in microseconds, windows in bytes, and throughput in bit/s.
    """
    lines = ["\t".join(THESIS_COLUMNS)]
    for one in log.samples:
        windows = (one.ssthresh_bytes, one.cwnd_bytes, one.receive_window_bytes, one.send_window_bytes)
        texts = [str(window or 0) for window in (*windows, one.bandwidth_window_bytes)]
        rtts = [str(one.rtt_us), str(one.rtt_var_us)]
        lines.append("\t".join([f"{one.time_s - THESIS_EPOCH_S:.6f}", *rtts, *texts, f"{one.throughput_bps:.6f}"]))
    return lines


class _Connection(Protocol):
    """One end of a connection. Methods raise `TimeoutError` or `BlockingIOError` on a timeout."""

    def send(self, octets: bytes, timeout_s: float) -> int: ...
    def recv(self, most: int, timeout_s: float) -> bytes: ...
    def set_cc(self, name: str) -> None: ...
    def shutdown_write(self) -> None:
        """Sends a FIN after the data that was written."""
        ...

    def abort(self) -> None:
        """Closes the connection and discards its unsent data."""
        ...

    def info(self) -> dict[str, Any]:
        """Returns the state of the sender: TCP_INFO, with the unit in each name."""
        ...

    def close(self) -> None: ...


class _Way(Protocol):
    """Opens connections to the sink with one TCP implementation."""

    host: str
    port: int
    chooses: bool
    """True if the request can select the congestion control of a download."""

    def connect(self, cc: str | None, *, ours: bool = True) -> _Connection: ...


class _KernelConnection:
    """A kernel TCP connection with the same methods as the simulator's `_native.TcpSocket`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def send(self, octets: bytes, timeout_s: float) -> int:
        self._socket.settimeout(timeout_s)
        return self._socket.send(octets)

    def recv(self, most: int, timeout_s: float) -> bytes:
        self._socket.settimeout(timeout_s)
        return self._socket.recv(most)

    def set_cc(self, name: str) -> None:
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            raise OSError(f"the sender's kernel has no congestion control {name}") from None

    def shutdown_write(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def info(self) -> dict[str, Any]:
        info = tcp_info.read(self._socket)
        mss, rate, threshold = info["snd_mss"], info.get("delivery_rate"), info["snd_ssthresh"]
        return {
            "rtt_us": info["rtt"],
            "rttvar_us": info["rttvar"],
            "snd_ssthresh_bytes": threshold * mss if threshold < tcp_info.INFINITE_SSTHRESH else None,
            "snd_cwnd_bytes": info["snd_cwnd"] * mss,
            "rcv_space_bytes": info.get("rcv_space"),
            "snd_wnd_bytes": info.get("snd_wnd"),
            "delivery_rate_bps": None if rate is None else 8 * rate,
            "total_retrans": info["total_retrans"],
            "ca_state": tcp_info.CONGESTION_STATES[min(info["ca_state"], len(tcp_info.CONGESTION_STATES) - 1)],
            "in_flight_bytes": max(0, info["unacked"] - info["sacked"] - info["lost"] + info["retrans"]) * mss,
        }

    def close(self) -> None:
        self._socket.close()


def _sample(connection: _Connection, throughput_bps: float) -> Sample:
    info = connection.info()
    rate = info["delivery_rate_bps"]
    return Sample(
        time_s=_wall_s(),
        rtt_us=info["rtt_us"],
        rtt_var_us=info["rttvar_us"],
        ssthresh_bytes=info["snd_ssthresh_bytes"],
        cwnd_bytes=info["snd_cwnd_bytes"],
        receive_window_bytes=info["rcv_space_bytes"],
        send_window_bytes=info["snd_wnd_bytes"],
        bandwidth_window_bytes=None if rate is None else rate * info["rtt_us"] // 8_000_000,
        throughput_bps=throughput_bps,
        retransmits=info["total_retrans"],
        state=info["ca_state"],
        in_flight_bytes=info["in_flight_bytes"],
    )


class _KernelWay:
    chooses = True

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def connect(self, cc: str | None, *, ours: bool = True) -> _Connection:
        del cc, ours
        return _KernelConnection(socket.create_connection((self.host, self.port), PATIENCE_S))


class _OurWay:
    """Opens connections of the simulator's TCP. Reports are fetched over the kernel's TCP."""

    chooses = False

    def __init__(self, host: str, port: int, profile: str, flows: int) -> None:
        self.host, self.port, self._profile = host, port, profile
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise RunError(f"{host}: {error.strerror or error}") from error
        self._peer = str(found[0][4][0])
        self._host = _taken(lambda: _native.TcpHost.towards(self._peer, flows))

    def connect(self, cc: str | None, *, ours: bool = True) -> _Connection:
        if not ours:
            return _KernelWay(self.host, self.port).connect(None)
        try:
            return self._host.connect((self._peer, self.port), self._profile, cc or DEFAULT_CC, PATIENCE_S)
        except BlockingIOError:
            raise TimeoutError("the sink does not answer") from None

    def close(self) -> None:
        self._host.close(_LINGER_S)


class _Listener:
    def __init__(self, address: str, port: int) -> None:
        self._listener = socket.create_server((address, port), family=socket.AF_INET, backlog=64)
        self._listener.settimeout(0.2)
        self.address: tuple[str, int] = self._listener.getsockname()

    def accept(self) -> tuple[_Connection, str]:
        connection, peer = self._listener.accept()
        return _KernelConnection(connection), peer[0]

    def close(self) -> None:
        self._listener.close()


class _OurListener:
    def __init__(self, address: str, port: int, profile: str, cc: str | None) -> None:
        if ipaddress.ip_address(address).is_unspecified:
            raise UsageError(f"lopsided's TCP needs a single address: give one of this machine's instead of {address}")
        self._host = _taken(lambda: _native.TcpHost.at(address, port))
        self._acceptor = self._host.listen(port, profile, cc or DEFAULT_CC, 64)
        self.address = (address, port)

    def accept(self) -> tuple[_Connection, str]:
        connection = self._acceptor.accept(0.2)
        return connection, connection.peer()[0]

    def close(self) -> None:
        self._host.close(1.0)


def _taken(take: Callable[[], _native.TcpHost]) -> _native.TcpHost:
    try:
        return take()
    except OSError as error:
        hint = "" if os.geteuid() == 0 else " (needs root)"
        raise RunError(f"lopsided's TCP cannot take over ports of this machine{hint}: {error}") from error


class _Sink:
    """Handles connections, and keeps reports until a client fetches them."""

    def __init__(self, note: Callable[[str], object]) -> None:
        self._note = note
        self._lock = threading.Lock()
        self._served: dict[str, int] = {}
        self._reports: dict[str, dict[str, Any]] = {}

    def handle(self, connection: _Connection, peer: str) -> None:
        """Handles one connection. Errors are logged and do not stop the sink."""
        with closing(connection):
            if not self._enter(peer):
                return
            try:
                self._obey(connection, _read_line(connection), peer)
            except Exception as error:
                self._note(f"{peer}: {printable(str(error) or type(error).__name__)}")
            finally:
                self._leave(peer)

    def _enter(self, peer: str) -> bool:
        with self._lock:
            count = self._served.get(peer, 0)
            if count >= MOST_FROM_ONE or sum(self._served.values()) >= MOST_CONNECTIONS:
                return False
            self._served[peer] = count + 1
            return True

    def _leave(self, peer: str) -> None:
        with self._lock:
            self._served[peer] -= 1
            if not self._served[peer]:
                del self._served[peer]

    def _obey(self, connection: _Connection, wish: dict[str, Any], peer: str) -> None:
        token = _word(wish.get("token"), "token")
        if wish.get("role") == "report":
            with self._lock:
                report = self._reports.pop(token, {})
            _send_all(connection, json.dumps(report).encode() + b"\n")
            return
        flow = _wished(wish.get("flow"))
        log = Log(flow)
        self._note(f"{peer}: {printable(flow.name)}, {flow.direction}")
        if flow.direction == "up":
            # The time is limited, because an idle client would occupy one of the few connections.
            _receive(connection, log, _SILENCE_S, flow.duration_s)
        else:
            _send(connection, log, _interval(wish.get("interval_s"), flow), bool(wish.get("every_write")))
        self._keep(token, log)

    def _keep(self, token: str, log: Log) -> None:
        report = {"received": log.received, "seconds": log.seconds, "samples": [asdict(one) for one in log.samples]}
        with self._lock:
            flows = self._reports.setdefault(token, {})
            if len(flows) < MOST_CONNECTIONS or log.flow.name in flows:
                flows[log.flow.name] = report
            # Discard the oldest reports that were not fetched, and then the newest flows of this client.
            while len(self._reports) > MOST_CONNECTIONS or (len(self._reports) > 1 and self._samples() > _MOST_KEPT):
                self._reports.pop(next(each for each in self._reports if each != token))
            while len(flows) > 1 and self._samples() > _MOST_KEPT:
                flows.popitem()

    def _samples(self) -> int:
        return sum(len(report["samples"]) for flows in self._reports.values() for report in flows.values())


def printable(text: str) -> str:
    """Returns a peer's text without terminal escapes, at most 200 characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])


def _word(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise ValueError(f"the {what} is not text of at most {_LONGEST_NAME} characters")
    return value


def _number(value: object, what: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"the {what} is not between {least:g} and {most:g}")
    return value


def _wished(value: object) -> Flow:
    """Parses and validates a requested flow."""
    if not isinstance(value, dict):
        raise ValueError("the request has no flow")
    wish = cast("dict[str, object]", value)
    direction = _word(wish.get("direction"), "direction")
    if direction not in ("down", "up"):
        raise ValueError("the direction of a flow must be down or up")
    cc = wish.get("cc")
    return Flow(
        name=_word(wish.get("name"), "name"),
        direction=direction,
        start_s=_number(wish.get("start_s", 0), "start", 0, LONGEST_S),
        duration_s=_number(wish.get("duration_s"), "duration", 1e-3, LONGEST_S),
        size=int(_number(wish.get("size", 0), "size", 0, 2**50)),
        cc=None if cc is None else _word(cc, "congestion control"),
    )


def _interval(value: object, flow: Flow) -> float:
    """Returns a sampling interval in seconds that is long enough for at most `_MOST_SAMPLES` samples."""
    return max(_number(value, "interval", _SHORTEST_INTERVAL_S, LONGEST_S), flow.duration_s / _MOST_SAMPLES)


def _carry_out(way: _Way, token: str, log: Log, interval_s: float, every_write: bool) -> None:
    """Requests one flow from the sink, and runs this machine's end of the flow."""
    flow = log.flow
    with closing(way.connect(flow.cc)) as connection:
        wished = flow if way.chooses else replace(flow, cc=None)
        wish = {
            "role": "data",
            "token": token,
            "flow": asdict(wished),
            "interval_s": interval_s,
            "every_write": every_write,
        }
        _send_all(connection, json.dumps(wish).encode() + b"\n")
        if flow.direction == "up":
            log.port = connection.port if isinstance(connection, _KernelConnection) else 0
            _send(connection, log, interval_s, every_write)
        else:
            _receive(connection, log, PATIENCE_S + flow.duration_s, flow.duration_s)


def _fetch(way: _Way, token: str, logs: list[Log]) -> None:
    """Fetches the sink's report: samples of downloads, and byte counts of uploads."""
    # The sink may detect the end of a flow slightly later than this machine.
    time.sleep(0.2)
    with closing(way.connect(None, ours=False)) as connection:
        _send_all(connection, json.dumps({"role": "report", "token": token}).encode() + b"\n")
        text = _read_report(connection, len(logs))
    try:
        reports = _table(json.loads(text), "its answer")
        for log in logs:
            _fill_in(log, _table(reports.get(log.flow.name), f"its report on {log.flow.name}"))
    except (ValueError, RecursionError) as error:
        why = error if isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError) else "not JSON"
        raise OSError(f"the peer is not a `lopsided probe sink`, or another version of it: {why}") from None


def _read_report(connection: _Connection, flows: int) -> bytes:
    """Reads the sink's answer. Raises OSError if the answer is larger or slower than a valid report can be."""
    most = _REPORT_BYTES * (1 + flows)
    until = time.monotonic() + _REPORT_S
    found = bytearray()
    while octets := connection.recv(1 << 16, PATIENCE_S):
        found += octets
        if len(found) > most or time.monotonic() > until:
            raise OSError("the peer's answer is too long: it is not a `lopsided probe sink`")
    return bytes(found)


def _table(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a table")
    return cast("dict[str, object]", value)


def _fill_in(log: Log, report: dict[str, object]) -> None:
    """Validates the sink's report on a flow, and adds it to the flow's log."""
    if log.flow.direction == "up":
        log.received = int(_number(report.get("received"), "count of bytes", 0, 2**60))
        log.seconds = _number(report.get("seconds"), "time", 0, 2 * LONGEST_S)
        return
    samples = report.get("samples")
    if not isinstance(samples, list) or len(cast("list[object]", samples)) > _MOST_SAMPLES + 1:
        raise ValueError("the samples are not a list, or too many")
    names = {each.name for each in fields(Sample)}
    # Older sinks do not send these fields.
    needed = names - {"state", "in_flight_bytes"}
    log.samples = []
    for each in cast("list[object]", samples):
        sample = _table(each, "a sample")
        if not needed <= set(sample) <= names:
            raise ValueError(f"a sample does not have the fields {', '.join(sorted(names))}")
        log.samples.append(Sample(**{name: cast("Any", _sampled(value)) for name, value in sample.items()}))


def _sampled(value: object) -> object:
    if value is None or isinstance(value, str):
        return None if value is None else _word(value, "word of a sample")
    if isinstance(value, bool):
        return value
    return _number(value, "number of a sample", -(2.0**63), 2.0**64)


def _send_all(connection: _Connection, octets: bytes) -> None:
    until = time.monotonic() + PATIENCE_S
    while octets:
        octets = octets[connection.send(octets, max(1e-3, until - time.monotonic())) :]


def _send(connection: _Connection, log: Log, interval_s: float, every_write: bool = False) -> None:
    """Keeps the socket full, and samples at each interval or after each write of 1,460 bytes."""
    flow = log.flow
    if flow.cc is not None:
        connection.set_cc(flow.cc)
    began = time.monotonic()
    end, due, written = began + flow.duration_s, began + interval_s, 0
    while (now := time.monotonic()) < end and (not flow.size or written < flow.size):
        each = every_write and len(log.samples) < _MOST_SAMPLES
        if now >= due and not each:
            log.samples.append(_sample(connection, 8 * written / (now - began)))
            due += interval_s * (1 + (now - due) // interval_s)
        try:
            most = _THESIS_WRITE if every_write else len(_CHUNK)
            chunk = _CHUNK[: min(most, flow.size - written) if flow.size else most]
            written += connection.send(chunk, max(1e-4, (end if each else min(due, end)) - now))
            if each:
                since = max(time.monotonic() - began, 1e-6)
                log.samples.append(_sample(connection, 8 * written / since))
        except (BlockingIOError, TimeoutError):
            continue
    if flow.size:
        connection.shutdown_write()
        connection.recv(1, PATIENCE_S + flow.duration_s)
    else:
        # On a slow line, the data in the socket could take minutes to be delivered.
        connection.abort()


def _receive(connection: _Connection, log: Log, patience_s: float, longest_s: float | None = None) -> None:
    """Counts bytes until the sender ends the connection, for at most `longest_s` plus `PATIENCE_S`."""
    first = last = time.monotonic()
    until = None if longest_s is None else first + longest_s + PATIENCE_S
    try:
        while (until is None or last < until) and (octets := connection.recv(1 << 20, patience_s)):
            last = time.monotonic()
            first = first if log.received else last
            log.received += len(octets)
    except ConnectionResetError:
        pass
    log.seconds = last - first


def _read_line(connection: _Connection) -> dict[str, Any]:
    """Reads the first line byte by byte, because data follows the line. Raises ValueError after `PATIENCE_S`."""
    line, until = b"", time.monotonic() + PATIENCE_S
    while not line.endswith(b"\n"):
        octet = connection.recv(1, max(1e-3, until - time.monotonic()))
        if not octet or len(line) == _LONGEST_LINE or time.monotonic() > until:
            raise ValueError("no request was received")
        line += octet
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("the request is not a JSON object")
    return cast("dict[str, Any]", found)


def plan(
    *,
    down: int,
    up: int,
    duration_s: float,
    upload_after_s: float = 0.0,
    stagger_s: float = 0.0,
    size: int = 0,
    cc: str | None,
) -> list[Flow]:
    """Plans downloads and uploads that all end at the same time.

    Uploads start `upload_after_s` after the downloads. Flows of the same direction start `stagger_s` apart. Raises
    UsageError if there is no flow, if there are too many flows, or if a flow would start after the end.
    """
    if down < 0 or up < 0 or down + up == 0 or down + up > MOST_CONNECTIONS // 2:
        raise UsageError(f"{down + up} flows: must be from 1 to {MOST_CONNECTIONS // 2}")
    flows: list[Flow] = []
    for direction, count, after in (("down", down, 0.0), ("up", up, upload_after_s)):
        for number in range(count):
            start = after + number * stagger_s
            if not 0 < duration_s - start <= LONGEST_S:
                raise UsageError(
                    f"flow {direction}{number + 1} would start after {start:g} s, of {duration_s:g} s in all"
                )
            flows.append(Flow(f"{direction}{number + 1}", direction, start, duration_s - start, size, cc))
    return flows


@dataclass(frozen=True)
class Field:
    """The results of merritt2010's field procedure (section 6.4): measurements, and the buffer by inequality 6.6."""

    rtt_ms: float
    max_cwnd_down_bytes: int
    max_cwnd_up_bytes: int
    up_bps: float
    buffer_packets: float


def field_procedure(
    host: str, *, port: int = PORT, up_bps: float | None, alone_s: float = 30.0, both_s: float = 30.0
) -> Field:
    """Measures the RTT of a download that runs alone, then the largest windows of a download and an upload in parallel.

    By default, the upload's goodput is taken as the uplink's rate. Raises RunError if a flow has no samples.
    """
    flows = plan(down=1, up=1, duration_s=alone_s + both_s, upload_after_s=alone_s, cc=None)
    down, up = run(host, flows, port=port)
    if not down.samples or not up.samples:
        raise RunError("a flow has no samples")
    # Times are relative to the first sample, because the sink's clock may differ from this machine's clock.
    joined = down.samples[0].time_s + alone_s - 1.0
    alone = [sample.rtt_us for sample in down.samples if sample.time_s < joined] or [down.samples[0].rtt_us]
    largest_down, largest_up = (max(one.cwnd_bytes for one in log.samples) for log in (down, up))
    rtt_ms, rate = sum(alone) / len(alone) / 1e3, up_bps or up.goodput_bps
    packets = metrics.uplink_buffer_bound_packets(largest_down, largest_up, rtt_ms / 1e3, rate)
    return Field(rtt_ms, largest_down, largest_up, rate, packets)
