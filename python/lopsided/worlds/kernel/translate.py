"""Translates a resolved scenario to Linux's settings, and rejects settings that Linux does not support.

Nothing is approximated silently. Errors name the rejected settings, and the run's facts name unavoidable differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lopsided import _native

from . import build, classifier, isolation, qdisc
from .errors import Unsupported
from .guest.job import Flow
from .plan import ETHERNET_HEADER, LARGEST_PACKET, Branch, Direction, Discipline, HostInterface, Layout, Line

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said

End: TypeAlias = Literal["from", "to"]
Switch: TypeAlias = Literal["sack", "dsack", "timestamps", "window_scaling", "rack", "tlp", "frto", "ecn_fallback"]
Fixed: TypeAlias = Literal["prr", "rate_halving", "fack", "limited_transmit"]

ETHERNET_FRAME = 1514
"""Packet size in bytes, including the link header, that Linux assumes for a queue."""

FIRST_PORT = 5001
RTAX_RTO_MIN = 13
"""The number of the route metric `rto_min` in Linux's rtnetlink.h. The metric `lock` is a mask of such numbers."""
FOREVER = 1 << 30

DEFAULT_SYSCTLS = {
    # Earlier connections must not influence a run.
    "net.ipv4.tcp_no_metrics_save": "1",
    # In a guest with little memory, the kernel would choose smaller defaults.
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    # All nodes run on one kernel, so a packet carries its socket's hash to the queues. With a new hash after a timeout,
    # a fair queue would move the connection to another bucket. A separate router does not see this hash.
    "net.core.txrehash": "0",
}

SWITCHES: dict[Switch, tuple[str, str, str]] = {
    "sack": ("net.ipv4.tcp_sack", "0", "1"),
    "dsack": ("net.ipv4.tcp_dsack", "0", "1"),
    "timestamps": ("net.ipv4.tcp_timestamps", "0", "1"),
    "window_scaling": ("net.ipv4.tcp_window_scaling", "0", "1"),
    "rack": ("net.ipv4.tcp_recovery", "0", "1"),
    "tlp": ("net.ipv4.tcp_early_retrans", "0", "3"),
    "frto": ("net.ipv4.tcp_frto", "0", "2"),
    "ecn_fallback": ("net.ipv4.tcp_ecn_fallback", "0", "1"),
}
"""Maps each boolean key of a stack to its sysctl, and to the sysctl's values for false and true."""

ECN = {"off": "0", "on": "1", "accept": "2"}
"""Values of net.ipv4.tcp_ecn. Accurate ECN needs Linux 6.18."""

NO_SWITCH: dict[Fixed, bool] = {
    "prr": True,
    "rate_halving": False,
    "fack": False,
    "limited_transmit": True,
}
"""Maps each key that is fixed in Linux 6.1 to its value. A scenario with the opposite value is rejected."""


@dataclass(frozen=True)
class Stacks:
    """The namespace of each end (`from`, `to`) of each TCP flow, and the settings of the namespaces."""

    nodes: dict[tuple[int, End], str]
    sysctls: dict[str, dict[str, str]]
    route_metrics: dict[str, dict[str, int]]

    def sysctls_of(self, node: str) -> dict[str, str]:
        """Returns the sysctls to set in a namespace: `DEFAULT_SYSCTLS`, and the settings of the namespace's stack."""
        return {**DEFAULT_SYSCTLS, **self.sysctls.get(node, {})}


def stacks(scenario: said.Resolved, elsewhere: frozenset[str] = frozenset()) -> Stacks:
    """Returns the stacks of all flow ends, except on the hosts in `elsewhere`, which do not use the kernel's TCP."""
    sysctls: dict[str, dict[str, str]] = {}
    metrics: dict[str, dict[str, int]] = {}
    nodes = _nodes(scenario, elsewhere)
    for (number, end), node in nodes.items():
        stack = scenario["flows"][number][_STACKS[end]]
        sysctls.setdefault(node, {}).update(_sysctls(stack))
        metrics.setdefault(node, {}).update(_route_metrics(stack))
    return Stacks(nodes, sysctls, metrics)


