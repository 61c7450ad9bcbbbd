"""Plans a job for the agent from lines and flows: namespaces, wires, routes, queues, checks.

Every link becomes two nodes between its ends, so that shaper and delay affect only this link:

    x --- near ===> far --- y

From x to y, shaper and queue are on the interface of `near` towards `far`, and the delay is on the interface of `far`
towards y. The other direction is the mirror image.

The shaper is never on a sending host, because there it would affect TCP small queues. A link's delay follows the
bottleneck. Only the host's own interface is modelled on the host, by a `netem`.

A line with a burst is a `tbf` whose child is the queue. Any other line is an `htb` whose child is the queue, followed
by a `netem`. The `htb` releases a packet when its predecessor has left, and the `netem` adds the packet's transmission
time. Together they behave exactly like a line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from . import classifier, isolation, qdisc
from .guest.check import SMALL
from .guest.job import Check, ChosenLoss, Flow, Interface, Job, Node, Qdisc, Route, Tap, Veth, Watched

ETHERNET_HEADER = 14
LARGEST_PACKET = 1500
UDP_HEADERS = 28

ROOT, CHILD = 0x10000, 0x100000
"""Handles of the shaper (1:) and its queue (10:)."""

CREDIT_NS = 2_000
"""Time in ns by which a packet may leave the shaper early, so that late timers do not reduce the rate. The delay line
after the shaper delays the packet by the same time."""


@dataclass(frozen=True)
class Branch:
    """A class of a discipline: its number, its parent's number (0 for none), its settings if it must be created, and
    its child discipline."""

    minor: int
    parent: int = 0
    options: str | None = None
    child: Discipline | None = None


@dataclass(frozen=True)
class Discipline:
    """A queue discipline in Linux's terms, with its children."""

    kind: str
    options: str
    packets: int = 0
    """Capacity of the queue in packets of 1,500 bytes, for the self-check; 0 if the capacity is not fixed."""
    branches: tuple[Branch, ...] = ()
    classifier: Callable[[int], str] | None = None
    """Takes a handle and returns a BPF program that selects a packet's class."""
    isolation: str = ""
    """Cake's mode of isolating flows and hosts."""
    shapes: bool = False
    """True if the discipline itself delays packets."""


