"""Sends and receives the data of a flow, and samples the sender's state."""

from __future__ import annotations

import math
import time

from lopsided.studies.probe.flows import Log, Sample
from lopsided.studies.probe.ways import PATIENCE_S, Connection

SILENCE_S = 30.0
"""The sink ends an upload after this number of seconds without data. The limit exceeds `PATIENCE_S`, because a line may
stall for longer than `PATIENCE_S`."""
_CHUNK = bytes(1 << 17)
MOST_SAMPLES = 20_000
"""Maximum number of samples per flow that the sink sends. Longer flows are sampled less often."""
_THESIS_WRITE = 1460
"""Size of each write of merritt2010's program, in bytes."""
_BEGAN_S = time.time() - time.monotonic()


def _wall_s() -> float:
    """Returns the time in seconds since 1970: the wall-clock time at the start of the process, plus the monotonic time
    since then.

    Later steps of the wall clock have no effect.
    """
    return _BEGAN_S + time.monotonic()


def send(
    connection: Connection, log: Log, interval_s: float, every_write: bool = False, patience_s: float = math.inf
) -> None:
    """Sends the flow's data as fast as the socket accepts the data. Samples the sender's state at each interval or,
    with `every_write`, after each write of 1,460 bytes.

    Raises TimeoutError if the socket accepts no data for `patience_s` seconds.
    """
    flow = log.flow
    if flow.cc is not None:
        connection.set_cc(flow.cc)
    began = time.monotonic()
    end, due, written, last = began + flow.duration_s, began + interval_s, 0, began
    while (now := time.monotonic()) < end and (not flow.size or written < flow.size):
        if now - last > patience_s:
            raise TimeoutError(f"the receiver read nothing for {patience_s:g} s")
        each = every_write and len(log.samples) < MOST_SAMPLES
        if now >= due and not each:
            log.samples.append(_sample(connection, 8 * written / (now - began)))
            due += interval_s * (1 + (now - due) // interval_s)
        try:
            most = _THESIS_WRITE if every_write else len(_CHUNK)
            chunk = _CHUNK[: min(most, flow.size - written) if flow.size else most]
            written += connection.send(chunk, max(1e-4, min(end if each else min(due, end), last + patience_s) - now))
            last = time.monotonic()
            if each:
                since = max(time.monotonic() - began, 1e-6)
                log.samples.append(_sample(connection, 8 * written / since))
        except (BlockingIOError, TimeoutError):
            continue
    if flow.size:
        connection.shutdown_write()
        connection.recv(1, PATIENCE_S + flow.duration_s)
    else:
        # On a slow line, the delivery of the data in the socket buffer could take minutes. Discard this data.
        connection.abort()


def receive(connection: Connection, log: Log, patience_s: float, longest_s: float | None = None) -> None:
    """Counts received bytes until the sender ends the connection, for at most `longest_s` plus `PATIENCE_S` seconds."""
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


def _sample(connection: Connection, throughput_bps: float) -> Sample:
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
