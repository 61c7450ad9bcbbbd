//! The nodes of a network, how they are joined, and the one order in which they are polled.
//!
//! **The order.** The node whose time is earliest acts; of equal times, the one with the lowest number. It handles its
//! time, and is then asked for what it sends until it sends nothing more. Each packet goes straight on to what the wire
//! leads to, through routers, which forward at once and cost no event. A node that is given a packet is asked next,
//! before its giver goes on.
//!
//! **A link** is the exception, for it is the most frequent: it is asked once for each time that it names, and gives at
//! most one packet. Where several arrive at one instant it names that instant again. What it is given it never sends on
//! at once, but at a time that it names.
//!
//! **A follower** is a link all of whose packets come over other links and the router behind them. Of one that follows
//! a single link, what becomes of a packet in either is known as it enters the first, and it goes through both at once,
//! or through a whole row of them; that it gets from one to the next is no event. Of one that follows several, the
//! packets wait in a [`Confluence`] until it needs them, and go through many at a time. See
//! [`Network::with_followers`].

use crate::confluence::{Confluence, Entering};
use crate::inlets::{Giver, Inlets};
use crate::onward::{Follower, Hop, Onward, Way};
use crate::{EventQueue, Router};
use lopsided_core::packet::{Delivered, NewPacket};
use lopsided_core::{Accounting, Bytes, Count, Cx, Event, EventMask, Node, NodeId, Packet, Port, Time, Unboxed};
use lopsided_link::{ForetoldLink, Link};
use std::collections::VecDeque;
use std::sync::Arc;

/// What can stand in a network, the hosts of which are of type `H`. An enum for the usual kinds, so that calls are
/// direct.
#[derive(Debug)]
pub enum NetNode<H> {
    Link(Box<Link>),
    Host(Box<H>),
    Router(Box<Router>),
    /// Anything else: a stage, a medium, a node of the user's own.
    Custom(Box<dyn Node>),
    /// Where packets of others enter by [`Network::inject`] and leave by [`Network::poll_egress`]; it has one port.
    Edge,
    /// A node that another of the network's [parts](crate::Parts) has; of a link that leads here, the packets on their
    /// way, in order of time.
    Elsewhere(Box<VecDeque<(Time, Packet)>>),
}

impl<H: Node> NetNode<H> {
    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            NetNode::Link(link) => link.poll_timeout(),
            NetNode::Host(host) => host.poll_timeout(),
            NetNode::Custom(node) => node.poll_timeout(),
            NetNode::Elsewhere(arriving) => arriving.front().map(|(at, _)| *at),
            NetNode::Router(_) | NetNode::Edge => None,
        }
    }

    /// The packets that it holds.
    fn held(&self) -> Count {
        match self {
            NetNode::Link(link) => link.held(),
            NetNode::Host(host) => host.held(),
            NetNode::Custom(node) => node.held(),
            NetNode::Elsewhere(arriving) => Count::of(arriving.iter().map(|(_, packet)| packet.size())),
            NetNode::Router(_) | NetNode::Edge => Count::ZERO,
        }
    }

    /// Its own quantities now, by name.
    pub fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        match self {
            NetNode::Link(link) => Node::sample(&**link, out),
            NetNode::Host(host) => host.sample(out),
            NetNode::Custom(node) => node.sample(out),
            NetNode::Router(_) | NetNode::Edge | NetNode::Elsewhere(_) => {}
        }
    }
}

/// A packet that has passed a link into another part of the network, and when it arrives there.
#[derive(Debug)]
pub(crate) struct Left {
    pub link: NodeId,
    at: Time,
    way: Way,
    packet: Unboxed,
}

/// Where the far end of a node's port is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    pub node: NodeId,
    pub port: Port,
}

/// How far a call of [`Network::run`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every event up to the given instant, and that one included, has happened.
    Reached,
    /// The budget of events is used up, or a node asked to be looked at; the network stands at the last event.
    Paused,
}

/// A node in its place: all that a packet's way on asks of it lies together.
#[derive(Debug)]
struct Place<H> {
    node: NetNode<H>,
    /// What hangs on port 0.
    outlet: Attachment,
    /// Where the other ports are among the wires.
    first_wire: u32,
    row: Row,
}

