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
    """A pair of connected interfaces: a packet that enters one leaves the other immediately."""

    ends: tuple[Interface, Interface]


@dataclass(frozen=True)
class Tun:
    """The only interface of a node whose path is in another process, which reads and writes the packets of this
    device."""

    node: str
    mtu: int
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    """Metrics of the default route, such as its MTU."""


@dataclass(frozen=True)
class Passage:
    """A node that forwards between two devices; another process reads and writes their packets.

    One device leads to the host with this address, the second device leads to all other hosts.
    """

    node: str
    host: str
    mtu: int


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline on an interface.

    `parent` 0 means the root. `options` is the payload of TCA_OPTIONS in hexadecimal. `classes` are the classes to
    create: handle, parent, options. `classifier` is a program in classic BPF, in hexadecimal, that returns the class of
    each packet.
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
    """A host route or a default route, via a neighbour with a known hardware address."""

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
    """The interface through which packets reach the node with the queue."""

    def file(self, side: str) -> str:
        """The name of the capture before (`in`) or after (`out`) the queue."""
        return f"queue-{self.link}-{self.direction}-{side}"


@dataclass(frozen=True)
class ChosenLoss:
    """The packets that a link direction drops on purpose, at the interface through which packets leave the link: the
    packets with these numbers, counted from 1, and the packets that pass during these times."""

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

    A flow of datagrams has a `datagram_rate`; its sizes and rates are those of IP packets.
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
    """The receive buffer of the end that sends the data; the SYN of this end announces a window too."""
    sender_tos: int = 0
    receiver_tos: int = 0
    """The DSCP and ECN bits of the IP headers; ECN only for datagrams."""
    same_port: bool = True
    """True if the first connection, or the datagrams, use the destination port also as source port, so that it is
    the same in every run."""


@dataclass(frozen=True)
class Program:
    """A program of this machine that runs on a host. In its command, a host's name in braces is replaced by the
    host's address."""

    name: str
    host: str
    command: list[str]
    start_ns: int = 0
    awaited: bool = True
    """True if the run waits for the end of this program. Other programs are stopped at the end of the run."""


@dataclass(frozen=True)
class Tap:
    """A packet capture on an interface, headers only. The file name has no extension."""

    node: str
    interface: str
    file: str


@dataclass(frozen=True)
class Check:
    """The checks of the path from one host to another before the measurement. A property with the value 0 is not
    checked."""

    sender: str
    receiver: str
    base_one_way_ns: int
    """The delay of a small datagram on the idle path, in ns."""
    bottleneck_bps: int
    datagram_octets: int
    """Size in bytes of the largest datagram at the bottleneck, including framing."""
    full_queue_one_way_ns: int
    """The delay in ns of the last datagram that fits into the bottleneck's full queue."""
    largest: int
    """Size in bytes of the largest IP packet that passes without fragmentation."""


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
    """The programs to run. The run ends when the programs with `awaited` have ended, or after its duration."""
    seed: int = 0
    """Seed of the guest kernel's random numbers, if the run is in virtual time."""
    snap_length: int = 128
    tuns: list[Tun] = field(default_factory=list[Tun])
    passages: list[Passage] = field(default_factory=list[Passage])
    channel: int | None = None
    """File descriptor of the connection to the process that carries the path."""
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of hosts that are not nodes of this job. The agent does not drive the ends of flows on these hosts."""

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
