//! The contract between a world and what stands in it: hosts, routers, links, middleboxes.

use crate::{Accounting, DropReason, Ecn, Event, Packet, Time};

/// A node's place in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of a node's attachments, numbered from zero by the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A state machine in a world. The world calls `handle_*` as things happen, and after each such call takes everything from
/// `poll_transmit`, then re-reads `poll_timeout`. No clock, no I/O, no thread.
pub trait Node {
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>);
    /// A call before the time of `poll_timeout` does nothing.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)>;
    /// When to call `handle_timeout` next; `None` for never. One node has one timer at a time: nothing is ever cancelled.
    fn poll_timeout(&self) -> Option<Time>;
}

/// All that a state machine may reach: the time and the accounting.
///
/// Random numbers are not here: a part that needs them is built with a [`crate::Rng`] of its own, keyed by its role, so that no
/// part's draws depend on another's.
#[derive(Debug)]
pub struct Cx<'a> {
    now: Time,
    node: NodeId,
    accounting: &'a mut Accounting,
}

impl<'a> Cx<'a> {
    pub fn new(now: Time, node: NodeId, accounting: &'a mut Accounting) -> Cx<'a> {
        Cx { now, node, accounting }
    }

    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The same context at another instant: a link replays the departures it owes at the times they happened.
    #[inline]
    pub fn at(&mut self, now: Time) -> Cx<'_> {
        Cx { now, node: self.node, accounting: self.accounting }
    }

    /// Loses the packet: the only way to do so, and always with a reason.
    pub fn drop(&mut self, packet: Packet, why: DropReason) {
        self.accounting.record_drop(self.now, self.node, packet, why);
    }

    /// Marks the packet if its transport understands marks (RFC 3168 section 5); false if it does not, and nothing is changed. One that was
    /// marked before stays so, and counts again: this queue would have marked it. The only way to mark.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if !packet.is_ecn_capable() {
            return false;
        }
        packet.ecn = Ecn::Ce;
        self.record_mark(packet);
        true
    }

    /// Puts a mark into the accounting, for one who passes on the mark of another.
    pub fn record_mark(&mut self, packet: &Packet) {
        let accounting = self.accounting.node_mut(self.node);
        accounting.marked_packets += 1;
        accounting.digest.mix(self.now.as_nanos() ^ packet.id.rotate_left(20) ^ u64::MAX);
        if self.accounting.mask().queues {
            self.accounting.publish(self.now, self.node, &Event::Marked { packet });
        }
    }

    /// A host made this packet and hands it to the network.
    #[inline]
    pub fn originate(&mut self, packet: &Packet) {
        let accounting = self.accounting.node_mut(self.node);
        accounting.created_packets += 1;
        accounting.created_bytes += packet.size();
        if self.accounting.mask().hosts {
            self.accounting.publish(self.now, self.node, &Event::Sent(packet));
        }
    }

    /// A host takes this packet from the network: its journey ends well.
    #[inline]
    pub fn deliver(&mut self, packet: &Packet) {
        let accounting = self.accounting.node_mut(self.node);
        accounting.consumed_packets += 1;
        accounting.consumed_bytes += packet.size();
        accounting.digest.mix(self.now.as_nanos() ^ packet.id.rotate_left(20));
        if self.accounting.mask().hosts {
            self.accounting.publish(self.now, self.node, &Event::Received(packet));
        }
    }

    /// Tells the watchers of an event in a queue, built only if someone wants it.
    #[inline]
    pub fn trace_queue<'e>(&mut self, event: impl FnOnce() -> Event<'e>) {
        if self.accounting.mask().queues {
            self.accounting.publish(self.now, self.node, &event());
        }
    }
}
