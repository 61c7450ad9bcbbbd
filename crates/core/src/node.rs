//! The interface between a network and its nodes: hosts, routers, links, stages.

use crate::packet::{AroundTcp, Delivered, NewPacket, PacketEditor, TcpHeader};
use crate::{
    Accounting, Bytes, Count, DropReason, Ecn, Event, EventMask, MarkReason, NodeCounters, NodeId, Packet, Time,
};
use std::fmt::Debug;

/// A port of a node, to which a wire is attached. Each node numbers its ports from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A state machine in a network, without a clock, I/O or threads. The network calls `handle_*` when a packet arrives or
/// a timer expires. It then takes all packets from `poll_transmit`, and reads `poll_timeout` again.
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
    /// Announces that another packet arrives over the same wire at the same time as the packet of the next call of
    /// `handle_packet`.
    #[doc(hidden)]
    fn expect_another(&mut self) {}
    /// Handles a packet that arrives at `port`.
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>);
    /// Handles a timer. Called at the time that `poll_timeout` returned; an earlier call has no effect.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    /// Returns the next packet that leaves the node, with its port; `None` if no packet leaves at this time.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)>;
    /// True if `poll_transmit` would return `None` and change nothing. The network then omits the call.
    fn has_given_all(&self) -> bool {
        false
    }
    /// Returns the time at which the network must call `handle_timeout` next. The network reads this time again after
    /// each call of the node.
    fn poll_timeout(&self) -> Option<Time>;
    /// Returns the number and the size of the packets in the node, for the conservation check.
    fn held(&self) -> Count {
        Count::ZERO
    }
    /// Calls `out` for each quantity that the node adds to the table of parts. The arguments are the part's name (or an
    /// empty name), the quantity's name with its unit, and the value.
    fn sample(&self, _out: &mut dyn FnMut(&str, &str, f64)) {}
}