/// A link's place in rows of links.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The link that it follows, where that is one alone.
    follows: Option<NodeId>,
    /// The confluence before it, where it follows several.
    gathers: Option<u32>,
    /// The number of the ways on by which it leads others; that of none where it leads nobody.
    leads_by: u32,
    /// In a part of a network: it leads into another part.
    leads_out: bool,
}

impl Row {
    /// Of a node that is in no row.
    const APART: Row = Row { follows: None, gathers: None, leads_by: u32::MAX, leads_out: false };
}

/// Where a node without ports leads to.
const NOWHERE: Attachment = Attachment { node: NodeId(u32::MAX), port: Port(0) };

/// Nodes and wires, with hosts of type `H`.
#[derive(Debug)]
pub struct Network<H> {
    /// First, so that it is closed when the nodes are dropped with the packets they hold.
    accounting: Accounting,
    /// The latest instant at which something happened, or up to which nothing does.
    now: Time,
    places: Vec<Place<H>>,
    /// The wires of all nodes in one list, by port.
    wires: Vec<Attachment>,
    queue: EventQueue,
    /// With the links that they are before.
    confluences: Vec<(NodeId, Confluence)>,
    /// Of the routers by which links lead others.
    onward: Arc<Vec<Onward>>,
    /// Nodes that must still be polled, the one on top first.
    dirty: Vec<NodeId>,
    events: u64,
    /// What came out at edges.
    egress: VecDeque<(NodeId, Delivered)>,
    /// Of a part of a network: what has passed into other parts.
    left: Vec<Left>,
}

