//! The nodes of a network, the wires between them, and the order in which nodes are polled.
//!
//! # Order of events
//!
//! Every node has at most one time in the [`EventQueue`], so no two events of a node compete and no event is cancelled.
//! The network repeats these steps:
//!
//! 1. The node with the earliest time acts. If several nodes have the same time, the node with the lowest number acts
//!    first.
//! 2. The node handles its timeout. The network then calls `poll_transmit` until the node returns no more packets.
//! 3. Each packet moves immediately to the node at the other end of the wire. Routers cost no event.
//! 4. A host or custom node that received a packet is polled next, before the network polls the sender again.
//!
//! # Links
//!
//! Most events belong to links. Each of these events is one call of [`Link::next_arrived`], which returns at most one
//! packet and the time of the next arrival. The next arrival may be at the same instant. A link never sends in the call
//! in which it receives a packet.
//!
//! # Regions
//!
//! If all nodes are hosts, routers and links in rows, each host can run ahead of the other hosts in virtual time: see
//! `regions.rs`.
//!
//! Rows of links (`network/rows.rs`) and regions never change a result: see `tests/regions.rs`.

mod passage;
mod rows;

use crate::EventQueue;
use crate::merge_point::{Batch, MergePoint, Waiting};
use crate::next_hop::NextHops;
use crate::node::{Attachment, NOWHERE, NetNode, Place, Row};
use crate::regions::{Inlet, Regions};
use lopsided_core::packet::{Delivered, NewPacket};
use lopsided_core::{Accounting, Count, Cx, Duration, Event, EventMask, Node, NodeId, Port, Time};
use lopsided_link::Link;
use std::collections::VecDeque;
use std::sync::Arc;

/// The reason why a call of [`Network::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All events up to and including the given time are done.
    Reached,
    /// The budget of events is used up, or a node requested an interrupt.
    Paused,
}

/// A network with hosts of type `H`: nodes, wires, pending events, and the accounting of all packets.
///
/// The type of all hosts must be one [`Node`] type. A network without hosts may use any node type.
///
/// # Examples
///
/// A packet enters at an edge, crosses a link of 10 Mbit/s and 5 ms, and leaves at another edge 6 ms later:
///
/// ```
/// use lopsided_core::{Accounting, BitRate, Duration, FlowId, IpHeader, NewPacket, NodeId};
/// use lopsided_core::{Payload, Port, Time, Transport};
/// use lopsided_core::packet::UdpHeader;
/// use lopsided_link::{Link, LinkConfig};
/// use lopsided_net::{Attachment, NetNode, Network};
/// use lopsided_queue::QueueConfig;
/// use std::net::Ipv4Addr;
///
/// let rate = Some(BitRate::from_bps(10_000_000));
/// let link = LinkConfig::new(rate, Duration::from_millis(5), QueueConfig::packets(50)).build(1, "link/up").unwrap();
/// let nodes: Vec<NetNode<Link>> = vec![NetNode::Edge, NetNode::Link(Box::new(link)), NetNode::Edge];
/// let to = |node| vec![Attachment { node: NodeId(node), port: Port(0) }];
/// let mut network = Network::new(nodes, &[to(1), to(2), to(1)], Accounting::new(3));
///
/// let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let udp = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
/// network.inject(Time::ZERO, NodeId(0), NewPacket::new(FlowId(0), ip, udp, Payload::virtual_len(1222)));
/// assert_eq!(network.next_time(), Some(Time::ZERO + Duration::from_millis(6)));
/// network.advance(Time::ZERO + Duration::from_millis(6));
/// let (edge, packet) = network.poll_egress().unwrap();
/// assert_eq!(edge, NodeId(2));
/// network.recycle(packet);
/// ```
#[derive(Debug)]
pub struct Network<H> {
    /// The accounting is the first field, because fields are dropped in order, and debug builds check that no packet is
    /// lost while the accounting exists.
    pub(crate) accounting: Accounting,
    /// The current time. It never decreases.
    pub(crate) now: Time,
    pub(crate) places: Vec<Place<H>>,
    /// The wires of all nodes, by node and then by port.
    wires: Vec<Attachment>,
    pub(crate) queue: EventQueue,
    /// The merge points, each with the link behind it.
    pub(crate) merge_points: Vec<(NodeId, MergePoint)>,
    /// The packets that leave a merge point in one batch. The batch is stored here so that its memory is reused.
    batch: Option<Box<Batch>>,
    /// An empty list, whose memory the next merge point that receives packets uses.
    spare: Waiting,
    /// The next-hop tables of the routers between leaders and followers. Shared with the crews.
    next_hops: Arc<Vec<NextHops>>,
    /// Stack of the nodes to poll. The last node is polled first.
    dirty: Vec<NodeId>,
    /// The regions; `None` if the network cannot be divided into regions.
    pub(crate) regions: Option<Box<Regions>>,
    /// For each region, the packets that will enter the region's link.
    pub(crate) inbound: Vec<Inlet>,
    /// For each node: the index of the region whose link it is, otherwise `u32::MAX`. Empty without regions.
    pub(crate) region_of: Vec<u32>,
    /// Number of packets in `inbound`.
    pub(crate) inbound_packets: usize,
    pub(crate) events: u64,
    /// The instant of the last pause of [`Network::run`], and the number of events at the first pause at this instant.
    pub(crate) instant: (Time, u64),
    /// Packets that arrived at edges and have not been collected yet, each with its edge.
    egress: VecDeque<(NodeId, Delivered)>,
    /// The threads, and the networks in which they run their regions.
    pub(crate) crews: Crews<H>,
}

