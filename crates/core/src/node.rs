//! The contract between a network and what stands in it: hosts, routers, links, stages.

use crate::packet::{AroundTcp, Delivered, NewPacket, PacketEditor, TcpHeader};
use crate::{
    Accounting, Bytes, Count, DropReason, Ecn, Event, EventMask, MarkReason, NodeCounters, NodeId, Packet, Time,
};
use std::fmt::Debug;

/// One of a node's attachments, numbered from zero by the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A state machine in a network. The network calls `handle_*` as things happen, and after each such call takes
/// everything from `poll_transmit`, then re-reads `poll_timeout`. No clock, no I/O, no thread.
pub trait Node: Debug + Send {
    /// A packet arrives at a port.
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>);
    /// A call before the time of `poll_timeout` does nothing.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    /// Returns the next packet that leaves, with its port; `None` if no packet leaves now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)>;
    /// Whether `poll_transmit`, asked once more, would give nothing and change nothing: then it need not be.
    fn has_given_all(&self) -> bool {
        false
    }
    /// When to call `handle_timeout` next; `None` for never. One node has one timer at a time: nothing is ever
    /// cancelled.
    fn poll_timeout(&self) -> Option<Time>;
    /// The packets that it holds: what conservation asks at the end.
    fn held(&self) -> Count {
        Count::ZERO
    }
    /// Its own quantities now, for the results' table of parts: the part of the node, which may be empty, the quantity
    /// with its unit at the end, and the value.
    fn sample(&self, _out: &mut dyn FnMut(&str, &str, f64)) {}
}

/// All that a state machine may reach: the time and the accounting.
///
/// A packet begins with [`Cx::originate`] and ends with [`Cx::deliver`], [`Cx::drop`] or [`Cx::absorb`]; between the
/// two it is changed by [`Cx::mark`] and [`Cx::rewrite`] alone.
///
/// Random numbers are not here: a part that needs them is built with a [`crate::Rng`] of its own, keyed by its role, so
/// that no part's draws depend on another's.
#[derive(Debug)]
pub struct Cx<'a> {
    now: Time,
    node: NodeId,
    accounting: &'a mut Accounting,
}

impl<'a> Cx<'a> {
    #[inline]
    /// The context of a call of `node` at `now`.
    pub fn new(now: Time, node: NodeId, accounting: &'a mut Accounting) -> Cx<'a> {
        Cx { now, node, accounting }
    }

    #[inline]
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    #[inline]
    /// The node that is called.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The same context at another instant: a link replays the departures it owes at the times they happened.
    #[inline]
    pub fn at(&mut self, now: Time) -> Cx<'_> {
        Cx { now, node: self.node, accounting: self.accounting }
    }

    /// Makes a packet, with a number that is unique within the run. Who hands it to the network at once says so with
    /// [`Event::Sent`].
    #[inline(always)]
    pub fn originate(&mut self, new: NewPacket) -> Packet {
        self.accounting.originate(self.now, self.node, new)
    }

    /// As [`Cx::originate`], of a packet of TCP whose header is written where it will lie; `None`, and no packet is made,
    /// where `write` gives none. It must set the header whole: before that it is of any segment.
    #[inline(always)]
    pub fn originate_tcp(&mut self, write: impl FnOnce(&mut TcpHeader) -> Option<AroundTcp>) -> Option<Packet> {
        self.accounting.originate_tcp(self.now, self.node, write)
    }

    /// Ends the packet's journey well: it is at its destination, and its contents can be read.
    #[inline(always)]
    pub fn deliver(&mut self, mut packet: Packet) -> Delivered {
        self.accounting.delivered(self.now, self.node, &mut packet);
        if self.accounting.mask().has(EventMask::HOSTS) {
            self.accounting.publish(self.now, self.node, &Event::Received(&packet));
        }
        Delivered(packet)
    }

    /// Takes back the box of a delivered packet, for the next one. Without it the box is freed, no harm done.
    #[inline]
    pub fn recycle(&mut self, delivered: Delivered) {
        self.accounting.recycle(delivered.0);
    }