/// The context of a call: the time and the accounting.
///
/// A packet begins with [`Cx::originate`] and ends with [`Cx::deliver`], [`Cx::drop`] or [`Cx::absorb`]. In between,
/// only [`Cx::mark`] and [`Cx::rewrite`] change it.
///
/// A part that needs random numbers owns a [`crate::Rng`], seeded by the part's role.
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
    /// Creates the context for a call of `node` at the time `now`.
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

    /// Returns the same context with the time `now`, for departures that are counted late.
    #[inline]
    pub fn at(&mut self, now: Time) -> Cx<'_> {
        Cx { now, node: self.node, accounting: self.accounting }
    }

    /// Creates a packet with a number that is unique within the run. The caller must emit [`Event::Sent`] when it sends
    /// the packet.
    #[inline(always)]
    pub fn originate(&mut self, new: NewPacket) -> Packet {
        self.accounting.originate(self.now, self.node, new)
    }

    /// Creates a TCP packet like [`Cx::originate`]. `write` must set every field of the header, because the header
    /// still contains the values of an earlier packet. If `write` returns `None`, no packet is created.
    #[inline(always)]
    pub fn originate_tcp(&mut self, write: impl FnOnce(&mut TcpHeader) -> Option<AroundTcp>) -> Option<Packet> {
        self.accounting.originate_tcp(self.node, write)
    }

    /// Ends the packet at its destination, and returns its contents.
    #[inline(always)]
    pub fn deliver(&mut self, mut packet: Packet) -> Delivered {
        self.accounting.delivered(self.now, self.node, &mut packet);
        // Check this first: most runs have no observer.
        if self.accounting.mask().has(EventMask::HOSTS) {
            self.accounting.publish(self.now, self.node, &Event::Received(&packet));
        }
        Delivered(packet)
    }

    /// Keeps the memory of a delivered packet for reuse. Without this call the memory is freed.
    #[inline]
    #[doc(hidden)]
    pub fn recycle(&mut self, delivered: Delivered) {
        self.accounting.recycle(delivered.0);
    }

    /// Drops the packet for a reason. A packet can be lost only by this call.
    pub fn drop(&mut self, packet: Packet, why: DropReason) {
        self.accounting.dropped(self.now, self.node, packet, why);
    }

    /// Ends a packet whose contents are merged into another packet. Use [`Cx::rewrite`] to enlarge the other packet.
    pub fn absorb(&mut self, packet: Packet) {
        self.accounting.absorbed(self.now, self.node, packet);
    }

    /// Marks the packet as CE; returns false if it is not ECN-capable (RFC 3168 section 5). A packet that arrived with
    /// a mark is counted again.
    pub fn mark(&mut self, packet: &mut Packet, why: MarkReason) -> bool {
        // The caller decides whether to drop the packet instead.
        if !packet.is_ecn_capable() {
            return false;
        }
        // RFC 3168, section 5: a router sets CE instead of dropping the packet.
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
        true
    }

    /// Marks the packet as CE even if it is not ECN-capable (ACKs in balakrishnan1999 section 6.1).
    pub fn mark_regardless(&mut self, packet: &mut Packet, why: MarkReason) {
        packet.set_ecn(Ecn::Ce);
        self.record_mark(packet, why);
    }

    /// Counts a CE mark that was set without [`Cx::mark`]. The mark counts as a mark of this node.
    pub fn record_mark(&mut self, packet: &Packet, why: MarkReason) {
        self.accounting.marked(self.now, self.node, packet, why);
    }

    /// Counts a change of the packet that was made without [`Cx::rewrite`]. `before` is the packet's size before the
    /// change.
    pub fn record_rewrite(&mut self, packet: &Packet, before: Bytes) {
        self.accounting.rewritten(self.now, self.node, packet, before);
    }

    /// Changes the packet by calling `change`. The accounting records the change of its size.
    pub fn rewrite<T>(&mut self, packet: &mut Packet, change: impl FnOnce(&mut PacketEditor<'_>) -> T) -> T {
        // The conservation check needs the size before and after the change.
        let before = packet.size();
        let result = change(&mut PacketEditor(&mut packet.0));
        self.record_rewrite(packet, before);
        result
    }

    /// True if an observer needs events of these kinds.
    #[inline]
    pub fn is_watched(&self, kinds: EventMask) -> bool {
        self.accounting.mask().has(kinds)
    }

    /// Returns the time before which no observer reads the nodes' counters. [`Time::ZERO`] means that the counters may
    /// be read at any time.
    #[inline]
    pub fn unseen_until(&self) -> Time {
        self.accounting.unseen_until()
    }

    /// Emits an event of this kind. Calls `event` to build the event only if an observer needs this kind.
    #[inline]
    pub fn trace<'e>(&mut self, kind: EventMask, event: impl FnOnce() -> Event<'e>) {
        if self.accounting.mask().has(kind) {
            let event = event();
            // An event of another kind would be delivered to the wrong observers.
            debug_assert!(kind.has(event.kind()), "{event:?} is not of the announced kind");
            self.accounting.publish(self.now, self.node, &event);
        }
    }

    /// Emits [`Event::Enqueued`] for a packet that a queue accepted. `backlog` is the backlog of the discipline that
    /// stores the packet.
    #[inline]
    pub fn trace_enqueued(&mut self, packet: &Packet, backlog_packets: u32, backlog_bytes: Bytes) {
        if self.accounting.mask().has(EventMask::QUEUES) {
            let (packets, bytes) = *self.accounting.other_backlog();
            let (backlog_packets, backlog_bytes) = (backlog_packets + packets, backlog_bytes + bytes);
            self.accounting.publish(self.now, self.node, &Event::Enqueued { packet, backlog_packets, backlog_bytes });
        }
    }

    /// Calls `act` for one class of this node's queue. `packets` and `bytes` are the backlog of the queue's other
    /// classes.
    pub fn within_class<T>(&mut self, packets: u32, bytes: Bytes, act: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        // Restore the old value afterwards, because classes may be nested.
        let outer = *self.accounting.other_backlog();
        *self.accounting.other_backlog() = (outer.0 + packets, outer.1 + bytes);
        let done = act(&mut self.at(self.now));
        *self.accounting.other_backlog() = outer;
        done
    }

    /// Returns the current values of this node's counters.
    pub fn counters(&self) -> &NodeCounters {
        self.accounting.node(self.node)
    }

    /// Requests that the network return control to its driver after the current event.
    #[inline]
    #[doc(hidden)]
    pub fn interrupt(&mut self) {
        self.accounting.interrupt();
    }
}
