//! The contract between a network and its nodes: hosts, routers, links, stages.

use crate::packet::{AroundTcp, Delivered, NewPacket, PacketEditor, TcpHeader};
use crate::{
    Accounting, Bytes, Count, DropReason, Ecn, Event, EventMask, MarkReason, NodeCounters, NodeId, Packet, Time,
};
use std::fmt::Debug;

/// A port of a node, where a wire is attached. Each node numbers its ports from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A state machine in a network. The network calls `handle_*` when a packet arrives or a timer expires. After each such
/// call it takes all packets from `poll_transmit`, and then reads `poll_timeout` again. A node has no clock, no I/O and
/// no thread.
///
/// # Examples
///
/// A node that returns every packet through the port at which the packet arrived:
///
/// ```
/// use lopsided_core::{Cx, Node, Packet, Port, Time};
/// use std::collections::VecDeque;
///
/// #[derive(Debug, Default)]
/// struct Mirror {
///     waiting: VecDeque<(Port, Packet)>,
/// }
///
/// impl Node for Mirror {
///     fn handle_packet(&mut self, port: Port, packet: Packet, _cx: &mut Cx<'_>) {
///         self.waiting.push_back((port, packet));
///     }
///
///     fn handle_timeout(&mut self, _cx: &mut Cx<'_>) {}
///
///     fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
///         self.waiting.pop_front()
///     }
///
///     fn poll_timeout(&self) -> Option<Time> {
///         None
///     }
/// }
/// ```
pub trait Node: Debug + Send {
    /// A packet arrives at a port.
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>);
    /// The time of `poll_timeout` has come. An earlier call does nothing.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    /// Returns the next packet that leaves, with its port; `None` if no packet leaves now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)>;
    /// True if another call of `poll_transmit` would return `None` and change nothing, so that the network can omit it.
    fn has_given_all(&self) -> bool {
        false
    }
    /// Time of the next call of `handle_timeout`; `None` if there is none. A node has one timer, so the network never
    /// cancels one.
    fn poll_timeout(&self) -> Option<Time>;
    /// The packets in the node, for the conservation check at the end of a run.
    fn held(&self) -> Count {
        Count::ZERO
    }
    /// Calls `out` for each quantity of the results' table of parts. The arguments are the name of the node's part (may
    /// be empty), the name of the quantity with its unit at the end, and the current value.
    fn sample(&self, _out: &mut dyn FnMut(&str, &str, f64)) {}
}