@dataclass(frozen=True)
class Direction:
    """One direction of a link in Linux's terms.

    Queue sizes in bytes count IP packets.
    """

    rate_bps: int = 0
    burst: int = 0
    """The shaper's bucket in bytes on the wire; 0 for a line that only serializes packets."""
    overhead: int = ETHERNET_HEADER
    """Bytes that the line adds per IP packet."""
    minimum: int = 0
    atm: bool = False
    queue: Discipline = Discipline("pfifo", "")
    mtu: int = LARGEST_PACKET
    """Size in bytes of the largest IP packet. The node before the link drops larger packets and notifies the
    sender."""
    delay_ns: int = 0
    loss: float = 0.0
    gilbert: tuple[float, float, float, float] | None = None
    """Gilbert-Elliott probabilities: good to bad, bad to good, no loss in the bad state, loss in the good state."""

    lost_packets: tuple[int, ...] = ()
    outages_ns: tuple[tuple[int, int], ...] = ()

    @property
    def ideal(self) -> bool:
        shaped = self.rate_bps or self.queue.shapes
        passes_all = self.mtu >= LARGEST_PACKET and not self.lossy and not self.chosen
        return not shaped and not self.delay_ns and passes_all

    @property
    def chosen(self) -> bool:
        """True if the direction drops individually listed packets."""
        return bool(self.lost_packets or self.outages_ns)

    @property
    def lossy(self) -> bool:
        return self.loss > 0 or self.gilbert is not None

    def octets(self, ip_length: int) -> int:
        """Returns the number of bytes that the shaper or serializer charges for a packet."""
        length = max(self.minimum, ip_length + self.overhead)
        return -(-length // 48) * 53 if self.atm else length

    def send_ns(self, ip_length: int) -> int:
        return self.octets(ip_length) * 8 * 1_000_000_000 // self.rate_bps if self.rate_bps else 0


@dataclass(frozen=True)
class Line:
    """A link between two nodes. `down` runs from the first node to the second."""

    name: str
    ends: tuple[str, str]
    down: Direction
    up: Direction


@dataclass(frozen=True)
class HostInterface:
    """A netem at a host's interface. The interface reports its drops to the host's TCP."""

    delay_ns: int
    room: int


@dataclass
class Layout:
    """The network without flows and stacks: hosts, routers, lines."""

    hosts: list[str]
    routers: list[str]
    lines: list[Line]
    ends: dict[str, str] = field(default_factory=dict[str, str])
    """Maps each additional namespace in which a flow begins or ends to the host to which it is attached."""
    sysctls: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    route_metrics: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    interfaces: dict[str, HostInterface] = field(default_factory=dict[str, HostInterface])


@dataclass(frozen=True)
class Recording:
    """The duration of a job, its sampling, its captures, and its clock. The defaults suit a job that is measured with
    captures: virtual time, and few samples."""

    duration_ns: int
    sample_ns: int = 1_000_000_000
    queue_sample_ns: int = 1_000_000_000
    record_ns: int = 0
    virtual_time: bool = True
    modules: list[str] = field(default_factory=list[str])
    seed: int = 0
    slip_ns: int = 0
    """Maximum lateness in ns of a timer at which a shaper still reaches its rate. In real time, all timers are late."""
    tap_hosts: bool = False
    """True to capture at every host. Measuring RTTs needs captures only at hosts that send over TCP."""
    tap_links: bool = False


def whole_part(interval: int, wanted: int) -> int:
    """Returns the largest interval in ns that divides the recording interval and is at most the requested interval.

    Returns the recording interval if there is no divisor above 10 % of the requested interval.
    """
    if not interval:
        return wanted
    fewest = -(-interval // wanted)
    # Only whole ns are allowed: with samples at every third of 50 ms, no sample would fall on the recording interval.
    # 50.000017 ms is a prime number of ns. Without the limit of 10 %, the result would be 1 ns.
    return next((interval // parts for parts in range(fewest, 10 * fewest) if interval % parts == 0), interval)


def make_job(layout: Layout, flows: list[Flow], recording: Recording) -> Job:
    """Returns a job: what the agent must build, check, run and record."""
    return _Planner(layout, flows, recording.slip_ns).job(recording)


@dataclass(frozen=True)
class _Hop:
    """A node's interface, and the node to which this interface leads."""

    interface: str
    to: str


class _Planner:
    def __init__(self, layout: Layout, flows: list[Flow], slip_ns: int) -> None:
        self.layout = layout
        self.flows = flows
        self.slip_ns = slip_ns
        self.names: list[str] = [*layout.hosts, *layout.routers, *layout.ends]
        self.veths: list[Veth] = []
        self.qdiscs: list[Qdisc] = []
        self.watched: list[Watched] = []
        self.losses: list[Watched] = []
        self.chosen: list[ChosenLoss] = []
        self.mtus: dict[tuple[str, str], int] = {}
        self.hops: dict[str, list[_Hop]] = {name: [] for name in self.names}
        for line in layout.lines:
            self._lay(line)
        for host, interface in layout.interfaces.items():
            options = qdisc.delay_line(interface.delay_ns, room=interface.room)
            for hop in self.hops[host]:
                self.qdiscs.append(Qdisc(host, hop.interface, "netem", ROOT, 0, options))
        for end, host in layout.ends.items():
            self._join(end, host)

    def job(self, recording: Recording) -> Job:
        ends = {*self.layout.hosts, *self.layout.ends} - set(self.layout.ends.values())
        return Job(
            virtual_time=recording.virtual_time,
            duration_ns=recording.duration_ns,
            sample_ns=recording.sample_ns,
            queue_sample_ns=recording.queue_sample_ns,
            record_ns=recording.record_ns,
            modules=recording.modules,
            seed=recording.seed,
            nodes=[
                Node(name, self._address(name), name in ends, self.layout.sysctls.get(name, {})) for name in self.names
            ],
            veths=self.veths,
            qdiscs=self.qdiscs,
            routes=[route for host in (*self.layout.hosts, *self.layout.ends) for route in self._routes_to(host)],
            watched=self.watched,
            losses=self.losses,
            chosen=self.chosen,
            flows=self.flows,
            taps=[
                *self._host_taps(recording.tap_hosts),
                *(self._link_taps() if recording.tap_links else []),
                *self._queue_taps(),
            ],
            checks=self._checks(),
        )

    def _host_taps(self, all_of_them: bool) -> list[Tap]:
        senders = {self._host(flow.sender) for flow in self.flows if not flow.datagram_rate}
        return [
            Tap(host, hop.interface, f"host-{host}" if number == 0 else f"host-{host}-{number}")
            for host in self.layout.hosts
            if all_of_them or host in senders
            for number, hop in enumerate(hop for hop in self.hops[host] if hop.to not in self.layout.ends)
        ]

    def _link_taps(self) -> list[Tap]:
        """Returns captures between a link's shapers, after both queues."""
        return [
            Tap(near, self._interface(near, f"{line.name}.far"), f"link-{line.name}")
            for line in self.layout.lines
            if (near := f"{line.name}.near") in self.hops
        ]

    def _queue_taps(self) -> list[Tap]:
        """Returns captures before and after each queue, from which waiting times are computed."""
        return [
            Tap(queue.node, interface, queue.file(side))
            for queue in self.watched
            for side, interface in (("in", queue.way_in), ("out", queue.interface))
        ]

    def _address(self, name: str) -> str:
        number = self.names.index(name) + 1
        return f"10.77.{number >> 8}.{number & 255}"

    def _lay(self, line: Line) -> None:
        first, second = line.ends
        if line.down.ideal and line.up.ideal:
            self._join(first, second)
            return
        near, far = f"{line.name}.near", f"{line.name}.far"
        for name in (near, far):
            self.names.append(name)
            self.hops[name] = []
        first = self._guard(first, near, line.down.mtu, f"{line.name}.down.mtu")
        self._join(near, far)
        second = self._guard(second, far, line.up.mtu, f"{line.name}.up.mtu")
        self._shape(near, far, line.down, line.name, "down", self._interface(near, first))
        self._shape(far, near, line.up, line.name, "up", self._interface(far, second))
        self._delay(far, second, line.down, line.name, "down")
        self._delay(near, first, line.up, line.name, "up")

    def _guard(self, end: str, inlet: str, mtu: int, name: str) -> str:
        """Connects an end of a link to `inlet`, the first node of one direction. Returns the node in front of `inlet`.

        If the link has an MTU, an additional node between `end` and `inlet` drops larger packets and reports them by
        ICMP. The ICMP messages do not wait in a queue.
        """
        if mtu >= LARGEST_PACKET:
            self._join(end, inlet)
            return end
        self.names.append(name)
        self.hops[name] = []
        self._join(end, name)
        self._join(name, inlet)
        self.mtus[name, inlet] = mtu
        return name

    def _join(self, one: str, other: str) -> None:
        number = len(self.veths) * 2 + 1
        self.veths.append(Veth((self._end(one, other, number), self._end(other, one, number + 1))))

    def _end(self, name: str, peer: str, number: int) -> Interface:
        interface = Interface(name, f"e{len(self.hops[name])}", f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}")
        self.hops[name].append(_Hop(interface.name, peer))
        return interface

    def _interface(self, node: str, to: str) -> str:
        return next(hop.interface for hop in self.hops[node] if hop.to == to)

    def _shape(self, node: str, to: str, direction: Direction, link: str, name: str, way_in: str) -> None:
        if not direction.rate_bps and not direction.queue.shapes:
            return
        interface = self._interface(node, to)
        framing = (direction.overhead, direction.minimum, direction.atm)
        # Below the root, limits and statistics count only IP bytes.
        sizes = qdisc.size_table(-ETHERNET_HEADER)
        if not direction.rate_bps:
            self._grow(node, interface, direction.queue, ROOT, 0, sizes)
            self.watched.append(Watched(link, name, node, interface, ROOT, way_in))
            return
        if direction.burst:
            shaper = qdisc.token_bucket(direction.rate_bps, self._bucket(direction), *framing)
            self.qdiscs.append(Qdisc(node, interface, "tbf", ROOT, 0, shaper, sizes))
        else:
            line = qdisc.serializer_class(direction.rate_bps, CREDIT_NS + self.slip_ns, *framing)
            self.qdiscs.append(
                Qdisc(node, interface, "htb", ROOT, 0, qdisc.htb(default_class=1), sizes, [(ROOT | 1, ROOT, line)])
            )
        self._grow(node, interface, direction.queue, CHILD, ROOT | 1)
        self.watched.append(Watched(link, name, node, interface, CHILD, way_in))

    def _grow(
        self, node: str, interface: str, discipline: Discipline, handle: int, parent: int, sizes: str = ""
    ) -> int:
        """Adds a discipline and its child disciplines, and returns the next free handle."""
        classes = [
            (handle | branch.minor, handle | branch.parent, branch.options)
            for branch in discipline.branches
            if branch.options is not None
        ]
        program = discipline.classifier(handle) if discipline.classifier else self._by_host(discipline.isolation)
        kind, options = discipline.kind, discipline.options
        self.qdiscs.append(Qdisc(node, interface, kind, handle, parent, options, sizes, classes, program))
        free = max(handle, CHILD) + 0x10000
        for branch in discipline.branches:
            if branch.child is not None:
                free = self._grow(node, interface, branch.child, free, handle | branch.minor)
        return free

    def _by_host(self, mode: str) -> str:
        """Returns the BPF program that selects cake's class by the hosts of a packet; `""` if the addresses of the
        packets identify the hosts, or if cake ignores hosts."""
        if not self.layout.ends:
            return ""
        ways = [way for flow in self.flows for way in ((flow.sender, flow.receiver), (flow.receiver, flow.sender))]
        found = isolation.classes(mode, [(self._host(source), self._host(target)) for source, target in ways])
        rules = {
            (self._address(source), self._address(target)): found[self._host(source), self._host(target)]
            for source, target in ways
            if found
        }
        return classifier.by_addresses(rules) if rules else ""

    def _host(self, node: str) -> str:
        """Returns the host to which a namespace belongs."""
        return self.layout.ends.get(node, node)

    def _bucket(self, direction: Direction) -> int:
        """Returns the size of the bucket in bytes. The bucket has room for the tokens of the waiting packet, and for
        the tokens that accumulate while a timer is late."""
        return direction.burst + direction.rate_bps * self.slip_ns // 8_000_000_000

    def _delay(self, node: str, to: str, direction: Direction, link: str, name: str) -> None:
        serializes = direction.rate_bps and not direction.burst
        interface = self._interface(node, to)
        if direction.chosen:
            outages = [list(outage) for outage in direction.outages_ns]
            self.chosen.append(ChosenLoss(link, name, node, interface, list(direction.lost_packets), outages))
        if not direction.delay_ns and not direction.lossy and not serializes:
            return
        options = qdisc.delay_line(
            direction.delay_ns,
            direction.rate_bps if serializes else 0,
            direction.overhead - ETHERNET_HEADER,
            direction.atm,
            direction.loss,
            direction.gilbert,
        )
        self.qdiscs.append(Qdisc(node, interface, "netem", ROOT, 0, options))
        if direction.lossy:
            self.losses.append(Watched(link, name, node, interface, ROOT))

    def _routes_to(self, host: str) -> list[Route]:
        """Returns the shortest route from each node to a host. The search starts at the host."""
        routes: list[Route] = []
        toward: dict[str, str] = {host: host}
        waiting = deque([host])
        while waiting:
            here = waiting.popleft()
            for hop in self.hops[here]:
                if hop.to in toward or not self._passes_on(here, hop.to, host):
                    continue
                toward[hop.to] = here
                waiting.append(hop.to)
                metrics = dict(self.layout.route_metrics.get(hop.to, {}))
                if mtu := self.mtus.get((hop.to, here)):
                    # The MTU is set per route, because the directions of a link may have different MTUs.
                    metrics["mtu"] = mtu
                routes.append(
                    Route(hop.to, self._address(host), self._address(here), self._interface(hop.to, here), metrics)
                )
        return routes

    def _passes_on(self, node: str, sender: str, receiver: str) -> bool:
        """Returns true if the node forwards packets of other nodes. A host forwards only packets of its attached
        namespaces."""
        behind = self.layout.ends
        return (
            node == receiver
            or (node not in self.layout.hosts and node not in behind)
            or node in (behind.get(sender), behind.get(receiver))
        )

    def _checks(self) -> list[Check]:
        """Returns one check for each path with data or ACKs. Paths with the same bottleneck share a check."""
        ways = dict.fromkeys(
            way for flow in self.flows for way in ((flow.sender, flow.receiver), (flow.receiver, flow.sender))
        )
        seen: set[tuple[str, str]] = set()
        checks: list[Check] = []
        for sender, receiver in ways:
            directions = self._directions(sender, receiver)
            check, bottleneck = self._check(sender, receiver, directions)
            if bottleneck not in seen:
                seen.add(bottleneck)
                checks.append(check)
        return checks

    def _directions(self, sender: str, receiver: str) -> list[tuple[tuple[str, str], Direction]]:
        """Returns the line directions on the path from the sender to the receiver, in order."""
        routes = {route.node: route for route in self._routes_to(receiver)}
        by_step: dict[tuple[str, str], tuple[tuple[str, str], Direction]] = {}
        for line in self.layout.lines:
            by_step[f"{line.name}.near", f"{line.name}.far"] = ((line.name, "down"), line.down)
            by_step[f"{line.name}.far", f"{line.name}.near"] = ((line.name, "up"), line.up)
        found: list[tuple[tuple[str, str], Direction]] = []
        here = sender
        while here != receiver:
            if here not in routes:
                raise ValueError(f"no route from {sender} to {receiver}")
            there = next(name for name in self.names if self._address(name) == routes[here].via)
            if (here, there) in by_step:
                found.append(by_step[here, there])
            here = there
        return found

    def _check(
        self, sender: str, receiver: str, directions: list[tuple[tuple[str, str], Direction]]
    ) -> tuple[Check, tuple[str, str]]:
        at_host = self.layout.interfaces.get(sender)

        def idle_ns(ip_length: int) -> int:
            """Returns the delay of a single packet on the idle path, in ns. A serializer adds the transmission time; a
            shaper adds no time, because it has credit."""
            return (at_host.delay_ns if at_host else 0) + sum(
                direction.delay_ns + (0 if direction.burst else direction.send_ns(ip_length))
                for _, direction in directions
            )

        small = idle_ns(SMALL + UDP_HEADERS)
        limited = [(name, direction) for name, direction in directions if direction.rate_bps]
        if not limited or any(direction.lossy or direction.queue.shapes for _, direction in directions):
            name = limited[0][0] if limited else (sender, receiver)
            return Check(sender, receiver, small, 0, 0, 0, LARGEST_PACKET), name
        name, narrowest = min(limited, key=lambda pair: pair[1].rate_bps)
        largest = min(LARGEST_PACKET, *(direction.mtu for _, direction in directions))
        packet_ns = narrowest.send_ns(largest)
        full = idle_ns(largest) + narrowest.queue.packets * packet_ns if narrowest.queue.packets else 0
        if at_host:
            # The host's interface delays or drops packets before the line's queue, so the check cannot fill this queue.
            full = 0
        if narrowest.burst and full:
            # The bucket passes a whole number of full packets at once. The remaining tokens shorten the next wait.
            left_over = self._bucket(narrowest) % narrowest.octets(largest)
            full -= left_over * 8 * 1_000_000_000 // narrowest.rate_bps
        octets = narrowest.octets(largest)
        return Check(sender, receiver, small, narrowest.rate_bps, octets, full, largest), name
