//! Events that can be observed in a run: packets passing a point, queues changing, packets changed or lost with their reason.

mod reason;

pub use reason::{DropReason, MarkReason};

use crate::tcp_event::TcpEvent;
use crate::{Bytes, Duration, FlowId, NodeId, Packet, Time};
use std::ops::{BitOr, BitOrAssign};

/// One observation. Packets are borrowed: an observer copies what it keeps.
#[derive(Debug)]
pub enum Event<'a> {
    /// A host handed the packet to the network.
    Sent(&'a Packet),
    /// A host took the packet from the network.
    Received(&'a Packet),
    /// A queue took the packet in; the backlog includes it.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Enqueued { packet: &'a Packet, backlog_packets: u32, backlog_bytes: Bytes },
    /// A queue let the packet go after `sojourn`; the backlog excludes it.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Dequeued { packet: &'a Packet, backlog_packets: u32, backlog_bytes: Bytes, sojourn: Duration },
    /// A queue marked the packet: congestion was experienced (RFC 3168).
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Marked { packet: &'a Packet, why: MarkReason },
    /// The packet was lost.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Dropped { packet: &'a Packet, why: DropReason },
    /// A stage changed the packet, which was of so many octets `before`.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Rewritten { packet: &'a Packet, before: Bytes },
    /// The packet ended in a stage, and what it carried goes on in another.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Absorbed { packet: &'a Packet },
    /// Something happened inside a TCP endpoint of a host.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Tcp { endpoint: TcpEndpoint, event: TcpEvent },
}

/// Which end of which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpEndpoint {
    /// The flow of the endpoint.
    pub flow: FlowId,
    /// The port of the end that opened the connection: with the flow it names the connection at both ends.
    pub opener_port: u16,
    /// It is the end that sends the flow's data.
    pub sends: bool,
}

impl Event<'_> {
    /// The kind of event that it is; one bit.
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

/// Which kinds of events an observer wants, so that an unwatched run spends nothing on the others.
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
    /// All that happens to packets.
    pub const PACKETS: EventMask = EventMask(0b1111);
    /// Events of packets on their way from one host to another.
    pub const BETWEEN_HOSTS: EventMask = EventMask(0b1110);
    /// All events.
    pub const ALL: EventMask = EventMask(u32::MAX);

    /// Whether the two have a kind in common.
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

impl BitOrAssign for EventMask {
    fn bitor_assign(&mut self, other: EventMask) {
        *self = *self | other;
    }
}

/// Something that watches a run.
pub trait Observer: Send {
    /// The kinds of events that the observer wants.
    fn mask(&self) -> EventMask;
    /// `at` never goes back for one node, but a link may report its past departures a little late: sort by time across
    /// nodes.
    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>);
}
