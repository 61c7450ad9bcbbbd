"""The job of the agent: plain data, which the plan writes as JSON and the guest reads.

Times are in ns, sizes in bytes, rates in bit/s. Queue disciplines have their options in the kernel's encoding.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Node:
    """One network namespace with one address, which all its interfaces share."""

    name: str
    address: str
    is_host: bool
    sysctls: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Interface:
    node: str
    name: str
    mac: str


@dataclass(frozen=True)
class Veth:
    """A pair of interfaces: a packet that enters one leaves the other at once."""

    ends: tuple[Interface, Interface]


@dataclass(frozen=True)
class Tun:
    """The only interface of a node whose path another process carries: a device whose packets that process reads and
    writes.
    """

    node: str
    mtu: int
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    """Metrics of the default route."""


@dataclass(frozen=True)
class Passage:
    """A node that forwards between two devices whose packets another process reads and writes.

    One device leads to the host with this address, the other to all other hosts.
    """

    node: str
    host: str
    mtu: int


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline on an interface.

    `parent` 0 is the root. `options` is the payload of TCA_OPTIONS in hexadecimal. `classes` are the classes to create:
    handle, parent, options. `classifier` is a program in classic BPF, in hexadecimal, that returns the class of each
    packet.
    """

    node: str
    interface: str
    kind: str
    handle: int
    parent: int
    options: str
    size_table: str = ""
    classes: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    classifier: str = ""


@dataclass(frozen=True)
class Route:
    """A host route or a default route, over a neighbour with a known hardware address."""

    node: str
    destination: str
    via: str
    interface: str
    metrics: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Watched:
    """A queue whose statistics are sampled: the discipline with this handle is the bottleneck of a link direction."""

    link: str
    direction: str
    node: str
    interface: str
    handle: int
    way_in: str = ""
    """The interface over which the queue's packets reach the node."""

    def file(self, side: str) -> str:
        """The name of the capture before (`in`) or behind (`out`) the queue."""
        return f"queue-{self.link}-{self.direction}-{side}"


@dataclass(frozen=True)
class ChosenLoss:
    """The packets that a link direction drops on purpose, at the interface over which packets leave the link.

    It drops packets with these numbers, counted from 1, and packets at these times.
    """

    link: str
    direction: str
    node: str
    interface: str
    packets: list[int]
    outages_ns: list[list[int]]


@dataclass(frozen=True)
class Flow:
    """One flow: `repeat` transfers of `size` bytes with `pause_ns` between them, or a single endless transfer if `size`
    is 0.

    A flow of datagrams has a `datagram_rate`. Its sizes and rates are those of IP packets.
    """

    name: str
    sender: str
    receiver: str
    port: int
    start_ns: int
    stop_ns: int
    cc: str = "cubic"
    size: int = 0
    repeat: int = 1
    pause_ns: int = 0
    on_ns: int = 0
    off_ns: int = 0
    datagram_size: int = 0
    datagram_rate: int = 0
    max_segment: int = 0
    send_buffer: int = 0
    receive_buffer: int = 0
    sender_receive_buffer: int = 0
    """The receive buffer of the end that sends the data; its SYN announces a window as well."""
    sender_tos: int = 0
    receiver_tos: int = 0
    """The DSCP and ECN bytes of the IP headers; ECN only for datagrams."""
    same_port: bool = True
    """True if the first connection, or the datagrams, use the same source port as destination port, the same in every
    run.
    """


@dataclass(frozen=True)
class Program:
    """A program of this machine on a host. A host's name in braces in its command is replaced by the host's address."""

    name: str
    host: str
    command: list[str]
    start_ns: int = 0
    awaited: bool = True
    """True if the run waits for its end. Other programs are ended with the run."""


@dataclass(frozen=True)
class Tap:
    """A packet capture on an interface, headers only. The file name has no ending."""

    node: str
    interface: str
    file: str


@dataclass(frozen=True)
class Check:
    """The checks of the path from one host to another before the measurement. A value of 0 is not checked."""

    sender: str
    receiver: str
    base_one_way_ns: int
    """The delay of a small datagram on the idle path, in ns."""
    bottleneck_bps: int
    datagram_octets: int
    """The bytes that the largest datagram counts at the bottleneck, with framing."""
    full_queue_one_way_ns: int
    """The delay in ns of the last datagram that finds room in the full queue of the bottleneck."""
    largest: int
    """Bytes of the largest IP packet that passes in one piece."""


@dataclass(frozen=True)
class Job:
    virtual_time: bool
    duration_ns: int
    sample_ns: int
    queue_sample_ns: int
    record_ns: int
    modules: list[str]
    nodes: list[Node]
    veths: list[Veth]
    qdiscs: list[Qdisc]
    routes: list[Route]
    watched: list[Watched]
    losses: list[Watched]
    flows: list[Flow]
    taps: list[Tap]
    checks: list[Check]
    chosen: list[ChosenLoss] = field(default_factory=list[ChosenLoss])
    programs: list[Program] = field(default_factory=list[Program])
    """The programs. The run ends when those that it waits for have ended, or after its duration."""
    seed: int = 0
    """The seed of the guest kernel's random numbers, in virtual time."""
    snap_length: int = 128
    tuns: list[Tun] = field(default_factory=list[Tun])
    passages: list[Passage] = field(default_factory=list[Passage])
    channel: int | None = None
    """The descriptor of the connection to the process that carries the path."""
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of hosts that are not among the nodes. The agent does not drive the ends of flows there."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(path: Path) -> Job:
        data: dict[str, Any] = json.loads(path.read_text())
        data["nodes"] = [Node(**node) for node in data["nodes"]]
        ends = [veth["ends"] for veth in data["veths"]]
        data["veths"] = [Veth((Interface(**one), Interface(**other))) for one, other in ends]
        for qdisc in data["qdiscs"]:
            qdisc["classes"] = [tuple(each) for each in qdisc["classes"]]
        data["qdiscs"] = [Qdisc(**qdisc) for qdisc in data["qdiscs"]]
        data["routes"] = [Route(**route) for route in data["routes"]]
        data["watched"] = [Watched(**watched) for watched in data["watched"]]
        data["losses"] = [Watched(**watched) for watched in data["losses"]]
        data["tuns"] = [Tun(**tun) for tun in data["tuns"]]
        data["chosen"] = [ChosenLoss(**loss) for loss in data["chosen"]]
        data["passages"] = [Passage(**passage) for passage in data["passages"]]
        data["flows"] = [Flow(**flow) for flow in data["flows"]]
        data["programs"] = [Program(**program) for program in data["programs"]]
        data["taps"] = [Tap(**tap) for tap in data["taps"]]
        data["checks"] = [Check(**check) for check in data["checks"]]
        return Job(**data)