/// The threads of a network, and the data that they need.
#[derive(Debug)]
pub(crate) struct Crews<H> {
    /// Maximum number of threads.
    pub threads: usize,
    /// Minimum number of events in a time window for which several threads are used.
    pub from_events: f64,
    /// A network without nodes for each thread except the calling thread. Created on first use.
    pub networks: Vec<Network<H>>,
    /// For each region, the links that packets of the region's host cross before they reach a shared link.
    pub outlets: Vec<Vec<NodeId>>,
    /// The largest number of threads in one time window, and the number of events in windows with several threads.
    pub used: (usize, u64),
}

impl<H> Default for Crews<H> {
    fn default() -> Crews<H> {
        Crews { threads: 1, from_events: 0.0, networks: Vec::new(), outlets: Vec::new(), used: (1, 0) }
    }
}

impl<H: Node> Network<H> {
    /// Creates a network. `wires` contains one list per node, in the order of the nodes. The list contains the far end
    /// of the wire at each port.
    ///
    /// # Panics
    /// Panics if the number of nodes differs from the number of lists in `wires`.
    pub fn new(nodes: Vec<NetNode<H>>, wires: &[Vec<Attachment>], accounting: Accounting) -> Network<H> {
        assert_eq!(nodes.len(), wires.len(), "each node has its wires");
        let mut flat = Vec::new();
        let mut queue = EventQueue::new(nodes.len());
        let mut places = Vec::with_capacity(nodes.len());
        for (index, (node, of_node)) in nodes.into_iter().zip(wires).enumerate() {
            queue.set(index, node.poll_timeout());
            let outlet = of_node.first().copied().unwrap_or(NOWHERE);
            places.push(Place { node, outlet, first_wire: flat.len() as u32, row: Row::APART });
            flat.extend_from_slice(of_node);
        }
        Network::of(places, flat, queue, accounting)
    }

    fn of(places: Vec<Place<H>>, wires: Vec<Attachment>, queue: EventQueue, accounting: Accounting) -> Network<H> {
        Network {
            accounting,
            now: Time::ZERO,
            places,
            wires,
            queue,
            merge_points: Vec::new(),
            batch: None,
            spare: Waiting::new(),
            next_hops: Arc::default(),
            dirty: Vec::new(),
            regions: None,
            inbound: Vec::new(),
            region_of: Vec::new(),
            inbound_packets: 0,
            events: 0,
            instant: (Time::ZERO, 0),
            egress: VecDeque::new(),
            crews: Crews::default(),
        }
    }

