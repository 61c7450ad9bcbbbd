//! Virtual time: the nodes of a run, how they are joined, and the loop that moves packets between them.
//!
//! The loop holds the only knowledge of the polling order: the node whose time has come handles it, hands out what it has to
//! send, each packet goes straight on to whatever the line leads to, and a node that was given a packet is polled before its
//! giver goes on. Routers forward at once and cost no event. Leaves out: processing time in hosts and routers (they are
//! infinitely fast, as in the thesis's model).

use crate::agenda::Agenda;
use crate::host::Host;
use crate::router::Router;
use lopsided_core::{Accounting, Count, Cx, Node, NodeId, Packet, Port, Time};
use lopsided_link::Link;

/// What can stand in a world. An enum for the usual kinds, so that the loop's calls are direct.
#[derive(Debug)]
pub(crate) enum Station {
    Link(Box<Link>),
    Host(Box<Host>),
    Router(Router),
    Middlebox(Box<dyn Node>),
}

impl Station {
    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Station::Link(link) => link.poll_timeout(),
            Station::Host(host) => host.poll_timeout(),
            Station::Middlebox(middlebox) => middlebox.poll_timeout(),
            Station::Router(_) => None,
        }
    }
}

/// Where the far end of a node's port is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    pub node: NodeId,
    pub port: Port,
}

/// How far a call of [`World::run`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every event up to the given instant, and that one included, has happened.
    Reached,
    /// The budget of events is used up; the clock stands at the last of them.
    Paused,
}

#[derive(Debug)]
pub struct World {
    /// First, so that it is closed when the nodes are dropped with the packets they hold.
    accounting: Accounting,
    now: Time,
    stations: Vec<Station>,
    /// The wires of all nodes in one list: those of node n from `first_wire[n]`, by port.
    wires: Vec<Wire>,
    first_wire: Vec<u32>,
    agenda: Agenda,
    /// Nodes that must still be polled, the one on top first.
    touched: Vec<NodeId>,
    events: u64,
    /// The hosts polled since somebody last asked, for those who watch changes.
    noted: Option<Vec<NodeId>>,
}