/// The context of a call: the time and the accounting. A state machine can reach nothing else.
///
/// A packet begins with [`Cx::originate`] and ends with [`Cx::deliver`], [`Cx::drop`] or [`Cx::absorb`]. In between,
/// only [`Cx::mark`] and [`Cx::rewrite`] change it.
///
/// The context has no random numbers. A part that needs random numbers owns a [`crate::Rng`], seeded by the part's
/// role, so that its draws never depend on other parts.
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::UdpHeader;
/// use lopsided_core::{Accounting, Cx, DropReason, FlowId, IpHeader, NewPacket, NodeId, Payload, Time, Transport};
/// use std::net::Ipv4Addr;
///
/// let mut accounting = Accounting::new(1);
/// let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
/// let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let udp = Transport::Udp(UdpHeader { src_port: 5000, dst_port: 53 });
/// let packet = cx.originate(NewPacket::new(FlowId(0), ip, udp, Payload::virtual_len(100)));
/// cx.drop(packet, DropReason::QueueFull);
/// assert_eq!(cx.counters().dropped(DropReason::QueueFull).packets, 1);
/// ```
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
    /// The called node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the same context with another time. A link uses this to count a past departure at the time at which it
    /// happened.
    #[inline]
    pub fn at(&mut self, now: Time) -> Cx<'_> {
        Cx { now, node: self.node, accounting: self.accounting }
    }

    /// Creates a packet with a number that is unique within the run. A caller that hands the packet to the network at
    /// once also emits [`Event::Sent`].
    #[inline(always)]
    pub fn originate(&mut self, new: NewPacket) -> Packet {
        self.accounting.originate(self.now, self.node, new)
    }

    /// Creates a TCP packet like [`Cx::originate`], and lets `write` fill the header in its final place. Returns `None`
    /// and creates no packet if `write` returns `None`. `write` must set every field: the header has the values of an
    /// arbitrary earlier segment.
    #[inline(always)]
    pub fn originate_tcp(&mut self, write: impl FnOnce(&mut TcpHeader) -> Option<AroundTcp>) -> Option<Packet> {
        self.accounting.originate_tcp(self.now, self.node, write)
    }

    /// Ends the packet at its destination, and returns its contents.
    #[inline(always)]
    pub fn deliver(&mut self, mut packet: Packet) -> Delivered {
        self.accounting.delivered(self.now, self.node, &mut packet);
        // Checked first, because most runs have no observer.
        if self.accounting.mask().has(EventMask::HOSTS) {
            self.accounting.publish(self.now, self.node, &Event::Received(&packet));
        }
        Delivered(packet)
    }

    /// Takes back the box of a delivered packet for the next one. A caller that omits this call frees the box instead.
    #[inline]
    #[doc(hidden)]
    pub fn recycle(&mut self, delivered: Delivered) {
        self.accounting.recycle(delivered.0);
    }

    /// Drops the packet with a reason. There is no other way to lose a packet.
    pub fn drop(&mut self, packet: Packet, why: DropReason) {
        self.accounting.dropped(self.now, self.node, packet, why);
    }

    /// Ends a packet whose contents are merged into another, which grows by [`Cx::rewrite`].
    pub fn absorb(&mut self, packet: Packet) {
        self.accounting.absorbed(self.now, self.node, packet);
    }

    /// Marks the packet if its transport is capable of ECN (RFC 3168 section 5). Returns false and changes nothing if
    /// it is not. A packet that was marked before stays marked and counts again, because this queue would have marked
    /// it.
    pub fn mark(&mut self, packet: &mut Packet, why: MarkReason) -> bool {
        // The caller then drops the packet, or lets it pass.
        if !packet.is_ecn_capable() {
            return false;
        }
        // RFC 3168, section 5: a router sets CE instead of dropping the packet.
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
        true
    }

    /// Marks the packet whether or not its transport is capable of ECN, as a router of balakrishnan1999 section 6.1
    /// does with ACKs.
    pub fn mark_regardless(&mut self, packet: &mut Packet, why: MarkReason) {
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
    }

    /// Counts a mark at this node that another part set.
    pub fn record_mark(&mut self, packet: &Packet, why: MarkReason) {
        self.accounting.marked(self.now, self.node, packet, why);
    }

    /// Changes the packet. The accounting records the change, and the bytes by which the packet grew or shrank.
    pub fn rewrite<T>(&mut self, packet: &mut Packet, change: impl FnOnce(&mut PacketEditor<'_>) -> T) -> T {
        // The conservation check needs the change of size.
        let before = packet.size();
        let result = change(&mut PacketEditor(&mut packet.0));
        self.accounting.rewritten(self.now, self.node, packet, before);
        result
    }

    /// True if an observer wants events of these kinds.
    #[inline]
    pub fn is_watched(&self, kinds: EventMask) -> bool {
        self.accounting.mask().has(kinds)
    }

    /// No observer reads the nodes' measurements before this time, so a node may count earlier events in advance.
    /// [`Time::ZERO`] if an observer may read at any time.
    #[inline]
    pub fn unseen_until(&self) -> Time {
        self.accounting.unseen_until()
    }

    /// Emits an event of this kind. `event` is called only if an observer wants the kind.
    #[inline]
    pub fn trace<'e>(&mut self, kind: EventMask, event: impl FnOnce() -> Event<'e>) {
        if self.accounting.mask().has(kind) {
            let event = event();
            // A wrong kind would reach the wrong observers.
            debug_assert!(kind.has(event.kind()), "{event:?} is not of the kind it was announced as");
            self.accounting.publish(self.now, self.node, &event);
        }
    }

    /// Emits the event that a queue accepted the packet. The backlog is that of the discipline that holds the packet.
    #[inline]
    pub fn trace_enqueued(&mut self, packet: &Packet, backlog_packets: u32, backlog_bytes: Bytes) {
        if self.accounting.mask().has(EventMask::QUEUES) {
            let (packets, bytes) = *self.accounting.backlog_beside();
            let (backlog_packets, backlog_bytes) = (backlog_packets + packets, backlog_bytes + bytes);
            self.accounting.publish(self.now, self.node, &Event::Enqueued { packet, backlog_packets, backlog_bytes });
        }
    }

    /// Runs `act` for one class of this node's queue. `packets` and `bytes` wait in the node's other classes, and the
    /// backlog in the class's events includes them.
    pub fn within_class<T>(&mut self, packets: u32, bytes: Bytes, act: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        // Classes can be nested, so the outer value is restored afterwards.
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

    /// Asks the driver of the network to regain control as soon as this event is over.
    #[inline]
    #[doc(hidden)]
    pub fn interrupt(&mut self) {
        self.accounting.interrupt();
    }
}