    /// Returns a network with the wires and rows of this network, but without nodes and packets.
    pub(crate) fn without_nodes(&self) -> Network<H> {
        let place = |place: &Place<H>| Place { node: NetNode::Edge, ..*place };
        let places = self.places.iter().map(place).collect();
        let queue = EventQueue::new(self.places.len());
        Network {
            merge_points: self.merge_points.iter().map(|(link, of)| (*link, MergePoint::new(of.delay))).collect(),
            next_hops: self.next_hops.clone(),
            inbound: self.inbound.iter().map(|_| Inlet::default()).collect(),
            region_of: self.region_of.clone(),
            ..Network::of(places, self.wires.clone(), queue, self.accounting.part())
        }
    }

    /// Disables regions, so that all events are handled in one global order. This is needed if nodes interrupt a run
    /// ([`Cx::interrupt`]) or if hosts share state.
    #[must_use]
    pub fn in_one_order(mut self) -> Network<H> {
        self.regions = None;
        (self.inbound, self.region_of) = (Vec::new(), Vec::new());
        self
    }

    /// Declares that the caller does not read the links' measurements before `until`, so links may count departures in
    /// advance.
    pub fn promise_unseen(&mut self, until: Time) {
        self.accounting.promise_unseen(until);
    }

    /// Limits the events for observers to these kinds. Call this right after the measurements of all links were read:
    /// see [`Accounting::hear`].
    #[doc(hidden)]
    pub fn hear(&mut self, kinds: EventMask) {
        self.accounting.hear(kinds);
    }

    /// Returns the time up to which the network has run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of events handled so far, as a measure of the work done.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the instant of the last pause of [`Network::run`], and the number of events since the first pause at
    /// this instant. With these values the caller can detect endless loops.
    pub fn instant(&self) -> (Time, u64) {
        (self.instant.0, self.events - self.instant.1)
    }

    /// Returns the minimum time by which one host can run ahead of the other hosts; `None` if all events are handled in
    /// one global order.
    pub fn lookahead(&self) -> Option<Duration> {
        self.regions.as_ref().map(|regions| regions.lookahead())
    }

    /// Returns the accounting: the counters of all nodes, the digest, and the observers.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// Returns the latest time at which this network can schedule an event. A later event never happens.
    pub fn horizon(&self) -> Time {
        self.queue.horizon()
    }

    /// Returns the time of the next event, or of a packet's entry into the last link before a host if this entry is
    /// earlier. `None` if nothing can happen before the next [`Network::inject`].
    pub fn next_time(&self) -> Option<Time> {
        let entering = self.inbound.iter().filter_map(Inlet::first);
        self.queue.first().map(|(time, _)| time).into_iter().chain(entering).min()
    }

    /// Returns the node with this number.
    pub fn node(&self, node: NodeId) -> &NetNode<H> {
        &self.places[node.index()].node
    }