def layout(scenario: said.Resolved) -> Layout:
    """Returns the network with each end's stack. Raises Unsupported if Linux lacks a feature."""
    found = stacks(scenario)
    _refuse_networks(scenario)
    ends = _ends(scenario, found.nodes)
    if ends:
        pairs = [(flow["from"], flow["to"]) for flow in scenario["flows"]]
        for queue in _disciplines(scenario):
            isolation.classes(queue.isolation, pairs)
    return Layout(
        interfaces={each["host"]: _interface(each) for each in scenario["interfaces"]},
        hosts=scenario["hosts"],
        routers=scenario["routers"],
        lines=[_line(link) for link in scenario["links"]],
        ends=ends,
        sysctls={node: found.sysctls_of(node) for node in (*scenario["hosts"], *ends)},
        route_metrics=found.route_metrics,
    )


def _ends(scenario: said.Resolved, nodes: Mapping[tuple[int, End], str]) -> dict[str, str]:
    """Maps each namespace that is attached to a host to this host."""
    return {node: host for (number, end), node in nodes.items() if (host := scenario["flows"][number][end]) != node}


def _refuse_networks(scenario: said.Resolved) -> None:
    """Raises Unsupported if the kernel world cannot build the network."""
    if scenario["media"]:
        raise Unsupported(f"{scenario['media'][0]['name']}: the kernel world has no shared media")
    smallest = min(link[way]["mtu_bytes"] or LARGEST_PACKET for link in scenario["links"] for way in ("down", "up"))
    if big := next((each for each in scenario["flows"] if _datagram_size(each) > smallest), None):
        raise Unsupported(
            f"flow {big['name']}: its datagrams are beyond an mtu, and Linux would send them in fragments"
        )
    if back := next((each for each in scenario["links"] if each["one_way"]), None):
        raise Unsupported(f"{back['name']}: the kernel world has no links of one way (one_way)")


def refusals(scenario: said.Resolved, seed: int) -> list[str]:
    """Returns the reasons why Linux cannot run the scenario: at most one per direction, stack and flow."""
    found: list[str] = []

    def attempt(translate: Callable[[], object], where: str = "") -> None:
        try:
            translate()
        except Unsupported as error:
            found.append(f"{where}{error}")

    attempt(lambda: _refuse_networks(scenario))
    for interface in scenario["interfaces"]:
        attempt(lambda interface=interface: _interface(interface))
    for link in scenario["links"]:
        for way in ("down", "up"):
            attempt(lambda link=link, way=way: _direction(link[way], f"{link['name']}.{way}"))
    for flow in scenario["flows"]:
        is_tcp = flow["app"]["kind"] != "udp" and flow["transport"]["kind"] == "tcp"
        for name in _STACKS.values() if is_tcp else ():
            where = f"flow {flow['name']}, {name}: "
            attempt(lambda stack=flow[name]: _sysctls(stack), where)
            attempt(lambda stack=flow[name]: _route_metrics(stack), where)
        attempt(lambda flow=flow: _flow(flow, ("", ""), FIRST_PORT, FOREVER, seed))
    if not found:
        # `layout` also rejects flows that share an interface but have different stacks.
        attempt(lambda: (layout(scenario), flows(scenario, seed)))
    return list(dict.fromkeys(found))


def flows(scenario: said.Resolved, seed: int, elsewhere: frozenset[str] = frozenset()) -> list[Flow]:
    """Returns the flows with the simulator's start times for this seed."""
    until, nodes = nanoseconds(scenario["duration_s"]), _nodes(scenario, elsewhere)
    return [
        _flow(
            flow,
            (nodes.get((number, "from"), flow["from"]), nodes.get((number, "to"), flow["to"])),
            FIRST_PORT + number,
            until,
            seed,
        )
        for number, flow in enumerate(scenario["flows"])
    ]


_STACKS: dict[End, Literal["sender_stack", "receiver_stack"]] = {"from": "sender_stack", "to": "receiver_stack"}


