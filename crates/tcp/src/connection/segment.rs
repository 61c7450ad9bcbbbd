//! The segments that a connection hands to its host.

use lopsided_core::packet::TcpHeader;
use lopsided_core::{Ecn, Payload};

/// A segment to send.
#[derive(Clone, Debug)]
pub struct Segment {
    pub header: TcpHeader,
    pub payload: Payload,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// True if no segment follows at this time: another call would return `None` and change nothing.
    pub last: bool,
}

/// A segment without its header, which was written elsewhere.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub payload: Payload,
    /// As in [`Segment`].
    pub ecn: Ecn,
    pub next: Next,
}

/// What follows a segment at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: another call would change nothing.
    Nothing,
    /// A full segment of new data: [`write_full_segment`](super::Connection::write_full_segment) returns it, if no
    /// other call comes first.
    Full,
    /// Unknown: call [`write_segment`](super::Connection::write_segment).
    Open,
}

impl Outgoing {
    /// A segment without data, which is never ECN-capable.
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

    /// A segment without data, which is never ECN-capable.
    pub(super) fn bare(header: TcpHeader) -> Segment {
        Segment::of(header, Outgoing::BARE)
    }
}