    /// Returns all nodes, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = &NetNode<H>> {
        self.places.iter().map(|place| &place.node)
    }

    /// Returns the far end of the wire at each port of a node.
    pub(crate) fn wires_of(&self, node: NodeId) -> &[Attachment] {
        let first = |place: &Place<H>| place.first_wire as usize;
        // Wires are stored by node, so this node's wires end where the next node's wires begin.
        let after = self.places.get(node.index() + 1).map_or(self.wires.len(), first);
        &self.wires[first(&self.places[node.index()])..after]
    }

    /// Returns the node at the far end of a link.
    pub(crate) fn behind(&self, link: NodeId) -> NodeId {
        self.wire(link, Port(0)).node
    }

    /// Returns the host with this number.
    ///
    /// # Panics
    /// Panics if the node is not a host.
    pub fn host(&self, node: NodeId) -> &H {
        match &self.places[node.index()].node {
            NetNode::Host(host) => host,
            _ => panic!("{node:?} is no host"),
        }
    }

    /// Returns the host with this number, mutably. A changed timer takes effect at the host's next event.
    ///
    /// # Panics
    /// Panics if the node is not a host.
    pub fn host_mut(&mut self, node: NodeId) -> &mut H {
        match &mut self.places[node.index()].node {
            NetNode::Host(host) => host,
            _ => panic!("{node:?} is no host"),
        }
    }

    /// Calls `act` with a link, at the current time.
    ///
    /// # Panics
    /// Panics if the node is not a link.
    pub fn with_link<T>(&mut self, node: NodeId, act: impl FnOnce(&mut Link, &mut Cx<'_>) -> T) -> T {
        match &mut self.places[node.index()].node {
            NetNode::Link(link) => act(link, &mut Cx::new(self.now, node, &mut self.accounting)),
            _ => panic!("{node:?} is not a link"),
        }
    }

    /// Frees the memory that is reserved for further packets. Called at the end of a run.
    #[doc(hidden)]
    pub fn free_reserves(&mut self) {
        self.batch = None;
        self.spare = Waiting::new();
        self.accounting.free_reserves();
    }

    /// Returns the number and total size of all packets in nodes, merge points and inlets.
    pub fn held(&self) -> Count {
        let on_their_way = self.merge_points.iter().map(|(_, merge_point)| merge_point.held());
        let inbound = self.inbound.iter().map(|inlet| Count::of(inlet.iter().map(|(_, packet)| packet.size())));
        self.places.iter().map(|place| place.node.held()).chain(on_their_way).chain(inbound).sum()
    }

    /// Injects a packet from outside at an edge at the time `now`, and returns its number. Call [`Network::advance`]
    /// first.
    ///
    /// # Panics
    /// Panics if the node is not an edge, if an event is due before `now`, or if `now` is in the past.
    pub fn inject(&mut self, now: Time, edge: NodeId, new: NewPacket) -> u64 {
        assert!(matches!(self.places[edge.index()].node, NetNode::Edge), "{edge:?} is not an edge");
        assert!(self.next_time().is_none_or(|next| next >= now) && now >= self.now, "{now:?} is not the current time");
        self.now = now;
        let mut cx = Cx::new(now, edge, &mut self.accounting);
        let packet = cx.originate(new);
        cx.trace(EventMask::HOSTS, || Event::Sent(&packet));
        let number = packet.id();
        self.forward(self.wire(edge, Port(0)), packet, false);
        self.drain_transmits();
        number
    }

    /// Handles all events up to and including `now`, each at its own time. Returns the time of the next event.
    pub fn advance(&mut self, now: Time) -> Option<Time> {
        while self.run(now, u64::MAX) == Progress::Paused {}
        self.next_time()
    }

    /// Returns the next packet that arrived at an edge, and the edge. The packet counts as delivered. Pass it to
    /// [`Network::recycle`] to reuse its memory.
    pub fn poll_egress(&mut self) -> Option<(NodeId, Delivered)> {
        self.egress.pop_front()
    }

    /// Returns the memory of a delivered packet to the network, which reuses it for the next packet.
    pub fn recycle(&mut self, delivered: Delivered) {
        Cx::new(self.now, NodeId(0), &mut self.accounting).recycle(delivered);
    }

    /// Handles events up to and including `until`, and at most `budget` events.
    pub fn run(&mut self, until: Time, budget: u64) -> Progress {
        // Saturates, because callers pass `u64::MAX` for no limit.
        let last = self.events.saturating_add(budget);
        let began = self.now;
        if self.run_ahead(until, last) == Progress::Paused {
            return Progress::Paused;
        }
        while let Some((time, index)) = self.queue.first() {
            if time > until {
                break;
            }
            if self.events >= last {
                return self.pause(began);
            }
            self.events += 1;
            // A node can return a time in the past after another node was handled. The node then acts at the current
            // time, because time never decreases.
            self.now = self.now.max(time);
            self.wake(index);
            if self.accounting.take_interrupt() {
                return self.pause(began);
            }
        }
        self.now = self.now.max(until);
        // The caller may read statistics after this call, so packets that have entered a link by now must be counted
        // there.
        for number in 0..self.merge_points.len() {
            self.admit(number, self.now);
            self.rearm(self.merge_points[number].0);
        }
        self.instant = (self.now, self.events);
        Progress::Reached
    }

    /// Ends a call of [`Network::run`] that began at `began`, before its end time. Only pauses record the instant,
    /// because recording it at each event would take time.
    fn pause(&mut self, began: Time) -> Progress {
        if self.now != began {
            self.instant = (self.now, self.events);
        }
        Progress::Paused
    }

    /// Handles the event of a node.
    #[inline]
    fn wake(&mut self, index: usize) {
        let node = NodeId(index as u32);
        let merge_point = self.places[index].row.merge_point();
        // The link must have received every packet that entered by now before it computes departures.
        if let Some(merge_point) = merge_point {
            self.admit(merge_point as usize, self.now);
        }
        let mut cx = Cx::new(self.now, node, &mut self.accounting);
        let place = &mut self.places[index];
        match &mut place.node {
            // One packet per event: if several packets arrive at this instant, `arrives` is this instant again.
            NetNode::Link(link) => {
                let (arrived, arrives) = link.next_arrived(&mut cx);
                let another_arrives = link.has_arrived(self.now);
                let outlet = place.outlet;
                // Store the link's time before forwarding the packet: the packet may enter this same link again and
                // change its time.
                self.queue.set(index, self.due(merge_point, arrives));
                if let Some(packet) = arrived {
                    self.forward(outlet, packet, another_arrives);
                }
                // Fast path: most packets only move from link to link, so no node must be polled.
                if self.dirty.is_empty() {
                    return;
                }
            }
            NetNode::Host(host) => {
                host.handle_timeout(&mut cx);
                self.dirty.push(node);
            }
            NetNode::Custom(custom) => {
                custom.handle_timeout(&mut cx);
                self.dirty.push(node);
            }
            NetNode::Router(_) | NetNode::Edge => {}
        }
        self.drain_transmits();
    }

    /// Polls all dirty nodes until no node has a packet to send. Receivers are polled before senders.
    fn drain_transmits(&mut self) {
        while let Some(&node) = self.dirty.last() {
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            let place = &mut self.places[node.index()];
            let out = match &mut place.node {
                NetNode::Host(host) => {
                    let out = host.poll_transmit(&mut cx);
                    // The host has no further packet. Skip the poll that would return `None`.
                    if out.is_some() && host.has_given_all() {
                        let due = host.poll_timeout();
                        self.queue.set(node.index(), due);
                        self.dirty.pop();
                    }
                    out
                }
                NetNode::Custom(custom) => custom.poll_transmit(&mut cx),
                NetNode::Link(_) | NetNode::Router(_) | NetNode::Edge => None,
            };
            match out {
                Some((port, packet)) => {
                    self.forward(self.wire(node, port), packet, false);
                }
                None => {
                    self.dirty.pop();
                    self.rearm(node);
                }
            }
        }
    }

    /// Returns the far end of the wire at a port of a node.
    #[inline(always)]
    pub(crate) fn wire(&self, node: NodeId, port: Port) -> Attachment {
        let place = &self.places[node.index()];
        if port.0 == 0 { place.outlet } else { self.wires[place.first_wire as usize + usize::from(port.0)] }
    }

    /// Updates the node's entry in the event queue with its current event time.
    pub(crate) fn rearm(&mut self, node: NodeId) {
        let place = &self.places[node.index()];
        let due = self.due(place.row.merge_point(), place.node.poll_timeout());
        self.queue.set(node.index(), due);
    }

    /// Returns the time of the node's next event. For a link, this time also depends on the packets in its merge point.
    #[inline(always)]
    fn due(&self, merge_point: Option<u32>, own: Option<Time>) -> Option<Time> {
        let Some(merge_point) = merge_point else { return own };
        // For an empty merge point, this time is `Time::MAX`. It is later than the horizon of the event queue, so the
        // queue stores no time.
        let entering = self.merge_points[merge_point as usize].1.due();
        Some(own.map_or(entering, |own| own.min(entering)))
    }
}
