//! What can be observed in a run: packets passing a point, queues changing, losses with their reason.

use crate::{Bytes, Duration, NodeId, Packet, Time};

/// Why a packet ended before its destination. Every loss of a run has one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue had no room and the arriving packet was refused.
    QueueFull,
    /// The queue had no room and this packet, from its head, gave way to the arriving one.
    HeadDrop,
    /// The discipline chose to drop early.
    Early,
    /// A rate limiter without a buffer was out of credit.
    Policed,
    /// Lost at random on the medium.
    RandomLoss,
    /// Lost by the scenario's loss pattern.
    PatternLoss,
    /// No route to its destination.
    NoRoute,
    /// Its host has no connection or listener for it.
    NoSocket,
    /// Its time to live ran out.
    TtlExpired,
    /// It could not be read as the packet it claims to be.
    Malformed,
}

impl DropReason {
    pub const ALL: [DropReason; 10] = [
        DropReason::QueueFull,
        DropReason::HeadDrop,
        DropReason::Early,
        DropReason::Policed,
        DropReason::RandomLoss,
        DropReason::PatternLoss,
        DropReason::NoRoute,
        DropReason::NoSocket,
        DropReason::TtlExpired,
        DropReason::Malformed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::HeadDrop => "head_drop",
            DropReason::Early => "early",
            DropReason::Policed => "policed",
            DropReason::RandomLoss => "random_loss",
            DropReason::PatternLoss => "pattern_loss",
            DropReason::NoRoute => "no_route",
            DropReason::NoSocket => "no_socket",
            DropReason::TtlExpired => "ttl_expired",
            DropReason::Malformed => "malformed",
        }
    }
}

/// One observation. Packets are borrowed: an observer copies what it keeps.
#[derive(Debug)]
pub enum Event<'a> {
    /// A host handed the packet to the network.
    Sent(&'a Packet),
    /// A host took the packet from the network.
    Received(&'a Packet),
    /// A queue took the packet in; the backlog includes it.
    Enqueued { packet: &'a Packet, backlog_packets: u32, backlog_bytes: Bytes },
    /// A queue let the packet go after `sojourn`; the backlog excludes it.
    Dequeued { packet: &'a Packet, backlog_packets: u32, backlog_bytes: Bytes, sojourn: Duration },
    /// A queue marked the packet: congestion was experienced (RFC 3168).
    Marked { packet: &'a Packet },
    /// The packet was lost.
    Dropped { packet: &'a Packet, why: DropReason },
}

/// Which kinds of events an observer wants, so that an unwatched run spends nothing on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventMask {
    /// [`Event::Sent`] and [`Event::Received`].
    pub hosts: bool,
    /// [`Event::Enqueued`], [`Event::Dequeued`] and [`Event::Marked`].
    pub queues: bool,
    /// [`Event::Dropped`].
    pub drops: bool,
}

/// Something that watches a run.
pub trait Observer: Send {
    fn mask(&self) -> EventMask;
    /// `at` never goes back for one node, but a link may report its past departures a little late: sort by time across nodes.
    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>);
}
