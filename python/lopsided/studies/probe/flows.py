"""Defines the flows of a probe, the TCP stack that carries them, and the logs of their senders."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lopsided import _native
from lopsided.errors import RunError, UsageError

if TYPE_CHECKING:
    import polars as pl


PORT = 5000
"""Default port of the sink: the port of merritt2010's programs (appendices B and C)."""
LONGEST_S = 3600.0
MOST_CONNECTIONS = 64
"""Maximum number of parallel connections at the sink."""


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


@dataclass(frozen=True)
class Flow:
    """One connection, which carries data to the sink (`up`) or from the sink (`down`). The connection ends after
    `duration_s`, or after `size` bytes if `size` is not 0."""

    name: str
    direction: str
    start_s: float
    duration_s: float
    size: int = 0
    cc: str | None = None


@dataclass(frozen=True)
class Sample:
    """One sample of a sender's TCP state: times in seconds since 1970, windows in bytes, rates in bit/s."""

    time_s: float
    rtt_us: int
    rtt_var_us: int
    ssthresh_bytes: int | None
    cwnd_bytes: int
    receive_window_bytes: int | None
    send_window_bytes: int | None
    bandwidth_window_bytes: int | None
    """The product of delivery rate and RTT, in bytes. It corresponds to BSD's bandwidth-limited window."""
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
        """Received bits divided by the time from the first to the last received byte, in bit/s."""
        return 8 * self.received / self.seconds if self.seconds > 0 else 0.0


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
"""Number of seconds that merritt2010's program subtracts from the clock (MER-M15)."""
THESIS_COLUMNS = ("Time", "RTT", "RTT_Var", "SSTHRESH", "CWND", "Rcv_Wnd", "Snd_Wnd", "Snd_BW_Wnd", "Throughput")


def thesis_lines(log: Log) -> list[str]:
    """Returns the log as lines of tab-separated values, in the format of merritt2010's appendix C.

    Times are in seconds since `THESIS_EPOCH_S`, RTTs in microseconds, windows in bytes, and throughput in bit/s.
    """
    lines = ["\t".join(THESIS_COLUMNS)]
    for one in log.samples:
        windows = (one.ssthresh_bytes, one.cwnd_bytes, one.receive_window_bytes, one.send_window_bytes)
        texts = [str(window or 0) for window in (*windows, one.bandwidth_window_bytes)]
        rtts = [str(one.rtt_us), str(one.rtt_var_us)]
        lines.append("\t".join([f"{one.time_s - THESIS_EPOCH_S:.6f}", *rtts, *texts, f"{one.throughput_bps:.6f}"]))
    return lines
