"""Checks that the path matches the scenario, before the measurement begins.

A single small datagram shows the base delay. A train of datagrams at 4 times the bottleneck's rate fills the queue. The
spacing of their arrivals shows the rate. The longest delay shows the queue's size, to half a packet. A path that fails
the check is not measured.
"""

from __future__ import annotations

import math
import select
import socket
import struct
import time
from dataclasses import dataclass

from .job import Check
from .topology import Network

SMALL, UDP_HEADERS = 36, 28
"""UDP payload of a 64-byte datagram, and the size of its headers, in bytes."""
PORT = 9
LONE, MOST_LONE = 3, 12
TRAIN_SPEEDUP = 4
QUIET_NS = 400_000_000
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35


@dataclass
class Outcome:
    """The result of one check: the expected value, the measured value and the tolerance, in ms or kbit/s."""

    path: str
    what: str
    expected: float
    measured: float
    tolerance: float

    @property
    def holds(self) -> bool:
        return abs(self.measured - self.expected) <= self.tolerance


def hold(check: Check, network: Network, addresses: dict[str, str], virtual_time: bool) -> list[Outcome]:
    """Checks one path. The path's queues are empty afterwards."""
    path = f"{check.sender}->{check.receiver}"
    slip_ms = 0.05 if virtual_time else 1.0
    with _Probe(check, network, addresses) as probe:
        base = probe.base_delay_ns() / 1e6
        expected = check.base_one_way_ns / 1e6
        idle = Outcome(path, "idle one-way delay, ms", expected, base, slip_ms + 0.002 * expected)
        if check.bottleneck_bps and idle.holds:
            return [idle, *_hold_bottleneck(check, probe, path, slip_ms)]
        return [idle]


def _hold_bottleneck(check: Check, probe: _Probe, path: str, slip_ms: float) -> list[Outcome]:
    packet_ns = check.datagram_octets * 8 * 1_000_000_000 / check.bottleneck_bps
    if check.full_queue_one_way_ns:
        waiting = (check.full_queue_one_way_ns - check.base_one_way_ns) / packet_ns
        count = math.ceil(waiting * TRAIN_SPEEDUP / (TRAIN_SPEEDUP - 1)) + 12
    else:
        count = 24
    arrivals = probe.train(count, packet_ns / TRAIN_SPEEDUP)
    # The shaper's credit may shorten the spacing of the first two packets.
    spaced = arrivals[2:]
    took = spaced[-1][0] - spaced[0][0] if len(spaced) > 1 else math.inf
    rate = (len(spaced) - 1) * check.datagram_octets * 8 * 1e6 / max(1, took)
    expected_rate = check.bottleneck_bps / 1e3
    outcomes = [Outcome(path, "shaped rate, kbit/s", expected_rate, rate, 0.005 * expected_rate)]
    if check.full_queue_one_way_ns:
        longest = max((delay for _, delay in arrivals), default=math.inf) / 1e6
        expected = check.full_queue_one_way_ns / 1e6
        outcomes.append(
            Outcome(path, "one-way delay, full queue, ms", expected, longest, slip_ms + 0.75 * packet_ns / 1e6)
        )
    return outcomes


class _Probe:
    def __init__(self, check: Check, network: Network, addresses: dict[str, str]) -> None:
        with network.nodes[check.receiver].entered():
            self._receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._receiver.bind((addresses[check.receiver], PORT))
        self._receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._receiver.setblocking(False)
        with network.nodes[check.sender].entered():
            self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sender.connect((addresses[check.receiver], PORT))
        self._largest = check.largest - UDP_HEADERS
        self._longest_wait_ns = QUIET_NS + 2 * max(check.base_one_way_ns, check.full_queue_one_way_ns)

    def __enter__(self) -> _Probe:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.close()
        self._receiver.close()

    def base_delay_ns(self) -> float:
        """Returns the smallest delay in ns of three single datagrams; infinity if none arrives. If the path loses
        packets, more datagrams are sent."""
        delays: list[int] = []
        for _ in range(MOST_LONE):
            self._send(SMALL)
            delays += [delay for _, delay in self._arrivals(1)]
            if len(delays) == LONE:
                break
        return min(delays, default=math.inf)

    def train(self, count: int, spacing_ns: float) -> list[tuple[int, int]]:
        """Sends datagrams at intervals. Returns the arrival time and the delay of each datagram that arrives."""
        began = time.monotonic_ns()
        arrivals: list[tuple[int, int]] = []
        for index in range(count):
            ahead = began + round(index * spacing_ns) - time.monotonic_ns()
            if ahead > 0:
                time.sleep(ahead / 1e9)
            self._send(self._largest)
        arrivals += self._arrivals(count)
        return arrivals

    def _send(self, size: int) -> None:
        """Sends a datagram that contains its sending time."""
        self._sender.send(struct.pack("q", time.time_ns()).ljust(size, b"\0"))

    def _arrivals(self, count: int) -> list[tuple[int, int]]:
        """Reads until `count` datagrams have arrived, or until no datagram can still be on the path."""
        arrivals: list[tuple[int, int]] = []
        poll = select.poll()
        poll.register(self._receiver, select.POLLIN)
        while len(arrivals) < count and poll.poll(self._longest_wait_ns / 1e6):
            data, control, _, _ = self._receiver.recvmsg(2048, 64)
            seconds, nanoseconds = struct.unpack("qq", control[0][2])
            at = seconds * 1_000_000_000 + nanoseconds
            arrivals.append((at, at - struct.unpack_from("q", data)[0]))
        return arrivals