def _nodes(scenario: said.Resolved, elsewhere: frozenset[str]) -> dict[tuple[int, End], str]:
    """Returns the namespace of each end (`from`, `to`) of each TCP flow: the host's namespace, or a namespace that is
    attached to it.

    Linux has settings and counters per namespace, so each sending flow and each different stack has its own namespace.
    However, if the scenario describes a host's interface, TCP must be in the namespace of that interface.
    """
    with_interface = {each["host"] for each in scenario["interfaces"]}
    _refuse_other_transports(scenario, elsewhere)
    at: dict[str, list[tuple[int, End]]] = {}
    for number, flow in enumerate(scenario["flows"]):
        if flow["app"]["kind"] != "udp" and flow["transport"]["kind"] == "tcp":
            for end in _STACKS:
                if flow[end] not in elsewhere:
                    at.setdefault(flow[end], []).append((number, end))
    nodes: dict[tuple[int, End], str] = {}
    for host, ends in at.items():
        agree = _agree(scenario, ends)
        if host in with_interface and not agree:
            raise Unsupported(f"host {host}: flows that share an interface must have the same stack here")
        apart = host not in with_interface and (not agree or [end for _, end in ends].count("from") > 1)
        for number, end in ends:
            nodes[number, end] = f"{host}/{scenario['flows'][number]['name']}" if apart else host
    return nodes


def _refuse_other_transports(scenario: said.Resolved, elsewhere: frozenset[str]) -> None:
    """Raises Unsupported for transports other than TCP and UDP."""
    for flow in scenario["flows"]:
        kind, ends = flow["transport"]["kind"], {flow["from"], flow["to"]}
        if kind != "tcp" and not ends <= elsewhere:
            ours = " ".join(f"--ours {host}" for host in sorted(ends))
            raise Unsupported(
                f"flow {flow['name']}: Linux has no {kind.upper()}; use --world sim, or --world live {ours}"
            )


def _agree(scenario: said.Resolved, ends: list[tuple[int, End]]) -> bool:
    """Returns true if the stacks of these flow ends have the same settings."""
    stacks = [scenario["flows"][number][_STACKS[end]] for number, end in ends]
    settings = [(_sysctls(stack), _route_metrics(stack)) for stack in stacks]
    return all(one == settings[0] for one in settings)


def modules(scenario: said.Resolved) -> list[str]:
    """Returns the kernel modules that the scenario needs, unless they are built in."""
    controls = {flow["sender_stack"]["cc"] for flow in scenario["flows"]}
    queues = _disciplines(scenario)
    kinds = {queue.kind for queue in queues} - {"pfifo", "bfifo", "pfifo_head_drop"}
    apart = bool(_ends(scenario, _nodes(scenario, frozenset())))
    filtered = any(queue.branches or (apart and queue.isolation not in isolation.WITHOUT_HOSTS) for queue in queues)
    own = ["cls_bpf"] * filtered + sorted(f"sch_{kind}" for kind in kinds)
    return ["veth", "sch_tbf", "sch_htb", "sch_netem", *own, *sorted(f"tcp_{control}" for control in controls)]


def _disciplines(scenario: said.Resolved) -> list[Discipline]:
    """Returns the disciplines of all links, including the disciplines of their classes."""
    found = [_discipline(link[way]["queue"], "") for link in scenario["links"] for way in ("down", "up")]
    for queue in found:
        found += [branch.child for branch in queue.branches if branch.child is not None]
    return found


def series(scenario: said.Resolved) -> str | None:
    """Returns the Linux series that all profiles model, such as "6.12"; `None` if there is no such series."""
    profiles = {flow[stack]["profile"] for flow in scenario["flows"] for stack in _STACKS.values()}
    names = {profile.removeprefix("linux-") for profile in profiles}
    return next(iter(names)) if len(names) == 1 and names <= set(build.SERIES) else None


def notes(scenario: said.Resolved, running: str | None = None) -> list[str]:
    """Returns unavoidable differences from the scenario, as sentences.

    `running` is the kernel's series, if known.
    """
    profiles = {flow["sender_stack"]["profile"] for flow in scenario["flows"]} - {f"linux-{running or build.DEFAULT}"}
    found = [f"the hosts run this kernel's TCP, not the profile {profile}" for profile in sorted(profiles)]
    if any(link[way]["framing"]["cell_format"] == "ptm" for link in scenario["links"] for way in ("down", "up")):
        found.append("PTM: a frame takes 65/64 of its octets here, not rounded up to whole octets")
    if scenario["interfaces"]:
        found.append("RTTs are measured behind the hosts' interfaces and exclude the delay of these interfaces")
    return found


