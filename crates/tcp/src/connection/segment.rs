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

impl Segment {
    /// A segment without data, which is never ECN-capable.
    pub(super) fn bare(header: TcpHeader) -> Segment {
        Segment { header, payload: Payload::EMPTY, ecn: Ecn::NotEct, last: false }
    }
}
