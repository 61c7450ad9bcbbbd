"""Builds the nodes, wires, routes and queues of a job through netlink.

In the queues, each packet must contain one segment, so segmentation offload is limited to one segment. Hardware
addresses are set in advance, so that no ARP packet enters a queue.
"""

# pyroute2 has no annotations.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink import (
    NLA_F_NESTED,
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_ECHO,
    NLM_F_EXCL,
    NLM_F_REQUEST,
    nlmsg,
)
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl import RTM_GETQDISC, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER, TC_H_ROOT

from . import tun
from .job import Interface, Job, Node, Passage, Qdisc, Route, Tun, Veth
from .namespace import Namespace

NUD_PERMANENT = 0x80
SCOPE_LINK = 253
ONLINK = 4
TCA_KIND, TCA_STATS2 = 1, 7
TC_H_CLSACT, CLSACT_HANDLE, CLSACT_EGRESS = 0xFFFFFFF1, 0xFFFF0000, 0xFFFFFFF3
TCA_BPF_OPS_LEN, TCA_BPF_OPS, TCA_BPF_FD, TCA_BPF_FLAGS, ACT_DIRECT = 4, 5, 6, 8, 1
ETH_P_ALL = 3
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP = 1, 3, 4
CAKE_STATS_TINS, CAKE_TIN_DROPPED, CAKE_TIN_ACKS, CAKE_TIN_MARKED = 10, 4, 6, 8

TUN_QUEUE = 10_000
"""Number of packets that a device can hold until its process reads them. The number is large enough to lose no
packet."""

EVERY_NODE = {
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.accept_redirects": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
}


MARKED_AS_NESTED = ("fq_pie",)
"""Disciplines whose options need the flag for nested attributes."""


class _QdiscMessage(nlmsg):
    """`struct tcmsg` with encoded options. This class is needed because pyroute2 does not support some disciplines and
    rounds times to microseconds."""

    prefix = "TCA_"
    fields = (
        ("family", "B"),
        ("pad1", "B"),
        ("pad2", "H"),
        ("index", "i"),
        ("handle", "I"),
        ("parent", "I"),
        ("info", "I"),
    )
    nla_map = (
        ("TCA_UNSPEC", "none"),
        ("TCA_KIND", "asciiz"),
        ("TCA_OPTIONS", "cdata"),
        ("TCA_STATS", "cdata"),
        ("TCA_XSTATS", "cdata"),
        ("TCA_RATE", "cdata"),
        ("TCA_FCNT", "cdata"),
        ("TCA_STATS2", "cdata"),
        ("TCA_STAB", "cdata"),
    )


@dataclass
class QueueCount:
    """The kernel's statistics of a discipline."""

    sent_bytes: int
    sent_packets: int
    dropped: int
    dropped_early: int
    """Packets that the discipline dropped although the queue was not full."""
    filtered: int
    """ACKs that a filter removed, which do not count as drops."""
    marked: int
    backlog_bytes: int
    backlog_packets: int


class CannotBuild(Exception):
    """This kernel cannot run the job. The message names what is missing."""


def _reason(error: NetlinkError) -> str:
    code: int = error.code
    if code in (errno.ENOENT, errno.EOPNOTSUPP):
        return "this kernel has no such queue discipline"
    return f"the kernel refuses it ({errno.errorcode.get(code, code)})"