def _interface(interface: said.Interface) -> HostInterface:
    if interface["ring_packets"] is not None:
        raise Unsupported(f"host {interface['host']}: a virtual interface has no ring")
    limit = interface["limit_packets"]
    return HostInterface(nanoseconds(interface["delay_s"]), qdisc.NETEM_ROOM if limit is None else limit)


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _sysctls(stack: said.Stack) -> dict[str, str]:
    for name, always in NO_SWITCH.items():
        if stack[name] not in (None, always):
            raise Unsupported(f"Linux cannot turn {name} {'off' if always else 'on'}")
    if stack["abe"]:
        raise Unsupported("Linux has no alternative back-off with ECN (abe)")
    if stack["fast_recovery"] not in (None, "newreno"):
        raise Unsupported(f"without SACK Linux recovers as NewReno does, not as {stack['fast_recovery']}")
    if stack["ack_policy"] not in (None, "linux"):
        raise Unsupported(f"Linux has no ACK policy {stack['ack_policy']}")
    if stack["abc"] is not None or stack["abc_half"]:
        raise Unsupported("Linux has no setting for byte counting (abc)")
    sysctls = {
        sysctl: yes if stack[name] else no for name, (sysctl, no, yes) in SWITCHES.items() if stack[name] is not None
    }
    if stack["dup_threshold"] is not None:
        sysctls["net.ipv4.tcp_reordering"] = str(stack["dup_threshold"])
    if (ecn := stack["ecn"]) is not None:
        if ecn not in ECN:
            raise Unsupported(f"this kernel has no {ecn} ECN")
        sysctls["net.ipv4.tcp_ecn"] = ECN[ecn]
    return sysctls


