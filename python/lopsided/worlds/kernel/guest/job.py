"""The agent's job: plain data that the plan writes as JSON.

Times are in ns, sizes in bytes, rates in bit/s. The options of queue disciplines use the kernel's encoding.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Node:
    """A network namespace. All its interfaces have the same address."""

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
    """A pair of connected interfaces. A packet that enters one interface leaves the other immediately."""

    ends: tuple[Interface, Interface]


@dataclass(frozen=True)
class Tun:
    """The only interface of a node whose path another process emulates."""

    node: str
    mtu: int
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    """Metrics of the default route, such as the MTU."""


@dataclass(frozen=True)
class Passage:
    """A node that forwards between two devices of another process.

    One device leads to the host with this address, the other device to all other hosts.
    """

    node: str
    host: str
    mtu: int


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline on an interface.

    `parent` 0 is the root. `options` is TCA_OPTIONS in hexadecimal. `classes` have a handle, a parent and options.
    `classifier` is classic BPF code in hexadecimal; it returns a packet's class.
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
    """A host or default route via a neighbour with a known hardware address."""

    node: str
    destination: str
    via: str
    interface: str
    metrics: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Watched:
    """A queue that is sampled: the bottleneck queue of one direction, which its qdisc handle identifies."""

    link: str
    direction: str
    node: str
    interface: str
    handle: int
    way_in: str = ""
    """The interface through which packets enter the queue's node."""

    def file(self, side: str) -> str:
        """Returns the name of the capture before (`in`) or after (`out`) the queue."""
        return f"queue-{self.link}-{self.direction}-{side}"


@dataclass(frozen=True)
class ChosenLoss:
    """The packets that a direction drops on purpose, selected by number (from 1) or by time."""

    link: str
    direction: str
    node: str
    interface: str
    packets: list[int]
    outages_ns: list[list[int]]


@dataclass(frozen=True)
class Flow:
    """One flow: `repeat` transfers of `size` bytes with `pause_ns` between them; one endless transfer if `size` is 0.

    A flow of datagrams has a `datagram_rate`. Its sizes and rates count whole IP packets.
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
    """Receive buffer of the data's sender. The sender's SYN announces a window that depends on this size."""
    sender_tos: int = 0
    receiver_tos: int = 0
    """DSCP and ECN bits of the receiver's IP headers; the ECN bits are used for datagrams only."""
    same_port: bool = True
    """True if the source port of the flow's first connection equals the destination port. The source port is then the
    same in every run."""


@dataclass(frozen=True)
class Program:
    """A program on a host. A host's name in braces becomes its address."""

    name: str
    host: str
    command: list[str]
    start_ns: int = 0
    awaited: bool = True
    """True if the run waits for the program to exit. Other programs are stopped at the end of the run."""


@dataclass(frozen=True)
class Tap:
    """A packet capture of headers on an interface. The file name has no extension."""

    node: str
    interface: str
    file: str


@dataclass(frozen=True)
class Check:
    """Checks of a path before the measurement. A field that is 0 skips its check."""

    sender: str
    receiver: str
    base_one_way_ns: int
    """Delay of a small datagram on the idle path in ns."""
    bottleneck_bps: int
    datagram_octets: int
    """Size in bytes of the largest datagram at the bottleneck, including framing."""
    full_queue_one_way_ns: int
    """Delay in ns of a datagram that takes the last place in the queue."""
    largest: int
    """Size in bytes of the largest IP packet that the path carries unfragmented."""


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
    """Programs of the run. The run ends when all `awaited` programs have exited, or after its duration."""
    seed: int = 0
    """Seed of the guest's random numbers in virtual time."""
    snap_length: int = 128
    tuns: list[Tun] = field(default_factory=list[Tun])
    passages: list[Passage] = field(default_factory=list[Passage])
    channel: int | None = None
    """File descriptor of the connection to the process that emulates the path; `None` if there is no such process."""
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of hosts on other machines. The agent does not drive the flow ends on these hosts."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(path: Path) -> Job:
        data: dict[str, Any] = json.loads(path.read_text())
        ends = [veth["ends"] for veth in data["veths"]]
        data["veths"] = [Veth((Interface(**one), Interface(**other))) for one, other in ends]
        for qdisc in data["qdiscs"]:
            qdisc["classes"] = [tuple(each) for each in qdisc["classes"]]
        kinds = {"nodes": Node, "qdiscs": Qdisc, "routes": Route, "watched": Watched, "losses": Watched, "tuns": Tun}
        kinds |= {"chosen": ChosenLoss, "passages": Passage, "flows": Flow, "programs": Program}
        for name, kind in (kinds | {"taps": Tap, "checks": Check}).items():
            data[name] = [kind(**each) for each in data[name]]
        return Job(**data)
