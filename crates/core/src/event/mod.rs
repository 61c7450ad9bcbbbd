//! The events of a run, for observers: packets at hosts, changes of queues, and changed or dropped packets.

mod reason;

pub use reason::{DropReason, MarkReason};

use crate::tcp_event::TcpEvent;
use crate::{Bytes, Duration, FlowId, NodeId, Packet, Time};
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// One event. Packets are borrowed, so an observer must copy the values that it needs later.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A host sent the packet into the network.
    Sent(&'a Packet),
    /// A host received the packet from the network.
    Received(&'a Packet),
    /// A queue accepted the packet. The backlog includes the packet.
    Enqueued {
        /// The packet.
        packet: &'a Packet,
        /// Packets in the queue.
        backlog_packets: u32,
        /// Bytes in the queue.
        backlog_bytes: Bytes,
    },
    /// A packet left a queue. The backlog excludes the packet.
    Dequeued {
        /// The packet.
        packet: &'a Packet,
        /// Packets in the queue.
        backlog_packets: u32,
        /// Bytes in the queue.
        backlog_bytes: Bytes,
        /// Time that the packet spent in the queue.
        sojourn: Duration,
    },
    /// A queue marked the packet as CE, congestion experienced (RFC 3168).
    Marked {
        /// The packet.
        packet: &'a Packet,
        /// The reason for the mark.
        why: MarkReason,
    },
    /// The packet was dropped.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// The reason for the drop.
        why: DropReason,
    },
    /// A stage changed the packet.
    Rewritten {
        /// The packet.
        packet: &'a Packet,
        /// Size of the packet before the change.
        before: Bytes,
    },
    /// The packet ended in a stage, which merged its contents into another packet.
    Absorbed {
        /// The packet.
        packet: &'a Packet,
    },
    /// An event inside a TCP endpoint of a host.
    Tcp {
        /// The endpoint.
        endpoint: TcpEndpoint,
        /// The event.
        event: TcpEvent,
    },
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpEndpoint {
    /// The flow of the endpoint.
    pub flow: FlowId,
    /// Port of the end that opened the connection. Flow and port together identify the connection at both ends.
    pub opener_port: u16,
    /// True for the end that sends the flow's data.
    pub sends: bool,
}

impl Event<'_> {
    /// Returns the kind of the event, as a mask with one bit.
    pub fn kind(&self) -> EventMask {
        match self {
            Event::Sent(_) | Event::Received(_) => EventMask::HOSTS,
            Event::Enqueued { .. } | Event::Dequeued { .. } | Event::Marked { .. } => EventMask::QUEUES,
            Event::Dropped { .. } => EventMask::DROPS,
            Event::Rewritten { .. } | Event::Absorbed { .. } => EventMask::STAGES,
            Event::Tcp { .. } => EventMask::TCP,
        }
    }
}

/// A set of event kinds. Observers select kinds, so that a run spends no time on other events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventMask(u32);

impl EventMask {
    /// No events.
    pub const NONE: EventMask = EventMask(0);
    /// [`Event::Sent`] and [`Event::Received`].
    pub const HOSTS: EventMask = EventMask(1);
    /// [`Event::Enqueued`], [`Event::Dequeued`] and [`Event::Marked`].
    pub const QUEUES: EventMask = EventMask(1 << 1);
    /// [`Event::Dropped`].
    pub const DROPS: EventMask = EventMask(1 << 2);
    /// [`Event::Rewritten`] and [`Event::Absorbed`].
    pub const STAGES: EventMask = EventMask(1 << 3);
    /// [`Event::Tcp`].
    pub const TCP: EventMask = EventMask(1 << 4);
    /// All events of packets.
    pub const PACKETS: EventMask = EventMask(0b1111);
    /// Events of packets between hosts: in queues, in links and in stages.
    pub const BETWEEN_HOSTS: EventMask = EventMask(0b1110);
    /// All events.
    pub const ALL: EventMask = EventMask(u32::MAX);

    /// Returns true if the two sets have a kind in common.
    #[inline]
    pub const fn has(self, kinds: EventMask) -> bool {
        self.0 & kinds.0 != 0
    }
}

impl BitOr for EventMask {
    type Output = EventMask;
    fn bitor(self, other: EventMask) -> EventMask {
        EventMask(self.0 | other.0)
    }
}

impl BitAnd for EventMask {
    type Output = EventMask;
    fn bitand(self, other: EventMask) -> EventMask {
        EventMask(self.0 & other.0)
    }
}

impl BitOrAssign for EventMask {
    fn bitor_assign(&mut self, other: EventMask) {
        *self = *self | other;
    }
}

/// Receives the events of a run.
///
/// # Examples
///
/// Counts drops:
///
/// ```
/// use lopsided_core::{Event, EventMask, NodeId, Observer, Time};
///
/// #[derive(Default)]
/// struct Drops(u64);
///
/// impl Observer for Drops {
///     fn mask(&self) -> EventMask {
///         EventMask::DROPS
///     }
///
///     fn record(&mut self, _at: Time, _node: NodeId, _event: &Event<'_>) {
///         self.0 += 1;
///     }
/// }
/// ```
pub trait Observer: Send {
    /// Returns the kinds of events that the observer needs.
    fn mask(&self) -> EventMask;
    /// Handles an event. For one node, `at` never decreases; events of different nodes are not in order.
    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>);
}