impl<H: Node> Network<H> {
    /// A network of nodes, in the order of their numbers, with what hangs on each port of each.
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
        Network {
            accounting,
            now: Time::ZERO,
            places,
            wires: flat,
            queue,
            confluences: Vec::new(),
            onward: Arc::default(),
            dirty: Vec::new(),
            events: 0,
            egress: VecDeque::new(),
            left: Vec::new(),
        }
    }

    /// Promises of each pair that the second link gets packets over those of the first alone, of all that come through
    /// the router between them. It counts where these links [foretell](Link::foretells), where nothing else stands
    /// between them, and where nobody watches what is on its way; it changes no result.
    #[must_use]
    pub fn with_followers(mut self, pairs: impl IntoIterator<Item = (Vec<NodeId>, NodeId)>) -> Network<H> {
        if self.accounting.mask().has(EventMask::BETWEEN_HOSTS) {
            return self;
        }
        let mut leading = Vec::new();
        let inlets = self.inlets();
        for (leaders, follower) in pairs {
            let foretells = |node: &NodeId| matches!(self.node(*node), NetNode::Link(link) if link.foretells());
            let Some(router) = inlets.router_before(follower) else { continue };
            if !leaders.iter().all(|leader| foretells(leader) && self.behind(*leader) == router) {
                continue;
            }
            let NetNode::Link(link) = self.node(follower) else { continue };
            // Behind a confluence there is nothing to gain without a delay.
            if !link.foretells() || leaders.len() > 1 && link.delay().is_zero() {
                continue;
            }
            let delay = link.delay();
            let row = &mut self.places[follower.index()].row;
            match leaders[..] {
                [] => {}
                [leader] => row.follows = Some(leader),
                _ => {
                    row.gathers = Some(self.confluences.len() as u32);
                    self.confluences.push((follower, Confluence::new(delay, false)));
                }
            }
            leading.extend(leaders);
        }
        let mut onward: Vec<Onward> = Vec::new();
        let mut numbers: Vec<Option<u32>> = vec![None; self.places.len()];
        for leader in leading {
            let router = self.places[leader.index()].outlet.node;
            let number = *numbers[router.index()].get_or_insert_with(|| {
                onward.push(self.onward_of(router));
                onward.len() as u32 - 1
            });
            self.places[leader.index()].row.leads_by = number;
        }
        let leads_by = |link: NodeId| self.places.get(link.index()).map_or(u32::MAX, |place| place.row.leads_by);
        for number in 0..onward.len() {
            let ways = onward[number].ways(&onward, leads_by);
            onward[number].set_ways(ways);
        }
        self.onward = Arc::new(onward);
        self
    }

    fn inlets(&self) -> Inlets {
        let giver = |node: &NetNode<H>| match node {
            NetNode::Router(_) => Giver::Router,
            NetNode::Link(_) | NetNode::Host(_) => Giver::Plain,
            NetNode::Custom(_) | NetNode::Edge | NetNode::Elsewhere(_) => Giver::Wilful,
        };
        let nodes = (0..self.places.len()).map(|index| NodeId(index as u32));
        let wires = nodes.flat_map(|from| self.wires_of(from).iter().map(move |wire| (from, wire.node)));
        Inlets::new(self.nodes().map(giver).collect(), wires)
    }

    /// The ways on from a router, once it is known which links follow which.
    fn onward_of(&self, router: NodeId) -> Onward {
        let NetNode::Router(node) = self.node(router) else { unreachable!("what leads does so by a router") };
        Onward::new(node.routes(), |port| self.hop_to(self.wire(router, port).node))
    }

    /// To a node that may be a link.
    fn hop_to(&self, node: NodeId) -> Hop {
        let row = &self.places[node.index()].row;
        Hop::new(node, row.follows, row.gathers)
    }

    /// Promises that nobody looks at a link before `until`; what is known to happen by then may be counted as it
    /// becomes known. It changes no result.
    pub fn promise_unseen(&mut self, until: Time) {
        self.accounting.promise_unseen(until);
    }

    /// The latest instant that it was brought to.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handled so far: a measure of the work done.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// The latest instant that this network can tell from never.
    pub fn horizon(&self) -> Time {
        self.queue.horizon()
    }

    /// When something happens next by itself.
    pub fn next_time(&self) -> Option<Time> {
        self.queue.first().map(|(time, _)| time)
    }

    pub fn node(&self, node: NodeId) -> &NetNode<H> {
        &self.places[node.index()].node
    }

    /// All nodes, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = &NetNode<H>> {
        self.places.iter().map(|place| &place.node)
    }

    /// What hangs on each port of a node.
    pub(crate) fn wires_of(&self, node: NodeId) -> &[Attachment] {
        let first = |place: &Place<H>| place.first_wire as usize;
        let after = self.places.get(node.index() + 1).map_or(self.wires.len(), first);
        &self.wires[first(&self.places[node.index()])..after]
    }

    /// The host with this number.
    ///
    /// # Panics
    /// If another kind of node has it.
    pub fn host(&self, node: NodeId) -> &H {
        match &self.places[node.index()].node {
            NetNode::Host(host) => host,
            _ => panic!("{node:?} is no host"),
        }
    }

    /// As [`Network::host`].
    ///
    /// # Panics
    /// If another kind of node has it.
    pub fn host_mut(&mut self, node: NodeId) -> &mut H {
        match &mut self.places[node.index()].node {
            NetNode::Host(host) => host,
            _ => panic!("{node:?} is no host"),
        }
    }

    /// Does something with a link at the present time.
    ///
    /// # Panics
    /// If the node is no link.
    pub fn with_link<T>(&mut self, node: NodeId, act: impl FnOnce(&mut Link, &mut Cx<'_>) -> T) -> T {
        match &mut self.places[node.index()].node {
            NetNode::Link(link) => act(link, &mut Cx::new(self.now, node, &mut self.accounting)),
            _ => panic!("{node:?} is no link"),
        }
    }

    /// The packets in all nodes.
    pub fn held(&self) -> Count {
        let on_their_way = self.confluences.iter().map(|(_, confluence)| confluence.held());
        self.places.iter().map(|place| place.node.held()).chain(on_their_way).sum()
    }

    /// A packet of another enters by an edge now, and has this number from then on. Everything up to `now` must have
    /// happened: see
    /// [`Network::advance`].
    ///
    /// # Panics
    /// If the node is no edge, or something is due before `now`.
    pub fn inject(&mut self, now: Time, edge: NodeId, new: NewPacket) -> u64 {
        assert!(matches!(self.places[edge.index()].node, NetNode::Edge), "{edge:?} is no edge");
        assert!(self.next_time().is_none_or(|next| next >= now) && now >= self.now, "{now:?} is not the present");
        self.now = now;
        let mut cx = Cx::new(now, edge, &mut self.accounting);
        let packet = cx.originate(new);
        cx.trace(EventMask::HOSTS, || Event::Sent(&packet));
        let number = packet.id();
        self.forward(self.wire(edge, Port(0)), packet);
        self.drain_transmits();
        number
    }

    /// Lets everything happen up to and including `now`, each event at its own time, and says when the next one is due.
    pub fn advance(&mut self, now: Time) -> Option<Time> {
        while self.run(now, u64::MAX) == Progress::Paused {}
        self.next_time()
    }

    /// A packet that came out at an edge, in order of time. It is delivered; [`Network::recycle`] takes back its box.
    pub fn poll_egress(&mut self) -> Option<(NodeId, Delivered)> {
        self.egress.pop_front()
    }

    pub fn recycle(&mut self, delivered: Delivered) {
        Cx::new(self.now, NodeId(0), &mut self.accounting).recycle(delivered);
    }

    /// As [`Network::advance`], for at most `budget` events.
    pub fn run(&mut self, until: Time, budget: u64) -> Progress {
        let last = self.events.saturating_add(budget);
        while let Some((time, index)) = self.queue.first() {
            if time > until {
                break;
            }
            if self.events == last {
                return Progress::Paused;
            }
            self.events += 1;
            // A node whose time is already past (it became due while another was handled) acts now, not then.
            self.now = self.now.max(time);
            self.wake(index);
            if self.accounting.take_interrupt() {
                return Progress::Paused;
            }
        }
        self.now = self.now.max(until);
        for number in 0..self.confluences.len() {
            self.let_in(number);
            self.rearm(self.confluences[number].0);
        }
        Progress::Reached
    }

    #[inline]
    fn wake(&mut self, index: usize) {
        let node = NodeId(index as u32);
        let gathers = self.places[index].row.gathers;
        if let Some(confluence) = gathers {
            self.let_in(confluence as usize);
        }
        let mut cx = Cx::new(self.now, node, &mut self.accounting);
        let place = &mut self.places[index];
        match &mut place.node {
            // One packet of those that arrive now. Where there are more, the link's time says so: each is an event.
            NetNode::Link(link) => {
                let (arrived, arrives) = link.next_arrived(&mut cx);
                let outlet = place.outlet;
                // Set before the packet goes on: what it meets may be the same link.
                self.queue.set(index, self.due(gathers, arrives));
                if let Some(packet) = arrived {
                    self.forward(outlet, packet);
                }
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
            NetNode::Elsewhere(arriving) => {
                let arrived = arriving.pop_front();
                self.queue.set(index, arriving.front().map(|(at, _)| *at));
                if let Some((_, packet)) = arrived {
                    self.forward(self.wire(node, Port(0)), packet);
                }
            }
            NetNode::Router(_) | NetNode::Edge => {}
        }
        self.drain_transmits();
    }

    /// Polls every dirty node until none has anything to send. A node given a packet goes on top, before its giver.
    fn drain_transmits(&mut self) {
        while let Some(&node) = self.dirty.last() {
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            let place = &mut self.places[node.index()];
            let out = match &mut place.node {
                NetNode::Host(host) => {
                    let out = host.poll_transmit(&mut cx);
                    if out.is_some() && host.has_given_all() {
                        let due = host.poll_timeout();
                        self.queue.set(node.index(), due);
                        self.dirty.pop();
                    }
                    out
                }
                NetNode::Custom(custom) => custom.poll_transmit(&mut cx),
                NetNode::Link(_) | NetNode::Router(_) | NetNode::Edge | NetNode::Elsewhere(_) => None,
            };
            match out {
                Some((port, packet)) => {
                    self.forward(self.wire(node, port), packet);
                }
                None => {
                    self.dirty.pop();
                    self.rearm(node);
                }
            }
        }
    }

    /// Hands the packet to the node at the end of the wire, through any routers on the way.
    #[inline(always)]
    fn forward(&mut self, mut wire: Attachment, mut packet: Packet) {
        loop {
            let mut cx = Cx::new(self.now, wire.node, &mut self.accounting);
            match &mut self.places[wire.node.index()].node {
                NetNode::Router(router) => match router.forward(&mut packet) {
                    Ok(port) => {
                        wire = self.wire(wire.node, port);
                        continue;
                    }
                    Err(why) => return cx.drop(packet, why),
                },
                // A link is never polled here: what it has to send, even at once, it asks for by its time.
                NetNode::Link(link) if wire.port == Link::SENSED => {
                    let passing = link.pass_reverse(packet, &mut cx);
                    self.queue.set(wire.node.index(), link.poll_timeout());
                    let Some(on) = passing else { return };
                    packet = on;
                    wire = self.wire(wire.node, Link::SENSED);
                    continue;
                }
                NetNode::Link(_) => {
                    let size = packet.size();
                    return self.cross(wire.node, packet, size, self.now);
                }
                NetNode::Host(host) => {
                    host.handle_packet(wire.port, packet, &mut cx);
                    if host.has_given_all() {
                        let due = host.poll_timeout();
                        return self.queue.set(wire.node.index(), due);
                    }
                }
                NetNode::Custom(custom) => custom.handle_packet(wire.port, packet, &mut cx),
                NetNode::Edge => {
                    let delivered = cx.deliver(packet);
                    return self.egress.push_back((wire.node, delivered));
                }
                NetNode::Elsewhere(_) => unreachable!("parts meet at links"),
            }
            return self.dirty.push(wire.node);
        }
    }

    /// Hands the packet of this size to a link, which it enters at `at`, and through all that follow.
    #[inline(always)]
    fn cross(&mut self, mut node: NodeId, mut packet: Packet, size: Bytes, mut at: Time) {
        loop {
            let place = &mut self.places[node.index()];
            let NetNode::Link(link) = &mut place.node else { unreachable!("links are followed by links") };
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            let onward = self.onward.get(place.row.leads_by as usize);
            let Some(next) = onward.and_then(|onward| onward.follower(node, &mut packet)) else {
                if place.row.leads_out {
                    self.leave(node, packet, size, at, Way::UNKNOWN);
                } else if link.handle_packet_at(packet, size, at, &mut cx) {
                    self.rearm(node);
                }
                return;
            };
            let Some(passed) = foretelling(link).pass_through(packet, size, at, &mut cx) else { return };
            (at, packet) = passed;
            match next {
                Follower::Of(next) => node = next,
                Follower::OfSeveral(confluence, way) => {
                    return self.gather(confluence, Entering::new(at, node, packet, size, way));
                }
            }
        }
    }

    /// A packet comes to the link behind a confluence.
    #[inline(always)]
    fn gather(&mut self, confluence: usize, entering: Entering) {
        let (link, confluence) = &mut self.confluences[confluence];
        if confluence.add(entering) {
            let link = *link;
            self.rearm(link);
        }
    }

    /// The link behind a confluence gets all that has entered it by now; who lets it in sets the link's time anew.
    fn let_in(&mut self, confluence: usize) {
        let link = self.confluences[confluence].0;
        while let Some(entering) = self.confluences[confluence].1.take(self.now) {
            let (mut at, size, way, mut packet) = (entering.at, entering.size(), entering.way, entering.packet);
            let mut node = link;
            if way != Way::UNKNOWN {
                let place = &mut self.places[link.index()];
                let Some(onward) = self.onward.get(place.row.leads_by as usize) else {
                    self.leave(link, packet, size, at, way);
                    continue;
                };
                let NetNode::Link(link) = &mut place.node else { unreachable!("links are followed by links") };
                let mut cx = Cx::new(self.now, node, &mut self.accounting);
                node = onward.follower_by(way);
                let Some(passed) = foretelling(link).pass_through(packet, size, at, &mut cx) else { continue };
                (at, packet) = passed;
            }
            self.cross(node, packet, size, at);
        }
    }

    /// What hangs on the port of the node.
    #[inline(always)]
    fn wire(&self, node: NodeId, port: Port) -> Attachment {
        let place = &self.places[node.index()];
        if port.0 == 0 { place.outlet } else { self.wires[place.first_wire as usize + usize::from(port.0)] }
    }

    fn rearm(&mut self, node: NodeId) {
        let place = &self.places[node.index()];
        let due = self.due(place.row.gathers, place.node.poll_timeout());
        self.queue.set(node.index(), due);
    }

    /// When a node acts that would at this time of its own: then, or when it must have what comes to it by a confluence.
    #[inline(always)]
    fn due(&self, gathers: Option<u32>, own: Option<Time>) -> Option<Time> {
        let Some(confluence) = gathers else { return own };
        // Never is behind the horizon.
        let entering = self.confluences[confluence as usize].1.due();
        Some(own.map_or(entering, |own| own.min(entering)))
    }
}

/// What [`crate::Parts`] does with a network and its parts.
impl<H: Node> Network<H> {
    /// A part of this network, in which these links lead out of it. It has no nodes yet.
    pub(crate) fn part(&self, exits: impl Iterator<Item = NodeId>) -> Network<H> {
        let elsewhere = |place: &Place<H>| Place {
            node: NetNode::Elsewhere(Box::default()),
            outlet: place.outlet,
            first_wire: place.first_wire,
            row: place.row,
        };
        let mut places: Vec<Place<H>> = self.places.iter().map(elsewhere).collect();
        exits.for_each(|exit| {
            let row = &mut places[exit.index()].row;
            (row.leads_by, row.leads_out) = (Row::APART.leads_by, true);
        });
        // What leaves must be gone in time.
        let confluences = self.confluences.iter().map(|(link, confluence)| {
            let exits = places[link.index()].row.leads_out;
            (*link, confluence.part(exits))
        });
        Network {
            confluences: confluences.collect(),
            onward: self.onward.clone(),
            accounting: self.accounting.part(),
            now: self.now,
            places,
            wires: self.wires.clone(),
            queue: EventQueue::new(self.places.len()),
            dirty: Vec::new(),
            events: 0,
            egress: VecDeque::new(),
            left: Vec::new(),
        }
    }

    /// The node behind a link.
    pub(crate) fn behind(&self, link: NodeId) -> NodeId {
        self.wire(link, Port(0)).node
    }

    /// Each gets the other's node of this number, and what is known of it.
    pub(crate) fn exchange(&mut self, node: NodeId, other: &mut Network<H>) {
        std::mem::swap(&mut self.places[node.index()].node, &mut other.places[node.index()].node);
        self.accounting.swap_node(node, &mut other.accounting);
        if let Some(confluence) = self.places[node.index()].row.gathers {
            let confluence = confluence as usize;
            self.confluences[confluence].1.exchange(&mut other.confluences[confluence].1);
        }
    }

    /// Puts a node in the place of another, which it gives.
    pub(crate) fn put(&mut self, node: NodeId, new: NetNode<H>) -> NetNode<H> {
        std::mem::replace(&mut self.places[node.index()].node, new)
    }

    /// Goes on at `now` with the nodes that it has been given, after so many events elsewhere.
    pub(crate) fn resume(&mut self, now: Time, events: u64) {
        self.now = now;
        self.events += events;
        for index in 0..self.places.len() {
            self.rearm(NodeId(index as u32));
        }
    }

    /// The events handled since it was last asked.
    pub(crate) fn take_events(&mut self) -> u64 {
        std::mem::take(&mut self.events)
    }

    /// A packet passes a link into another part.
    fn leave(&mut self, link: NodeId, packet: Packet, size: Bytes, at: Time, way: Way) {
        let NetNode::Link(node) = &mut self.places[link.index()].node else { unreachable!("parts meet at links") };
        let mut cx = Cx::new(self.now, link, &mut self.accounting);
        if let Some((at, packet)) = foretelling(node).pass_through(packet, size, at, &mut cx) {
            self.left.push(Left { link, at, way, packet: self.accounting.unbox(packet) });
        }
    }

    /// What has left for other parts since it was last asked.
    pub(crate) fn take_left(&mut self) -> Vec<Left> {
        std::mem::take(&mut self.left)
    }

    /// Gives back the room of what was taken.
    pub(crate) fn reuse_left(&mut self, room: Vec<Left>) {
        debug_assert!(room.is_empty() && self.left.is_empty());
        self.left = room;
    }

    /// What has left another part for this one: into the row that follows the link, or on its way to arrive by an
    /// event.
    pub(crate) fn arrive(&mut self, Left { link, at, way, packet }: Left) {
        let mut packet = self.accounting.rebox(packet);
        let size = packet.size();
        let onward = self.onward.get(self.places[link.index()].row.leads_by as usize);
        let follower = onward.and_then(|onward| match way {
            Way::UNKNOWN => onward.follower(link, &mut packet),
            way => Some(Follower::Of(onward.follower_by(way))),
        });
        match follower {
            Some(Follower::Of(follower)) => return self.cross(follower, packet, size, at),
            Some(Follower::OfSeveral(confluence, way)) => {
                return self.gather(confluence, Entering::new(at, link, packet, size, way));
            }
            None => {}
        }
        let NetNode::Elsewhere(arriving) = &mut self.places[link.index()].node else {
            unreachable!("it is in another part")
        };
        arriving.push_back((at, packet));
        if arriving.len() == 1 {
            self.queue.set(link.index(), Some(at));
        }
    }
}

/// A link that leads others, or at which two parts meet.
#[inline(always)]
pub(crate) fn foretelling(link: &mut Link) -> ForetoldLink<'_> {
    link.foretold().expect("such a link foretells")
}