def _route_metrics(stack: said.Stack) -> dict[str, int]:
    metrics: dict[str, int] = {}
    if (window := stack["initial_window"]) is not None:
        metrics["initcwnd"] = window["segments"] if "segments" in window else max(1, window["bytes"] // 1448)
    if stack["min_rto_s"] is not None:
        if stack["min_rto_s"] < 0.001:
            raise Unsupported("Linux counts min_rto in milliseconds: it must be at least 1 ms")
        # Linux uses only a locked rto_min (tcp_rto_min).
        metrics |= {"rto_min": round(stack["min_rto_s"] * 1000), "lock": 1 << RTAX_RTO_MIN}
    if (delayed := stack["delayed_ack"]) is not None:
        if delayed["mode"] == "off":
            metrics["quickack"] = 1
        elif delayed["segments"] not in (None, 2) or delayed["timeout_s"] is not None:
            raise Unsupported("Linux acknowledges every second segment and chooses the delay itself")
    ours = ("remembered_threshold", "ack_before_read", "window_update", "reassembly_limit", "duplicates")
    for name in (*ours, "placeholders", "max_burst", "marked_retransmit", "hz", "ecn_option", "ecn_expects_thinning"):
        if stack[name] is not None:
            raise Unsupported(f"Linux has no counterpart of {name}")
    if stack["max_window"] is not None:
        raise Unsupported("Linux has no counterpart of max_window; bound the receive buffer instead")
    return metrics


def _line(link: said.Link) -> Line:
    down, up = (_direction(link[name], f"{link['name']}.{name}") for name in ("down", "up"))
    return Line(link["name"], (link["from"], link["to"]), down, up)


def _direction(direction: said.Direction, where: str) -> Direction:
    framing, loss = direction["framing"], direction["loss"]
    if direction["stages"]:
        raise Unsupported(f"{where}: {direction['stages'][0]['kind']} is a stage, but the kernel world has no stages")
    if direction["header_compression"]["scheme"] != "none":
        raise Unsupported(f"{where}: header_compression has no counterpart in the kernel world")
    if (access := direction["access"]) is not None:
        raise Unsupported(f"{where}: access {access['kind']} has no counterpart: Linux's shapers have one rate")
    if direction["jitter"]["spread_s"]:
        raise Unsupported(
            f"{where}: jitter has no counterpart: netem's jitter is random and does not depend on the seed"
        )
    gilbert = loss["gilbert"]
    made = Direction(
        rate_bps=_rate(direction["rate_bps"] or 0, where, framing["cell_format"]),
        burst=_burst(direction["shaper"], where),
        overhead=framing["overhead_bytes"],
        minimum=framing["minimum_bytes"],
        atm=framing["cell_format"] == "atm",
        queue=_discipline(direction["queue"], where),
        mtu=min(LARGEST_PACKET, direction["mtu_bytes"] or LARGEST_PACKET),
        delay_ns=nanoseconds(direction["delay_s"]),
        loss=loss["random"],
        lost_packets=tuple(loss["packets"]),
        outages_ns=tuple((nanoseconds(since), nanoseconds(until)) for since, until in loss["outages_s"]),
        gilbert=None
        if gilbert is None
        else (gilbert["to_bad"], gilbert["to_good"], 1 - gilbert["loss_bad"], gilbert["loss_good"]),
    )
    if made.rate_bps and made.burst and made.burst < made.octets(LARGEST_PACKET):
        raise Unsupported(
            f"{where}: Linux's tbf cannot have a burst below one packet ({made.octets(LARGEST_PACKET)} B)"
        )
    return made


def _rate(rate_bps: int, where: str, cell_format: str) -> int:
    if rate_bps % 8 or rate_bps >= 1 << 35:
        raise Unsupported(f"{where}: Linux's shapers take whole octets per second below 34 Gbit/s")
    # PTM adds 1 byte per 64 bytes, which Linux cannot model. Reducing the rate to 64/65 has the same effect on the
    # transmission times.
    return rate_bps * 64 // 65 // 8 * 8 if cell_format == "ptm" else rate_bps


def _burst(shaper: said.Shaper | None, where: str) -> int:
    if shaper is None:
        return 0
    if shaper["refill_interval_s"] is not None:
        # Changing a tbf in each interval does not work: tbf_change fills the bucket, but wakes no waiting packet.
        raise Unsupported(f"{where}: Linux's tbf refills continuously, not in intervals")
    if shaper["line_rate_bps"] is not None:
        # Neither tbf nor htb can pace the burst. The peakrate bucket of tbf holds a full-size packet, so small packets
        # would leave too early. htb sends the first packet on borrowed tokens.
        raise Unsupported(f"{where}: Linux's tbf sends a burst at once, not at a line's rate")
    return shaper["burst_bytes"]


def _discipline(queue: said.Queue, where: str) -> Discipline:
    """Translates a queue into Linux's discipline, including the disciplines of its classes."""
    if queue["kind"] == "prio":
        bands = [Branch(band + 1, child=_discipline(child, where)) for band, child in enumerate(queue["bands"])]
        return Discipline("prio", qdisc.prio(len(bands)), 0, tuple(bands), _classifier(queue, len(bands)))
    if queue["kind"] == "drr":
        classes = [
            Branch(number + 1, 0, qdisc.drr_class(each["quantum_bytes"]), _discipline(each["queue"], where))
            for number, each in enumerate(queue["classes"])
        ]
        return Discipline("drr", "", 0, tuple(classes), _classifier(queue, len(classes)))
    if queue["kind"] == "htb":
        classes = [_htb_class(each, number, queue, where) for number, each in enumerate(queue["classes"])]
        options = qdisc.htb(queue["r2q"])
        return Discipline("htb", options, 0, tuple(classes), _classifier(queue, len(classes)), shapes=True)
    if queue["kind"] == "tbf":
        if queue["rate_bps"] % 8:
            raise Unsupported(f"{where}: Linux's shapers take whole octets per second")
        peak, buckets = queue["peakrate_bps"], (queue["burst_bytes"], queue["mtu_bytes"])
        options = qdisc.bucket_filter(queue["rate_bps"], buckets[0], peak, buckets[1], queue["overhead_bytes"])
        return Discipline("tbf", options, 0, (Branch(1, child=_discipline(queue["queue"], where)),), shapes=True)
    kind, options, packets = _queue(queue, where)
    return Discipline(kind, options, packets, shapes=_shapes(queue), isolation=_isolation(queue))


def _isolation(queue: said.Queue) -> str:
    """Returns cake's mode of isolation; `""` for other disciplines."""
    if queue["kind"] == "ack_filter":
        return _isolation(queue["queue"])
    return queue["isolation"] if queue["kind"] == "cake" else ""


def _shapes(queue: said.Queue) -> bool:
    """Returns true if the queue itself delays packets, so that it needs no shaper."""
    if queue["kind"] == "ack_filter":
        return _shapes(queue["queue"])
    if queue["kind"] == "fq":
        return queue["maxrate_bps"] is not None
    return queue["kind"] == "cake" and queue["bandwidth_bps"] is not None


def _htb_class(each: said.HtbClass, number: int, queue: said.HtbQueue, where: str) -> Branch:
    parent, child = each["parent"], each["queue"]
    ceil, burst, cburst, quantum = each["ceil_bps"], each["burst_bytes"], each["cburst_bytes"], each["quantum_bytes"]
    assert ceil is not None and burst is not None and cburst is not None and quantum is not None, "resolved"
    if each["rate_bps"] % 8 or ceil % 8:
        raise Unsupported(f"{where}: Linux's shapers take whole octets per second")
    options = qdisc.htb_class(each["rate_bps"], ceil, burst, cburst, quantum, each["prio"], queue["overhead_bytes"])
    inner = None if child is None else _discipline(child, where)
    return Branch(number + 1, 0 if parent is None else parent + 1, options, inner)


def _classifier(queue: said.PrioQueue | said.DrrQueue | said.HtbQueue, classes: int) -> Callable[[int], str]:
    default = classes - 1 if queue["default_class"] is None else queue["default_class"]
    minors = range(1, classes + 1)
    return lambda handle: classifier.program(queue["classify"], default, handle, FIRST_PORT, minors)


def _queue(queue: said.Queue, where: str) -> tuple[str, str, int]:
    """Returns the kind, the options, and the capacity in full packets; 0 if packets are dropped before the queue is
    full."""
    if queue["kind"] == "fq":
        return "fq", qdisc.words("fq", queue), 0
    if queue["kind"] == "sfq":
        return _sfq(queue, where)
    if queue["kind"] == "choke":
        return _choke(queue, where)
    if queue["kind"] == "red":
        return _red(queue, where)
    if queue["kind"] == "step":
        return _step(queue, where)
    if queue["kind"] == "codel" or queue["kind"] == "fq_codel":
        return _codel(queue, where)
    if queue["kind"] == "pie":
        return _pie(queue, where)
    if queue["kind"] == "fq_pie":
        return _fq_pie(queue, where)
    if queue["kind"] == "cake":
        return _cake(queue, where, "none")
    if queue["kind"] == "ack_filter":
        return _ack_filter(queue, where)
    if queue["kind"] != "fifo":
        raise Unsupported(f"{where}: {queue['kind']} has no counterpart in the kernel world")
    limit, front = queue["limit"], queue["drop"] == "front"
    if "packets" in limit:
        return "pfifo_head_drop" if front else "pfifo", qdisc.fifo(limit["packets"]), limit["packets"]
    if "bytes" in limit and not front:
        return "bfifo", qdisc.fifo(limit["bytes"]), limit["bytes"] // LARGEST_PACKET
    if "bins" in limit:
        # A size table (stab) belongs to the root, so both the queue and the shaper would round sizes.
        raise Unsupported(f"{where}: Linux has no such queue: if the queue counted bins, the line would count them too")
    raise Unsupported(f"{where}: Linux has no such queue: {limit}, drop = {queue['drop']}")


def _sfq(queue: said.SfqQueue, where: str) -> tuple[str, str, int]:
    perturb = queue["perturb_s"] or 0
    if perturb != round(perturb):
        raise Unsupported(f"{where}: Linux's sfq takes whole seconds for perturb")
    if queue["divisor"].bit_count() != 1:
        raise Unsupported(f"{where}: Linux's sfq takes a power of two as divisor")
    return "sfq", qdisc.sfq(queue), 0


def _choke(queue: said.ChokeQueue, where: str) -> tuple[str, str, int]:
    limit, low, high = (queue[name].get("packets") for name in ("limit", "min", "max"))
    assert limit is not None and low is not None and high is not None, "choke counts packets"
    idle_ns = queue["avpkt_bytes"] * 8e9 / queue["bandwidth_bps"] if queue["bandwidth_bps"] else 0.0
    shift = _weight_shift(queue["weight"], "choke", where)
    return "choke", qdisc.choke(limit, low, high, shift, queue["probability"], idle_ns, queue["ecn"]), 0


def _weight_shift(weight: float, kind: str, where: str) -> int:
    shift = -math.log2(weight)
    if shift != int(shift) or shift > 31:
        raise Unsupported(f"{where}: Linux's {kind} needs weights that are powers of two, not {weight}")
    return int(shift)


def _red(queue: said.RedQueue, where: str) -> tuple[str, str, int]:
    limit, low, high = (queue[name].get("bytes") for name in ("limit", "min", "max"))
    if limit is None or low is None or high is None:
        raise Unsupported(f"{where}: Linux's red counts octets: give limit, min and max in bytes or as times")
    if queue["gentle"]:
        raise Unsupported(f"{where}: Linux's red has no gentle slope")
    shift = _weight_shift(queue["weight"], "red", where)
    flags = qdisc.RED_ECN * queue["ecn"] | qdisc.RED_HARDDROP * queue["harddrop"]
    flags |= qdisc.RED_ADAPTATIVE * queue["adaptive"]
    idle_ns = queue["avpkt_bytes"] * 8e9 / queue["bandwidth_bps"] if queue["bandwidth_bps"] else 0.0
    return "red", qdisc.red(limit, low, high, shift, queue["probability"], idle_ns, flags), 0


def _codel(queue: said.CodelQueue | said.FqCodelQueue, where: str) -> tuple[str, str, int]:
    if queue["mtu_bytes"] != ETHERNET_FRAME or queue["header_bytes"]:
        raise Unsupported(f"{where}: here codel's mtu is {ETHERNET_FRAME} B and its header is 0 B")
    if queue["kind"] == "codel":
        _packets(queue["limit"], "codel", where)
    return queue["kind"], qdisc.words(queue["kind"], queue), 0


def _pie(queue: said.PieQueue, where: str) -> tuple[str, str, int]:
    if not queue["derandomise"] or queue["max_burst_s"] != 0.15 or queue["mark_threshold"] != 0.1:
        raise Unsupported(f"{where}: Linux's pie always has derandomise, and no max_burst and no mark_threshold")
    _packets(queue["limit"], "pie", where)
    return "pie", qdisc.words("pie", queue), 0


def _fq_pie(queue: said.FqPieQueue, where: str) -> tuple[str, str, int]:
    if not queue["derandomise"] or queue["max_burst_s"] != 0.15 or queue["header_bytes"]:
        raise Unsupported(f"{where}: Linux's fq_pie always has derandomise, no max_burst and here no header")
    return "fq_pie", qdisc.words("fq_pie", queue), 0


def _ack_filter(queue: said.AckFilterQueue, where: str) -> tuple[str, str, int]:
    """Translates an ACK filter. Linux has an ACK filter only in cake."""
    inner = queue["queue"]
    rule = queue["rule"]
    if rule not in qdisc.CAKE_FILTERS:
        raise Unsupported(f"{where}: Linux's cake filters with the rule conservative or aggressive, not {rule}")
    if queue["share"] < 1 or queue["above"] is not None or queue["below"] is not None:
        raise Unsupported(
            f"{where}: Linux's cake filters every ACK that its rule allows: leave out share, above and below"
        )
    if inner["kind"] == "cake":
        return _cake(cast("said.CakeQueue", inner), where, rule)
    raise Unsupported(f"{where}: Linux only filters ACKs in cake, not in {inner['kind']}")


def _cake(queue: said.CakeQueue, where: str, ack_filter: str) -> tuple[str, str, int]:
    if queue["memlimit_bytes"] is not None:
        raise Unsupported(f"{where}: Linux's cake counts the kernel's buffers, not octets: leave memlimit out")
    rate_bps = _rate(queue["bandwidth_bps"] or 0, where, "none")
    # The kernel subtracts the link header, but the line's size table already does that.
    return "cake", qdisc.cake(queue, rate_bps, ETHERNET_HEADER, ack_filter), 0


def _packets(limit: said.Limit, kind: str, where: str) -> None:
    if "packets" not in limit:
        raise Unsupported(f"{where}: Linux's {kind} counts its limit in packets")


def _step(queue: said.StepQueue, where: str) -> tuple[str, str, int]:
    """Translates `step`. A threshold in bytes becomes red without averaging; a threshold in time becomes codel without
    its control law."""
    limit, threshold = queue["limit"], queue["mark_threshold"]
    if queue["ect"] != "ect":
        raise Unsupported(f"{where}: Linux 6.1's disciplines with one queue mark ECT(0) and ECT(1) in the same way")
    if "bytes" in threshold and "bytes" in limit:
        # `step` marks packets above its threshold. red also marks packets at the threshold.
        above = threshold["bytes"] + 1
        flags = qdisc.RED_ECN | qdisc.RED_NODROP
        return "red", qdisc.red(limit["bytes"], above, above, 0, 1.0, 0.0, flags), 0
    if "time_s" in threshold and "packets" in limit:
        return "codel", qdisc.codel_step(limit["packets"], threshold["time_s"]), 0
    raise Unsupported(
        f"{where}: Linux has a step in octets with a limit in octets, or one in time with a limit in packets"
    )


def _flow(flow: said.Flow, ends: tuple[str, str], port: int, end: int, seed: int) -> Flow:
    app = flow["app"]
    # The simulator's random number is used, so that a flow starts at the same time in both worlds.
    jitter = _native.first_draw(seed, f"flow/{flow['name']}/start", nanoseconds(flow["start_jitter_s"]))
    common: dict[str, Any] = {
        "name": flow["name"],
        "sender": ends[0],
        "receiver": ends[1],
        "port": port,
        "start_ns": nanoseconds(flow["start_s"]) + jitter,
        "stop_ns": min(nanoseconds(flow["stop_s"]), end),
        "sender_tos": (flow["sender_stack"]["dscp"] or 0) << 2,
        "receiver_tos": (flow["receiver_stack"]["dscp"] or 0) << 2,
    }
    if app["kind"] == "udp":
        if app["size_bytes"] < 40:
            raise Unsupported(f"flow {flow['name']}: a datagram needs 40 octets here, for its headers and a time stamp")
        return Flow(**common, datagram_size=app["size_bytes"], datagram_rate=app["rate_bps"])
    if app["kind"] in ("http", "ftp", "rdra", "repair", "custom"):
        raise Unsupported(f"flow {flow['name']}: app.kind {app['kind']} only runs in the simulator, not on Linux")
    sender, receiver = flow["sender_stack"], flow["receiver_stack"]
    common |= {
        "cc": sender["cc"],
        # TCP_MAXSEG includes timestamps, as the MSS option does.
        "max_segment": sender["mss_bytes"] or receiver["mss_bytes"] or 0,
        "send_buffer": _buffer(sender["send_buffer_bytes"]),
        "receive_buffer": _buffer(receiver["receive_buffer_bytes"]),
        "sender_receive_buffer": _buffer(sender["receive_buffer_bytes"]),
    }
    if app["kind"] == "bulk" and (app["wait_s"] or app["wait_jitter_s"]):
        raise Unsupported(
            f"flow {flow['name']}: app.wait only exists in the simulator; on Linux, a flow sends as soon as it starts"
        )
    if app["kind"] == "transfer":
        repeat = FOREVER if app["repeat"] is None else app["repeat"]
        pause = nanoseconds(app["pause_s"])
        return Flow(**common, size=app["size_bytes"], repeat=repeat, pause_ns=pause)
    if app["kind"] == "on_off":
        return Flow(**common, on_ns=nanoseconds(app["on_s"]), off_ns=nanoseconds(app["off_s"]))
    return Flow(**common)


def _datagram_size(flow: said.Flow) -> int:
    """Returns the size of a flow's datagrams; 0 for TCP."""
    return flow["app"]["size_bytes"] if flow["app"]["kind"] == "udp" else 0


def _buffer(size: int | str | None) -> int:
    return size if isinstance(size, int) else 0