    /// Loses the packet: the only way to do so, and always with a reason.
    pub fn drop(&mut self, packet: Packet, why: DropReason) {
        self.accounting.dropped(self.now, self.node, packet, why);
    }

    /// Ends a packet whose contents go on in another, which has grown for it or grows by [`Cx::rewrite`].
    pub fn absorb(&mut self, packet: Packet) {
        self.accounting.absorbed(self.now, self.node, packet);
    }

    /// Marks the packet if its transport understands marks (RFC 3168 section 5); false if it does not, and nothing is
    /// changed. One that was marked before stays so, and counts again: this queue would have marked it.
    /// [`Cx::mark_regardless`] is for those who ask not.
    pub fn mark(&mut self, packet: &mut Packet, why: MarkReason) -> bool {
        if !packet.is_ecn_capable() {
            return false;
        }
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
        true
    }

    /// Marks the packet though its transport may not have said that it understands marks, as a router of
    /// balakrishnan1999 section 6.1 does with ACKs.
    pub fn mark_regardless(&mut self, packet: &mut Packet, why: MarkReason) {
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
    }

    /// Puts a mark into the accounting, for one who passes on the mark of another.
    pub fn record_mark(&mut self, packet: &Packet, why: MarkReason) {
        self.accounting.marked(self.now, self.node, packet, why);
    }

    /// Changes the packet. The accounting notes that it was changed, and by how many octets it grew or shrank.
    pub fn rewrite<T>(&mut self, packet: &mut Packet, change: impl FnOnce(&mut PacketEditor<'_>) -> T) -> T {
        let before = packet.size();
        let result = change(&mut PacketEditor(&mut packet.0));
        self.accounting.rewritten(self.now, self.node, packet, before);
        result
    }

    /// Whether someone wants to see events of these kinds.
    #[inline]
    pub fn is_watched(&self, kinds: EventMask) -> bool {
        self.accounting.mask().has(kinds)
    }

    /// Nobody looks at what nodes measure before then: what is known to happen earlier may be counted at once.
    /// [`Time::ZERO`] where somebody may look at any time.
    #[inline]
    pub fn unseen_until(&self) -> Time {
        self.accounting.unseen_until()
    }

    /// Tells the observers of an event of this kind, built only if someone wants it.
    #[inline]
    pub fn trace<'e>(&mut self, kind: EventMask, event: impl FnOnce() -> Event<'e>) {
        if self.accounting.mask().has(kind) {
            let event = event();
            debug_assert!(kind.has(event.kind()), "{event:?} is not of the kind it was announced as");
            self.accounting.publish(self.now, self.node, &event);
        }
    }

    /// Tells the watchers that a queue took the packet in. The backlog is that of the discipline that holds the packet.
    #[inline]
    pub fn trace_enqueued(&mut self, packet: &Packet, backlog_packets: u32, backlog_bytes: Bytes) {
        if self.accounting.mask().has(EventMask::QUEUES) {
            let (packets, bytes) = *self.accounting.backlog_beside();
            let (backlog_packets, backlog_bytes) = (backlog_packets + packets, backlog_bytes + bytes);
            self.accounting.publish(self.now, self.node, &Event::Enqueued { packet, backlog_packets, backlog_bytes });
        }
    }

    /// Lets one class of this node's queue act. `packets` and `bytes` wait in the node's other classes: they count in
    /// the backlog of the events that the class tells.
    pub fn within_class<T>(&mut self, packets: u32, bytes: Bytes, act: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        let outer = *self.accounting.backlog_beside();
        *self.accounting.backlog_beside() = (outer.0 + packets, outer.1 + bytes);
        let done = act(&mut self.at(self.now));
        *self.accounting.backlog_beside() = outer;
        done
    }

    /// This node's counters so far.
    pub fn counters(&self) -> &NodeCounters {
        self.accounting.node(self.node)
    }

    /// Asks whoever drives the network to look in as soon as this event is over.
    #[inline]
    pub fn interrupt(&mut self) {
        self.accounting.interrupt();
    }
}