impl World {
    pub(crate) fn new(stations: Vec<Station>, wires: Vec<Vec<Wire>>, accounting: Accounting) -> World {
        let mut first_wire = Vec::with_capacity(wires.len());
        let mut flat = Vec::new();
        for of_node in &wires {
            first_wire.push(flat.len() as u32);
            flat.extend_from_slice(of_node);
        }
        let mut agenda = Agenda::new(stations.len());
        for (slot, station) in stations.iter().enumerate() {
            agenda.set(slot, station.poll_timeout());
        }
        World {
            now: Time::ZERO,
            stations,
            wires: flat,
            first_wire,
            agenda,
            accounting,
            touched: Vec::new(),
            events: 0,
            noted: None,
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// The latest instant that this world can tell from never.
    pub fn horizon(&self) -> Time {
        self.agenda.horizon()
    }

    pub(crate) fn host(&self, host: usize) -> &Host {
        match &self.stations[host] {
            Station::Host(host) => host,
            other => unreachable!("hosts come first, not {other:?}"),
        }
    }

    pub(crate) fn host_mut(&mut self, host: usize) -> &mut Host {
        match &mut self.stations[host] {
            Station::Host(host) => host,
            other => unreachable!("hosts come first, not {other:?}"),
        }
    }

    /// Does something with a link at the present time.
    pub(crate) fn with_link<T>(&mut self, node: NodeId, act: impl FnOnce(&mut Link, &mut Cx<'_>) -> T) -> T {
        match &mut self.stations[node.index()] {
            Station::Link(link) => act(link, &mut Cx::new(self.now, node, &mut self.accounting)),
            other => unreachable!("links have numbers of their own, not {other:?}"),
        }
    }

    /// The packets that nodes hold, departures owed by links accounted for.
    pub(crate) fn held(&mut self) -> Count {
        let mut sum = Count::ZERO;
        for (slot, station) in self.stations.iter_mut().enumerate() {
            sum += match station {
                Station::Link(link) => {
                    link.sync(&mut Cx::new(self.now, NodeId(slot as u32), &mut self.accounting));
                    link.held()
                }
                Station::Host(host) => host.held(),
                Station::Middlebox(middlebox) => middlebox.held(),
                Station::Router(_) => Count::ZERO,
            };
        }
        sum
    }

    /// From now on remembers which hosts were polled.
    pub(crate) fn note_touched(&mut self) {
        self.noted = Some(Vec::new());
    }

    pub(crate) fn take_touched(&mut self) -> Vec<NodeId> {
        self.noted.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Lets everything happen up to and including `until`, or at most `budget` events of it.
    pub fn run(&mut self, until: Time, budget: u64) -> Progress {
        let last = self.events.saturating_add(budget);
        while let Some((time, slot)) = self.agenda.first() {
            if time > until {
                break;
            }
            if self.events == last {
                return Progress::Paused;
            }
            self.events += 1;
            // A node whose time is already past (it became due while another was handled) acts now, not then.
            self.now = self.now.max(time);
            self.wake(slot);
        }
        self.now = self.now.max(until);
        Progress::Reached
    }

    #[inline]
    fn wake(&mut self, slot: usize) {
        let node = NodeId(slot as u32);
        let mut cx = Cx::new(self.now, node, &mut self.accounting);
        match &mut self.stations[slot] {
            Station::Link(link) => {
                link.handle_timeout(&mut cx);
                return self.deliver(node);
            }
            Station::Host(host) => host.handle_timeout(&mut cx),
            Station::Middlebox(middlebox) => middlebox.handle_timeout(&mut cx),
            Station::Router(_) => {}
        }
        self.touched.push(node);
        self.settle();
    }

    /// Takes a packet that arrives now at the end of a link. Where there are more, the link's time says so: each is an event.
    #[inline]
    fn deliver(&mut self, node: NodeId) {
        let slot = node.index();
        let Station::Link(link) = &mut self.stations[slot] else { unreachable!("asked of links only") };
        let given = link.poll_transmit(&mut Cx::new(self.now, node, &mut self.accounting));
        // Set before the packet goes on: what it meets may be the same link.
        self.agenda.set(slot, link.poll_timeout());
        if let Some((_, packet)) = given {
            self.carry(self.wires[self.first_wire[slot] as usize], packet);
            if !self.touched.is_empty() {
                self.settle();
            }
        }
    }

    /// Polls every touched node until none has anything to send. A node given a packet goes on top, before its giver.
    fn settle(&mut self) {
        while let Some(&node) = self.touched.last() {
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            let out = match &mut self.stations[node.index()] {
                Station::Host(host) => host.poll_transmit(&mut cx),
                Station::Middlebox(middlebox) => middlebox.poll_transmit(&mut cx),
                Station::Link(_) | Station::Router(_) => None,
            };
            match out {
                Some((port, packet)) => {
                    let wire = self.first_wire[node.index()] as usize + usize::from(port.0);
                    self.carry(self.wires[wire], packet);
                }
                None => {
                    self.touched.pop();
                    self.rearm(node);
                    if let Some(noted) = &mut self.noted {
                        noted.push(node);
                    }
                }
            }
        }
    }

    /// Hands the packet to the node at the end of the wire, through any routers on the way.
    #[inline(always)]
    fn carry(&mut self, mut wire: Wire, mut packet: Packet) {
        loop {
            let mut cx = Cx::new(self.now, wire.node, &mut self.accounting);
            match &mut self.stations[wire.node.index()] {
                Station::Router(router) => match router.forward(&mut packet) {
                    Ok(port) => {
                        wire = self.wires[self.first_wire[wire.node.index()] as usize + usize::from(port.0)];
                        continue;
                    }
                    Err(why) => return cx.drop(packet, why),
                },
                // A link is never polled here: what it has to send, even at once, it asks for by its time.
                Station::Link(link) => {
                    link.handle_packet(wire.port, packet, &mut cx);
                    return self.agenda.set(wire.node.index(), link.poll_timeout());
                }
                Station::Host(host) => host.handle_packet(wire.port, packet, &mut cx),
                Station::Middlebox(middlebox) => middlebox.handle_packet(wire.port, packet, &mut cx),
            }
            return self.touched.push(wire.node);
        }
    }

    #[inline]
    fn rearm(&mut self, node: NodeId) {
        let slot = node.index();
        self.agenda.set(slot, self.stations[slot].poll_timeout());
    }
}
