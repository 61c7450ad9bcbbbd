"""Requests flows from a sink, and collects the logs of the flows."""

from __future__ import annotations

import json
import secrets
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace

from lopsided import metrics
from lopsided.errors import RunError
from lopsided.studies.probe.flows import KERNEL, PORT, Flow, Log, Stack, plan
from lopsided.studies.probe.messages import as_table, fill_in, read_report, send_all
from lopsided.studies.probe.transfer import receive, send
from lopsided.studies.probe.ways import PATIENCE_S, KernelConnection, KernelWay, OurWay, Way

INTERVAL_S = 0.02


def run(
    host: str,
    flows: list[Flow],
    *,
    port: int = PORT,
    interval_s: float = INTERVAL_S,
    every_write: bool = False,
    stack: Stack = KERNEL,
) -> list[Log]:
    """Runs flows against a sink and returns their logs in the order of the flows.

    With `every_write`, the sender's state is sampled after each write of 1,460 bytes, as in merritt2010's program.
    Means over the samples then give busy periods more weight. After `MOST_SAMPLES` samples, one sample is taken per
    `interval_s`.
    """
    for flow in flows:
        stack.check(flow.cc)
    if stack.profile is None:
        return _run(KernelWay(host, port), flows, interval_s, every_write)
    with closing(OurWay(host, port, stack.profile, len(flows))) as way:
        return _run(way, flows, interval_s, every_write)


def _run(way: Way, flows: list[Flow], interval_s: float, every_write: bool) -> list[Log]:
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


def _carry_out(way: Way, token: str, log: Log, interval_s: float, every_write: bool) -> None:
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
        send_all(connection, json.dumps(wish).encode() + b"\n")
        if flow.direction == "up":
            log.port = connection.port if isinstance(connection, KernelConnection) else 0
            send(connection, log, interval_s, every_write)
        else:
            receive(connection, log, PATIENCE_S + flow.duration_s, flow.duration_s)


def _fetch(way: Way, token: str, logs: list[Log]) -> None:
    """Fetches the sink's report: samples of downloads, and byte counts of uploads."""
    # The sink may detect the end of a flow slightly later than this machine.
    time.sleep(0.2)
    with closing(way.connect(None, ours=False)) as connection:
        send_all(connection, json.dumps({"role": "report", "token": token}).encode() + b"\n")
        text = read_report(connection, len(logs))
    try:
        reports = as_table(json.loads(text), "its answer")
        for log in logs:
            fill_in(log, as_table(reports.get(log.flow.name), f"its report on {log.flow.name}"))
    except (ValueError, RecursionError) as error:
        why = error if isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError) else "not JSON"
        raise OSError(f"the peer is not a `lopsided probe sink`, or another version of it: {why}") from None


@dataclass(frozen=True)
class Field:
    """The results of merritt2010's field procedure (section 6.4): the measurements, and the buffer size that inequality
    6.6 computes from them."""

    rtt_ms: float
    max_cwnd_down_bytes: int
    max_cwnd_up_bytes: int
    up_bps: float
    buffer_packets: float


def field_procedure(host: str, *, port: int = PORT, up_bps: float | None) -> Field:
    """Runs a download alone for 30 s, and then a download and an upload in parallel for 30 s.

    Measures the download's mean RTT while it runs alone, and the largest congestion window of each flow. The uplink's
    rate is `up_bps`, or the upload's goodput if `up_bps` is `None`. Raises RunError if a flow has no samples.
    """
    flows = plan(down=1, up=1, duration_s=60.0, upload_after_s=30.0, cc=None)
    down, up = run(host, flows, port=port)
    if not down.samples or not up.samples:
        raise RunError("a flow has no samples")
    # Times are relative to the first sample, because the sink's clock may differ from this machine's clock.
    joined = down.samples[0].time_s + 29.0
    alone = [sample.rtt_us for sample in down.samples if sample.time_s < joined] or [down.samples[0].rtt_us]
    largest_down, largest_up = (max(one.cwnd_bytes for one in log.samples) for log in (down, up))
    rtt_ms, rate = sum(alone) / len(alone) / 1e3, up_bps or up.goodput_bps
    packets = metrics.uplink_buffer_bound_packets(largest_down, largest_up, rtt_ms / 1e3, rate)
    return Field(rtt_ms, largest_down, largest_up, rate, packets)
