//! The segments that a connection passes to its host.

use crate::sender::Next;
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Ecn, Payload};

/// A segment to send.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The TCP header.
    pub header: TcpHeader,
    /// The data.
    pub payload: Payload,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// True if no other segment can be sent at this instant. Another call of
    /// [`poll_segment`](super::Connection::poll_segment) would return `None` and change nothing.
    pub last: bool,
}

/// A segment whose header was written into the caller's packet.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The data.
    pub payload: Payload,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The kind of segment that can be sent immediately after this one, at the same instant.
    pub next: Next,
}

impl Outgoing {
    /// A segment without data and without ECN support (Not-ECT).
    pub(super) const BARE: Outgoing = Outgoing { payload: Payload::EMPTY, ecn: Ecn::NotEct, next: Next::Open };
}

impl Segment {
    pub(super) fn of(header: TcpHeader, outgoing: Outgoing) -> Segment {
        let Outgoing { payload, ecn, next } = outgoing;
        Segment { header, payload, ecn, last: next == Next::Nothing }
    }

    /// Moves the segment's header to `header`.
    pub(super) fn write(self, header: &mut TcpHeader) -> Outgoing {
        *header = self.header;
        let next = if self.last { Next::Nothing } else { Next::Open };
        Outgoing { payload: self.payload, ecn: self.ecn, next }
    }

    /// Returns a segment without data and without ECN support (Not-ECT).
    pub(super) fn bare(header: TcpHeader) -> Segment {
        Segment::of(header, Outgoing::BARE)
    }
}