class Network:
    """The nodes of a job, which exist as long as this object keeps their descriptors open."""

    def __init__(self, job: Job) -> None:
        self.nodes = {node.name: Namespace(node.name) for node in job.nodes}
        self._netlink: dict[str, Any] = {}
        self._statistics: dict[str, socket.socket] = {}
        self._index: dict[tuple[str, str], int] = {}
        for node in job.nodes:
            self._prepare(node)
        for veth in job.veths:
            self._join(veth, {node.name: node.address for node in job.nodes})
        for route in job.routes:
            self._route(route)
        addresses = {node.name: node.address for node in job.nodes}
        self.devices = {each.node: self._lead_out(each, addresses[each.node]) for each in job.tuns}
        """File descriptor of the TUN device of each node whose path another process emulates."""
        self.passages = {each.node: self._let_pass(each) for each in job.passages}
        """File descriptors of each passage's two TUN devices: one towards the host, one towards the path."""
        for qdisc in job.qdiscs:
            try:
                self._queue(qdisc)
            except NetlinkError as error:
                raise CannotBuild(f"{qdisc.kind} at {qdisc.node}: {_reason(error)}") from error

    def _prepare(self, node: Node) -> None:
        namespace = self.nodes[node.name]
        with namespace.entered():
            netlink: Any = IPRoute()
        self._netlink[node.name] = netlink
        netlink.asyncore.status["nlm_generator"] = False  # pyroute2 then returns replies as tuples
        netlink.link("set", index=next(iter(netlink.link_lookup(ifname="lo"))), state="up")
        for name, value in {**EVERY_NODE, "net.ipv4.ip_forward": "0" if node.is_host else "1", **node.sysctls}.items():
            namespace.set_sysctl(name, value)

    def _join(self, veth: Veth, addresses: dict[str, str]) -> None:
        near, far = veth.ends
        self._netlink[near.node].link(
            "add",
            ifname=near.name,
            kind="veth",
            peer={"ifname": far.name, "net_ns_fd": self.nodes[far.node].fd},
        )
        for end in veth.ends:
            self._set_up(end, addresses[end.node])
        for end, other in ((near, far), (far, near)):
            self._introduce(end, other, addresses[other.node])

    def _set_up(self, end: Interface, address: str) -> None:
        netlink = self._netlink[end.node]
        index = next(iter(netlink.link_lookup(ifname=end.name)))
        self._index[end.node, end.name] = index
        netlink.link("set", index=index, address=end.mac, gso_max_segs=1)
        netlink.addr("add", index=index, address=address, prefixlen=32)
        netlink.link("set", index=index, state="up")

    def _introduce(self, end: Interface, other: Interface, address: str) -> None:
        netlink, index = self._netlink[end.node], self._index[end.node, end.name]
        netlink.neigh("add", dst=address, lladdr=other.mac, ifindex=index, state=NUD_PERMANENT)

    def _route(self, route: Route) -> None:
        index = self._index[route.node, route.interface]
        metrics = {"metrics": route.metrics} if route.metrics else {}
        self._netlink[route.node].route(
            "add", dst=route.destination, gateway=route.via, oif=index, flags=ONLINK, **metrics
        )

    def _lead_out(self, device: Tun, address: str) -> int:
        netlink = self._netlink[device.node]
        made, index = self._tun(device.node, tun.DEVICE, device.mtu)
        netlink.addr("add", index=index, address=address, prefixlen=32)
        netlink.link("set", index=index, state="up")
        metrics = {"metrics": device.metrics} if device.metrics else {}
        netlink.route("add", dst="0.0.0.0/0", oif=index, scope=SCOPE_LINK, **metrics)
        return made

    def _let_pass(self, passage: Passage) -> tuple[int, int]:
        netlink = self._netlink[passage.node]
        made: list[int] = []
        for name, destination in ((tun.HOST, f"{passage.host}/32"), (tun.DEVICE, "0.0.0.0/0")):
            descriptor, index = self._tun(passage.node, name, passage.mtu)
            netlink.link("set", index=index, state="up")
            netlink.route("add", dst=destination, oif=index, scope=SCOPE_LINK)
            made.append(descriptor)
        return made[0], made[1]

    def _tun(self, node: str, name: str, mtu: int) -> tuple[int, int]:
        """Creates a TUN device. Returns its descriptor and its interface number."""
        namespace, netlink = self.nodes[node], self._netlink[node]
        with namespace.entered():
            try:
                made = tun.create(name)
            except OSError as error:
                raise CannotBuild(f"TUN devices: {error.strerror} (/dev/net/tun)") from error
        index = next(iter(netlink.link_lookup(ifname=name)))
        netlink.link("set", index=index, mtu=mtu, txqlen=TUN_QUEUE)
        return made, index

    def lost_at_devices(self) -> int:
        """Returns the number of packets that were lost because a device was full."""
        nodes = [*self.devices, *self.passages]
        return sum(_dropped_on_the_way_out(self.nodes[node].read("/proc/net/dev")) for node in nodes)

    def _queue(self, qdisc: Qdisc) -> None:
        self._make(RTM_NEWQDISC, qdisc, qdisc.handle, qdisc.parent or TC_H_ROOT, qdisc.options, qdisc.size_table)
        for handle, parent, options in qdisc.classes:
            self._make(RTM_NEWTCLASS, qdisc, handle, parent, options)
        if qdisc.classifier:
            code = bytes.fromhex(qdisc.classifier)
            options = struct.pack("=HHHxx", 6, TCA_BPF_OPS_LEN, len(code) // 8)
            options += struct.pack("=HH", 4 + len(code), TCA_BPF_OPS) + code
            self._filter(qdisc.node, qdisc.interface, qdisc.handle, options)

    def _make(self, what: int, qdisc: Qdisc, handle: int, parent: int, options: str, size_table: str = "") -> None:
        message = _QdiscMessage()
        message["index"] = self._index[qdisc.node, qdisc.interface]
        message["handle"] = handle
        message["parent"] = parent
        sizes = [("TCA_STAB", bytes.fromhex(size_table))] if size_table else []
        nested = NLA_F_NESTED if qdisc.kind in MARKED_AS_NESTED else 0
        message["attrs"] = [("TCA_KIND", qdisc.kind), ("TCA_OPTIONS", bytes.fromhex(options), nested), *sizes]
        flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
        self._netlink[qdisc.node].nlm_request(message, msg_type=what, msg_flags=flags)

    def classify(self, node: str, interface: str, program: int) -> None:
        """Attaches a program that processes each outgoing packet before the packet enters the queue discipline."""
        place = Qdisc(node, interface, "clsact", CLSACT_HANDLE, TC_H_CLSACT, "")
        self._make(RTM_NEWQDISC, place, place.handle, place.parent, "")
        options = struct.pack("=HHI", 8, TCA_BPF_FD, program) + struct.pack("=HHI", 8, TCA_BPF_FLAGS, ACT_DIRECT)
        self._filter(node, interface, CLSACT_EGRESS, options)

    def _filter(self, node: str, interface: str, parent: int, options: bytes) -> None:
        message = _QdiscMessage()
        message["index"] = self._index[node, interface]
        message["parent"] = parent
        message["info"] = 1 << 16 | socket.htons(ETH_P_ALL)
        message["attrs"] = [("TCA_KIND", "bpf"), ("TCA_OPTIONS", options)]
        flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
        self._netlink[node].nlm_request(message, msg_type=RTM_NEWTFILTER, msg_flags=flags)

    def has_discipline(self, qdisc: Qdisc) -> bool:
        """Returns true if the kernel supports the discipline. The method tries to add it to an interface."""
        try:
            self._queue(qdisc)
        except NetlinkError as error:
            return error.code not in (errno.ENOENT, errno.EOPNOTSUPP)
        self._netlink[qdisc.node].tc("del", index=self._index[qdisc.node, qdisc.interface], root=True)
        return True

    def queue_count(self, node: str, interface: str, handle: int) -> QueueCount:
        """Returns a discipline's statistics.

        A run reads statistics thousands of times, so the method uses a plain socket, which is 100 times faster than
        pyroute2.
        """
        if node not in self._statistics:
            with self.nodes[node].entered():
                self._statistics[node] = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self._statistics[node].settimeout(5)
        channel = self._statistics[node]
        channel.send(
            struct.pack(
                "=IHHIIBxxxiIII",
                36,
                RTM_GETQDISC,
                NLM_F_REQUEST | NLM_F_ECHO,
                0,
                0,
                0,
                self._index[node, interface],
                handle,
                0,
                0,
            )
        )
        reply = channel.recv(8192)
        if struct.unpack_from("=H", reply, 4)[0] != RTM_NEWQDISC:
            raise KeyError(f"{node}/{interface}: no queue discipline {handle:#x}")
        attributes = _attributes(reply[36:])
        groups = _attributes(attributes[TCA_STATS2])
        sent_bytes, sent_packets = struct.unpack_from("=QI", groups[TCA_STATS_BASIC])
        backlog_packets, backlog_bytes, dropped = struct.unpack_from("=III", groups[TCA_STATS_QUEUE])
        kind, own = attributes[TCA_KIND].rstrip(b"\0").decode(), groups.get(TCA_STATS_APP, b"")
        early = marked = filtered = 0
        if kind == "red":  # tc_red_xstats: early, pdrop, other, marked
            early, marked = struct.unpack_from("=I8xI", own)
        elif kind == "choke":  # tc_choke_xstats: early, pdrop, other, marked, matched
            early, marked, matched = struct.unpack_from("=I8xII", own)
            early += matched
        elif kind == "codel":  # tc_codel_xstats: drop_overlimit, ecn_mark, dropping, ce_mark from the sixth word on
            overlimit, by_law, by_threshold = struct.unpack_from("=II4xI", own, 20)
            early, marked = dropped - overlimit, by_law + by_threshold
        elif (
            kind == "fq_codel"
        ):  # tc_fq_codel_xstats: after the type come maxpacket, drop_overlimit, ecn_mark; the eighth word is ce_mark
            overlimit, by_law, by_threshold = struct.unpack_from("=II12xI", own, 8)
            early, marked = dropped - overlimit, by_law + by_threshold
        elif kind == "pie":  # tc_pie_xstats: prob and five words, then dropped, overlimit, maxq, ecn_mark
            early, marked = struct.unpack_from("=I8xI", own, 24)
        elif kind == "fq_pie":  # tc_fq_pie_xstats: packets_in, dropped, overlimit, overmemory, ecn_mark
            of_pie, overlimit, marked = struct.unpack_from("=II4xI", own, 4)
            early = of_pie - overlimit
        elif kind == "cake":  # attributes: the drops and marks of each tin
            tins = _attributes(_attributes(own).get(CAKE_STATS_TINS, b"")).values()
            counts = [_attributes(tin) for tin in tins]
            early = sum(struct.unpack("=I", tin[CAKE_TIN_DROPPED])[0] for tin in counts)
            marked = sum(struct.unpack("=I", tin[CAKE_TIN_MARKED])[0] for tin in counts)
            filtered = sum(struct.unpack("=I", tin[CAKE_TIN_ACKS])[0] for tin in counts)
            dropped -= filtered
        return QueueCount(sent_bytes, sent_packets, dropped, early, filtered, marked, backlog_bytes, backlog_packets)


def _dropped_on_the_way_out(text: str) -> int:
    """Returns the number of packets that the TUN devices in a /proc/net/dev dropped when they were sent.

    Each interface has eight numbers for received packets and eight for sent packets.
    """
    lines = [line.partition(":") for line in text.splitlines()]
    found = [numbers.split() for name, _, numbers in lines if name.strip() in (tun.DEVICE, tun.HOST)]
    return sum(int(numbers[11]) for numbers in found if len(numbers) > 11)


def _attributes(data: bytes) -> dict[int, bytes]:
    """Returns netlink attributes by type."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found
