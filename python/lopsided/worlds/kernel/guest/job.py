"""What the agent is told to do: plain data, written as JSON by the plan and read in the guest.

Times are nanoseconds, sizes octets, rates bits per second. Queue disciplines come with their options already in the
kernel's encoding.
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
    """A pair of interfaces: what goes into one comes out of the other at once."""

    ends: tuple[Interface, Interface]


@dataclass(frozen=True)
class Tun:
    """The one way out of a node whose path is carried by another process: a device whose packets that process reads
    and writes."""

    node: str
    mtu: int
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    """Of the route that leads out."""


@dataclass(frozen=True)
class Passage:
    """A node that forwards between two devices, whose packets another process reads and writes: one leads to the host
    with this address, the other to everybody else."""

    node: str
    host: str
    mtu: int


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline on an interface. `parent` 0 is the root; `options` is the payload of TCA_OPTIONS in
    hexadecimal. `classes` are those to be made: handle, parent, options. `classifier` is a program in classic BPF, in
    hexadecimal, that answers with the class of each packet."""

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
    """A host route, or a default one, over a neighbour whose hardware address is given beforehand."""

    node: str
    destination: str
    via: str
    interface: str
    metrics: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Watched:
    """A queue whose statistics are sampled: the discipline with this handle is the bottleneck of a link's direction."""

    link: str
    direction: str
    node: str
    interface: str
    handle: int
    way_in: str = ""
    """The interface over which its packets come to the node."""

    def file(self, side: str) -> str:
        """The name of the capture before ("in") or behind ("out") it."""
        return f"queue-{self.link}-{self.direction}-{side}"


@dataclass(frozen=True)
class ChosenLoss:
    """What a link's direction loses on purpose, at the interface over which packets leave the link: those with these
    numbers, counted from 1, and those that come in these times."""

    link: str
    direction: str
    node: str
    interface: str
    packets: list[int]
    outages_ns: list[list[int]]


@dataclass(frozen=True)
class Flow:
    """One flow. `repeat` transfers of `size` octets with `pause_ns` between them, or without end when `size` is 0.

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
    """Of the end that sends the data, whose SYN offers it too."""
    sender_tos: int = 0
    receiver_tos: int = 0
    """The octets of the IP header with the codepoint for differentiated services and, for datagrams, ECN."""
    same_port: bool = True
    """The first connection, or the datagrams, leave from the port that they go to, the same in every run."""


@dataclass(frozen=True)
class Program:
    """A program of this machine on a host. Its command may name hosts in braces, for their addresses."""

    name: str
    host: str
    command: list[str]
    start_ns: int = 0
    awaited: bool = True
    """Whether the run lasts until it has ended; what still runs then is ended with the run."""


@dataclass(frozen=True)
class Tap:
    """A packet capture on an interface: headers only. The file's name comes without its ending."""

    node: str
    interface: str
    file: str


@dataclass(frozen=True)
class Check:
    """What the way from one host to another must do before anything is measured on it; a value of 0 is not checked."""

    sender: str
    receiver: str
    base_one_way_ns: int
    """What a small datagram needs on the idle path."""
    bottleneck_bps: int
    datagram_octets: int
    """What the largest datagram counts as at the bottleneck, framing included."""
    full_queue_one_way_ns: int
    """What the last datagram that finds room in the full bottleneck queue needs."""
    largest: int
    """Octets of the largest IP packet that the way takes whole."""


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
    """The run ends when those that it waits for have ended, or with its duration."""
    seed: int = 0
    """Of what the guest's kernel draws at random, in virtual time."""
    snap_length: int = 128
    tuns: list[Tun] = field(default_factory=list[Tun])
    passages: list[Passage] = field(default_factory=list[Passage])
    channel: int | None = None
    """The descriptor by which this program talks with the process that carries the path."""
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of hosts that are not among the nodes: the ends of flows there are not driven here."""

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
