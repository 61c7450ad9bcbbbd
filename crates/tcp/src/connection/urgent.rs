//! Segments that precede any data. Rare, so they are boxed and one check finds them.

use super::segment::Segment;
use lopsided_core::Seq;
use lopsided_core::tcp_event::AckReason;

#[derive(Debug, Default)]
pub(super) struct Urgent {
    /// An ACK that was built before the arriving segment was processed.
    pub prepared: Option<Segment>,
    pub reset: bool,
    /// The reset for a segment that acknowledges data never sent, with that acknowledgement number (RFC 9293 section
    /// 3.10.7).
    pub refused: Option<Seq>,
    /// The ACK owed from before a mark began or ended (RFC 8257 section 3.2), or to the handshake.
    pub old_ack: Option<OldAck>,
    pub keepalive: bool,
}

/// An ACK that covers only a part of what has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldAck {
    pub ack: Seq,
    /// The ECN echo that it carries.
    pub echo: bool,
    pub why: AckReason,
}

impl Urgent {
    /// True if a closed connection still has a segment to send.
    pub fn outlives(&self) -> bool {
        self.reset || self.refused.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.outlives() && self.prepared.is_none() && self.old_ack.is_none() && !self.keepalive
    }
}
