//! What a connection gives to its host to send.

use lopsided_core::packet::TcpHeader;
use lopsided_core::{Ecn, Payload};

/// A segment to send.
#[derive(Clone, Debug)]
pub struct Segment {
    pub header: TcpHeader,
    pub payload: Payload,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Nothing follows it at this time: to ask for more would give nothing and change nothing.
    pub last: bool,
}

/// What a segment is beside its header, which was written elsewhere.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub payload: Payload,
    /// As in [`Segment`].
    pub ecn: Ecn,
    pub last: bool,
}

impl Outgoing {
    /// A segment without data, which is never ECN-capable.
    pub(super) const BARE: Outgoing = Outgoing { payload: Payload::EMPTY, ecn: Ecn::NotEct, last: false };
}

impl Segment {
    pub(super) fn of(header: TcpHeader, outgoing: Outgoing) -> Segment {
        let Outgoing { payload, ecn, last } = outgoing;
        Segment { header, payload, ecn, last }
    }

    /// Its header goes there.
    pub(super) fn write(self, header: &mut TcpHeader) -> Outgoing {
        *header = self.header;
        Outgoing { payload: self.payload, ecn: self.ecn, last: self.last }
    }

    /// A segment without data, which is never ECN-capable.
    pub(super) fn bare(header: TcpHeader) -> Segment {
        Segment::of(header, Outgoing::BARE)
    }
}
